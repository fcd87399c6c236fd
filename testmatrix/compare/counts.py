"""How much was compiled: compiles, graph breaks, the recompile limit, and regions that ran eager after all.

These findings are warnings at most: what a region returned is the same, or is reported as an output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from testmatrix.compare.difference import Difference
from testmatrix.compare.finding import Severity
from testmatrix.compare.lineup import keyed_calls
from testmatrix.compare.pins import comparable, first_comparable
from testmatrix.compare.regions import is_same_exception
from testmatrix.compare.wording import exception_signature, first_line, signature, stable_region, stable_text
from testmatrix.grid import Grid
from testmatrix.observation import ORACLE, Compile, FailedCompile, Observation

#: Positions of the built-in axes from the most specialised on; cells that differ in another axis have no such order.
_GENERALITY = {"static": 0, "auto": 1, "dynamic": 2, "specialize": 0, "unspecialize": 1}


def compare_counts(observations: Mapping[str, Observation], grid: Grid, cells: Sequence[str]) -> list[Difference]:
    """Findings of the ``compile`` kinds; ``cells`` were run, in grid order."""
    runs = [observations[cell] for cell in cells]
    return [*_more_compiles(runs, grid), *_breaks(runs, grid), *_limits(runs), *_fallbacks(runs), *_uncompiled(runs, grid)]


def _more_compiles(runs: Sequence[Observation], grid: Grid) -> Iterator[Difference]:
    """Frames compiled more often than in a cell that is more specialised in every axis in which the two differ."""
    counts = {run.cell: Counter((item.frame, item.line) for item in run.compiles if not item.resume) for run in runs}
    failed = {run.cell: {(item.frame, item.line) for item in run.failed_compiles} for run in runs}
    for run in runs:
        for frame, count in counts[run.cell].items():
            for other in runs:
                least = counts[other.cell][frame]
                if not least or count <= least or frame in failed[other.cell] or run.outcome != other.outcome:
                    continue
                if not (_more_specialised(grid, other, run) and comparable(grid, other, run, _region_of_frame(run, frame))):
                    continue
                yield Difference(
                    kind="compile.count",
                    severity="warning",
                    cell=run.cell,
                    reference=other.cell,
                    left=f"compiled {count} times",
                    right=f"{least} time{'' if least == 1 else 's'}",
                    region=frame[0],
                    path=f"line {frame[1]}",
                    signature=signature("compile.count", stable_region(frame[0])),
                    same=f"{count}|{least}",
                )
                break


def _region_of_frame(run: Observation, frame: tuple[str, int]) -> str:
    regions = {call.index: call.region for call in run.regions}
    return next((regions.get(item.region_call, "") for item in run.compiles if (item.frame, item.line) == frame), "")


def _more_specialised(grid: Grid, one: Observation, other: Observation) -> bool:
    first, second = grid.cell(one.cell), grid.cell(other.cell)
    for axis in grid.differing(first, second):
        ranks = _GENERALITY.get(first.value(axis.name) or ""), _GENERALITY.get(second.value(axis.name) or "")
        if not axis.builtin or ranks[0] is None or ranks[1] is None or ranks[0] > ranks[1]:
            return False
    return one.cell != other.cell


def _breaks(runs: Sequence[Observation], grid: Grid) -> Iterator[Difference]:
    """Graph breaks that one cell has and another, which compiled the same frame, has not."""
    compiled = {run.cell: _breaks_by_frame(run.compiles) for run in runs}
    for run in runs:
        others = [other for other in runs if other.outcome == run.outcome]
        for frame, breaks in compiled[run.cell].items():
            failed = {other.cell for other in others if any(item.frame == frame for item in other.failed_compiles)}
            for (line, reason), text in breaks.items():
                sound = [other for other in others if frame in compiled[other.cell] and other.cell not in failed]
                without = [other for other in sound if (line, reason) not in compiled[other.cell][frame]]
                reference = first_comparable(grid, without, run)
                if reference is None:
                    continue
                yield Difference(
                    kind="compile.break",
                    severity="warning",
                    cell=run.cell,
                    reference=reference.cell,
                    left=f"graph break ({first_line(text, 80)})",
                    right="none there",
                    region=frame,
                    path=f"{line} {reason}",
                    frame=line,
                    signature=signature("compile.break", stable_region(frame), reason),
                    same=reason,
                    detail={"reason": text, "line": line},
                )


def _breaks_by_frame(compiles: Sequence[Compile]) -> dict[str, dict[tuple[str, str], str]]:
    """(line, reason without numbers) -> reason, for every frame that was compiled."""
    frames: dict[str, dict[tuple[str, str], str]] = {}
    for item in compiles:
        breaks = frames.setdefault(item.frame, {})
        breaks.update({(one.line, stable_text(one.reason)): one.reason for one in item.breaks})
    return frames


def _limits(runs: Sequence[Observation]) -> Iterator[Difference]:
    """Frames given up at the recompile limit: from there on the cell ran eager, and equal outputs mean nothing."""
    for run in runs:
        for frame, items in _failures(run, limit=True).items():
            within = next((other.cell for other in runs if frame not in _failures(other, limit=True)), ORACLE)
            yield _failed(run, frame, items, "compile.limit", "warning", "given up at the recompile limit", within)


def _fallbacks(runs: Sequence[Observation]) -> Iterator[Difference]:
    """Frames that failed to compile without anybody noticing; where they do so in every cell alike, it is information."""
    silent = {run.cell: _failures(run, limit=False) for run in runs}
    compiled = {run.cell: {item.frame for item in run.compiles} for run in runs}
    for run in runs:
        for frame, items in silent[run.cell].items():
            elsewhere = next((cell for cell in compiled if frame in compiled[cell] and frame not in silent[cell]), None)
            severity: Severity = "warning" if elsewhere else "info"
            why = f"run eager: compiling fails with {items[0].exception.type}"
            yield _failed(run, frame, items, "compile.none", severity, why, elsewhere or ORACLE)


def _failures(run: Observation, *, limit: bool) -> dict[str, list[FailedCompile]]:
    """Failed compiles by frame, without those whose exception reached the caller."""
    calls = {call.index: call for call in run.regions}
    frames: dict[str, list[FailedCompile]] = {}
    for item in run.failed_compiles:
        call = calls.get(item.region_call)
        surfaced = call is not None and call.exception is not None
        if item.limit == limit and not surfaced and not is_same_exception(item.exception, run.exception):
            frames.setdefault(item.frame, []).append(item)
    return frames


def _failed(
    run: Observation,
    frame: str,
    items: Sequence[FailedCompile],
    kind: str,
    severity: Severity,
    left: str,
    reference: str,
) -> Difference:
    exception = items[0].exception
    return Difference(
        kind=kind,
        severity=severity,
        cell=run.cell,
        reference=reference,
        left=left,
        right="" if reference == ORACLE else "compiled",
        region=frame,
        path=f"line {items[0].line}",
        subject=frame.rsplit(".", 1)[-1],
        frame=exception.frame,
        signature=signature(kind, stable_region(frame), "" if items[0].limit else exception_signature(exception, run.test)),
        same=exception.type,
        detail={"exception": exception.type, "message": exception.message, "times": len(items)},
    )


def _uncompiled(runs: Sequence[Observation], grid: Grid) -> Iterator[Difference]:
    """Regions called here in which nothing compiled, and nothing failed to, although another cell has graphs of theirs."""
    compiled = {run.cell: _regions_compiled(run) for run in runs}
    for run in runs:
        if run.outcome not in ("passed", "xpassed"):
            continue
        failed = {item.region_call for item in run.failed_compiles}
        for region in {key.region: None for key, call in keyed_calls(run).items() if not key.depth and call.concrete}:
            if region in compiled[run.cell] or any(call.region == region and call.index in failed for call in run.regions):
                continue
            others = [other for other in runs if compiled[other.cell].get(region, False)]
            reference = first_comparable(grid, others, run, region)
            if reference is not None:
                yield Difference(
                    kind="compile.none",
                    severity="warning",
                    cell=run.cell,
                    reference=reference.cell,
                    left="run eager: nothing was compiled",
                    right="compiled",
                    region=region,
                    path="region",
                    subject=region.rsplit(".", 1)[-1],
                    signature=signature("compile.none", stable_region(region)),
                )


def _regions_compiled(run: Observation) -> dict[str, bool]:
    """Regions with a compile of theirs, and whether one of these is of more than arithmetic on symbols."""
    regions = {call.index: call.region for call in run.regions}
    found: dict[str, bool] = {}
    for item in run.compiles:
        region = regions.get(item.region_call)
        if region is not None:
            found[region] = found.get(region, False) or item.tensor_ops > 0
    return found
