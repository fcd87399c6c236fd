"""One row for every number that reached a compiled region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from testmatrix.compare.finding import IntRow, IntState, Number
from testmatrix.compare.leaves import type_name
from testmatrix.compare.lineup import CallKey, keyed_calls
from testmatrix.compare.lost import surviving
from testmatrix.compare.numbers import reasons
from testmatrix.compare.numbers.asked import asked_by, asked_in
from testmatrix.compare.numbers.patterns import Frame, compile_counts, compiles_after
from testmatrix.compare.numbers.readings import Reading, readings
from testmatrix.compare.numbers.sources import (
    ENUM_MEMBER,
    as_guarded,
    converted,
    is_enum_member,
    is_users,
    kind_of,
    kind_of_size,
    module_of,
    names_in,
    size_of,
)
from testmatrix.grid import Grid
from testmatrix.observation import Leaf, Observation

#: Region, source and what number it is.
Key = tuple[str, str, Number]

_PASSED: Mapping[str, Number] = {"int": "int", "float": "float"}


def number_rows(observations: Mapping[str, Observation], grid: Grid) -> tuple[IntRow, ...]:
    """Rows sorted by region, source and number; a cell that was not run itself shows what stood for it, a lost one nothing."""
    known = surviving(observations)
    runs = {cell.name: known[cell.name] for cell in grid.cells if cell.name in known}
    tables = {cell: _Table(run) for cell, run in runs.items() if not run.same_as}
    if not tables:
        return ()
    for cell, run in runs.items():
        if run.same_as in tables:
            tables[cell] = tables[run.same_as]
    test = next(iter(runs.values())).test
    merged = _Merged([tables[cell] for cell, run in runs.items() if cell in tables and not run.same_as])
    return tuple(
        IntRow(
            test=test,
            region=key[0],
            source=key[1],
            cells={
                cell: merged.state(key, tables[cell], carries(grid, tables[cell].cell, key[2])) for cell in runs if cell in tables
            },
            kind=merged.kind(key),
            number=key[2],
        )
        for key in sorted(merged.keys)
    )


def carries(grid: Grid, cell: str, number: Number = "int") -> bool:
    """Whether a cell is meant to carry ints, floats or sizes as symbols from the first call on."""
    return meant_to_carry(dict(grid.cell(cell).values), number)


def meant_to_carry(values: Mapping[str, str], number: Number) -> bool:
    """The same, of a cell by its values. Where no axis says it, torch carries what it may."""
    axis = {"int": "ints", "float": "floats"}.get(number, "")
    return values.get("shapes") == "dynamic" and values.get(axis, "unspecialize") == "unspecialize"


def rate(rows: Iterable[IntRow], cell: str) -> tuple[int, int]:
    """(ints that reached the compiler and were used, those of them carried as symbols) in one cell.

    Members of enumerations are left out: not all of them are ints.
    """
    states = [row.cells[cell].state for row in rows if row.number == "int" and row.kind != ENUM_MEMBER and cell in row.cells]
    symbolic = states.count("symbolic")
    return symbolic + states.count("constant"), symbolic


@dataclass(slots=True)
class _Seen:
    """What the compiles of one cell say of one number."""

    readings: list[Reading] = field(default_factory=list)
    frames: dict[Frame, None] = field(default_factory=dict)
    values: dict[CallKey, str] = field(default_factory=dict)  #: by the call that compiled


class _Table:
    """Everything that one cell says of numbers."""

    def __init__(self, observation: Observation) -> None:
        self.cell = observation.cell
        self.asked = asked_in(observation)
        self.calls = keyed_calls(observation)
        self.counts = compile_counts(observation, self.calls)
        self.seen: dict[Key, _Seen] = {}
        self.modules: dict[str, set[str]] = {}  #: sources that are modules, by region
        members: dict[int, dict[str, str]] = {}  # of enumerations, by call and source
        for call in observation.regions:
            for leaf in call.arguments:
                number = _passed(leaf)
                if number is not None:
                    self.seen.setdefault((call.region, as_guarded(leaf.path), number), _Seen())
            members[call.index] = {leaf.path: leaf.value for leaf in (*call.arguments, *call.state) if is_enum_member(leaf)}
        indexed = {call.index: key for key, call in self.calls.items()}
        for compiled in observation.compiles:
            call_key = indexed.get(compiled.region_call)
            region = call_key.region if call_key else compiled.frame
            self.modules.setdefault(region, set()).update(module_of(guard.source) for guard in compiled.guards)
            for reading in readings(compiled, members.get(compiled.region_call, {})):
                seen = self.seen.setdefault((region, reading.source, reading.number), _Seen())
                seen.readings.append(reading)
                seen.frames.setdefault((compiled.frame, compiled.line, compiled.resume))
                if call_key is not None and reading.value:
                    seen.values.setdefault(call_key, reading.value)


def _passed(leaf: Leaf) -> Number | None:
    """What number of the user's an argument is; None for anything else, and for what is a symbol's or an array's."""
    number = None if leaf.tensor is not None else _PASSED.get(type_name(leaf))
    return number if number is not None and is_users(leaf.path) else None


