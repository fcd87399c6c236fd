"""Tests over the workers of pytest-xdist: each gets its next test as late as possible, the longest one that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import pytest

from testmatrix.errors import UsageError
from testmatrix.options import Options
from testmatrix.shards.dispatch import Waiting, Worker
from testmatrix.shards.durations import Durations, read_durations
from testmatrix.shards.prediction import Predictor

NAME = "testmatrix-schedule"

#: A worker has to know the test after the one that it runs, because of what is torn down between the two. More would be too much.
_HELD = 2
#: One that has just run a test of fewer seconds may hold one test more: it would soon be waiting for us.
_BRIEF = 0.05

#: pytest's options that are about the order of tests, by the name under which pytest keeps them.
_ORDERING = ("failedfirst", "newfirst", "stepwise")


def install(config: pytest.Config, options: Options) -> None:
    """Let the tests of this run, where it has workers, be given out by :class:`LongestFirstScheduling`.

    Raises:
        pytest.UsageError: the durations cannot be read.
    """
    if hasattr(config, "workerinput"):
        return
    try:
        durations = read_durations(options.durations) if options.durations is not None else {}
    except UsageError as error:
        raise pytest.UsageError(f"testmatrix: {options.located('durations', error)}") from None
    config.pluginmanager.register(SchedulePlugin(durations), NAME)


class Gateway(Protocol):
    id: str


class Node(Protocol):
    """What is used of ``xdist.workermanage.WorkerController``."""

    @property
    def gateway(self) -> Gateway: ...

    @property
    def shutting_down(self) -> bool: ...

    def send_runtest_some(self, indices: Sequence[int]) -> None: ...

    def shutdown(self) -> None: ...


class SchedulePlugin:
    """Puts our scheduler where pytest-xdist has one that does the same: what a user or another plugin chose stays."""

    def __init__(self, durations: Durations) -> None:
        self._durations = durations

    @pytest.hookimpl(wrapper=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Generator[None, Any, Any]:
        from xdist.scheduler import LoadScheduling  # type: ignore[import-untyped]

        made = yield
        if type(made) is not LoadScheduling or made.numnodes < 2:
            return made
        if any(config.getoption(name, False) for name in _ORDERING):
            return made
        return LongestFirstScheduling(config, made.numnodes, self._durations)


@dataclass(slots=True)
class _Held:
    """What a worker has been given and has not ended yet."""

    tests: list[int] = field(default_factory=list)  #: positions; the first one is running
    began: float = 0.0  #: when the first one did
    file: str = ""  #: of the last one, ended ones included
    brief: bool = False  #: the last one that has ended was
    collected: bool = False

    @property
    def limit(self) -> int:
        return _HELD + self.brief


class LongestFirstScheduling:
    """A scheduler for pytest-xdist. What is public has the names and the meaning of ``xdist.scheduler.LoadScheduling``.

    Where no durations are known, all tests count as equally long, and what remains is that workers are given few at a time, and
    files of their own while there are any.
    """

    def __init__(
        self, config: pytest.Config, numnodes: int, durations: Durations, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.config, self.numnodes = config, numnodes
        self.collection: list[str] | None = None
        self._durations, self._clock = durations, clock
        self._collections: dict[Node, list[str]] = {}
        self._nodes: dict[Node, _Held] = {}
        self._files: list[str] = []
        self._seconds: list[float] = []
        self._waiting = Waiting((), (), numnodes)

    @property
    def nodes(self) -> list[Node]:
        return list(self._nodes)

    @property
    def collection_is_completed(self) -> bool:
        return len(self._collections) >= self.numnodes

    @property
    def tests_finished(self) -> bool:
        """Whether no worker will be given another test: one that holds a single test ends it once it is shut down."""
        done = not self._waiting and all(len(held.tests) < _HELD for held in self._nodes.values())
        return self.collection_is_completed and done

    @property
    def has_pending(self) -> bool:
        return bool(self._waiting) or any(held.tests for held in self._nodes.values())

    def add_node(self, node: Node) -> None:
        self._nodes[node] = _Held()

    def add_node_collection(self, node: Node, collection: Sequence[str]) -> None:
        """A worker has collected; one that replaces another has to find what all others found."""
        if self.collection is not None and list(collection) != self.collection:
            self._complain(self.collection, next(iter(self._collections)), list(collection), node)
            node.shutdown()
            return
        self._collections[node] = list(collection)
        self._nodes[node].collected = True

    def schedule(self) -> None:
        """Give out tests once all workers have collected; called again whenever a worker has been replaced."""
        if self.collection is None:
            (first, collection), *others = self._collections.items()
            different = [(node, other) for node, other in others if other != collection]
            for node, other in different:
                self._complain(collection, first, other, node)
            if different:
                return
            self._begin(collection)
        for _ in range(_HELD):  # one for each, before anyone gets a second one
            for node in self.nodes:
                self._give(node)

    def mark_test_complete(self, node: Node, item_index: int, duration: float = 0) -> None:
        held = self._nodes[node]
        held.tests.remove(item_index)
        held.began, held.brief = self._clock(), duration < _BRIEF
        while self._give(node):
            pass

    def mark_test_pending(self, item: str) -> None:
        """Let a test be run again, such as one whose worker has died."""
        assert self.collection is not None
        self._waiting.add(self.collection.index(item))
        self._give_all()

    def remove_pending_tests_from_node(self, node: Node, indices: Sequence[int]) -> None:
        raise NotImplementedError("nothing is ever taken back from a worker")

    def remove_node(self, node: Node) -> str | None:
        """A worker has ended. Returns the test that it died in, if it did; what it had not begun waits again."""
        held = self._nodes.pop(node)
        if not held.tests:
            return None
        assert self.collection is not None
        died_in, *others = held.tests
        for position in others:
            self._waiting.add(position)
        self._give_all()
        return self.collection[died_in]

    def _begin(self, collection: list[str]) -> None:
        predicted = Predictor(self._durations)
        self.collection = collection
        self._files = [test.partition("::")[0] for test in collection]
        self._seconds = [predicted(test) if self._durations else 0.0 for test in collection]
        unknown = {position for position, test in enumerate(collection) if test not in self._durations}
        self._waiting = Waiting(self._files, self._seconds, self.numnodes, unknown)

    def _give_all(self) -> None:
        for node in self.nodes:
            self._give(node)

    def _give(self, node: Node) -> bool:
        """Give a worker one test, if it may hold another one; end it where there is none for it. Whether it got one."""
        held = self._nodes[node]
        if not self._is_there(node) or len(held.tests) >= held.limit:
            return False
        others = [self._seen(other) for other in self._nodes if other is not node and self._is_there(other)]
        position = self._waiting.take(self._seen(node), others)
        if position is None:
            node.shutdown()
            return False
        if not held.tests:
            held.began = self._clock()
        held.tests.append(position)
        held.file = self._files[position]
        node.send_runtest_some([position])
        return True

    def _is_there(self, node: Node) -> bool:
        return self._nodes[node].collected and not node.shutting_down

    def _seen(self, node: Node) -> Worker:
        held = self._nodes[node]
        if not held.tests:
            return Worker(0.0, held.file)
        running, *others = (self._seconds[position] for position in held.tests)
        return Worker(max(0.0, running - (self._clock() - held.began)) + sum(others), held.file)

    def _complain(self, collection: list[str], node: Node, other_collection: list[str], other_node: Node) -> None:
        """Report a worker that has collected other tests as an error of collection, as pytest-xdist does."""
        from xdist.report import report_collection_diff  # type: ignore[import-untyped]

        text = report_collection_diff(collection, other_collection, node.gateway.id, other_node.gateway.id)
        report = pytest.CollectReport(nodeid=other_node.gateway.id, outcome="failed", longrepr=text, result=[])
        self.config.hook.pytest_collectreport(report=report)
