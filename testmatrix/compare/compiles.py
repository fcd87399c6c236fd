"""The findings that the guard sets of a test's compiles make, and what else there is to say of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from testmatrix.compare.difference import Difference
from testmatrix.compare.finding import Evidence
from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.cache import relate_caches, takes
from testmatrix.compare.guards.readable import readable_number
from testmatrix.compare.guards.rule import GuardComparison, GuardDifference, compare_guards, governed_kinds
from testmatrix.compare.guards.sides import sides
from testmatrix.compare.lineup import CallKey
from testmatrix.compare.pairing import Pair, entries_of, paired_compiles
from testmatrix.compare.pins import comparable, first_comparable
from testmatrix.compare.wording import first_line, signature, stable_region, stable_source, stable_text
from testmatrix.grid import Grid
from testmatrix.guard_kinds import category
from testmatrix.observation import Note, Observation

#: Sources that are torch's own.
_TORCH = re.compile(r"^G\['torch'\]|^G\['__import_torch|^__import__\('torch")
#: Cell, region, and the number of a call of it.
WrongCall = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Compared:
    """A pair of compiles, the observations that they are of, and how their guards compare."""

    reference: Observation
    run: Observation
    pair: Pair
    comparison: GuardComparison


def compared_compiles(
    observations: Mapping[str, Observation], grid: Grid, cells: Sequence[str], wrong: Collection[WrongCall] = ()
) -> list[Compared]:
    """Every pair of compiles of each cell and those that it is compared with, in grid order.

    ``wrong`` are the calls that gave a result that is not eager's.
    """
    return list(_compared([observations[cell] for cell in cells], grid, wrong))


def _compared(runs: Sequence[Observation], grid: Grid, wrong: Collection[WrongCall]) -> Iterator[Compared]:
    for position, run in enumerate(runs):
        for reference in _references(grid, runs[:position], run):
            governed = frozenset(grid.governed(grid.cell(reference.cell), grid.cell(run.cell)))
            for pair in paired_compiles(reference, run):
                if not comparable(grid, reference, run, pair.call.region) or pair.reference.breaks != pair.other.breaks:
                    continue  # a graph that ends elsewhere checks less, and what follows is another frame: a ``compile.break``
                yield _compared_pair(reference, run, pair, governed, wrong)


def _references(grid: Grid, candidates: Sequence[Observation], run: Observation) -> Iterator[Observation]:
    """The first that a cell may be compared with, and those from which it differs in axes that explain less."""
    first = first_comparable(grid, candidates, run)
    if first is None:
        return
    yield first
    explained = governed_kinds(grid.governed(grid.cell(first.cell), grid.cell(run.cell)))
    for one in candidates:
        if comparable(grid, one, run) and governed_kinds(grid.governed(grid.cell(one.cell), grid.cell(run.cell))) < explained:
            yield one


def _compared_pair(
    reference: Observation, run: Observation, pair: Pair, governed: frozenset[str], wrong: Collection[WrongCall]
) -> Compared:
    theirs, wrongly = pair.reference, None
    if pair.first is not None and _is_stale(pair, run.cell, wrong):
        theirs, wrongly = pair.first, pair.reference
    # A result that is not eager's makes what differs in any way worth telling.
    same_inputs = pair.same_call or (run.cell, pair.call.region, pair.call.number) in wrong
    versions = reference.torch, run.torch
    comparison = compare_guards(theirs, pair.other, governed, same_inputs=same_inputs, wrongly=wrongly, versions=versions)
    return Compared(reference, run, replace(pair, reference=theirs), comparison)


def _is_stale(pair: Pair, cell: str, wrong: Collection[WrongCall]) -> bool:
    """Whether a graph was used once more for inputs that it is no graph for.

    That shows in two things together: the result is right for the inputs that it was made for and wrong for these, and the
    reference, which made a graph for each, made two that do different things.
    """
    if pair.reused is None or pair.first is None or pair.first.ops == pair.reference.ops:
        return False
    later, earlier = ((cell, pair.call.region, call.number) for call in (pair.call, pair.reused))
    return later in wrong and earlier not in wrong


def guard_differences(compared: Sequence[Compared]) -> list[Difference]:
    """``guard.missing`` and ``guard.extra``: one for each condition that :func:`_grouped` does not tell with another."""
    found: list[Difference] = []
    told: set[tuple[str, str, str, CallKey]] = set()
    for one in compared:
        if not one.comparison.differences:
            continue
        caches = _caches(one)
        shared = _evidence(one, *caches)
        for kind in ("guard.missing", "guard.extra"):
            for first, *others in _grouped([each for each in one.comparison.differences if each.kind == kind]):
                key = (one.run.cell, kind, f"{first.guard} {first.source} {first.text}", one.pair.call)
                if key not in told:  # else against another reference already
                    told.add(key)
                    cache = caches[0 if kind == "guard.missing" else 1]
                    found.append(_difference(first, others, one, shared, cache))
    return found


def _grouped(differences: Sequence[GuardDifference]) -> list[list[GuardDifference]]:
    """Conditions that are told together, the one that tells most first.

    A tensor that is not checked at all says more than its sizes do; who shares memory with whom is one matter; and what a trace
    looks at inside torch, because it took another way, goes with the first condition that is the suite's own.
    """
    tensors = {one.source for one in differences if one.guard == "TENSOR_MATCH" and not one.values}
    groups: dict[str, list[GuardDifference]] = {}
    inside: list[GuardDifference] = []
    for one in sorted(differences, key=lambda one: one.source not in tensors):
        if _TORCH.search(one.source):
            inside.append(one)
        elif category(one.guard) == "aliasing":
            groups.setdefault("aliasing", []).append(one)
        else:
            tensor = next((each for each in sorted(tensors) if one.source == each or one.source.startswith(f"{each}.")), None)
            groups.setdefault(tensor or f"{one.guard} {one.source} {one.text}", []).append(one)
    first = next(iter(groups.values())) if groups else groups.setdefault("inside", [])
    first.extend(inside)
    return [group for group in groups.values() if group]


def guard_notes(
    compared: Sequence[Compared], observations: Mapping[str, Observation], cells: Sequence[str]
) -> dict[str, list[Note]]:
    """By cell: which guards were not decided, which were set aside, and which were not understood; each once."""
    notes: dict[str, list[Note]] = {cell: [] for cell in cells}
    for one in compared:
        if one.comparison.relation == "undecided":
            alone = stable_text("; ".join(one.comparison.undecided))  # the same for all values of a parametrised test
            text = f"guards of {one.pair.other.frame} were not decided against {one.reference.cell}: {alone}"
            notes[one.run.cell].append(Note(kind="undecided", text=text))
        notes[one.run.cell].extend(Note(kind="guards", text=text) for text in one.comparison.set_aside)
    for cell in cells:
        for compiled in observations[cell].compiles:
            for opaque in accept_set(compiled).opaque:
                told = first_line(opaque.text, 200)
                text = f"a condition is compared as text, since it was not understood ({opaque.reason}): {told}"
                notes[cell].append(Note(kind="guards", text=text))
    return {cell: list(dict.fromkeys(said)) for cell, said in notes.items() if said}


def _caches(one: Compared) -> tuple[list[AcceptSet], list[AcceptSet]]:
    """What the compiles of a pair's frame let through, in the reference and in the cell."""
    frame = one.pair.other.frame, one.pair.other.line, one.pair.other.resume
    theirs, ours = (
        [accept_set(entry.compiled) for entry in entries_of(run) if entry.frame == frame] for run in (one.reference, one.run)
    )
    return theirs, ours