class _Merged:
    """What only all cells of a test together tell: kinds of sources, and values where nothing was compiled."""

    def __init__(self, tables: list[_Table]) -> None:
        self._tables = tables
        self.keys = {key for table in tables for key in table.seen}
        self._calls: dict[CallKey, dict[str, Leaf]] = {}
        self._leaves: dict[str, dict[str, Leaf]] = {}
        for table in tables:
            for call_key, call in table.calls.items():
                if call_key not in self._calls:
                    leaves = {as_guarded(leaf.path): leaf for leaf in (*call.arguments, *call.state)}
                    self._calls[call_key] = leaves
                    self._leaves.setdefault(call_key.region, {}).update(leaves)
        self._shared: dict[Key, tuple[str, list[Frame], dict[CallKey, str]]] = {}

    def kind(self, key: Key) -> str:
        return self._of(key)[0]

    def state(self, key: Key, table: _Table, meant: bool) -> IntState:
        kind, frames, values = self._of(key)
        counted = table.counts.get(key[0])
        compiles = compiles_after(values, counted, frames) if counted else ()
        asked = bool(asked_by(table.asked, key[0], key[1]))
        return _state(table.seen.get(key, _Seen()).readings, kind, meant, asked, compiles)

    def _of(self, key: Key) -> tuple[str, list[Frame], dict[CallKey, str]]:
        if key not in self._shared:
            self._shared[key] = (self._kind(key), self._frames(key), self._values(key))
        return self._shared[key]

    def _found(self, key: Key) -> Iterator[_Seen]:
        return (table.seen[key] for table in self._tables if key in table.seen)

    def _kind(self, key: Key) -> str:
        region, source, number = key
        if number == "size":
            types = {one.source.partition(".size()")[0]: one.type for seen in self._found(key) for one in seen.readings}
            return kind_of_size(source, types)
        frames = [frame for seen in self._found(key) for frame in seen.frames]
        modules = frozenset[str]().union(*(table.modules.get(region, ()) for table in self._tables))
        resumed = bool(frames) and all(resume for _, _, resume in frames)
        return kind_of(source, self._leaves.get(region, {}), modules, resumed)

    def _frames(self, key: Key) -> list[Frame]:
        """Frames that use the number, or where none does, those of its region."""
        used = {frame: None for seen in self._found(key) for frame in seen.frames}
        if used:
            return list(used)
        every = [frame for table in self._tables if key[0] in table.counts for frame in table.counts[key[0]].counts[-1]]
        return [frame for frame in every if frame[0] == key[0]] or every

    def _values(self, key: Key) -> dict[CallKey, str]:
        """Values by call: as recorded there, or else as whichever cell compiled at that call has it in its guards."""
        region, source, number = key
        extent = size_of(source) if number == "size" else None
        path = extent[0] if extent else converted(source)
        values: dict[CallKey, str] = {}
        for call_key, leaves in self._calls.items():
            if call_key.region != region or path not in leaves:
                continue
            leaf = leaves[path]
            if extent is None:
                values[call_key] = leaf.value
            elif leaf.tensor is not None and extent[1] < len(leaf.tensor.shape):
                values[call_key] = str(leaf.tensor.shape[extent[1]])
        if not values:
            for seen in self._found(key):
                for call_key, value in seen.values.items():
                    values.setdefault(call_key, value)
        return values


def _state(found: list[Reading], kind: str, meant: bool, asked: bool, compiles: tuple[int, ...]) -> IntState:
    """What the readings of one number come to. One compile that carries it as a symbol is enough."""
    if not found:
        return IntState(state="unused", compiles=compiles)
    constant = [one for one in found if not one.symbolic]
    if not constant:
        return IntState(state="symbolic", compiles=compiles)
    chosen = next((one for one in constant if one.forced), constant[0])
    symbolic, reason = len(constant) < len(found), _reason(chosen, kind, meant, asked)
    if symbolic and reason in (reasons.SETTING, reasons.NOT_CARRIED):
        return IntState(state="symbolic", compiles=compiles)
    return IntState(
        state="symbolic" if symbolic else "constant",
        value="" if symbolic else chosen.value,
        reason=reason,
        line=chosen.line,
        code=chosen.code,
        context=chosen.context,
        compiles=compiles,
    )


def _reason(reading: Reading, kind: str, meant: bool, asked: bool) -> str:
    if reading.forced:
        if not reading.line and not reading.code:
            return reasons.OUTSIDE
        return reasons.forced(reading.code, names_in(reading.source), reading.number, reading.context)
    if not meant and not asked and kind not in reasons.ALWAYS_CONSTANT:
        return reasons.SETTING
    reason = reasons.by_design(kind, reading.number, reading.value, reading.source)
    return reasons.NOT_CARRIED if asked and reason == reasons.KEPT else reason
