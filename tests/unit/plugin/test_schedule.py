"""Tests over workers: what each is given, what becomes of it when one dies, and how evenly it comes out."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScheduling, WorkStealingScheduling

from testmatrix.options import Options
from testmatrix.plugin.schedule import LongestFirstScheduling, SchedulePlugin, install
from testmatrix.shards.durations import read_durations

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("schedule")


class Started:
    """A scheduler with its workers, all of which have collected the same."""

    def __init__(self, simulation: Any, durations: dict[str, float], tests: list[str], workers: int = 2) -> None:
        self.new = simulation.Node
        self.reports: list[pytest.CollectReport] = []
        hook = SimpleNamespace(pytest_collectreport=lambda report: self.reports.append(report))
        self.clock = simulation.Clock()
        config = simulation.Config(workers, hook)
        self.scheduler = LongestFirstScheduling(config, workers, durations, self.clock)
        self.nodes = [self.new(f"gw{number}") for number in range(workers)]
        self.tests = tests

    def collected(self, *collections: list[str]) -> Started:
        for node in self.nodes:
            self.scheduler.add_node(node)
        for node, collection in zip(self.nodes, collections or [self.tests] * len(self.nodes), strict=True):
            assert not self.scheduler.collection_is_completed
            self.scheduler.add_node_collection(node, collection)
        assert self.scheduler.collection_is_completed
        self.scheduler.schedule()
        return self

    def joined(self, name: str, collection: list[str] | None = None) -> Any:
        """A worker that replaces another."""
        node = self.new(name)
        self.scheduler.add_node(node)
        self.scheduler.add_node_collection(node, collection or self.tests)
        self.scheduler.schedule()
        return node

    def done(self, node: Any, duration: float = 1.0) -> None:
        self.scheduler.mark_test_complete(node, node.end_test(self.clock.now), duration)

    def held(self, node: Any) -> list[str]:
        """What a worker has been given and has not done."""
        return [self.tests[position] for position in node.queue if position >= 0]


@pytest.fixture
def start(simulation: Any) -> Any:
    def start(durations: dict[str, float], tests: list[str] | None = None, workers: int = 2) -> Started:
        return Started(simulation, durations, tests or list(durations), workers)

    return start


LENGTHS = {"f::a": 1.0, "f::b": 2.0, "f::c": 4.0, "f::d": 8.0, "f::e": 16.0, "f::f": 16.0}


def test_each_worker_begins_with_one_of_the_longest_and_holds_one_more(start):
    run = start(LENGTHS).collected()
    assert [run.held(node) for node in run.nodes] == [["f::e", "f::d"], ["f::f", "f::c"]]
    assert run.scheduler.has_pending
    assert not run.scheduler.tests_finished


def test_a_worker_that_is_done_with_a_test_is_given_another(start):
    run = start({**LENGTHS, "f::g": 8.0, "f::h": 8.0}).collected()
    first = run.nodes[0]
    assert [run.held(node) for node in run.nodes] == [["f::e", "f::d"], ["f::f", "f::g"]]
    run.clock.now = 16.0
    run.done(first)
    assert [run.held(node) for node in run.nodes] == [["f::d", "f::h"], ["f::f", "f::g"]]


def test_a_worker_that_takes_long_is_given_less(start):
    """At 16 s, the one is done with its first test; at 20 s, the other is not, and has 8 s more to do after it."""
    run = start(LENGTHS).collected()
    first, second = run.nodes
    run.clock.now = 16.0
    run.done(second)
    assert run.held(second) == ["f::c", "f::b"]
    run.clock.now = 20.0
    run.done(second)
    assert run.held(second) == ["f::b", "f::a"]
    run.clock.now = 22.0
    run.done(first)
    assert run.held(first) == ["f::d"]
    assert first.shutting_down


def test_a_worker_that_runs_brief_tests_holds_one_more(start):
    run = start({f"f::{number}": 0.0 for number in range(9)}, workers=1).collected()
    (node,) = run.nodes
    assert run.held(node) == ["f::0", "f::1"]
    run.done(node, duration=0.001)
    assert run.held(node) == ["f::1", "f::2", "f::3"]
    run.done(node, duration=0.001)
    assert run.held(node) == ["f::2", "f::3", "f::4"]
    run.done(node, duration=3.0)
    assert run.held(node) == ["f::3", "f::4"]


def test_a_worker_for_which_nothing_will_be_left_ends(start):
    run = start({"f::long": 100.0, "f::x": 50.0, "f::y": 50.0}).collected()
    first, second = run.nodes
    assert run.held(first) == ["f::long"]
    assert first.shutting_down
    assert run.held(second) == ["f::x", "f::y"]


def test_more_workers_than_tests(start):
    run = start({"f::a": 1.0}, workers=3).collected()
    assert [run.held(node) for node in run.nodes] == [["f::a"], [], []]
    assert all(node.shutting_down for node in run.nodes)
    assert run.scheduler.tests_finished
    assert run.scheduler.has_pending
    run.done(run.nodes[0])
    assert not run.scheduler.has_pending


def test_no_tests_at_all(simulation):
    run = Started(simulation, {}, []).collected()
    assert run.scheduler.tests_finished
    assert not run.scheduler.has_pending


def test_what_a_dead_worker_held_goes_to_the_others(start):
    run = start(LENGTHS).collected()
    first, second = run.nodes
    assert run.scheduler.remove_node(first) == "f::e"
    assert run.scheduler.nodes == [second]
    given = list(run.held(second))
    while run.held(second):
        run.done(second)
        given += [test for test in run.held(second) if test not in given]
    assert sorted(given) == ["f::a", "f::b", "f::c", "f::d", "f::f"], "all but the one it died in"


def test_a_worker_that_held_nothing_died_in_nothing(start):
    run = start({"f::a": 1.0}).collected()
    assert run.scheduler.remove_node(run.nodes[1]) is None


def test_a_test_is_run_again_where_that_is_asked_for(start):
    run = start(LENGTHS).collected()
    first, second = run.nodes
    died_in = run.scheduler.remove_node(first)
    run.scheduler.mark_test_pending(died_in)
    replacing = run.joined("gw2")
    given = {*run.held(second), *run.held(replacing)}
    while run.scheduler.has_pending:
        for node in (second, replacing):
            if run.held(node):
                run.done(node)
            given |= set(run.held(node))
    assert given == set(LENGTHS)


def test_a_worker_that_is_still_starting_is_not_counted_on(start):
    run = start(LENGTHS).collected()
    first, second = run.nodes
    run.scheduler.add_node(run.new("gw2"))
    run.scheduler.remove_node(first)
    for _ in range(5):
        run.done(second)
    assert second.shutting_down
    assert not run.scheduler.has_pending


def test_workers_that_collected_other_tests_are_an_error_of_collection(start):
    run = start(LENGTHS)
    run.collected(run.tests, [*run.tests, "f::more"])
    assert [report.outcome for report in run.reports] == ["failed"]
    assert "f::more" in str(run.reports[0].longrepr)
    assert run.scheduler.tests_finished, "nothing is run"
    assert [run.held(node) for node in run.nodes] == [[], []]


def test_a_replacing_worker_that_collected_other_tests_gets_none(start):
    run = start(LENGTHS).collected()
    run.scheduler.remove_node(run.nodes[0])
    replacing = run.joined("gw2", ["f::more"])
    assert replacing.shutting_down
    assert run.held(replacing) == []
    assert len(run.reports) == 1
    assert run.scheduler.nodes == [run.nodes[1], replacing]


def config(*, order=(), registered=None):
    return SimpleNamespace(
        getoption=lambda name, default=None: name in order,
        pluginmanager=SimpleNamespace(register=lambda plugin, name: registered.append(name)),
    )


def made(simulation, inner, workers=2, **given):
    """What the hook makes of another's scheduler."""
    xdists = inner(simulation.Config(workers), Producer("", enabled=False))
    hook = SchedulePlugin({}).pytest_xdist_make_scheduler(config(**given))
    next(hook)
    with pytest.raises(StopIteration) as stopped:
        hook.send(xdists)
    return type(stopped.value.value)


