"""Which region call of one observation is which of another.

Calls are lined up by region, depth and number. Dynamo inlines a compiled function that another one calls, so that calls inside
a region are recorded in eager only; they must not shift the numbers of those that the test makes itself.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from testmatrix.observation import Observation, RegionCall

_REGION_INDEX = re.compile(r"^region\[(\d+)\]")


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """A region call, the same in every cell."""

    region: str
    depth: int
    number: int  #: from 1


def keyed_calls(observation: Observation) -> dict[CallKey, RegionCall]:
    """All region calls of an observation in the order in which they were made."""
    seen: Counter[tuple[str, int]] = Counter()
    calls: dict[CallKey, RegionCall] = {}
    for call in sorted(observation.regions, key=lambda call: call.index):
        seen[call.region, call.depth] += 1
        calls[CallKey(call.region, call.depth, seen[call.region, call.depth])] = call
    return calls


def key_of_index(observation: Observation) -> dict[int, CallKey]:
    return {call.index: key for key, call in keyed_calls(observation).items()}


def paired_calls(left: Observation, right: Observation) -> list[tuple[CallKey, RegionCall, RegionCall]]:
    """Calls that both sides have. Inner calls only where both made equally many of them: else they can't be lined up."""
    ours, theirs = keyed_calls(left), keyed_calls(right)
    our_counts, their_counts = call_counts(ours), call_counts(theirs)
    pairs = []
    for key, call in ours.items():
        unequal = our_counts[key.region, key.depth] != their_counts[key.region, key.depth]
        if key in theirs and not (key.depth and unequal):
            pairs.append((key, call, theirs[key]))
    return pairs


def call_counts(keys: Iterable[CallKey]) -> Counter[tuple[str, int]]:
    return Counter((key.region, key.depth) for key in keys)


def stable_gradient_path(path: str, keys: dict[int, CallKey]) -> str:
    """``region[3] L['x'].grad`` with the number of the call instead of its index, which inner calls shift."""
    match = _REGION_INDEX.match(path)
    key = keys.get(int(match.group(1))) if match else None
    return f"{key.region} call {key.number}{path[match.end() :]}" if match and key else path
