"""``guard.specialized``: numbers that stay constant in a cell meant to carry them as symbols.

By design is information, forced a warning. What the test itself asked for, marking or naming it, and did not get is an error,
whatever the cell: that request beats every axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from testmatrix.compare.finding import Evidence, Finding, IntRow, IntState, Number, Severity
from testmatrix.compare.numbers.asked import asked_by, asked_in
from testmatrix.compare.numbers.reasons import BY_DESIGN, FORCED, NOT_CARRIED
from testmatrix.compare.numbers.rows import carries
from testmatrix.compare.pins import pinned_axes
from testmatrix.compare.wording import in_cells, listed, signature, stable_region, stable_source
from testmatrix.grid import Grid
from testmatrix.observation import ORACLE, Observation

#: Axes that a number hangs on: where the test pins one itself, nothing was asked for.
_AXES: Mapping[Number, frozenset[str]] = {
    "int": frozenset({"shapes", "ints"}),
    "float": frozenset({"shapes", "floats"}),
    "size": frozenset({"shapes"}),
}
_SHOWN = 6  #: sources that a summary names


@dataclass(frozen=True, slots=True)
class _Case:
    """Constants that make one finding: a number, or the sizes of a region that share a reason."""

    rows: tuple[IntRow, ...]
    cells: tuple[str, ...]
    asked: str = ""  #: what the test asked by

    @property
    def state(self) -> IntState:
        """Where cells differ in what they tell, that of one that tells the line."""
        states = [self.rows[0].cells[cell] for cell in self.cells]
        return next((state for state in states if state.line), states[0])

    @property
    def severity(self) -> Severity:
        if self.asked:
            return "error"
        return "info" if self.state.reason.startswith(BY_DESIGN) else "warning"


def specialised_numbers(rows: Iterable[IntRow], observations: Mapping[str, Observation], grid: Grid) -> list[Finding]:
    """The findings of one test."""
    runs = {cell.name: observations[cell.name] for cell in grid.cells if cell.name in observations}
    runs = {cell: run for cell, run in runs.items() if not run.same_as}  # the others are reported for what stood for them
    asked = {cell: asked_in(run) for cell, run in runs.items()}
    pinned: dict[tuple[str, str], frozenset[str]] = {}
    cases: list[_Case] = []
    for row in rows:
        constant = [cell for cell in runs if cell in row.cells and row.cells[cell].state == "constant"]
        refused = tuple(cell for cell in constant if asked_by(asked[cell], row.region, row.source))
        if refused:
            cases.append(_Case((row,), refused, asked_by(asked[refused[0]], row.region, row.source)))
        meant = []
        for cell in constant:
            if cell in refused or not carries(grid, cell, row.number):
                continue
            if (cell, row.region) not in pinned:
                pinned[cell, row.region] = pinned_axes(runs[cell], row.region)
            if not _AXES[row.number] & pinned[cell, row.region]:
                meant.append(cell)
        if meant:
            cases.append(_Case((row,), tuple(meant)))
    return [_finding(case) for case in _sizes_together(cases)]


def _sizes_together(cases: Sequence[_Case]) -> Iterator[_Case]:
    """Sizes of one region that are constant by the same design are one case, and so are those that one line forced together."""
    together: dict[tuple[object, ...], list[_Case]] = {}
    for position, case in enumerate(cases):
        state = case.state
        key: tuple[object, ...] = (position,)
        if case.rows[0].number == "size":
            forced = (state.line, state.value) if state.reason.startswith(FORCED) or case.asked else ()
            key = (case.rows[0].region, state.reason, case.cells, case.asked, *forced)
        together.setdefault(key, []).append(case)
    for same in together.values():
        yield _Case(tuple(row for case in same for row in case.rows), same[0].cells, same[0].asked)


def _finding(case: _Case) -> Finding:
    row, state, cells = case.rows[0], case.state, case.cells
    sources = [one.source for one in case.rows]
    return Finding(
        test=row.test,
        kind="guard.specialized",
        severity=case.severity,
        cells=cells,
        reference=next((cell for cell in row.cells if cell not in cells), ORACLE),
        summary=_summary(case, sources),
        region=row.region,
        frame=state.line,
        signature=signature("guard.specialized", *_identity(case), *filter(None, [state.reason, case.asked])),
        evidence={
            "source": row.source if len(sources) == 1 else list[Evidence](sources),
            "number": row.number,
            "kind": row.kind,
            "reason": state.reason,
            "line": state.line,
            "code": state.code,
            "cells": {cell: _told(one) for cell, one in row.cells.items()},
            **({"asked": case.asked} if case.asked else {}),
            **({"context": list[Evidence](state.context)} if state.context else {}),
        },
    )


def _identity(case: _Case) -> tuple[str, ...]:
    """What tells a cause from others: the number, or where many numbers meet the same fate, the fate."""
    row, state = case.rows[0], case.state
    if row.number == "size" and case.severity == "info":
        return (stable_region(row.region), row.number)
    if state.code and not case.asked and (row.number == "size" or row.kind == "module attribute"):
        # Such as a line of a layer that torch defines: whatever model it is in, there is one thing to know about it.
        return (row.number, state.code)
    return (stable_region(row.region), stable_source(row.source))


def _summary(case: _Case, sources: Sequence[str]) -> str:
    row, state = case.rows[0], case.state
    shown = [*sources[: _SHOWN - 1], f"{len(sources) - _SHOWN + 1} more"] if len(sources) > _SHOWN else sources
    values = list(dict.fromkeys(one.cells[case.cells[0]].value for one in case.rows))
    at = f" at {state.line}" if state.line else ""
    verb = "is" if len(sources) == 1 else "are"
    asked = f", although {case.asked} asked for a symbol" if case.asked else ""
    why = "" if state.reason == NOT_CARRIED else f": {state.reason}"
    what = f"burned in as {values[0]}" if len(values) == 1 and values[0] else "constant"
    return f"{listed(shown)} {verb} {what} {in_cells(case.cells, row.cells)}{asked}{why}{at} ({row.region})"


def _told(state: IntState) -> Evidence:
    return " ".join(filter(None, [state.state, state.value, state.reason]))
