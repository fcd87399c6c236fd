"""``testmatrix config``: what a run would do, and who said so."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from testmatrix.configuration import Configuration, Plan, plan, read
from testmatrix.errors import EnvironmentUnusable, UsageError
from testmatrix.grid import AxisValue, control_pair
from testmatrix.options import OPTIONS, Options, read_ini, resolve


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("--grid", metavar="GRID", help="Show this grid instead of the one that is configured.")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED, metavar="[PYTEST ARGS]...")
def config(grid: str | None, pytest_args: tuple[str, ...]) -> None:
    """Show the options with the origin of each, the axes, the presets, the grid and its cells.

    Pytest's arguments, addopts and ini file count as they would in a run.
    """
    found = effective(pytest_args, grid)
    configuration = read(found.options, found.rootdir)
    click.echo(described(found.options, configuration, plan(found.options, configuration)))


@dataclass(frozen=True, slots=True)
class Effective:
    """The options that a pytest run in the current directory would have."""

    options: Options
    rootdir: Path


class _Probe:
    """A pytest plugin that takes the place of the run, once the command line and the ini file have been read."""

    config: pytest.Config | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        self.config = config
        return 0


def effective(pytest_args: Iterable[str], grid: str | None) -> Effective:
    """The options as pytest itself reads them.

    Raises UsageError where pytest cannot read them (it has said why by then) and EnvironmentUnusable where the plugin is not
    loaded.
    """
    probe = _Probe()
    status = pytest.main(list(pytest_args), plugins=[probe])
    if probe.config is None:
        raise UsageError(f"pytest cannot start here (status {int(status)}): see what it says above")
    try:
        ini = read_ini(probe.config.getini)
    except ValueError:
        raise EnvironmentUnusable(
            "pytest does not load the plugin: install pytest-testmatrix for this Python, and leave out -p no:testmatrix"
        ) from None
    flags = dict(vars(probe.config.option))
    if grid is not None:
        flags["testmatrix_grid"] = grid
    return Effective(resolve(flags, os.environ, ini, probe.config.rootpath), probe.config.rootpath)


def described(options: Options, configuration: Configuration, planned: Plan) -> str:
    """The text that the command prints."""
    sections = (
        ("options", _options(options)),
        ("axes", _axes(configuration)),
        ("presets", tuple(configuration.presets.items())),
        ("grid", ((planned.grid.text, ""),)),
        ("cells", _cells(planned)),
    )
    where = f"configuration file: {configuration.path or 'none'}"
    return "\n\n".join([where, *(f"{title}\n{_aligned(rows)}" for title, rows in sections)])


def _options(options: Options) -> tuple[tuple[str, ...], ...]:
    sources = ((option, options.sources[option.field]) for option in OPTIONS)
    return tuple((option.flag, source.text or "-", source.label) for option, source in sources)


def _axes(configuration: Configuration) -> tuple[tuple[str, ...], ...]:
    return tuple(
        (axis.name, ", ".join(value.name for value in axis.values), axis.origin or "built in") for axis in configuration.axes
    )


def _cells(planned: Plan) -> tuple[tuple[str, ...], ...]:
    control = control_pair(planned.grid) or ()
    return tuple(
        (
            cell.name,
            ("control" if cell in control else "") if cell in planned.cells else "not selected",
            _effects(planned.grid.values_of(cell)),
        )
        for cell in planned.grid.cells
    )


def _effects(values: tuple[AxisValue, ...]) -> str:
    """Everything that a cell sets, on one line."""
    parts: list[str] = []
    for value in values:
        parts += [f"{setting.path}={setting.value!r}" for setting in value.settings]
        parts += [f"${name}={text}" for name, text in value.environment]
        parts += [value.context] if value.context else []
        parts += [f"backend={value.backend}" if value.backend else ""]
    return " ".join(filter(None, parts)) or "nothing"


def _aligned(rows: tuple[tuple[str, ...], ...]) -> str:
    """Rows of one length each as indented columns."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(f"  {line}" for line in lines)
