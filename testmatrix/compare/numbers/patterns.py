"""How often a region's frames had been compiled when each further distinct value of a number had been met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from testmatrix.compare.lineup import CallKey
from testmatrix.observation import Observation, RegionCall

#: Distinct values that are told of.
MOST_VALUES = 5

#: A frame of a compile: name, first line, position after a graph break.
Frame = tuple[str, int, int]


@dataclass(slots=True)
class CompileCounts:
    """Compiles of each frame by the end of each call of a region, in one cell."""

    calls: list[CallKey] = field(default_factory=list)
    counts: list[Counter[Frame]] = field(default_factory=list)


def compile_counts(observation: Observation, keys: Mapping[CallKey, RegionCall]) -> dict[str, CompileCounts]:
    """By region, in the order of its calls; ``keys`` are all calls of the observation."""
    made: dict[int, list[Frame]] = {}
    for one in observation.compiles:
        made.setdefault(one.region_call, []).append((one.frame, one.line, one.resume))
    found: dict[str, CompileCounts] = {}
    for key, call in keys.items():
        of_region = found.setdefault(key.region, CompileCounts())
        counts = Counter(of_region.counts[-1]) if of_region.counts else Counter[Frame]()
        counts.update(made.get(call.index, ()))
        of_region.calls.append(key)
        of_region.counts.append(counts)
    return found


def compiles_after(values: Mapping[CallKey, str], counted: CompileCounts, frames: Iterable[Frame]) -> tuple[int, ...]:
    """Compiles after the first, second, … distinct value, of that of the frames that was compiled most often.

    ``values`` are those that the number had, by call; a call without one had one of those before.
    """
    of_interest = list(frames)
    seen: set[str] = set()
    found: list[int] = []
    for key, counts in zip(counted.calls, counted.counts, strict=True):
        value = values.get(key)
        if value is None or value in seen:
            continue
        seen.add(value)
        found.append(max((counts[frame] for frame in of_interest), default=0))
        if len(found) == MOST_VALUES:
            break
    return tuple(found)


def pattern(compiles: Sequence[int], values: int = 3) -> str:
    """``123``: a compile for each of three values; ``111``: one for all of them."""
    return "".join(str(count) if count < 10 else f"({count})" for count in compiles[:values])
