"""Who runs what: longest first onto the least loaded shard."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable
from dataclasses import dataclass

from testmatrix.shards.durations import Durations
from testmatrix.shards.prediction import Predictor


@dataclass(frozen=True, slots=True)
class PlannedTest:
    """A test with all its cells, which stay together."""

    test: str
    seconds: float
    predicted: bool  #: nothing is recorded of the test itself


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """What each shard runs, by its number less one; each shard's tests are sorted by id."""

    shards: tuple[tuple[PlannedTest, ...], ...]

    @property
    def tests(self) -> tuple[PlannedTest, ...]:
        return tuple(test for tests in self.shards for test in tests)

    @property
    def loads(self) -> tuple[float, ...]:
        """Expected seconds of each shard."""
        return tuple(sum(test.seconds for test in tests) for tests in self.shards)

    @property
    def makespan(self) -> float:
        """Expected seconds until the last shard is done."""
        return max(self.loads)

    @property
    def lower_bound(self) -> float:
        """What no plan can beat: an even share of everything, and the longest test."""
        return max(sum(self.loads) / len(self.shards), max((test.seconds for test in self.tests), default=0.0))

    @property
    def ratio(self) -> float:
        """How far the makespan is above the lower bound: 1 is perfect."""
        return self.makespan / self.lower_bound if self.lower_bound else 1.0

    @property
    def digest(self) -> str:
        """The same on two machines whose plans are the same."""
        lines = (f"{number} {test.test}" for number, tests in enumerate(self.shards, 1) for test in tests)
        text = "\n".join((str(len(self.shards)), *lines))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]

    def names(self, number: int) -> frozenset[str]:
        """Ids of the tests of a shard, whose numbers begin with 1."""
        return frozenset(test.test for test in self.shards[number - 1])


def plan(tests: Iterable[str], durations: Durations, total: int) -> ShardPlan:
    """Put every test into exactly one of ``total`` shards.

    The plan is a function of the set of tests, of the durations and of ``total``: machines that have these in common agree on it,
    whatever the order in which they collected. A test given twice is one.
    """
    seconds = Predictor(durations)
    units = [PlannedTest(test, seconds(test), test not in durations) for test in set(tests)]
    shards: list[list[PlannedTest]] = [[] for _ in range(total)]
    # Numbers of tests break ties, so that tests that take no time at all are spread, too.
    heap = [(0.0, 0, position) for position in range(total)]
    for unit in sorted(units, key=lambda one: (-one.seconds, one.test)):
        load, count, position = heap[0]
        shards[position].append(unit)
        heapq.heapreplace(heap, (load + unit.seconds, count + 1, position))
    return ShardPlan(tuple(tuple(sorted(tests, key=lambda one: one.test)) for tests in shards))
