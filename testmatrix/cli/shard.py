"""``testmatrix shard``: who runs what, and how long tests take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from testmatrix.errors import UsageError
from testmatrix.plugin.listing import collected
from testmatrix.report.write import check_writable, write_atomically
from testmatrix.shards.durations import Durations, combine, encode_durations, read_durations
from testmatrix.shards.plan import PlannedTest, ShardPlan
from testmatrix.shards.plan import plan as make_plan
from testmatrix.shards.shard import MOST_SHARDS, Shard

_LONGEST = 5  # tests that the text names

_path = click.Path(path_type=Path)


@click.group()
def shard() -> None:
    """Split a run over several machines, each of which runs pytest with --testmatrix-shard."""


@shard.command(context_settings={"ignore_unknown_options": True})
@click.option("-n", "--shards", "total", type=click.IntRange(1, MOST_SHARDS), required=True, help="How many shards.")
@click.option("--durations", type=_path, metavar="FILE", help="As --testmatrix-durations, which is the default.")
@click.option("--shard", "number", type=click.IntRange(min=1), metavar="K", help="List the tests of this shard instead.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED, metavar="[PATH | PYTEST ARGS]...")
def plan(total: int, durations: Path | None, number: int | None, form: str, pytest_args: tuple[str, ...]) -> None:
    """Show which shard runs which of the tests that pytest collects, and how even that is.

    Exit status: 0 where there is a plan, 2 where tests cannot be collected or durations cannot be read.
    """
    if number is not None and number > total:
        raise UsageError(f"--shard: there is no shard {number} of {total}")
    recorded = read_durations(durations) if durations is not None else None
    listing = collected(pytest_args)
    if recorded is None:
        recorded = read_durations(Path(listing.durations)) if listing.durations else {}
    made = make_plan(listing.tests, recorded, total)
    if form == "json":
        content = _described(made, recorded) if number is None else _shard_described(made, number)
        click.echo(msgspec.json.format(msgspec.json.encode(content), indent=2).decode())
    elif number is None:
        click.echo("\n".join(plan_lines(made, recorded)))
    else:
        for test in made.shards[number - 1]:
            click.echo(test.test)


@shard.command()
@click.option("-o", "--output", type=_path, metavar="FILE", help="Write to this file instead of standard output.")
@click.argument("files", nargs=-1, type=_path, metavar="[REPORT]...")
def durations(output: Path | None, files: tuple[Path, ...]) -> None:
    """Write how long tests took in the JSON reports REPORT, for --testmatrix-durations.

    A REPORT may also be a file that this command wrote. A test that is in several of them gets the median.

    Exit status: 0 where it was written, 2 where a file cannot be read or written.
    """
    if output is not None:
        check_writable(output, "--output")
    content = encode_durations(combine(read_durations(file) for file in files))
    if output is None:
        click.echo(content.decode(), nl=False)
    else:
        write_atomically(output, content)


def plan_lines(plan: ShardPlan, recorded: Durations) -> Iterator[str]:
    """The plan as text. Without durations every test counts as much as any other, so that no seconds are shown."""
    predicted = sum(test.predicted for test in plan.tests)
    known = f"{len(plan.tests) - predicted} with a recorded duration, {predicted} predicted" if recorded else "no durations"
    yield f"{len(plan.tests)} tests, {known}; plan {plan.digest}"
    yield ""
    unit = "seconds" if recorded else "weight"
    yield f"{'shard':>9}  {'tests':>6}  {unit:>9}  longest test"
    for number, (tests, load) in enumerate(zip(plan.shards, plan.loads, strict=True), 1):
        longest = _longest_first(tests)[:1]
        shown = f"{longest[0].seconds:9.2f}  {longest[0].test}" if longest else "-"
        yield f"{Shard(number, len(plan.shards))!s:>9}  {len(tests):6}  {load:9.2f}  {shown}"
    yield ""
    yield "longest tests"
    for test in _longest_first(plan.tests)[:_LONGEST]:
        yield f"{test.seconds:10.2f}  {test.test}{' (predicted)' if test.predicted and recorded else ''}"
    yield ""
    yield f"makespan {plan.makespan:.2f}, lower bound {plan.lower_bound:.2f}, ratio {plan.ratio:.3f}"


def _longest_first(tests: tuple[PlannedTest, ...]) -> list[PlannedTest]:
    return sorted(tests, key=lambda one: (-one.seconds, one.test))


def _described(plan: ShardPlan, recorded: Durations) -> dict[str, object]:
    return {
        "format": "testmatrix-shard-plan",
        "version": 1,
        "plan": plan.digest,
        "tests": len(plan.tests),
        "predicted": sum(test.predicted for test in plan.tests),
        "makespan": plan.makespan,
        "lower_bound": plan.lower_bound,
        "ratio": plan.ratio,
        "shards": [_shard_described(plan, number) for number in range(1, len(plan.shards) + 1)],
    }


def _shard_described(plan: ShardPlan, number: int) -> dict[str, object]:
    return {
        "shard": str(Shard(number, len(plan.shards))),
        "seconds": plan.loads[number - 1],
        "tests": [{"test": test.test, "seconds": test.seconds, "predicted": test.predicted} for test in plan.shards[number - 1]],
    }
