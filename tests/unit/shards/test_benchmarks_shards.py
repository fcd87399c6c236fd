"""What the benchmark of shards draws and measures; and its aim, which is no matter of time."""

from __future__ import annotations

import importlib
import random
from pathlib import Path
from typing import Any

import pytest

from testmatrix.shards.durations import read_durations
from testmatrix.shards.plan import plan

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("shards")


def test_the_aim_is_reached(shards: Any):
    recorded = read_durations(shards.RECORDED)
    sizes = []
    for distribution in shards.distributions(recorded):
        durations = distribution.draw(random.Random(0))
        sizes.append(len(durations))
        assert plan(durations, durations, shards.SHARDS).ratio <= shards.AIM, distribution.name
    assert sizes == [len(recorded), *[shards.TESTS] * 4]


def test_a_suite_is_repeated_with_noise(shards: Any):
    made = shards.enlarged({"a.py::x": 1.0, "a.py::y": 100.0})(random.Random(0))
    assert len(made) == shards.TESTS
    assert len(set(made.values())) == shards.TESTS
    assert all(0.1 < made[f"copy{n}/a.py::x"] < 10 < made[f"copy{n}/a.py::y"] < 1000 for n in range(shards.TESTS // 2))


def test_a_plan_is_judged_by_what_its_tests_take_on_the_day(shards: Any):
    made = plan(["a", "b", "c"], {"a": 2.0, "b": 1.0, "c": 1.0}, 2)
    assert shards.actual_ratio(made, {"a": 2.0, "b": 1.0, "c": 1.0}) == 1.0
    assert shards.actual_ratio(made, {"a": 1.0, "b": 2.0, "c": 1.0}) == 1.5


def test_of_some_tests_nothing_is_known(shards: Any):
    recorded = {f"t{n}": 1.0 for n in range(2000)}
    known, today = shards.drifted(recorded, random.Random(0))
    assert 0.9 < len(known) / len(recorded) < 1.0
    assert set(known.values()) == {1.0}
    assert set(today) == set(recorded)
    assert 0.2 < min(today.values()) < 1 < max(today.values()) < 5
