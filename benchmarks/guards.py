"""What comparing guards costs: pairs of compiles of a matrix run, compared once more by themselves, and the run's own share.

Exit status 1 where an aim is missed.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import math
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overhead import ROOT, run
from pairs import ComparedPair, Kept, load
from sympy.core.cache import clear_cache
from where import COMPARING, COMPARING_GUARDS

from testmatrix.compare.algebra.relation import LIMIT
from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.rule import GuardComparison, compare_guards
from testmatrix.observation import Compile

DEFAULT_SUITE = ("suites",)
SLOWEST = 5
#: How often all identical pairs are gone through, of which the median counts.
ROUNDS = 7

Sides = tuple[Compile, Compile]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table, with what it should be where it is more than information."""

    name: str
    shown: str
    aim: str = ""
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Timed:
    """One pair that differs in normal form: how long comparing it took, and what came out."""

    pair: ComparedPair
    frame: str
    seconds: float
    comparison: GuardComparison


@dataclass(frozen=True, slots=True)
class Sorted:
    """Pairs by the step at which comparing them can end."""

    equal: list[ComparedPair]  #: the guards are the same as they were recorded
    same: list[ComparedPair]  #: the normal forms are
    symbolic: list[ComparedPair]


def measured_run(suite: Sequence[str], path: Path) -> None:
    """A matrix run that leaves its pairs in a file."""
    environment = {"BENCHMARK_PAIRS": str(path), "BENCHMARK_STARTED": str(time.monotonic())}
    run(["--testmatrix", "--testmatrix-supervise=off", "-p", "where", "-p", "keep_pairs", *suite], environment)


def sorted_pairs(kept: Kept) -> Sorted:
    found = Sorted([], [], [])
    for pair in kept.pairs:
        reference, other = _sides(kept, pair)
        if (reference.guards, reference.symbols) == (other.guards, other.symbols):
            found.equal.append(pair)
        else:
            (found.same if accept_set(reference).is_same(accept_set(other)) else found.symbolic).append(pair)
    return found


def _sides(kept: Kept, pair: ComparedPair) -> Sides:
    return kept.compiles[pair.reference], kept.compiles[pair.other]


