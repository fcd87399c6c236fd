"""What the benchmark of comparing guards keeps of a run, and what it makes of the times that it measured."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from testmatrix.compare.guards.rule import GuardComparison
from testmatrix.grid import parse_grid
from testmatrix.observation import Compile, Guard, Leaf, Observation, RegionCall, Symbol

ROOT = Path(__file__).resolve().parents[2]
GRID = parse_grid("default")
CELLS = [cell.name for cell in GRID.cells]
RESULT = Leaf(path="", type="int", value="5")
SIZE = Symbol(name="s0", sources=("L['x'].size()[0]",), kind="size", hint="8", lower="2", upper="oo")


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


def multiple(text: str) -> Compile:
    return Compile(frame="mod.f", line=1, region_call=0, guards=(Guard(kind="SHAPE", source="", text=text),), symbols=(SIZE,))


def observations(*compiles: Compile) -> dict[str, Observation]:
    call = RegionCall(region="mod.f", index=0, result=(RESULT,))
    return {
        cell: Observation(test="test_it", cell=cell, outcome="passed", regions=(call,), compiles=(one,), torch="2.13.0")
        for cell, one in zip(CELLS, compiles, strict=False)
    }


def kept(pairs: ModuleType, *compiles: Compile, **fields: Any) -> Any:
    return pairs.keep([(observations(*compiles), GRID)], **({"wall": 100.0, "spent": {}} | fields))


def test_pairs_of_all_cells_are_kept_as_they_were(benchmark: Any, tmp_path: Path) -> None:
    pairs = benchmark("pairs")
    made = kept(pairs, *(multiple(f"s0 >= {bound}") for bound in range(4)), spent={"comparing": 2.0})
    pairs.save(made, tmp_path / "pairs.json.gz")
    assert len(made.pairs) == 6
    assert len(made.compiles) == 4
    assert pairs.load(tmp_path / "pairs.json.gz") == made


def test_what_pairing_does_not_look_at_is_left_out(benchmark: Any) -> None:
    pairs = benchmark("pairs")
    whole = observations(multiple("s0 >= 1"), multiple("s0 >= 2"))
    bare = {cell: pairs.without_values(one) for cell, one in whole.items()}
    assert [one.regions[0].result for one in (*whole.values(), *bare.values())] == [(RESULT,), (RESULT,), (), ()]
    from_whole, from_bare = (pairs.keep([(one, GRID)], wall=1.0, spent={}) for one in (whole, bare))
    assert from_whole == from_bare
    assert len(from_bare.pairs) == 1


def test_pairs_are_told_apart_by_where_comparing_them_can_end(benchmark: Any) -> None:
    guards, pairs = benchmark("guards"), benchmark("pairs")
    texts = ("Eq(Mod(s0, 8), 0)", "Eq(Mod(s0, 8), 0)", "Eq(8*FloorDiv(s0, 8), s0)")
    found = guards.sorted_pairs(kept(pairs, *map(multiple, texts), multiple("Eq(Mod(s0, 4), 0)")))
    assert [len(found.equal), len(found.same), len(found.symbolic)] == [1, 2, 3]


def timed(guards: ModuleType, seconds: float, relation: Any = "equal") -> Any:
    return guards.Timed(None, "mod.f", seconds, GuardComparison(relation=relation))


def test_a_percentile_is_the_time_of_the_last_pair_within_it(benchmark: Any) -> None:
    guards = benchmark("guards")
    slowest_first = [timed(guards, seconds / 1000) for seconds in range(100, 0, -1)]
    assert guards.percentile(slowest_first, 0.95) == 0.095
    assert guards.percentile(slowest_first[-1:], 0.95) == 0.001


@pytest.mark.parametrize(
    ("times", "relation", "missed"),
    [
        ([0.01] * 100, "equal", ""),
        ([0.03] * 6 + [0.01] * 94, "equal", "95th percentile"),
        ([0.6] + [0.01] * 99, "equal", "greatest"),
        ([0.01] * 100, "undecided", "undecided"),
    ],
)
def test_a_missed_aim_is_said(benchmark: Any, times: list[float], relation: str, missed: str) -> None:
    guards = benchmark("guards")
    lines = guards.symbolic_lines("alone", [timed(guards, seconds, relation) for seconds in times])
    assert [line.name for line in lines if not line.reached] == ([f"  alone: {missed}"] if missed else [])


@pytest.mark.parametrize(("seconds", "reached"), [(4.0, True), (5.5, False)])
def test_guards_are_part_of_comparing(benchmark: Any, seconds: float, reached: bool) -> None:
    guards, pairs, where = benchmark("guards"), benchmark("pairs"), benchmark("where")
    spent = {where.COMPARING: 1.0, where.COMPARING_GUARDS: seconds - 1.0, "tests": 50.0}
    whole, alone = guards.share_lines(kept(pairs, multiple("s0 >= 1"), spent=spent))
    assert whole.reached is reached
    assert whole.shown.startswith(f"{seconds:.2f}%")
    assert alone.shown.startswith(f"{seconds - 1:.2f}%")
