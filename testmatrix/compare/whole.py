"""All that is to be said of one test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from testmatrix.compare.compiles import compared_compiles, guard_differences, guard_notes
from testmatrix.compare.counts import compare_counts
from testmatrix.compare.difference import SEVERITIES, Difference, fold
from testmatrix.compare.ends import BAD
from testmatrix.compare.finding import Finding
from testmatrix.compare.lineup import CallKey, keyed_calls
from testmatrix.compare.lost import surviving
from testmatrix.compare.numbers.rows import number_rows
from testmatrix.compare.numbers.specialised import specialised_numbers
from testmatrix.compare.outcomes import compare_outcomes
from testmatrix.compare.regions import compare_regions
from testmatrix.grid import Grid
from testmatrix.observation import ORACLE, Note, Observation


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing one test's observations shows."""

    findings: tuple[Finding, ...] = ()
    notes: Mapping[str, Sequence[Note]] = field(default_factory=dict)  #: by cell: what could not be compared, and why


def compare_test(observations: Mapping[str, Observation], grid: Grid) -> tuple[Finding, ...]:
    """The findings of :func:`compare_observations`."""
    return compare_observations(observations, grid).findings


def compare_observations(observations: Mapping[str, Observation], grid: Grid) -> Comparison:
    """What one test's observations by cell and, where there is one, the oracle's show.

    Cells recorded as ``same_as`` another were not run and say nothing; of those that were lost, only their end is told. The order
    of the result depends on nothing but its content.
    """
    started = _started_cells(observations, grid)
    if not started:
        return Comparison()
    test = observations[started[0]].test
    kept, cells = surviving(observations), run_cells(observations, grid)
    calls = _compare_calls(kept, cells)
    compared = compared_compiles(kept, grid, cells, _wrong_calls(calls))
    differences = [
        *calls,
        *compare_counts(kept, grid, cells),
        *guard_differences(compared),
    ]
    findings = [
        *compare_outcomes(observations, started),
        *fold(test, differences, started),
        *specialised_numbers(number_rows(observations, grid), kept, grid),
    ]
    return Comparison(tuple(sorted(findings, key=finding_order)), guard_notes(compared, kept, cells))


def _wrong_calls(differences: Sequence[Difference]) -> set[tuple[str, str, int]]:
    """Calls that returned something else than eager; what random numbers and rounding explain is no error."""
    wrong = (one for one in differences if one.severity == "error" and one.kind.startswith("output") and one.reference == ORACLE)
    return {(one.cell, one.region, one.call) for one in wrong}


def run_cells(observations: Mapping[str, Observation], grid: Grid) -> list[str]:
    """Cells that were run themselves and lived to tell, in grid order."""
    return _started_cells(surviving(observations), grid)


def _started_cells(observations: Mapping[str, Observation], grid: Grid) -> list[str]:
    """Cells that were run themselves, in grid order, those that were lost among them."""
    return [cell.name for cell in grid.cells if cell.name in observations and not observations[cell.name].same_as]


def finding_order(finding: Finding) -> tuple[object, ...]:
    return (
        SEVERITIES.index(finding.severity),
        finding.kind,
        finding.region,
        finding.cells,
        finding.reference,
        finding.summary,
        finding.signature,
    )


def _compare_calls(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Difference]:
    """Every cell's region calls against the oracle's, and what the oracle lacks against the first cell's."""
    made = {cell: keyed_calls(observations[cell]) for cell in cells}
    oracle = observations.get(ORACLE)

    def raises_everywhere(key: CallKey) -> bool:
        passing = all(observations[cell].outcome not in BAD for cell in cells)
        return passing and all(key in made[cell] and made[cell][key].exception is not None for cell in cells)

    found: list[Difference] = []
    known = keyed_calls(oracle) if oracle is not None else {}
    for cell in cells:
        if oracle is not None:
            found.extend(compare_regions(observations[cell], oracle, raises_everywhere, lambda key: True))
        if cell != cells[0]:
            missing = compare_regions(
                observations[cell], observations[cells[0]], raises_everywhere, lambda key: key not in known, rest=oracle is None
            )
            found.extend(missing)
    return found
