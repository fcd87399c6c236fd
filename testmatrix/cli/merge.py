"""``testmatrix merge``: results of several runs as one report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from testmatrix.cli.report import read_report
from testmatrix.errors import UsageError
from testmatrix.report.merge import merge as merge_parts
from testmatrix.report.model import encode
from testmatrix.report.parts import Part
from testmatrix.report.recorded import recorded_report
from testmatrix.report.write import check_writable, write_atomically
from testmatrix.store.records import Run
from testmatrix.store.runs import LATEST, SUFFIX, Recorded, RunFolder, find, journals, read_journals, runs

_STDOUT = Path("-")


@click.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write to this file, not standard output.")
@click.option("--newest", is_flag=True, help="Of a test that several runs have, take what the newest says.")
@click.option("--allow-missing", is_flag=True, help="Let the exit status be 0 although something is missing.")
@click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RESULT...")
@click.pass_context
def merge(ctx: click.Context, output: Path | None, newest: bool, allow_missing: bool, results: tuple[Path, ...]) -> None:
    """Join the results of shards into one JSON report.

    RESULT is a JSON report, a journal, the folder of a run, or a store, which stands for its latest run. Their order makes no
    difference, nor whether one is named twice. What is missing is said on standard error.

    Exit status: 0 clean, 1 where a run failed or something is missing, 2 usage.
    """
    file = None if output == _STDOUT else output
    if file is not None:
        check_writable(file, "--output")
    merged = merge_parts(read_parts(results), newest=newest)
    content = encode(merged.report)
    if file is None:
        click.echo(content, nl=False)
    else:
        write_atomically(file, content)
    for line in merged.missing:
        click.echo(f"testmatrix: {line}", err=True)
    ctx.exit(1 if merged.report.summary.exit or (merged.missing and not allow_missing) else 0)


def read_parts(results: Sequence[Path]) -> list[Part]:
    """All results, each as a part; journals of one run are one, wherever they are."""
    parts: list[Part] = []
    found: dict[str, list[Path]] = {}  # journals by run
    for result in results:
        if not result.is_dir() and result.suffix != SUFFIX:
            parts.append(Part(where=str(result), report=read_report(result)))
            continue
        paths = _journals_in(result) if result.is_dir() else [result]
        found.setdefault(_run_of(_read(paths), result).id, []).extend(paths)
    return [*parts, *map(_recorded_part, found.values())]


def _journals_in(folder: Path) -> list[Path]:
    """The journals of a run's folder, or of the latest run of a store."""
    if runs(folder):
        return _journals_in(find(folder, LATEST).path)
    found = journals(RunFolder(folder))
    if not found:
        raise UsageError(f"{folder} holds no result: name a JSON report, a journal, the folder of a run, or a store")
    return found


def _recorded_part(paths: list[Path]) -> Part:
    distinct = sorted({path.resolve(): path for path in paths}.values(), key=lambda path: (path.stem != "main", str(path)))
    recorded = _read(distinct)
    where = distinct[0] if len(distinct) == 1 else distinct[0].parent
    return Part(
        where=str(where),
        report=recorded_report(_run_of(recorded, where), recorded),
        began=recorded.began,
        ended=recorded.finished is not None,
        damaged=recorded.damaged,
    )


def _read(paths: Sequence[Path]) -> Recorded:
    try:
        return read_journals(paths)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(f"{error.filename} cannot be read ({reason}): name a journal that a run wrote") from None


def _run_of(recorded: Recorded, where: Path) -> Run:
    if recorded.run is None:
        raise UsageError(f"{where} does not say which run it is of: its start is damaged, or no run has written to it")
    return recorded.run
