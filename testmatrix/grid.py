"""Axes, cells and grids, as data.

An axis is one setting to vary and the positions it can take; a cell is one position of every axis of a grid. Nothing here
knows how a setting is applied: that is the torch adapter's business. Whatever the user wrote comes in as text and is refused
here, before any test runs, with the nearest valid word.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

from testmatrix.errors import UsageError, nearest
from testmatrix.observation import ORACLE

#: What an axis may change in a guard set; a difference in anything else is a finding. ``backend`` stands for nothing of guards.
Governed = Literal["ints", "sizes", "strides", "floats", "backend"]
GOVERNED: tuple[Governed, ...] = get_args(Governed)

SettingValue = bool | int | float | str | None

#: Names of axes, values and presets. Cells join values with ``-``, grids are written with ``=``, ``,`` and blanks, and filters
#: with ``*?[]``: none of them may be part of a name.
NAME = re.compile(r"[A-Za-z0-9_]+")


@dataclass(frozen=True, slots=True)
class Setting:
    """One attribute of a config module, and what to set it to."""

    module: str  #: ``torch._dynamo.config``
    name: str  #: ``specialize_int``; dotted for sub-configurations: ``triton.cudagraphs``
    value: SettingValue
    #: Where the user wrote it (``testmatrix.toml: axes.tuning.values.max``); empty for the package's own.
    origin: str = field(default="", compare=False)

    @property
    def path(self) -> str:
        """``torch._dynamo.config.specialize_int``, as in ``Observation.settings_read``."""
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class AxisValue:
    """One position of an axis: what is set while a cell with that position runs."""

    name: str
    settings: tuple[Setting, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()  #: variables and their values
    context: str | None = None  #: ``package.module:callable``, which returns a context manager
    backend: str | None = None  #: registered name, for regions that name a backend or leave it out
    summary: str = ""  #: half a line for the documentation


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing to vary. In a grid, ``values`` are only the chosen ones."""

    name: str
    values: tuple[AxisValue, ...]
    governs: frozenset[Governed]
    builtin: bool = False
    summary: str = ""
    #: File and key that defined it; empty for the package's own.
    origin: str = field(default="", compare=False)

    def value(self, name: str) -> AxisValue:
        """Raises UsageError, naming the nearest valid value, where the axis has no such value."""
        for value in self.values:
            if value.name == name:
                return value
        raise UsageError(f"axis {self.name!r} has no value {name!r}: {nearest(name, (v.name for v in self.values))}")