def test_it_stands_in_for_no_other_scheduler_than_the_one_that_does_the_same(simulation):
    class Chosen(LoadScheduling):
        """Another plugin's."""

    assert made(simulation, LoadScheduling) is LongestFirstScheduling
    assert made(simulation, LoadScheduling, workers=1) is LoadScheduling
    assert made(simulation, WorkStealingScheduling) is WorkStealingScheduling
    assert made(simulation, Chosen) is Chosen


@pytest.mark.parametrize("option", ["failedfirst", "newfirst", "stepwise"])
def test_it_leaves_an_order_that_was_asked_for(simulation, option):
    assert made(simulation, LoadScheduling, order=[option]) is LoadScheduling


def test_durations_that_cannot_be_read(tmp_path):
    registered: list[str] = []
    with pytest.raises(pytest.UsageError, match=r"^testmatrix: .*missing\.json cannot be read"):
        install(config(registered=registered), Options(durations=tmp_path / "missing.json"))
    assert registered == []
    install(config(registered=registered), Options())
    assert registered == ["testmatrix-schedule"]


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_the_last_worker_is_done_when_nothing_could_be_done_sooner(simulation, workers):
    """By the clock of the simulation, with durations that are known."""
    for distribution in simulation.distributions(read_durations(simulation.RECORDED)):
        durations = dict(list(distribution.draw(random.Random(1)).items())[:600])
        done = simulation.simulate(simulation.ours(durations), durations, workers)
        assert sorted(position for node in done.nodes for position in node.done) == list(range(len(durations)))
        assert done.ratio <= 1.01, distribution.name


def test_with_durations_of_another_day_it_is_still_even(simulation):
    for distribution in simulation.distributions(read_durations(simulation.RECORDED)):
        source = random.Random(2)
        durations = dict(list(distribution.draw(source).items())[:600])
        known, today = simulation.drifted(durations, source)
        done = simulation.simulate(simulation.ours(known), today, 4)
        assert len([position for node in done.nodes for position in node.done]) == len(durations)
        assert done.ratio <= 1.05, distribution.name


def test_without_durations_files_stay_together(simulation):
    durations = {f"f{number // 10}.py::t{number}": 1.0 for number in range(200)}
    done = simulation.simulate(simulation.ours({}), durations, 4)
    assert done.ratio == 1.0
    assert done.files <= 20 + 4, "each file in one worker, but for the last ones"
