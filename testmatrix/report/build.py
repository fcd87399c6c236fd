"""From a run's results to its report. Pure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from testmatrix.compare.finding import Finding, IntRow, IntState
from testmatrix.compare.numbers.rows import rate
from testmatrix.observation import Observation
from testmatrix.report.model import CauseEntry, FindingEntry, IntEntry, IntResult, IntSummary, NumberEntry, Report, Summary
from testmatrix.report.rerun import rerun_command
from testmatrix.store.plain import line, plain_object, text
from testmatrix.store.records import CellResult, NoteEntry, Run, TestResult
from testmatrix.triage.causes import Cause, digest, finding_order, fingerprint, group_causes
from testmatrix.triage.verdicts import verdict_of


def cell_result(observation: Observation) -> CellResult:
    """One test in one cell, in the numbers that a report keeps."""
    pinned = {*observation.pinned, *(axis for call in observation.regions for axis in call.pinned)}
    return CellResult(
        outcome=observation.outcome,
        duration=round(observation.duration, 6),
        same_as=observation.same_as,
        compiles=len(observation.compiles),
        breaks=sum(len(each.breaks) for each in observation.compiles),
        regions=len(observation.regions),
        pinned=tuple(sorted(pinned)),
    )


def notes_of(observations: Iterable[Observation]) -> tuple[NoteEntry, ...]:
    """The notes on one test, each said once with the cells that it holds for."""
    cells: dict[tuple[str, str, str], list[str]] = {}
    for observation in observations:
        if observation.same_as:
            continue  # its notes are those of the run that stands for it
        for note in observation.notes:
            where = cells.setdefault((note.kind, note.text, observation.test), [])
            if observation.cell not in where:
                where.append(observation.cell)
    return tuple(
        NoteEntry(kind=kind, text=line(said), test=test, cells=tuple(where)) for (kind, said, test), where in cells.items()
    )


def build_report(
    run: Run,
    tests: Sequence[TestResult],
    *,
    ints: Sequence[IntRow] = (),
    findings: Sequence[Finding] = (),
    notes: Sequence[NoteEntry] = (),
    rerun: Callable[[Finding], str] = rerun_command,
    wall: float = 0.0,
    exit_status: int = 0,
) -> Report:
    """Everything that a run says, in an order that depends on nothing but the arguments.

    ``ints`` are the rows of floats and sizes, too.
    """
    return assemble(
        run,
        tests,
        ints=[_int_entry(row) for row in ints if row.number == "int"],
        numbers=[_number_entry(row) for row in ints if row.number != "int"],
        findings=finding_entries(findings, rerun),
        notes=notes,
        wall=wall,
        exit_status=exit_status,
    )


def assemble(
    run: Run,
    tests: Sequence[TestResult],
    *,
    ints: Sequence[IntEntry] = (),
    numbers: Sequence[NumberEntry] = (),
    findings: Sequence[FindingEntry] = (),
    notes: Sequence[NoteEntry] = (),
    wall: float = 0.0,
    exit_status: int = 0,
) -> Report:
    """A report from the entries that tests have in it: groups and counts them. Findings may come in any order."""
    causes = group_causes(findings)
    return Report(
        run=run,
        tests=tuple(tests),
        ints=tuple(ints),
        numbers=tuple(numbers),
        # In the order of causes, so that a reader who goes through the findings meets the gravest first.
        findings=tuple(finding for cause in causes for finding in cause.findings),
        causes=tuple(map(_cause_entry, causes)),
        summary=Summary(
            tests=len(tests),
            cells_run=_count_cells(run, tests, collapsed=False),
            cells_collapsed=_count_cells(run, tests, collapsed=True),
            findings=dict(sorted(Counter(finding.kind for finding in findings).items())),
            ints=count_ints(run, ints),
            wall=round(wall, 3),
            exit=exit_status,
        ),
        notes=tuple(notes),
    )


def finding_entries(findings: Iterable[Finding], rerun: Callable[[Finding], str] = rerun_command) -> list[FindingEntry]:
    """Findings as a report has them, each with an id that depends on nothing but the findings of its test."""
    seen: Counter[str] = Counter()
    entries = []
    for entry in sorted((_finding_entry(finding, rerun(finding)) for finding in findings), key=finding_order):
        seen[entry.id] += 1
        number = seen[entry.id]  # those that differ in nothing that is hashed are numbered
        entries.append(entry if number == 1 else msgspec.structs.replace(entry, id=f"{entry.id}-{number}"))
    return entries


def cell_values(run: Run) -> dict[str, dict[str, str]]:
    """The values by axis of each cell of the run, in grid order."""
    values = (dict(zip(run.grid, combined, strict=True)) for combined in itertools.product(*run.grid.values()))
    return {name: chosen for chosen in values if (name := "-".join(chosen.values())) in run.cells}


def int_cell(run: Run) -> str:
    """The cell whose share of symbolic ints is the unspecialisation rate; empty where the run has none.

    In a grid of more axes than ``shapes`` and ``ints``, it is the first cell that has ``dynamic`` and ``unspecialize`` there.
    """
    asked = {"shapes": "dynamic", "ints": "unspecialize"}
    return next((cell for cell, values in cell_values(run).items() if asked.items() <= values.items()), "")


def count_ints(run: Run, ints: Iterable[IntEntry]) -> IntSummary:
    """How many ints were used in the cell that should carry them as symbols, and how many did come as symbols."""
    reached, symbolic = rate(map(_int_row, ints), int_cell(run))
    return IntSummary(reached=reached, symbolic=symbolic)


def _count_cells(run: Run, tests: Sequence[TestResult], *, collapsed: bool) -> int:
    return sum(bool(result.same_as) == collapsed for test in tests for cell, result in test.cells.items() if cell != run.oracle)


def _finding_entry(finding: Finding, rerun: str) -> FindingEntry:
    where = {key: value for key, value in (("region", finding.region), ("frame", finding.frame)) if value}
    return FindingEntry(
        id=digest(finding.test, finding.kind, *finding.cells, finding.signature),
        test=finding.test,
        kind=finding.kind,
        severity=finding.severity,
        cells=finding.cells,
        reference=finding.reference,
        summary=line(finding.summary),
        evidence={**where, **plain_object(finding.evidence)},
        cause=fingerprint(finding),
        verdict=verdict_of(finding),
        rerun=rerun,
    )


def _cause_entry(cause: Cause[FindingEntry]) -> CauseEntry:
    return CauseEntry(
        cause=cause.cause,
        kind=cause.kind,
        summary=cause.summary,
        findings=tuple(finding.id for finding in cause.findings),
        tests=len(cause.tests),
        verdict=cause.verdict,
    )


def _int_entry(row: IntRow) -> IntEntry:
    return IntEntry(test=row.test, region=row.region, source=text(row.source), kind=row.kind, cells=_int_results(row))


def _number_entry(row: IntRow) -> NumberEntry:
    return NumberEntry(
        test=row.test, region=row.region, source=text(row.source), number=row.number, kind=row.kind, cells=_int_results(row)
    )


def _int_row(entry: IntEntry) -> IntRow:
    """The row that an entry was made of, as far as it is counted."""
    states = {cell: IntState(state=result.state) for cell, result in entry.cells.items()}
    return IntRow(test=entry.test, region=entry.region, source=entry.source, kind=entry.kind, cells=states)


def _int_results(row: IntRow) -> dict[str, IntResult]:
    return {cell: _int_result(state) for cell, state in row.cells.items()}


def _int_result(state: IntState) -> IntResult:
    return IntResult(
        state=state.state, value=text(state.value), reason=line(state.reason), line=state.line, compiles=state.compiles
    )
