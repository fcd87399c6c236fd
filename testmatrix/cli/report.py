"""``testmatrix report``: a run's report again, in another form."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from testmatrix.errors import UsageError
from testmatrix.report.ints import int_table, int_table_markdown
from testmatrix.report.markdown import markdown
from testmatrix.report.model import Report, decode, encode
from testmatrix.report.terminal import summary_lines
from testmatrix.report.write import check_writable, write_atomically

_FILE_WIDTH = 130  # for text that goes to a file or a pipe, which has no width of its own


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file instead of standard output.")
@click.option("--ints", is_flag=True, help="Show the table of ints, floats and sizes instead of the findings.")
@click.pass_context
def report(ctx: click.Context, file: Path, form: str, output: Path | None, ints: bool) -> None:
    """Show the JSON report FILE that a run wrote with --testmatrix-json.

    Exit status: 0 where the run that wrote it was clean, 1 where it failed, 2 usage.
    """
    if output is not None:
        check_writable(output, "--output")
    found = read_report(file)
    terminal = output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else _FILE_WIDTH
    page = "" if output is None else str(output)
    text = rendered(found, form, ints=ints, width=width, color=terminal, file=str(file), page=page)
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomically(output, text.encode())
    ctx.exit(1 if found.summary.exit else 0)


def rendered(
    report: Report,
    form: str,
    *,
    ints: bool = False,
    width: int = _FILE_WIDTH,
    color: bool = False,
    file: str = "report.json",
    page: str = "",
) -> str:
    """A report as text in one of the forms, with a newline at its end. All causes are in it, which a run's summary limits.

    ``file`` and ``page`` are what the report was read from and is written to, for a page that says how it was made.
    """
    if form == "json":
        return encode(report).decode()
    if form == "markdown":
        return int_table_markdown(report, file, page) if ints else markdown(report)
    lines = int_table(report) if ints else summary_lines(report, width=width, color=color, warnings_shown=None, file=file)
    return "\n".join(lines) + "\n"


def read_report(path: Path) -> Report:
    try:
        return decode(path.read_bytes(), str(path))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{path} cannot be read ({reason}): name a report written with --testmatrix-json") from None
