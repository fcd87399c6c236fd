"""The project's own axes and presets: ``testmatrix.toml``, or ``[tool.testmatrix]`` in ``pyproject.toml``.

Everything that can be wrong with the file is said with the file and the line (where it is no TOML) or the key (where it is).
Whether the installed torch has a setting is for the torch adapter to check: ``Setting.origin`` says where it was written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from testmatrix.errors import UsageError, nearest
from testmatrix.grid import (
    AXES,
    GOVERNED,
    NAME,
    PRESETS,
    Axis,
    AxisValue,
    Cell,
    Governed,
    Grid,
    Setting,
    parse_grid,
    select_cells,
    with_backends,
)
from testmatrix.options import Options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE_NAME = "testmatrix.toml"
_PYPROJECT = "pyproject.toml"

#: ``torch._inductor.config.triton.cudagraphs``: the module ends at the first ``config``, the rest is the setting.
_SETTING = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.\w+)*?\._?config)\.(?P<name>\w+(?:\.\w+)*)", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CONTEXT = re.compile(r"[A-Za-z_]\w*(\.\w+)*:[A-Za-z_]\w*(\.\w+)*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The axes and presets of a project, the package's own included and first."""

    path: Path | None = None  #: None: the project has no configuration
    axes: tuple[Axis, ...] = AXES
    presets: Mapping[str, str] = field(default_factory=lambda: PRESETS)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is about to do."""

    grid: Grid
    cells: tuple[Cell, ...]  #: those of the grid that were selected, in grid order


def plan(options: Options, configuration: Configuration) -> Plan:
    """The grid and the cells that the options mean. Raises UsageError that begins with where the option was given."""
    try:
        grid = parse_grid(options.grid, configuration.axes, configuration.presets)
    except UsageError as error:
        raise options.located("grid", error) from None
    try:
        grid = with_backends(grid, options.backend, configuration.axes) if options.backend else grid
    except UsageError as error:
        raise options.located("backend", error) from None
    try:
        return Plan(grid, select_cells(grid, options.cells) if options.cells else grid.cells)
    except UsageError as error:
        raise options.located("cells", error) from None


def read(options: Options, rootdir: Path) -> Configuration:
    """The configuration that the options name, or else the one in the root directory, or else only the built-in things.

    Raises UsageError for a file that cannot be read, is no TOML or does not say what it should.
    """
    if options.config is not None:
        try:
            return load(options.config, required=True)
        except UsageError as error:
            raise options.located("config", error) from None
    for name in (FILE_NAME, _PYPROJECT):
        if (rootdir / name).is_file():
            configuration = load(rootdir / name)
            if configuration.path is not None:
                return configuration
    return Configuration()


def load(path: Path, required: bool = False) -> Configuration:
    """The configuration in one file; in a ``pyproject.toml`` it is the table ``tool.testmatrix``.

    A ``pyproject.toml`` without that table is as good as none, unless it is ``required``. Raises UsageError as :func:`read`.
    """
    table: Any = _toml(path)
    key = _Key(_shown(path), ())
    if path.name == _PYPROJECT:
        table = key.step("tool").table(table.get("tool", {})).get("testmatrix")
        key = key.step("tool").step("testmatrix")
        if table is None and required:
            raise UsageError(f"{_shown(path)} has no table [tool.testmatrix]")
        if table is None:
            return Configuration()
    table = key.table(table, {"axes", "presets"})
    axes = AXES + _axes(table.get("axes", {}), key.step("axes"))
    presets = _presets(table.get("presets", {}), key.step("presets"), axes)
    return Configuration(path=path, axes=axes, presets=MappingProxyType({**PRESETS, **presets}))


def _shown(path: Path) -> str:
    """The path as people write it: from the current directory where it is below that."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _toml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"{_shown(path)} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"{_shown(path)}:{line}: not UTF-8 text") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, where = str(error).partition(" (at ")
        match = re.match(r"line (\d+)", where)
        # Otherwise it is "at end of document".
        line = int(match[1]) if match else max(1, len(text.rstrip().splitlines()))
        raise UsageError(f"{_shown(path)}:{line}: not valid TOML: {what}") from None