def _evidence(one: Compared, theirs: Sequence[AcceptSet], ours: Sequence[AcceptSet]) -> dict[str, Evidence]:
    """What all differences of one pair share: both sets, how they are related, and the caches that they belong to."""
    pair = one.pair
    shown = sides(accept_set(pair.reference), accept_set(pair.other))
    return {
        "relation": one.comparison.relation,
        "constants": {source: readable_number(value) for source, value in sorted(one.comparison.constants.items())},
        "guards": {
            "reference": list(shown.reference),
            "cell": list(shown.cell),
            "common": list(shown.common),
        },
        "cache": {
            "reference": len(theirs),
            "cell": len(ours),
            "relation": relate_caches(theirs, ours, one.comparison.constants),
        },
    }


def _difference(
    one: GuardDifference,
    others: Sequence[GuardDifference],
    compared: Compared,
    shared: Mapping[str, Evidence],
    cache: Sequence[AcceptSet],
) -> Difference:
    """``cache`` is that of the side that rejects the witness."""
    frame, call = compared.pair.other.frame, compared.pair.call
    missing = one.kind == "guard.missing"
    more = f" (and {len(others)} more)" if others else ""
    rejecting = accept_set(compared.pair.reference if missing else compared.pair.other)
    another = takes([entry for entry in cache if entry is not rejecting], one.values)
    rejected = "rejected by this compile, taken by another" if another else "rejected"
    verdict, counterpart = ("accepted", rejected) if missing else (rejected, "accepted")
    return Difference(
        kind=one.kind,
        severity="warning" if missing else "info",
        cell=compared.run.cell,
        reference=compared.reference.cell,
        left=f"{_checked(one)}{more} is {'not checked' if missing else 'checked'}: {_told(one)} is {verdict}",
        right=counterpart,
        region=frame,
        path=f"{one.guard} {one.source} {one.text}",
        call=call.number,
        frame=one.line,
        signature=signature(one.kind, stable_region(frame), one.guard, stable_source(one.source), stable_text(one.text)),
        same="\n".join([one.text, *(other.text for other in others)]),
        detail={
            "guard": one.guard,
            "source": one.source,
            "text": one.text,
            **({"others": [f"{other.source}: {other.guard} {other.text}" for other in others]} if others else {}),
            "witness": dict(one.witness),
            "accepted_by": compared.run.cell if missing else compared.reference.cell,
            **({"taken_by_another": True} if another else {}),
            **({"line": one.line} if one.line else {}),
            **({"context": list(one.origin.context)} if one.origin is not None and one.origin.context else {}),
            **shared,
        },
    )


def _checked(one: GuardDifference) -> str:
    """The condition; one on numbers names its sources, a discrete one may not."""
    named = bool(one.source) and all(source in one.text for source in one.source.split(", "))
    return first_line(one.text if named else f"{one.source or one.guard} {one.text}", 80)


def _told(one: GuardDifference) -> str:
    """The witness, as far as it is on what the condition is on."""
    telling = [(source, value) for source, value in one.witness if source in f"{one.source} {one.text}"] or one.witness
    return first_line(", ".join(value if source == one.guard else f"{source}={value}" for source, value in telling), 80)
