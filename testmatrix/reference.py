"""Writes the reference pages that are made from data: ``python -m testmatrix.reference [--check] [DIRECTORY]``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from testmatrix.grid import AXES, PRESETS, Axis, AxisValue, parse_grid
from testmatrix.options import FINDING_FAMILIES, FINDING_KINDS, OPTIONS, Option

_OPTIONS_HEAD = """\
# Options

Made by `python -m testmatrix.reference`; edit `testmatrix/options.py` instead.

Each option is a command line flag, an environment variable and an ini key, which holds wherever pytest reads its ini values.
The flag beats the variable, the variable beats the ini key, and that beats the default. An empty variable or ini value counts
as not given. A variable `TESTMATRIX_…` or an ini key `testmatrix…` that is not in the table is refused.

Paths are relative to the current directory; as ini values, to pytest's root directory. What is on in the ini file is switched
off for one run by `TESTMATRIX=off` or `-o testmatrix=off`.
"""

_GRID_HEAD = """\
# Axes, grids and cells

Made by `python -m testmatrix.reference`; edit `testmatrix/grid.py` instead.

A grid is written as axes with their values, `shapes=static,dynamic ints=unspecialize`, with no blanks around `=` and `,`. The
name of a preset stands for its grid; further axes may follow it: `unspec backend=eager,inductor`. Axes left out are not varied:
their settings stay as the suite finds them.

A cell is one value of every axis of its grid. Its name is the values joined with `-`: `dynamic-unspecialize`. The order is
that of this page (a project's own axes come last, in the order of its configuration file), however the grid was written. The
eager run that cells are compared with is called `eager` and is no cell; in a grid of one axis, a cell with that name is written
with its axis, `backend=eager`.

`--testmatrix-cells` takes names and patterns (`*`, `?`, `[...]`), separated by commas: `dynamic-*`.

Where a grid has `shapes=static` and both values of `ints`, the cells `static-specialize` and `static-unspecialize` are its
control: with automatic dynamic shapes off, they must agree in everything.

A difference between two cells in guards is explained only by numbers that the axes in which they differ may carry in another
way: as constants in one of them and as symbols in the other.
"""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (head, ("---",) * len(head), *rows)
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _option(option: Option) -> str:
    written = option.flag if option.switch else f"{option.flag} {option.metavar}"
    names = f"Environment `{option.environment}`, ini `{option.ini}`."
    default = f" Default: `{option.default}`." if option.default else ""
    text = option.help.replace("*", r"\*")
    return f"## `{written}`\n\n{text[0].upper()}{text[1:]}.\n\n{names}{default}\n"


def options_page() -> str:
    """The text of ``options.md``."""
    kinds = ", ".join(f"`{kind}`" for kind in FINDING_KINDS)
    families = ", ".join(f"`{family}`" for family in FINDING_FAMILIES)
    tail = (
        f"## Kinds of findings\n\n{kinds}.\n\nFamilies: {families}. `outcome` is a kind and does not include `outcome.count`.\n"
    )
    table = _table(
        ("flag", "environment", "ini", "default"),
        ((f"`{o.flag}`", f"`{o.environment}`", f"`{o.ini}`", f"`{o.default}`" if o.default else "none") for o in OPTIONS),
    )
    return "\n".join([_OPTIONS_HEAD, table, *map(_option, OPTIONS), tail])


def _sets(value: AxisValue) -> str:
    parts = [f"`{setting.path} = {setting.value}`" for setting in value.settings]
    parts += [f"backend `{value.backend}`"] if value.backend else []
    return ", ".join(parts)


def _axis(axis: Axis) -> str:
    governs = ", ".join(sorted(axis.governs - {"backend"})) or "nothing"
    table = _table(("value", "means", "sets"), ((f"`{v.name}`", v.summary, _sets(v)) for v in axis.values))
    return f"## `{axis.name}`: {axis.summary}\n\nMay carry as constants or as symbols: {governs}.\n\n{table}"


def grid_page() -> str:
    """The text of ``grid.md``."""
    presets = _table(
        ("preset", "grid", "cells"),
        ((f"`{name}`", f"`{text}`", str(len(parse_grid(text).cells))) for name, text in PRESETS.items()),
    )
    return "\n".join([_GRID_HEAD, *map(_axis, AXES), f"## Presets\n\n{presets}"])


def pages() -> dict[str, str]:
    """Every generated page: file name and text."""
    return {"options.md": options_page(), "grid.md": grid_page()}


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 where a page is stale.")
@click.argument("directory", type=click.Path(path_type=Path), default=Path("docs/reference"))
@click.pass_context
def main(ctx: click.Context, check: bool, directory: Path) -> None:
    """Write the generated pages of the reference into DIRECTORY."""
    for name, text in pages().items():
        path = directory / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            click.echo(f"{path} is stale: run python -m testmatrix.reference", err=True)
            ctx.exit(1)
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        click.echo(f"wrote {path}")


if __name__ == "__main__":
    main()
