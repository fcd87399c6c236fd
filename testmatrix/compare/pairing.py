"""Which compile of one cell is which of another.

Compiles are lined up by frame (qualified name, first line, place where it was resumed) and by the inputs that triggered them: the
same region call is the same inputs, and of several compiles in one call those belong together that recorded the same numbers.
A compile that the other cell did without belongs to the entry of the other cell's cache that took those inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.cache import accepts
from testmatrix.compare.lineup import CallKey, keyed_calls
from testmatrix.observation import Compile, Observation

#: Qualified name, first line, place where the frame was resumed after a graph break.
FrameKey = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A compile, and the region call that triggered it."""

    compiled: Compile
    call: CallKey
    pinned: tuple[str, ...] = ()  #: axes that the region fixes itself: of one function compiled with two options, which it is

    @property
    def frame(self) -> FrameKey:
        return self.compiled.frame, self.compiled.line, self.compiled.resume


@dataclass(frozen=True, slots=True)
class Pair:
    """Two compiles of one frame for the same inputs."""

    reference: Compile
    other: Compile
    call: CallKey  #: the later of the calls that triggered them
    same_call: bool = True  #: False where one was made for an earlier call and took the inputs of the other's as well
    reused: CallKey | None = None  #: the call that ``other`` was made for, where it took the inputs of a later one, too
    first: Compile | None = None  #: what the reference made for that call


def entries_of(observation: Observation) -> list[Entry]:
    """The compiles that region calls triggered, in the order in which they were made."""
    calls = {call.index: (key, call.pinned) for key, call in keyed_calls(observation).items()}
    return [Entry(item, *calls[item.region_call]) for item in observation.compiles if item.region_call in calls]


def paired_compiles(reference: Observation, other: Observation) -> list[Pair]:
    """Pairs in the order of ``other``'s compiles; a compile of the reference may be in several."""
    theirs, ours = _by_frame(entries_of(reference)), _by_frame(entries_of(other))
    pairs: list[Pair] = []
    for frame, entries in ours.items():
        if frame in theirs:
            pairs.extend(_pairs(theirs[frame], entries, set(keyed_calls(reference))))
    return pairs


def _by_frame(entries: Sequence[Entry]) -> dict[FrameKey, list[Entry]]:
    found: dict[FrameKey, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.frame, []).append(entry)
    return found


def _pairs(theirs: Sequence[Entry], ours: Sequence[Entry], calls: set[CallKey]) -> list[Pair]:
    """The pairs of one frame; ``calls`` are those that both sides may have made."""
    pairs: list[Pair] = []
    left = list(theirs)
    alone: list[Entry] = []
    for entry in ours:
        match = next((one for one in left if one.call == entry.call and _same_inputs(one, entry)), None)
        if match is None:
            alone.append(entry)
        else:
            left.remove(match)
            pairs.append(Pair(match.compiled, entry.compiled, entry.call))
    for entry in alone:
        served = _served_by(entry, theirs) if entry.call in calls else None
        if served is not None:
            pairs.append(Pair(served.compiled, entry.compiled, entry.call, same_call=False))
    for entry in left:
        served = _served_by(entry, ours)
        if served is not None:
            first = next((one.compiled for one in theirs if one.call == served.call), None)
            pairs.append(Pair(entry.compiled, served.compiled, entry.call, False, served.call, first))
    return pairs


def _same_inputs(one: Entry, other: Entry) -> bool:
    """Whether two compiles of one region call were for the same numbers, as far as both recorded them."""
    left, right = accept_set(one.compiled).recorded, accept_set(other.compiled).recorded
    return all(left[source] == right[source] for source in left.keys() & right.keys())


def _served_by(entry: Entry, cache: Sequence[Entry]) -> Entry | None:
    """The entry of another cell's cache that took the inputs of a compile: made for an earlier call, and letting them through.

    Inputs are recorded as numbers only. Of entries that let these through, it is the one that differs least in all else.
    """
    wanted = accept_set(entry.compiled)
    earlier = [
        one for one in cache if (one.call.region, one.pinned) == (entry.call.region, entry.pinned) and one.call < entry.call
    ]
    serving = [one for one in earlier if accepts(accept_set(one.compiled), wanted)]
    return min(serving, key=lambda one: _distance(accept_set(one.compiled), wanted), default=None)


def _distance(one: AcceptSet, other: AcceptSet) -> tuple[int, int, int]:
    """How much less general the first set is, and how much the two differ in what they are about and in what they say of it."""
    sources = one.numeric.sorts.keys() ^ other.numeric.sorts.keys()
    differing = len(one.atoms.keys() ^ other.atoms.keys()) + len(one.numeric.conditions ^ other.numeric.conditions)
    return len(one.constants.keys() & other.symbolic), len(sources), differing
