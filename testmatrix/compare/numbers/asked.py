"""What a test itself asked to be carried as a symbol, by marking or naming it: that request beats every axis."""

from __future__ import annotations

from collections.abc import Mapping

from testmatrix.compare.numbers.sources import size_of
from testmatrix.compare.wording import stable_source
from testmatrix.observation import Observation

#: What asked, by region and source.
Asked = Mapping[tuple[str, str], str]

#: What is no more than a hint to torch.
_HINTS = frozenset({"maybe_mark_dynamic"})


def asked_in(observation: Observation) -> Asked:
    """Everything that was asked for in one cell."""
    regions = {call.index: call.region for call in observation.regions}
    return {
        (regions.get(compiled.region_call, compiled.frame), stable_source(source)): by
        for compiled in observation.compiles
        for source, by in compiled.asked
        if by not in _HINTS
    }


def asked_by(asked: Asked, region: str, source: str) -> str:
    """What asked for one number; empty where nothing did."""
    if not asked:
        return ""
    extent = size_of(source)
    whole = asked.get((region, extent[0]), "") if extent else ""  # a tensor that is named stands for all of its sizes
    return asked.get((region, source), whole)
