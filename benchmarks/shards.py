"""How even shards are: the expected makespan of a plan against what no plan can beat.

Nothing is run: plans are made of recorded durations of 6,000 tests, real ones and long-tailed synthetic ones. Exit status 1 where
the aim is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from testmatrix.shards.durations import Durations, read_durations
from testmatrix.shards.plan import ShardPlan, plan

TESTS = 6000
SHARDS = 8
#: Makespan over lower bound.
AIM = 1.03
SEEDS = range(20)
RECORDED = Path(__file__).resolve().parent / "suites-durations.json"

#: How much a test's time differs from one machine or day to the next: the standard deviation of its logarithm.
NOISE = 0.25
#: Tests that are new, in the lines on what a plan is worth where the durations are not what they were.
UNKNOWN_SHARE = 0.05

Made = Callable[[random.Random], dict[str, float]]


@dataclass(frozen=True, slots=True)
class Distribution:
    """Durations of a suite, drawn anew with every seed."""

    name: str
    draw: Made


def synthetic(draw: Callable[[random.Random], float]) -> Made:
    """A suite of files of 40 tests, each function of which has four parametrisations."""

    def made(source: random.Random) -> dict[str, float]:
        return {f"test_{n // 40}.py::test_{n % 40 // 4}[{n % 4}]": draw(source) for n in range(TESTS)}

    return made


def enlarged(recorded: Durations) -> Made:
    """A recorded suite as often as it takes to be of the size, each copy of a test with its own noise.

    Copies are apart as files are, so that what is predicted of a test comes from its own copy of the suite.
    """

    def made(source: random.Random) -> dict[str, float]:
        tests = sorted(recorded.items())
        found = {}
        for n in range(TESTS):
            test, seconds = tests[n % len(tests)]
            found[f"copy{n // len(tests)}/{test}"] = seconds * source.lognormvariate(0, NOISE)
        return found

    return made


def distributions(recorded: Durations) -> Iterator[Distribution]:
    yield Distribution(f"recorded: {len(recorded)} tests as they are", lambda source: dict(recorded))
    yield Distribution("recorded: repeated with noise", enlarged(recorded))
    yield Distribution("synthetic: log-normal, sigma 1.5", synthetic(lambda source: source.lognormvariate(-1.5, 1.5)))
    yield Distribution("synthetic: log-normal, sigma 2.5", synthetic(lambda source: source.lognormvariate(-3, 2.5)))
    yield Distribution("synthetic: Pareto, alpha 1.1", synthetic(lambda source: 0.05 * source.paretovariate(1.1)))


def actual_ratio(made: ShardPlan, actual: Durations) -> float:
    """Makespan over lower bound of a plan whose tests take other times than it was made for."""
    loads = [sum(actual[test.test] for test in tests) for tests in made.shards]
    return max(loads) / max(sum(loads) / len(loads), *actual.values())


def drifted(recorded: Durations, source: random.Random) -> tuple[dict[str, float], dict[str, float]]:
    """What is known of a suite, and what its tests take today."""
    known = {test: seconds for test, seconds in recorded.items() if source.random() >= UNKNOWN_SHARE}
    return known, {test: seconds * source.lognormvariate(0, NOISE) for test, seconds in recorded.items()}


def show(distribution: Distribution) -> bool:
    """Measure and print one distribution; whether the aim is reached with every seed."""
    ratios, later, uninformed, times = [], [], [], []
    for seed in SEEDS:
        source = random.Random(seed)
        durations = distribution.draw(source)
        started = time.perf_counter()
        made = plan(durations, durations, SHARDS)
        times.append(time.perf_counter() - started)
        ratios.append(made.ratio)
        known, today = drifted(durations, source)
        later.append(actual_ratio(plan(durations, known, SHARDS), today))
        uninformed.append(actual_ratio(plan(durations, {}, SHARDS), today))
    reached = max(ratios) <= AIM
    print(
        f"{distribution.name:40} {statistics.median(ratios):8.4f} {max(ratios):8.4f}  {'reached' if reached else 'MISSED':8}"
        f"{statistics.median(later):8.2f} {statistics.median(uninformed):12.2f} {statistics.median(times) * 1000:8.0f} ms",
        flush=True,
    )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--durations",
        type=Path,
        default=RECORDED,
        metavar="FILE",
        help="a report or a file of durations (default: those of suites/)",
    )
    options = parser.parse_args()
    print(f"makespan of {SHARDS} shards / lower bound, {TESTS} tests, {len(SEEDS)} seeds; aim: at most {AIM}")
    print(f"{'':40} {'median':>8} {'worst':>8}  {'aim':8}{'drifted':>8} {'no durations':>12} {'planning':>11}")
    results = [show(distribution) for distribution in distributions(read_durations(options.durations))]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
