"""Every int that reached a compiled region, and what became of it in each cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from testmatrix.compare.constants import CONSTANT_KINDS, ints_of
from testmatrix.compare.finding import Evidence, Finding, IntRow, IntState
from testmatrix.compare.leaves import type_name
from testmatrix.compare.pins import pinned_axes
from testmatrix.compare.wording import in_cells, signature, stable_region, stable_source
from testmatrix.grid import Grid
from testmatrix.observation import ORACLE, Compile, Guard, Observation, Symbol

BY_DESIGN, FORCED = "by design", "forced"

_NUMBER = re.compile(r"-?\d+")
#: Sources inside torch and Python are no ints of the user's.
_INTERNAL = re.compile(r"^__import__\(|^G\['torch'\]|^G\['__(import_|builtins)|^utils_device|__import_torch")
#: Sizes and strides are counted as sizes, whatever the attribute that they were reached by.
_EXTENT = re.compile(r"\.(size|stride)\(\)|\.shape\[|\.storage_offset\(\)|\.ndim$|\.(size|stride)\(\d+\)")
_DESIGN = (
    (re.compile(r"__defaults__|__kwdefaults__"), "default argument"),
    (re.compile(r"dict(?:ionary)?[._]?keys|\.keys\(\)|DictKey|ConstDictKey"), "dict key"),
    (re.compile(r"_parameters\b|_buffers\b"), "parameter"),
    (re.compile(r"^G\["), "global"),
    (re.compile(r"_modules\b|\.\w+(?:\[[^\]]*\])*$"), "module attribute"),
)
#: What a user's line of source says of why an int was forced, most telling first.
_FORCERS = (
    (re.compile(r"\brange\s*\("), "range()"),
    (re.compile(r"\b(?:dim|axis)\s*="), "dim="),
    (re.compile(r"==|!="), "=="),
    (re.compile(r"\b(?:not\s+)?in\b(?!.*\bfor\b)|\.get\("), "lookup"),
    (re.compile(r"\w\s*\[[^\]]+\]"), "index"),
    (re.compile(r"[\w.]+\s*\("), "argument of a call"),
)


def int_rows(observations: Mapping[str, Observation], grid: Grid) -> tuple[IntRow, ...]:
    """One row for each region and source, sorted; a cell that was not run itself shows what stood for it."""
    tables: dict[str, dict[tuple[str, str], IntState]] = {}
    for cell in grid.cells:
        observation = observations.get(cell.name)
        if observation is not None and not observation.same_as:
            tables[cell.name] = _states(observation, grid)
    for cell in grid.cells:
        observation = observations.get(cell.name)
        if observation is not None and observation.same_as in tables:
            tables[cell.name] = tables[observation.same_as]
    order = [cell.name for cell in grid.cells if cell.name in tables]
    test = next((one.test for one in observations.values()), "")
    unused = IntState(state="unused")
    return tuple(
        IntRow(test=test, region=key[0], source=key[1], cells={cell: tables[cell].get(key, unused) for cell in order})
        for key in sorted({key for table in tables.values() for key in table})
    )


def carries_ints(grid: Grid, cell: str) -> bool:
    """Whether a cell is meant to carry ints as symbols from the first call on."""
    values = dict(grid.cell(cell).values)
    return values.get("shapes") == "dynamic" and values.get("ints", "unspecialize") == "unspecialize"


def rate(rows: Iterable[IntRow], cell: str) -> tuple[int, int]:
    """(ints that reached the compiler and were used, those of them carried as symbols) in one cell."""
    states = [row.cells[cell].state for row in rows if cell in row.cells]
    symbolic = states.count("symbolic")
    return symbolic + states.count("constant"), symbolic


def specialised_ints(rows: Iterable[IntRow], observations: Mapping[str, Observation], grid: Grid) -> list[Finding]:
    """``guard.specialized``: ints that are constants in a cell meant to carry them; by design is information, forced a warning.

    Where the test itself pins an axis that the ints depend on, nothing was asked for.
    """
    meant = [cell.name for cell in grid.cells if carries_ints(grid, cell.name)]
    found: list[Finding] = []
    for row in rows:
        constant = [cell for cell in meant if cell in row.cells and row.cells[cell].state == "constant"]
        cells = tuple(cell for cell in constant if not _pinned(observations, cell, row.region))
        if cells:
            found.append(_finding(row, cells, grid))
    return found


def _pinned(observations: Mapping[str, Observation], cell: str, region: str) -> bool:
    observation = observations[cell]
    if observation.same_as:
        return True  # reported for the cell that was run
    return bool({"shapes", "ints"} & pinned_axes(observation, region))


def _finding(row: IntRow, cells: tuple[str, ...], grid: Grid) -> Finding:
    state = row.cells[cells[0]]
    value = f" as {state.value}" if state.value else ""
    at = f" at {state.line}" if state.line else ""
    return Finding(
        test=row.test,
        kind="guard.specialized",
        severity="info" if state.reason.startswith(BY_DESIGN) else "warning",
        cells=cells,
        reference=next((cell for cell in row.cells if cell not in cells), ORACLE),
        summary=f"{row.source} is burned in{value} {in_cells(cells, row.cells)}: {state.reason}{at} ({row.region})",
        region=row.region,
        frame=state.line,
        signature=signature("guard.specialized", stable_region(row.region), stable_source(row.source), state.reason),
        evidence={
            "source": row.source,
            "reason": state.reason,
            "line": state.line,
            "cells": {cell: _told(one) for cell, one in row.cells.items()},
        },
    )


def _told(state: IntState) -> Evidence:
    return " ".join(filter(None, [state.state, state.value, state.reason]))


@dataclass(slots=True)
class _Seen:
    """What the compiles of one cell say of one source."""

    symbolic: bool = False
    forced: list[tuple[str, str, str]] = field(default_factory=list)  #: (value, line, code)
    guarded: list[Guard] = field(default_factory=list)

    def state(self, source: str, specialises: bool) -> IntState:
        if self.symbolic:
            return IntState(state="symbolic")
        if self.forced:
            value, line, code = self.forced[0]
            return IntState(state="constant", value=value, line=line, reason=f"{FORCED}: {_forcer(code)}")
        if self.guarded:
            guard = self.guarded[0]
            reason = "setting of the cell" if specialises and not _hard_constant(source) else _design(source)
            return IntState(state="constant", value=guard.value, line=guard.line, reason=f"{BY_DESIGN}: {reason}")
        return IntState(state="unused")


def _states(observation: Observation, grid: Grid) -> dict[tuple[str, str], IntState]:
    calls = {call.index: call.region for call in observation.regions}
    seen: dict[tuple[str, str], _Seen] = {}
    for call in observation.regions:
        for leaf in call.arguments:
            if type_name(leaf) == "int" and leaf.tensor is None and _is_users(leaf.path):
                seen.setdefault((call.region, _as_guarded(leaf.path)), _Seen())
    for compiled in observation.compiles:
        region = calls.get(compiled.region_call, compiled.frame)
        for source, one in _seen_in(compiled):
            entry = seen.setdefault((region, source), _Seen())
            entry.symbolic = entry.symbolic or one.symbolic
            entry.forced.extend(one.forced)
            entry.guarded.extend(one.guarded)
    specialises = not carries_ints(grid, observation.cell)
    return {key: entry.state(key[1], specialises) for key, entry in seen.items()}


def _as_guarded(path: str) -> str:
    """The source under which Dynamo guards a recorded int: variables of a closure are locals to it."""
    return stable_source(f"L{path[1:]}" if path.startswith("C[") else path)


def _is_users(source: str) -> bool:
    return not _INTERNAL.search(source) and not _EXTENT.search(source)


def _seen_in(compiled: Compile) -> Iterator[tuple[str, _Seen]]:
    """Ints of one compile: those with a symbol, and those with a constant to match."""
    carried: set[str] = set()
    for symbol in compiled.symbols:
        if symbol.kind != "int":
            continue
        value, where = _specialised(symbol, compiled.guards)
        for source in map(stable_source, symbol.sources):
            if _is_users(source):
                carried.add(source)
                yield source, _Seen(symbolic=not value, forced=[(value, *where)] if value else [])
    for guard in compiled.guards:
        source = stable_source(guard.source)
        for element, value in _constants(source, guard):
            if element not in carried and _is_users(element):
                yield element, _Seen(guarded=[replace(guard, value=value)])


def _constants(source: str, guard: Guard) -> list[tuple[str, str]]:
    """(source, value) of every int that a guard makes a constant: the one it is on, or each of a sequence of them."""
    if guard.kind not in CONSTANT_KINDS:
        return []
    if guard.value_type == "int":
        return [(source, guard.value)]
    return [(f"{source}[{i}]", value) for i, value in enumerate(ints_of(guard) or ())]


def _specialised(symbol: Symbol, guards: Sequence[Guard]) -> tuple[str, tuple[str, str]]:
    """(value, (line, code)) of a symbol that was turned into a constant: by replacement, by its range or by a shape guard."""
    names = "|".join(map(re.escape, (symbol.name, *symbol.sources)))
    equality = re.compile(rf"Eq\((?:{names}), (-?\d+)\)|(?:{names}) == (-?\d+)")
    matches = ((equality.fullmatch(guard.text), guard) for guard in guards if guard.kind == "SHAPE")
    found = ((match.group(1) or match.group(2), _where(guard)) for match, guard in matches if match)
    guarded, where = next(found, ("", ("", "")))
    if not where[0]:
        where = _where(symbol)
    if _NUMBER.fullmatch(symbol.replacement):
        return symbol.replacement, where
    if symbol.lower and symbol.lower == symbol.upper:
        return symbol.lower, where
    if guarded:
        return guarded, where
    constant = next((one for one in guards if one.kind in CONSTANT_KINDS and one.source in symbol.sources), None)
    if constant is None:
        return "", ("", "")
    return constant.value, _where(constant) if constant.line else where


def _where(origin: Guard | Symbol) -> tuple[str, str]:
    return origin.line, origin.code


def _hard_constant(source: str) -> bool:
    """Constant in every cell, whatever the settings."""
    return any(pattern.search(source) for pattern, name in _DESIGN if name in ("default argument", "dict key", "global"))


def _design(source: str) -> str:
    return next((name for pattern, name in _DESIGN if pattern.search(source)), "kept constant by Dynamo")


def _forcer(text: str) -> str:
    """What in a line of source made an int a constant; ``an operation`` where the line is not to be had."""
    return next((name for pattern, name in _FORCERS if pattern.search(text)), "an operation")
