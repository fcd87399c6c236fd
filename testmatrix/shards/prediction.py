"""How long a test will take: as recorded, or as long as what is like it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from testmatrix.shards.durations import Durations

#: For every test alike where nothing at all is recorded.
UNKNOWN = 1.0


@dataclass(frozen=True)
class Predictor:
    """Durations of all tests, made from recorded ones.

    It looks at nothing but what is recorded, gone tests included, so that a test's prediction does not depend on which others
    are collected with it.
    """

    recorded: Durations

    def __call__(self, test: str) -> float:
        """Recorded, or else the median of the function's other parametrisations, of its file, of everything."""
        if test in self.recorded:
            return self.recorded[test]
        return next((self._medians[group] for group in groups(test) if group in self._medians), UNKNOWN)

    @cached_property
    def _medians(self) -> dict[str, float]:
        members: dict[str, list[float]] = {}
        for test, seconds in self.recorded.items():
            for group in groups(test):
                members.setdefault(group, []).append(seconds)
        return {group: statistics.median(seconds) for group, seconds in members.items()}


def groups(test: str) -> Iterator[str]:
    """What a test belongs to, closest first: its function, its file, everything.

    A parameter's text may hold anything, ``::`` and ``[`` included; a path may hold ``[``.
    """
    path, colons, name = test.partition("::")
    if colons:
        yield f"{path}::{name.partition('[')[0]}"
    yield path
    yield ""