@dataclass(frozen=True)
class Cell:
    """One value for every axis of a grid, in axis order."""

    values: tuple[tuple[str, str], ...]  #: (axis, value)

    @cached_property
    def name(self) -> str:
        """``dynamic-unspecialize``: values in axis order, unambiguous within one grid.

        A cell of a one-axis grid whose only value is called like the oracle is written with its axis: ``backend=eager``.
        """
        joined = "-".join(value for _, value in self.values)
        return joined if joined != ORACLE else "=".join(self.values[0])

    def value(self, axis: str) -> str | None:
        """The value of one axis, None where the grid does not vary that axis."""
        return next((value for name, value in self.values if name == axis), None)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Grid:
    """The product of some axes, each restricted to the values chosen.

    The order is that of the definitions, whatever the order in which the user wrote them: a cell has the same name and the
    same place in every run, and the more specialised cell comes first.
    """

    axes: tuple[Axis, ...]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, the last axis varying fastest."""
        choices = [[(axis.name, value.name) for value in axis.values] for axis in self.axes]
        return tuple(Cell(values) for values in itertools.product(*choices))

    @property
    def text(self) -> str:
        """What :func:`parse_grid` makes this grid of: ``shapes=static,dynamic ints=unspecialize``."""
        return " ".join(f"{axis.name}={','.join(value.name for value in axis.values)}" for axis in self.axes)

    @property
    def setting_paths(self) -> frozenset[str]:
        """Paths of all settings that any cell sets."""
        return frozenset(setting.path for axis in self.axes for value in axis.values for setting in value.settings)

    def cell(self, name: str) -> Cell:
        """Raises UsageError, naming the nearest valid cell, where there is none of that name."""
        for cell in self.cells:
            if cell.name == name:
                return cell
        if name == ORACLE:
            raise UsageError(f"{ORACLE!r} is the oracle, no cell of the grid: switch it with --testmatrix-oracle on or off")
        raise UsageError(f"unknown cell {name!r} in grid {self.text!r}: {nearest(name, (c.name for c in self.cells))}")

    def axis(self, name: str) -> Axis:
        """Raises UsageError, naming the nearest valid axis, where the grid does not vary that axis."""
        for axis in self.axes:
            if axis.name == name:
                return axis
        raise UsageError(f"grid {self.text!r} has no axis {name!r}: {nearest(name, (a.name for a in self.axes))}")

    def values_of(self, cell: Cell) -> tuple[AxisValue, ...]:
        """What a cell sets, in axis order: settings, environment, context and backend together."""
        return tuple(self.axis(axis).value(value) for axis, value in cell.values)

    def settings_of(self, cell: Cell) -> tuple[Setting, ...]:
        return tuple(setting for value in self.values_of(cell) for setting in value.settings)

    def environment_of(self, cell: Cell) -> dict[str, str]:
        return dict(pair for value in self.values_of(cell) for pair in value.environment)

    def contexts_of(self, cell: Cell) -> tuple[str, ...]:
        return tuple(value.context for value in self.values_of(cell) if value.context is not None)

    def backend_of(self, cell: Cell) -> str | None:
        """The backend for regions that name one or leave it out; None leaves them as they are."""
        return next((value.backend for value in self.values_of(cell) if value.backend is not None), None)

    def differing(self, first: Cell, second: Cell) -> tuple[Axis, ...]:
        """The axes in which two cells of this grid differ."""
        return tuple(axis for axis in self.axes if first.value(axis.name) != second.value(axis.name))

    def governed(self, first: Cell, second: Cell) -> frozenset[Governed]:
        """What the difference between two cells of this grid may change in guards."""
        return frozenset(governed for axis in self.differing(first, second) for governed in axis.governs)


def _dynamo(**settings: SettingValue) -> tuple[Setting, ...]:
    return tuple(Setting("torch._dynamo.config", name, value) for name, value in settings.items())


def _backend(name: str, summary: str) -> AxisValue:
    return AxisValue(name, backend=name, summary=summary)


#: The axes that the package defines, in axis order; those of a project follow them.
AXES: tuple[Axis, ...] = (
    Axis(
        "shapes",
        (
            AxisValue(
                "static",
                _dynamo(assume_static_by_default=True, automatic_dynamic_shapes=False),
                summary="every size is a constant; another size compiles again",
            ),
            AxisValue(
                "auto",
                _dynamo(assume_static_by_default=True, automatic_dynamic_shapes=True),
                summary="a constant until it is seen to vary: torch's default",
            ),
            AxisValue("dynamic", _dynamo(assume_static_by_default=False), summary="a symbol from the first call"),
        ),
        # A float argument is a constant under static shapes, too, and a symbol under dynamic ones.
        governs=frozenset({"sizes", "strides", "ints", "floats"}),
        builtin=True,
        summary="are tensor sizes constants or symbols",
    ),
    Axis(
        "ints",
        (
            AxisValue("specialize", _dynamo(specialize_int=True), summary="every Python int is a constant"),
            AxisValue("unspecialize", _dynamo(specialize_int=False), summary="a symbol where `shapes` lets sizes be one"),
        ),
        governs=frozenset({"ints"}),
        builtin=True,
        summary="are Python ints constants or symbols",
    ),
    Axis(
        "floats",
        (
            AxisValue("specialize", _dynamo(specialize_float=True), summary="every Python float is a constant"),
            AxisValue("unspecialize", _dynamo(specialize_float=False), summary="a symbol where `shapes` lets sizes be one"),
        ),
        governs=frozenset({"floats"}),
        builtin=True,
        summary="are Python floats constants or symbols",
    ),
    Axis(
        "backend",
        (
            _backend("eager", "capture only: the graph runs as it was captured"),
            _backend("aot_eager", "capture, functionalisation and autograd; no code is generated"),
            _backend("inductor", "everything: torch's default"),
        ),
        governs=frozenset({"backend"}),
        builtin=True,
        summary="what compiles the graphs, where a suite names a backend or leaves it out; a callable backend stays as it is",
    ),
)

_INTS = "ints=specialize,unspecialize"

#: Names for grids.
PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "default": f"shapes=static,dynamic {_INTS}",
        "unspec": "shapes=dynamic ints=unspecialize",
        "ints": f"shapes=dynamic {_INTS}",
        "auto": f"shapes=auto {_INTS}",
        "backends": "shapes=dynamic ints=unspecialize backend=eager,aot_eager,inductor",
        "full": f"shapes=static,auto,dynamic {_INTS} floats=specialize,unspecialize",
    }
)


def parse_grid(text: str, axes: Iterable[Axis] = AXES, presets: Mapping[str, str] = PRESETS) -> Grid:
    """A grid from ``shapes=static,dynamic ints=unspecialize``, the name of a preset, or a preset and further axes.

    Axes that are not mentioned are not varied: their settings stay as the suite finds them. Raises UsageError for an unknown
    axis, value or preset (naming the nearest), for one given twice, an empty one, and two axes that set the same thing.
    """
    defined = tuple(axes)
    chosen: dict[str, Axis] = {}
    for word in _words(text, presets, defined):
        axis = _restricted(word, defined)
        if axis.name in chosen:
            raise UsageError(f"axis {axis.name!r} is given twice in grid {text!r}: give all of its values in one word")
        chosen[axis.name] = axis
    if not chosen:
        raise UsageError(f"the grid is empty: give axes as in {PRESETS['default']!r}, or one of {', '.join(sorted(presets))}")
    grid = Grid(tuple(chosen[axis.name] for axis in defined if axis.name in chosen))
    _check_disjoint(grid)
    return grid


def _words(text: str, presets: Mapping[str, str], axes: tuple[Axis, ...]) -> list[str]:
    """The ``axis=values`` words of a grid, a preset in it replaced by what it stands for."""
    words: list[str] = []
    for word in text.split():
        if "=" in word:
            # Before anything is said about the word after it, which a blank after a comma has cut off.
            if "" in word.partition("=")[2].split(","):
                raise UsageError(f"empty value in {word!r}: write axis=value,value without blanks")
            words.append(word)
        elif word in presets:
            words.extend(presets[word].split())
        elif "," in word:
            raise UsageError(f"{word!r} in grid {text!r} belongs to no axis: write axis=value,value without blanks")
        else:
            raise UsageError(_no_preset(word, text, presets, axes))
    return words


def _no_preset(word: str, text: str, presets: Iterable[str], axes: tuple[Axis, ...]) -> str:
    """What to say of a word that stands alone and is no preset: it may be an axis without values, or a value without its axis."""
    for axis in axes:
        if axis.name == word:
            values = ",".join(value.name for value in axis.values)
            return f"{word!r} in grid {text!r} is an axis: write {word}={values}, or some of these values"
    for axis in axes:
        if any(value.name == word for value in axis.values):
            return f"{word!r} in grid {text!r} is a value of the axis {axis.name!r}: write {axis.name}={word}"
    return f"unknown preset {word!r} in grid {text!r}: {nearest(word, presets)}"


def _restricted(word: str, axes: tuple[Axis, ...]) -> Axis:
    """The axis that ``name=value,value`` means, with those values only."""
    name, _, listed = word.partition("=")
    axis = next((axis for axis in axes if axis.name == name), None)
    if axis is None:
        raise UsageError(f"unknown axis {name!r} in {word!r}: {nearest(name, (axis.name for axis in axes))}")
    names = listed.split(",")
    for value in names:
        axis.value(value)
        if names.count(value) > 1:
            raise UsageError(f"value {value!r} is given twice in {word!r}")
    return replace(axis, values=tuple(value for value in axis.values if value.name in names))


def _check_disjoint(grid: Grid) -> None:
    """Raises UsageError where two axes set the same thing: what a cell means would depend on the order."""
    owner: dict[str, str] = {}
    for axis in grid.axes:
        for value in axis.values:
            targets = [setting.path for setting in value.settings] + [variable for variable, _ in value.environment]
            for target in targets:
                if owner.setdefault(target, axis.name) != axis.name:
                    raise UsageError(f"axes {owner[target]!r} and {axis.name!r} both set {target}: use one of them in a grid")


def with_backends(grid: Grid, backends: str, axes: Iterable[Axis] = AXES) -> Grid:
    """The grid with the axis ``backend`` added, from a comma list; raises UsageError where the grid already varies it."""
    if any(axis.name == "backend" for axis in grid.axes):
        raise UsageError(f"grid {grid.text!r} already varies the backend: leave out one of the two")
    return parse_grid(f"{grid.text} backend={backends}", axes, {})


def select_cells(grid: Grid, text: str) -> tuple[Cell, ...]:
    """The cells, in grid order, that a comma list of names and patterns (``*``, ``?``, ``[...]``) means.

    Raises UsageError for an unknown name (naming the nearest), a pattern that matches nothing and an empty list.
    """
    words = [word.strip() for word in text.split(",")]
    if not any(words):
        raise UsageError("no cell is selected: give names or patterns of cells, separated by commas")
    chosen: set[Cell] = set()
    for word in filter(None, words):
        if not any(character in word for character in "*?["):
            chosen.add(grid.cell(word))
            continue
        matching = [cell for cell in grid.cells if fnmatch.fnmatchcase(cell.name, word)]
        if not matching:
            raise UsageError(f"no cell matches {word!r}: {nearest(word, (cell.name for cell in grid.cells))}")
        chosen.update(matching)
    return tuple(cell for cell in grid.cells if cell in chosen)


def control_pair(grid: Grid) -> tuple[Cell, Cell] | None:
    """The built-in A/A control: the first two cells that differ in ``ints`` alone while ``shapes`` is ``static``.

    With automatic dynamic shapes off, they must agree in everything. None where the grid lacks the pair.
    """
    static = [cell for cell in grid.cells if cell.value("shapes") == "static"]
    for first, second in itertools.combinations(static, 2):
        if [axis.name for axis in grid.differing(first, second)] == ["ints"]:
            return first, second
    return None
