"""``testmatrix show``: everything known about one finding or cause."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from testmatrix.cli.report import read_report
from testmatrix.report.show.lookup import find
from testmatrix.report.show.page import show_lines

_PIPE_WIDTH = 130  # for a pipe, which has no width of its own


@click.command()
@click.argument("finding")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--all", "everything", is_flag=True, help="List the conditions that two guard sets have in common, too.")
def show(finding: str, file: Path, everything: bool) -> None:
    """Show everything known about FINDING, of the JSON report FILE that a run wrote with --testmatrix-json.

    FINDING is the id of a finding, the fingerprint of a cause, or a start of either, of at least four characters.

    Exit status: 0 where it was found, 2 usage.
    """
    report = read_report(file)
    entry = find(report, finding, str(file))
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    click.echo("\n".join(show_lines(report, entry, width=width, color=terminal, everything=everything)))
