"""Which compile of one cell is which of another, and the findings that their guard sets make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testmatrix.compare.difference import Difference
from testmatrix.compare.guards import GuardDifference, compare_guards
from testmatrix.compare.lineup import CallKey, key_of_index
from testmatrix.compare.pins import first_comparable
from testmatrix.compare.wording import first_line, signature, stable_region, stable_source, stable_text
from testmatrix.grid import Grid
from testmatrix.observation import Compile, Observation

#: Frame, its first line, resume position, and the region call that triggered it.
CompileKey = tuple[str, int, int, CallKey]


def compare_compiles(observations: Mapping[str, Observation], grid: Grid, cells: Sequence[str]) -> list[Difference]:
    """``guard.missing`` and ``guard.extra`` of each cell against the first one that it may be compared with."""
    found: list[Difference] = []
    runs = [observations[cell] for cell in cells]
    for position, run in enumerate(runs):
        reference = first_comparable(grid, runs[:position], run)
        if reference is None:
            continue
        governed = grid.governed(grid.cell(reference.cell), grid.cell(run.cell))
        theirs, ours = keyed_compiles(reference), keyed_compiles(run)
        for key in ours:
            if key in theirs and first_comparable(grid, [reference], run, key[3].region) is not None:
                if theirs[key].breaks != ours[key].breaks:
                    continue  # a graph that ends elsewhere checks less, and what follows is another frame: a ``compile.break``
                differences = compare_guards(theirs[key], ours[key], frozenset(governed))
                found.extend(_difference(one, key, run.cell, reference.cell) for one in differences)
    return found


def keyed_compiles(observation: Observation) -> dict[CompileKey, Compile]:
    """Compiles by what they can be lined up by; those made outside of a region call, or twice in one, can't."""
    calls = key_of_index(observation)
    found: dict[CompileKey, Compile] = {}
    ambiguous: set[CompileKey] = set()
    for item in observation.compiles:
        if item.region_call not in calls:
            continue
        key = (item.frame, item.line, item.resume, calls[item.region_call])
        if key in found:
            ambiguous.add(key)
        found[key] = item
    return {key: item for key, item in found.items() if key not in ambiguous}


def _difference(one: GuardDifference, key: CompileKey, cell: str, reference: str) -> Difference:
    frame, _, _, call = key
    checked = f"{one.guard} on {one.source or 'the process'} ({first_line(one.text, 80)})"
    missing = one.kind == "guard.missing"
    return Difference(
        kind=one.kind,
        severity="warning" if missing else "info",
        cell=cell,
        reference=reference,
        left=f"{checked} is {'not checked' if missing else 'checked'}",
        right="checked" if missing else "not checked",
        region=frame,
        path=f"{one.guard} {one.source} {one.text}",
        call=call.number,
        frame=one.line,
        signature=signature(one.kind, stable_region(frame), one.guard, stable_source(one.source), stable_text(one.text)),
        same=one.text,
        detail={"guard": one.guard, "source": one.source, "text": one.text},
    )
