"""The control: what does not repeat when a cell and its reference are run once more is no difference between cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from testmatrix.compare.ends import end_of
from testmatrix.compare.finding import Finding
from testmatrix.compare.lost import compare_lost, is_lost, surviving
from testmatrix.compare.regions import compare_regions
from testmatrix.compare.whole import compare_test, finding_order
from testmatrix.grid import Grid
from testmatrix.observation import Observation

#: (kind, region, path or nothing): where a finding is.
Place = tuple[str, str, object]


def mark_unstable(
    findings: Sequence[Finding], first: Mapping[str, Observation], again: Mapping[str, Observation], grid: Grid
) -> tuple[Finding, ...]:
    """The findings with those marked unstable that the rerun does not show, or that a cell shows against itself.

    ``again`` holds the cells that were run once more. A finding none of whose cells was run again stays as it is; one that
    repeats in some of its cells keeps these only. What was lost in the rerun alone is one more finding, an unstable one.
    """
    repeated = _by_place(compare_test({**first, **again}, grid))
    wavering = {cell: _wavering(first[cell], again[cell]) for cell in again if cell in first}
    checked = [_checked(finding, again, repeated, wavering) for finding in findings]
    lost = _lost_again(first, again, grid)
    return tuple(sorted([*checked, *lost], key=finding_order) if lost else checked)


def _lost_again(first: Mapping[str, Observation], again: Mapping[str, Observation], grid: Grid) -> list[Finding]:
    """Cells that took the process down, or did not end, only when they were run once more."""
    alive = surviving(first)
    shown = {**alive, **{cell: one for cell, one in again.items() if cell in alive and is_lost(one)}}
    cells = [cell.name for cell in grid.cells if cell.name in shown]
    return [
        replace(finding, unstable=True, summary=f"{finding.summary} (only when run once more)")
        for finding in compare_lost(shown, cells)
    ]


def _place(finding: Finding) -> Place:
    return finding.kind, finding.region, finding.evidence.get("path")


def _by_place(findings: Sequence[Finding]) -> dict[Place, list[Finding]]:
    places: dict[Place, list[Finding]] = {}
    for finding in findings:
        places.setdefault(_place(finding), []).append(finding)
    return places


def _wavering(first: Observation, again: Observation) -> set[Place]:
    """Places in which a cell differs from its own rerun."""
    places: set[Place] = set()
    if end_of(first) != end_of(again):
        places.add(("outcome", "", None))
    if is_lost(first) or is_lost(again):
        return places  # there is nothing else to compare
    places |= {
        (difference.kind, difference.region, difference.path)
        for difference in compare_regions(again, first, lambda key: False, lambda key: True)
    }
    return places


def _checked(
    finding: Finding,
    again: Mapping[str, Observation],
    repeated: Mapping[Place, Sequence[Finding]],
    wavering: Mapping[str, set[Place]],
) -> Finding:
    rerun = [cell for cell in finding.cells if cell in again]
    if not rerun:
        return finding
    place = _place(finding)
    if place in wavering.get(finding.reference, ()):
        return replace(finding, unstable=True)
    there = repeated.get(place, ())
    showing = {cell for one in there for cell in one.cells}
    stable = {cell for cell in rerun if cell in showing and place not in wavering.get(cell, ())}
    if not stable:
        return replace(finding, unstable=True)
    kept = tuple(cell for cell in finding.cells if cell in stable or cell not in again)
    if kept == finding.cells:
        return finding
    # The words of a finding name its cells: those of the rerun fit where it shows just these.
    return next((one for one in there if one.cells == kept), replace(finding, cells=kept))
