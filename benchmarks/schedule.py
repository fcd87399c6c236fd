"""How evenly workers get their tests: when the last one is done, against what nothing can beat; ours and pytest-xdist's own.

Nothing is run: workers are simulated, which follow pytest-xdist's protocol and take no time but that of their tests. In each
round, tests take longer or shorter than is known of them, and a few are not known at all; but for the last line, where all is
known exactly.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shards import RECORDED, distributions, drifted
from xdist.remote import Producer
from xdist.scheduler import LoadScheduling

from testmatrix.plugin.schedule import LongestFirstScheduling
from testmatrix.shards.durations import Durations, read_durations

TESTS = 1000
WORKERS = (2, 4, 8)
SEEDS = range(5)

#: Ends a worker's queue.
SHUTDOWN = -1


@dataclass
class Gateway:
    id: str


@dataclass
class Config:
    """What a scheduler of pytest-xdist asks of pytest."""

    workers: int
    hook: Any = None

    def getoption(self, name: str) -> None:
        """All options that schedulers ask for have this default."""

    def getvalue(self, name: str) -> list[str]:
        return ["popen"] * self.workers if name == "tx" else []


class Node:
    """One worker: it begins a test once it knows the next one, or that there is none."""

    def __init__(self, name: str) -> None:
        self.gateway = Gateway(name)
        self.shutting_down = False
        self.done: list[int] = []
        self.ended = 0.0
        self.queue: deque[int] = deque()

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.queue.extend(indices)

    def shutdown(self) -> None:
        if not self.shutting_down:
            self.queue.append(SHUTDOWN)
        self.shutting_down = True

    @property
    def ready(self) -> int | None:
        """The test that it can begin."""
        return self.queue[0] if len(self.queue) >= 2 else None

    @property
    def ends(self) -> bool:
        return bool(self.queue) and self.queue[0] == SHUTDOWN

    def end_test(self, now: float) -> int:
        self.ended = now
        self.done.append(self.queue.popleft())
        return self.done[-1]

    def forget(self) -> None:
        """It has died."""
        self.queue.clear()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


Make = Callable[[Config, Clock], Any]


@dataclass(frozen=True)
class Done:
    nodes: tuple[Node, ...]
    collection: tuple[str, ...]
    durations: Durations

    @property
    def makespan(self) -> float:
        return max(node.ended for node in self.nodes)

    @property
    def ratio(self) -> float:
        """Over what nothing can beat: an even share of everything, and the longest test."""
        return self.makespan / max(sum(self.durations.values()) / len(self.nodes), *self.durations.values())

    @property
    def files(self) -> int:
        """How often a worker went into a file, over all."""
        return sum(self._entered(node) for node in self.nodes)

    def _entered(self, node: Node) -> int:
        files = [self.collection[position].partition("::")[0] for position in node.done]
        return sum(one != before for one, before in zip(files, ["", *files], strict=False))


def simulate(make: Make, durations: Mapping[str, float], workers: int) -> Done:
    """Give out all tests, which take what is said, as pytest-xdist does it."""
    collection, clock = list(durations), Clock()
    scheduler = make(Config(workers), clock)
    nodes = [Node(f"gw{number}") for number in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
    for node in nodes:
        scheduler.add_node_collection(node, collection)
    scheduler.schedule()
    running: list[tuple[float, int]] = []
    idle = set(range(workers))
    while True:
        for number in sorted(idle):
            position = nodes[number].ready
            if position is not None and not nodes[number].ends:
                idle.remove(number)
                heapq.heappush(running, (clock.now + durations[collection[position]], number))
        if not running:
            return Done(tuple(nodes), tuple(collection), durations)
        clock.now, number = heapq.heappop(running)
        idle.add(number)
        position = nodes[number].end_test(clock.now)
        scheduler.mark_test_complete(nodes[number], position, durations[collection[position]])
        if scheduler.tests_finished:
            for node in nodes:
                node.shutdown()


def theirs(config: Any, clock: Clock) -> Any:
    return LoadScheduling(config, Producer("", enabled=False))


def ours(known: Durations) -> Make:
    return lambda config, clock: LongestFirstScheduling(config, config.workers, known, clock)


def measured(draw: Callable[[random.Random], dict[str, float]], workers: int) -> Iterator[tuple[str, Done]]:
    for seed in SEEDS:
        source = random.Random(seed)
        durations = dict(list(draw(source).items())[:TESTS])
        known, today = drifted(durations, source)
        yield "pytest-xdist's own", simulate(theirs, today, workers)
        yield "no durations", simulate(ours({}), today, workers)
        yield "drifted", simulate(ours(known), today, workers)
        yield "exact", simulate(ours(durations), durations, workers)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--durations", type=Path, default=RECORDED, metavar="FILE", help="a report or a file of durations")
    options = parser.parse_args()
    print(f"last worker done / lower bound: median (worst); in brackets how often files were entered; {len(SEEDS)} seeds")
    for distribution in distributions(read_durations(options.durations)):
        for workers in WORKERS:
            found: dict[str, list[Done]] = {}
            for name, done in measured(distribution.draw, workers):
                found.setdefault(name, []).append(done)
            print(f"{distribution.name}, {workers} workers")
            for name, runs in found.items():
                ratios, files = [run.ratio for run in runs], statistics.median(run.files for run in runs)
                print(f"    {name:20} {statistics.median(ratios):6.3f} ({max(ratios):.3f}) [{files:.0f}]", flush=True)


if __name__ == "__main__":
    main()
