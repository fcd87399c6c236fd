"""Plans: every test once, the same on all machines, and even."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testmatrix.shards.plan import ShardPlan, plan
from testmatrix.shards.prediction import UNKNOWN, Predictor

ROOT = Path(__file__).resolve().parents[3]

#: Ids of a few files and functions, so that many of them are like each other; and any other text.
ids = st.one_of(
    st.builds(
        "{}.py::{}{}".format,
        st.sampled_from(["a", "b/c", "d[e]"]),
        st.sampled_from(["test_x", "test_y", "T::test_x"]),
        st.sampled_from(["", "[1]", "[2]", "[a::b]", "[[]"]),
    ),
    st.text(max_size=8),
)
durations = st.dictionaries(ids, st.one_of(st.floats(0, 1e6), st.integers(0, 3).map(float)), max_size=40)
tests = st.lists(ids, max_size=60)
totals = st.integers(1, 12)


def placed(made: ShardPlan) -> Counter[str]:
    return Counter(test.test for shard in made.shards for test in shard)


@given(tests, durations, totals)
def test_every_test_is_in_exactly_one_shard(tests: list[str], durations: dict[str, float], total: int):
    made = plan(tests, durations, total)
    assert len(made.shards) == total
    assert placed(made) == Counter(set(tests))
    assert Counter(name for number in range(total) for name in made.names(number + 1)) == Counter(set(tests))


@given(tests, durations, totals, st.randoms())
def test_the_order_of_collection_and_of_the_durations_makes_no_difference(tests, durations, total, random):
    made = plan(tests, durations, total)
    shuffled, entries = list(tests), list(durations.items())
    random.shuffle(shuffled)
    random.shuffle(entries)
    again = plan(shuffled, dict(entries), total)
    assert again == made
    assert again.digest == made.digest


def test_nor_do_the_hashes_of_strings():
    program = (
        "from testmatrix.shards.plan import plan\n"
        "print(plan({f't{n % 7}.py::test[{n}]' for n in range(200)}, {f't1.py::test[{n}]': 1.5 for n in range(50)}, 5).digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(digests) == 1


def test_a_digest_tells_plans_apart():
    tests = ["a", "b", "c"]
    digests = [plan(tests, {}, 2), plan(tests, {}, 3), plan(tests, {"a": 3.0, "b": 1.0, "c": 1.0}, 2), plan(["a", "b"], {}, 2)]
    assert len({made.digest for made in digests}) == 4


def optimum(seconds: list[float], total: int) -> float:
    """The best makespan, by trying everything."""
    best = sum(seconds)
    for places in itertools.product(range(total), repeat=len(seconds)):
        loads = [0.0] * total
        for place, each in zip(places, seconds, strict=True):
            loads[place] += each
        best = min(best, max(loads))
    return best


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 20).map(float), max_size=7), st.integers(1, 3))
def test_no_plan_is_worse_than_longest_first_may_be(seconds: list[float], total: int):
    """Graham's bound for longest processing time first: 4/3 - 1/(3m) of the optimum."""
    recorded = {f"t{position}": each for position, each in enumerate(seconds)}
    made = plan(recorded, recorded, total)
    best = optimum(seconds, total)
    assert made.lower_bound <= best + 1e-9
    assert made.makespan <= best * (4 / 3 - 1 / (3 * total)) + 1e-9


def test_longest_first_onto_the_least_loaded():
    recorded = {"a": 5.0, "b": 4.0, "c": 3.0, "d": 3.0, "e": 3.0}
    made = plan(recorded, recorded, 2)
    assert [[test.test for test in shard] for shard in made.shards] == [["a", "d"], ["b", "c", "e"]]
    assert made.loads == (8.0, 10.0)
    assert (made.makespan, made.lower_bound, made.ratio) == (10.0, 9.0, 10 / 9)


def test_the_longest_test_is_a_lower_bound_too():
    recorded = {"a": 9.0, "b": 1.0, "c": 1.0}
    made = plan(recorded, recorded, 3)
    assert (made.makespan, made.lower_bound, made.ratio) == (9.0, 9.0, 1.0)


@pytest.mark.parametrize("recorded", [{}, {f"t{number}": 0.0 for number in range(90)}], ids=["unknown", "no time at all"])
def test_tests_that_take_equally_long_are_spread_evenly(recorded: dict[str, float]):
    made = plan([f"t{number}" for number in range(90)], recorded, 8)
    assert sorted(len(shard) for shard in made.shards) == [11] * 6 + [12] * 2


def test_more_shards_than_tests():
    made = plan(["a", "b"], {}, 5)
    assert sorted(len(shard) for shard in made.shards) == [0, 0, 0, 1, 1]
    assert plan([], {}, 3).ratio == 1.0


RECORDED = {
    "a.py::test_x[1]": 2.0,
    "a.py::test_x[2]": 4.0,
    "a.py::test_x[3]": 60.0,
    "a.py::test_y": 8.0,
    "a.py::T::test_x": 9.0,
    "b.py::test_z": 1.0,
}


@pytest.mark.parametrize(
    ("test", "seconds", "why"),
    [
        ("a.py::test_x[2]", 4.0, "recorded"),
        ("a.py::test_x[new::[id]]", 4.0, "median of the function's others"),
        ("a.py::test_x", 4.0, "the function lost its parameters"),
        ("a.py::test_new", 8.0, "median of the file"),
        ("a.py::T::test_new[1]", 8.0, "median of the file"),
        ("b.py", 1.0, "an item that is a file"),
        ("c.py::test_new", 6.0, "median of all"),
        ("", 6.0, "median of all"),
    ],
)
def test_what_is_not_recorded_is_predicted(test: str, seconds: float, why: str):
    assert Predictor(RECORDED)(test) == seconds, why
    made = plan([test], RECORDED, 1)
    assert [(one.seconds, one.predicted) for one in made.tests] == [(seconds, why != "recorded")]


def test_nothing_recorded():
    assert Predictor({})("a.py::test_x[1]") == UNKNOWN == 1.0


@given(ids, durations)
def test_a_prediction_lies_among_what_is_recorded(test: str, durations: dict[str, float]):
    seconds = Predictor(durations)(test)
    assert min(durations.values(), default=UNKNOWN) <= seconds <= max(durations.values(), default=UNKNOWN)


def test_plans_of_thousands_of_tests_are_even():
    recorded = {f"t{number % 50}.py::test[{number}]": 60.0 / (1 + number) for number in range(3000)}
    made = plan(recorded, recorded, 4)
    assert made.ratio < 1.03