def _caches() -> list[Callable[[], None]]:
    """What empties everything that comparing keeps from one pair for the next: the package's caches, and sympy's."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("testmatrix.")]
    clears = {id(one): one.cache_clear for module in modules for one in vars(module).values() if hasattr(one, "cache_clear")}
    return [*clears.values(), clear_cache]


class Cold:
    """Calls with nothing cached."""

    def __init__(self) -> None:
        self._clears = _caches()

    def __call__(self) -> None:
        for clear in self._clears:
            clear()


def identical_rate(pairs: Sequence[tuple[Any, Any]], compare: Callable[[Any, Any], object]) -> float:
    """Pairs a second."""
    rates = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for left, right in pairs:
            compare(left, right)
        rates.append(len(pairs) / (time.perf_counter() - started))
    return statistics.median(rates)


def accept_sets(kept: Kept, pairs: Sequence[ComparedPair], cold: Callable[[], None]) -> list[tuple[AcceptSet, AcceptSet]]:
    """Both sides of each pair, made apart from each other, so that they share no expressions."""
    made = []
    for pair in pairs:
        cold()
        left = accept_set(kept.compiles[pair.reference])
        cold()
        made.append((left, accept_set(kept.compiles[pair.other])))
    return made


def timed_pairs(kept: Kept, pairs: Sequence[ComparedPair], cold: Callable[[], None], *, ask_z3: bool) -> list[Timed]:
    """Each pair compared with nothing cached, slowest first; making the accept sets is part of it."""
    found = []
    for pair in pairs:
        reference, other = _sides(kept, pair)
        cold()
        started = time.perf_counter()
        comparison = compare_guards(reference, other, pair.governed, versions=pair.versions, ask_z3=ask_z3)
        found.append(Timed(pair, other.frame, time.perf_counter() - started, comparison))
    return sorted(found, key=lambda one: -one.seconds)


def percentile(slowest_first: Sequence[Timed], share: float) -> float:
    """The time within which that share of the pairs was compared."""
    return slowest_first[len(slowest_first) - math.ceil(share * len(slowest_first))].seconds


def identical_lines(kept: Kept, found: Sorted, cold: Callable[[], None]) -> Iterator[Line]:
    yield Line(
        "identical pairs",
        f"{len(found.equal) + len(found.same)}: {len(found.equal)} as recorded, {len(found.same)} in normal form",
    )
    sets = accept_sets(kept, [*found.equal, *found.same], cold)
    if sets:
        rate = identical_rate(sets, AcceptSet.is_same)
        yield Line("  accept sets that were made before", f"{rate:,.0f} pairs/s", "50,000 pairs/s", rate >= 50_000)

    def compare(sides: Sides, pair: ComparedPair) -> GuardComparison:
        return compare_guards(*sides, pair.governed, versions=pair.versions)

    for name, pairs in (("as recorded", found.equal), ("in normal form", found.same)):
        if pairs:
            rate = identical_rate([(_sides(kept, pair), pair) for pair in pairs], compare)
            yield Line(f"  whole comparison of those identical {name}", f"{rate:,.0f} pairs/s")


def symbolic_lines(name: str, pairs: Sequence[Timed]) -> Iterator[Line]:
    middle, most, greatest = percentile(pairs, 0.5), percentile(pairs, 0.95), pairs[0].seconds
    yield Line(f"  {name}: median", f"{middle * 1000:.1f} ms")
    yield Line(f"  {name}: 95th percentile", f"{most * 1000:.1f} ms", "20 ms", most <= 0.02)
    yield Line(f"  {name}: greatest", f"{greatest * 1000:.1f} ms", f"{LIMIT * 1000:.0f} ms", greatest <= LIMIT)
    undecided = sum(one.comparison.relation == "undecided" for one in pairs)
    share = undecided / len(pairs)
    yield Line(f"  {name}: undecided", f"{undecided} ({share:.2%})", "1 %", share <= 0.01)
    relations = Counter(one.comparison.relation for one in pairs)
    yield Line(f"  {name}: relations", ", ".join(f"{count} {relation}" for relation, count in relations.most_common()))


def share_lines(kept: Kept) -> Iterator[Line]:
    guards = kept.spent.get(COMPARING_GUARDS, 0.0)
    comparing = kept.spent.get(COMPARING, 0.0) + guards
    share = comparing / kept.wall
    yield Line("comparing, of the run's wall time", f"{share:.2%} ({comparing:.1f} of {kept.wall:.0f} s)", "5 %", share <= 0.05)
    yield Line("  guards alone", f"{guards / kept.wall:.2%} ({guards:.1f} s)")


def show_line(line: Line) -> None:
    verdict = f"  aim {line.aim}: {'reached' if line.reached else 'MISSED'}" if line.aim else ""
    print(f"{line.name:50} {line.shown}{verdict}", flush=True)


def show_pairs(title: str, pairs: Sequence[Timed]) -> None:
    for one in pairs:
        cells = " and ".join(one.pair.cells)
        print(f"{title}: {one.seconds * 1000:.1f} ms, {one.comparison.relation}: {one.pair.test}, {one.frame} in {cells}")


def report(kept: Kept) -> bool:
    """Measure and print; whether every aim is reached."""
    gc.freeze()  # what was read lives as long as the process: looking through it again and again is no part of comparing
    lines: list[Line] = []

    def show(found: Iterator[Line]) -> None:
        for line in found:
            show_line(line)
            lines.append(line)

    print(
        f"{kept.tests} tests, {len(kept.pairs)} pairs of {len(kept.compiles)} compiles; torch {kept.torch}, Python {kept.python}"
    )
    cold = Cold()
    found = sorted_pairs(kept)
    show(identical_lines(kept, found, cold))
    show_line(Line("symbolic pairs, nothing cached", f"{len(found.symbolic)}"))
    alone: list[Timed] = []
    if found.symbolic:
        timed_pairs(kept, found.symbolic[:1], cold, ask_z3=True)  # imports
        alone = timed_pairs(kept, found.symbolic, cold, ask_z3=False)
        show(symbolic_lines("without z3", alone))
        if importlib.util.find_spec("z3") is not None:
            show(symbolic_lines("with z3", timed_pairs(kept, found.symbolic, cold, ask_z3=True)))
    show(share_lines(kept))
    show_pairs("slow", alone[:SLOWEST])
    undecided = [one for one in alone if one.comparison.relation == "undecided"]
    show_pairs("undecided", undecided)
    for condition in dict.fromkeys(condition for one in undecided for condition in one.comparison.undecided):
        print(f"    {condition}")
    return all(line.reached for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="measure what an earlier run kept instead of running")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep what the run leaves to measure")
    parser.add_argument("suite", nargs="*", metavar="PATH", help=f"default: {' '.join(DEFAULT_SUITE)}")
    options = parser.parse_args()
    if options.pairs is not None and (options.suite or options.keep is not None):
        parser.error("--pairs measures a run that was made before: neither paths nor --keep go with it")
    if options.pairs is not None:
        kept = load(options.pairs)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = (options.keep or Path(folder) / "pairs.json.gz").absolute()
            os.chdir(ROOT)
            measured_run(options.suite or DEFAULT_SUITE, path)
            kept = load(path)
    sys.exit(not report(kept))


if __name__ == "__main__":
    main()