@dataclass(frozen=True, slots=True)
class _Key:
    """Where in a file we are, and the checks that name it when they fail."""

    file: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        written = (part if NAME.fullmatch(part) else f'"{part}"' for part in self.path)
        return f"{self.file}: {'.'.join(written)}" if self.path else self.file

    def step(self, name: str) -> _Key:
        return _Key(self.file, (*self.path, name))

    def error(self, message: str) -> UsageError:
        return UsageError(f"{self}: {message}")

    def table(self, value: object, known: set[str] | None = None) -> dict[str, Any]:
        """The value, which must be a table with none but the ``known`` keys."""
        if not isinstance(value, dict):
            raise self.error(f"must be a table, not {_kind(value)}")
        for name in value:
            if known is not None and name not in known:
                raise self.error(f"unknown key {name!r}: {nearest(name, known)}")
        return value

    def text(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.error(f"must be a string, not {_kind(value)}")
        return value

    def name(self, what: str) -> str:
        """The last part, which must do as the name of an axis, a value or a preset."""
        if not NAME.fullmatch(self.path[-1]):
            raise self.error(f"{self.path[-1]!r} cannot name {what}: use letters, digits and underscores")
        return self.path[-1]


def _kind(value: object) -> str:
    names = {dict: "a table", list: "an array", str: "a string", bool: "a boolean", int: "an integer", float: "a float"}
    return names.get(type(value), f"a {type(value).__name__}")


def _axes(value: object, key: _Key) -> tuple[Axis, ...]:
    return tuple(_axis(definition, key.step(name)) for name, definition in key.table(value).items())


def _axis(value: object, key: _Key) -> Axis:
    name = key.name("an axis")
    if any(axis.name == name for axis in AXES):
        raise key.error(f"the axis {name!r} is built in: give yours another name")
    table = key.table(value, {"governs", "values", "summary"})
    values = key.step("values")
    positions = tuple(_value(entry, values.step(word)) for word, entry in values.table(table.get("values", {})).items())
    if not positions:
        raise key.error(f"the axis has no values: add a table [{'.'.join(values.path)}.NAME]")
    return Axis(
        name,
        positions,
        governs=_governs(table, key),
        summary=key.step("summary").text(table.get("summary", "")),
        origin=str(key),
    )


def _governs(table: dict[str, Any], key: _Key) -> frozenset[Governed]:
    choices = tuple(name for name in GOVERNED if name != "backend")  # means nothing of guards, which [] says better
    if "governs" not in table:
        raise key.error(f"governs is missing: list what the axis may change in guards ({', '.join(choices)}), or [] for nothing")
    key = key.step("governs")
    words = table["governs"]
    if not isinstance(words, list):
        raise key.error(f"must be an array of strings, not {_kind(words)}")
    for word in words:
        if key.text(word) not in choices:
            raise key.error(f"unknown {word!r}: {nearest(word, choices)}")
    return frozenset(name for name in choices if name in words)


def _value(value: object, key: _Key) -> AxisValue:
    table = key.table(value, {"settings", "environment", "context", "summary"})
    context = table.get("context")
    if context is not None and not _CONTEXT.fullmatch(key.step("context").text(context)):
        raise key.step("context").error(f"{context!r} names no context manager: write package.module:callable")
    return AxisValue(
        key.name("a value"),
        settings=_settings(table.get("settings", {}), key.step("settings")),
        environment=_environment(table.get("environment", {}), key.step("environment")),
        context=context,
        summary=key.step("summary").text(table.get("summary", "")),
    )


def _settings(value: object, key: _Key, prefix: str = "") -> tuple[Setting, ...]:
    """Settings from a table whose keys are paths; unquoted paths, which TOML reads as nested tables, mean the same."""
    found: list[Setting] = []
    for name, entry in key.table(value).items():
        path, here = f"{prefix}{name}", key.step(name)
        if isinstance(entry, dict):
            found.extend(_settings(entry, here, f"{path}."))
            continue
        match = _SETTING.fullmatch(path)
        if match is None:
            raise here.error(f"{path!r} is no setting of a config module: write one as torch._inductor.config.max_autotune")
        if not isinstance(entry, (bool, int, float, str)):
            raise here.error(f"must be a boolean, a number or a string, not {_kind(entry)}")
        found.append(Setting(match["module"], match["name"], entry, origin=str(here)))
    return tuple(found)


def _environment(value: object, key: _Key) -> tuple[tuple[str, str], ...]:
    pairs = []
    for name, entry in key.table(value).items():
        if not _VARIABLE.fullmatch(name):
            raise key.step(name).error(f"{name!r} cannot name an environment variable")
        if name.startswith("TESTMATRIX"):
            raise key.step(name).error("options of the run are the same in all cells")
        pairs.append((name, key.step(name).text(entry)))
    return tuple(pairs)


def _presets(value: object, key: _Key, axes: tuple[Axis, ...]) -> dict[str, str]:
    presets: dict[str, str] = {}
    for name, text in key.table(value).items():
        here = key.step(name)
        if here.name("a preset") in PRESETS:
            raise here.error(f"the preset {name!r} is built in: give yours another name")
        written = here.text(text)
        try:
            # In full, since a preset may build on one of the package's own.
            presets[name] = parse_grid(written, axes, PRESETS).text
        except UsageError as error:
            raise here.error(str(error)) from None
    return presets
