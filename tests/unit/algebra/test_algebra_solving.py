"""Systems of rows and of conditions: solved where brute force finds a solution, and empty only where there is none."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from random_conditions import SORTS, conditions, grid, let_through

from testmatrix.compare.algebra.elimination import Gap, Infeasible, Row, solve
from testmatrix.compare.algebra.enumeration import enumerated_model
from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.model import Model, Point, linear_model
from testmatrix.compare.algebra.normal import conjuncts
from testmatrix.compare.algebra.parse import parse, parse_number
from testmatrix.compare.algebra.search import searched_model
from testmatrix.compare.algebra.solver import installed, z3_model
from testmatrix.compare.algebra.terms import known_of
from testmatrix.compare.algebra.variables import Sort, variable

ALL = settings.get_profile("algebra")
SOME = settings(ALL, max_examples=300)
LATER = 30.0


def deadline() -> float:
    return time.monotonic() + LATER


def always(_: int) -> bool:
    return True


def never(_: int) -> bool:
    return False


def fits(row: Row, values: Any) -> bool:
    total = row.constant + sum(factor * values.get(variable, 0) for variable, factor in row.coefficients)
    return bool(total == 0 if row.relation == "==" else total > 0 if row.relation == ">" else total >= 0)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """A system over up to three variables between -6 and 6, which are bounded by rows, too."""
    count = draw(st.integers(1, 3))
    made = [Row(((variable, sign),), 6) for variable in range(count) for sign in (1, -1)]
    for _ in range(draw(st.integers(1, 4))):
        factors = draw(st.lists(st.integers(-5, 5), min_size=count, max_size=count))
        coefficients = tuple((variable, factor) for variable, factor in enumerate(factors) if factor)
        made.append(Row(coefficients, draw(st.integers(-12, 12)), draw(st.sampled_from([">=", ">", "=="]))))
    return made


@settings(ALL, max_examples=500)
@given(rows())
def test_a_system_of_ints_agrees_with_brute_force(system: list[Row]) -> None:
    count = 1 + max(variable for row in system for variable, _ in row.coefficients)
    feasible = any(
        all(fits(row, dict(enumerate(point))) for row in system) for point in itertools.product(range(-6, 7), repeat=count)
    )
    found = solve(system, always, {}, deadline())
    if isinstance(found, Infeasible):
        assert not feasible
    elif isinstance(found, Gap):
        assert 0 <= found.variable < count
    elif found is not None:
        assert all(fits(row, found) for row in system)
        assert all(isinstance(found.get(variable, 0), int) for variable in range(count))
        assert feasible


@settings(SOME)
@given(rows(), st.lists(st.integers(-6, 6), min_size=3, max_size=3))
def test_what_has_a_solution_in_ints_is_not_infeasible_in_fractions(system: list[Row], point: Sequence[int]) -> None:
    """Constants are moved so that a given point just fits."""
    values = dict(enumerate(point))
    moved = [Row(row.coefficients, row.constant - _missing(row, values), row.relation) for row in system]
    found = solve(moved, never, {}, deadline())
    assert found is not None
    assert not isinstance(found, Infeasible | Gap)
    assert all(fits(row, found) for row in moved)


def _missing(row: Row, values: dict[int, int]) -> int:
    total = int(row.constant) + sum(int(factor) * values[variable] for variable, factor in row.coefficients)
    if row.relation == "==":
        return total
    return min(total - (row.relation == ">"), 0)


@pytest.mark.parametrize(
    ("system", "feasible"),
    [
        ([Row(((0, 2), (1, -3)), 0, "=="), Row(((0, 1),), -1), Row(((0, -1),), 2)], False),  # 2x = 3y, 1 <= x <= 2
        ([Row(((0, 2), (1, -3)), 0, "=="), Row(((0, 1),), -1), Row(((0, -1),), 3)], True),
        ([Row(((0, 6), (1, 10), (2, 15)), -1, "==")], True),
        ([Row(((0, 6), (1, 10)), -1, "==")], False),
        ([Row(((0, 4), (1, 6)), -3, "==")], False),
        ([Row(((0, 3),), -1), Row(((0, -3),), 2)], False),  # 1 <= 3x <= 2
        ([Row(((0, 12), (1, 21)), -3, "=="), Row(((0, 1),), -100), Row(((1, 1),), -100)], False),
        ([Row(((0, 12), (1, -21)), -3, "=="), Row(((0, 1),), -100), Row(((1, 1),), -100)], True),
        ([Row(((0, 1),), 0, ">"), Row(((0, -1),), 1, ">")], False),  # 0 < x < 1
        ([], True),
        ([Row((), -1)], False),
        ([Row((), 0, ">")], False),
        ([Row((), 1, "==")], False),
    ],
)
def test_equations_and_bounds_of_ints(system: list[Row], feasible: bool) -> None:
    found = solve(system, always, {}, deadline())
    assert not isinstance(found, Gap)
    assert found is not None
    assert isinstance(found, Infeasible) is not feasible
    assert isinstance(found, Infeasible) or all(fits(row, found) for row in system)


def test_between_nought_and_one_is_a_fraction() -> None:
    found = solve([Row(((0, 1),), 0, ">"), Row(((0, -1),), 1, ">")], never, {}, deadline())
    assert isinstance(found, dict)
    assert 0 < found[0] < 1


def test_a_gap_names_the_variable_to_split_at() -> None:
    """No int between a third and two thirds of another: rounding finds that out only when the other is known."""
    system = [Row(((0, 3), (1, -1)), 0, ">"), Row(((0, -3), (1, 1)), 2, ">"), Row(((1, 1),), -1), Row(((1, -1),), 1)]
    found = solve(system, always, {}, deadline())
    assert isinstance(found, Gap | Infeasible)
    if isinstance(found, Gap):
        assert found.variable in (0, 1)


def test_a_solution_stays_near_to_what_is_wanted() -> None:
    found = solve([Row(((0, 1),), -3), Row(((0, 1), (1, 1)), -20)], always, {0: 7, 1: 100}, deadline())
    assert found == {0: 7, 1: 100}
    assert solve([Row(((0, 1),), -3)], always, {0: 1}, deadline()) == {0: 3}


def test_out_of_time_is_no_answer() -> None:
    assert solve([Row(((0, 1),), -3)], always, {}, time.monotonic() - 1) is None


# Models of conditions.

NAMES = sorted(SORTS)


def read(texts: Sequence[str]) -> frozenset[Any]:
    parsed = [parse(text, lambda name: variable(name, SORTS[name])) for text in texts]
    return frozenset(part for one in parsed for part in conjuncts(one)) - {sympy.true}


def in_reach(texts: Sequence[str]) -> bool:
    return bool(let_through(texts, grid(texts)).any())


def linear(found: frozenset[Any]) -> Model:
    return linear_model(found, SORTS, {}, deadline())


WAYS = {
    "linear": linear,
    "search": lambda found: searched_model(found, SORTS, {}, deadline()),
    "enumeration": lambda found: enumerated_model(found, SORTS, {}, deadline(), linear),
    "z3": lambda found: z3_model(found, SORTS, time.monotonic() + 0.5),
}
EACH_WAY = [pytest.param(name, marks=[pytest.mark.skipif(name == "z3" and not installed(), reason="no z3")]) for name in WAYS]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_model_is_one_and_empty_is_empty(way: str) -> None:
    counts = {"empty": 0, "unknown": 0, "point": 0}

    @settings(SOME, max_examples=60 if way in ("z3", "enumeration") else 200, database=None, derandomize=True)
    @given(st.lists(conditions(NAMES[:3]), min_size=1, max_size=4))
    def check(texts: list[str]) -> None:
        found = read(texts)
        if sympy.false in found or not found:
            return
        answer = WAYS[way](found)
        if isinstance(answer, Point):
            counts["point"] += 1
            values = dict.fromkeys(NAMES, 3) | dict(answer.values)
            assert all(holds(one, values) for one in found)
            assert all(answer.values[name] >= 0 for name in answer.values if SORTS[name] == "extent")
        else:
            counts[answer] += 1
            assert answer == "unknown" or not in_reach(texts)

    check()
    assert counts["point"] > (5 if way == "enumeration" else 20)
    assert counts["empty"] > 0 or way in ("enumeration", "search")


@pytest.mark.skipif(not installed(), reason="no z3")
def test_z3_and_linear_reasoning_agree() -> None:
    decided: list[str] = []

    @settings(SOME, max_examples=80, database=None, derandomize=True)
    @given(st.lists(conditions(NAMES), min_size=1, max_size=5))
    def check(texts: list[str]) -> None:
        found = read(texts)
        if sympy.false in found or not found:
            return
        one, other = (WAYS[way](found) for way in ("linear", "z3"))
        if "unknown" not in (one, other):
            decided.append(str(one))
            assert isinstance(one, Point) is isinstance(other, Point)

    check()
    assert len(decided) > 40


SORTED: dict[str, Sort] = {"n": "int", "a": "extent", "b": "bool", "z": "float"}


def model(texts: Sequence[str], prefer: dict[str, Any] | None = None) -> Model:
    parsed = [parse(text, lambda name: variable(name, SORTED[name])) for text in texts]
    found = frozenset(part for one in parsed for part in conjuncts(one)) - {sympy.true}
    return linear_model(found, SORTED, prefer or {}, deadline())


@pytest.mark.parametrize(
    "texts",
    [
        ["FloorDiv(z, 2) >= 4", "z < 8"],
        ["FloorToInt(z) >= 4", "z < 4"],
        ["CeilToInt(z) <= 4", "z > 4"],
        ["TruncToInt(z) >= 1", "z < 1"],
        ["TruncToInt(z) < 0", "z > -1"],
        ["RoundToInt(z) >= 3", "z < 2.25"],
        ["ToFloat(n) > 4.5", "n <= 4"],
        ["ToFloat(n) < -1.25", "n >= -1"],
        ["Where(n > 2, 1, 0) >= 1", "n < 3"],
        ["Eq(Where(b > 0, n, -1), 5)", "b < 1"],
        ["Abs(z) < 0"],
        ["Max(z, 1.5) < 1.5"],
        ["b > 1"],
        ["z > 1", "2.0*z <= 2"],
        ["n**2 < 0"],
        ["a*n >= 50", "a <= 3", "n <= 4", "n >= 0"],
    ],
)
def test_no_model(texts: list[str]) -> None:
    assert model(texts) == "empty"


@pytest.mark.parametrize(
    "texts",
    [
        ["FloorDiv(z, 2) <= 3", "z > 7"],
        ["FloorDiv(z, 2) >= 3", "z < 6.5"],
        ["FloorToInt(z) >= 4", "z < 4.25"],
        ["TruncToInt(z) >= 0", "z < 0"],
        ["RoundToInt(z) >= 3", "z < 2.75"],
        ["z**2*a >= 1", "a >= 5", "a <= 10", "2*z <= 1", "z > 0"],
        ["z > 1", "z < 1.0001"],
        ["Where(n > 2, 1, 0) >= 1"],
    ],
)
def test_a_model(texts: list[str]) -> None:
    """None of these may be taken for empty because of an int where there is none."""
    assert model(texts) != "empty"


def test_a_float_is_a_double() -> None:
    for texts in (["3.0*z >= 1", "3.0*z <= 1.0000001"], ["3.0*z >= 1"], ["3.0*z <= -1"], ["7.0*z > 1", "11.0*z < 2"]):
        found = model(texts)
        assert isinstance(found, Point)
        value = found.values["z"]
        assert Fraction(float(value)) == value


def test_models_prefer_what_was_recorded() -> None:
    found = model(["n >= 3", "a >= 2"], {"n": 11, "a": 9})
    assert isinstance(found, Point)
    assert found.values == {"n": 11, "a": 9}


FACTS = [
    *("FloorDiv(n, 4)", "FloorDiv(z, 2)", "FloorToInt(z)", "CeilToInt(z)", "TruncToInt(z)", "RoundToInt(z)", "ToFloat(n)"),
    *("Max(n, a, 3)", "Min(z, n)", "Abs(n)", "Abs(z)", "Where(n > 2, a, -n)", "n**2", "n*a", "a*b", "z*n", "z**2*a", "floor(z)"),
]


#: Nothing is known of a product of which a factor may be anything.
UNBOUNDED = ("n*a", "z*n", "z**2*a")


@pytest.mark.parametrize("text", FACTS)
def test_what_is_known_of_a_term_holds_everywhere(text: str) -> None:
    term = parse_number(text, lambda name: variable(name, SORTED[name]))
    unbounded = [*known_of(term, lambda one: (sympy.Integer(0) if one.is_nonnegative else None, None))]
    domains = {
        "n": (-9, -2, -1, 0, 1, 2, 7, 2**53 + 1),
        "a": (0, 1, 2, 9),
        "b": (0, 1),
        "z": [Fraction(step, 4) for step in range(-13, 14)],
    }
    names = sorted({symbol.name for symbol in term.free_symbols})
    assert unbounded or text in UNBOUNDED
    for values in itertools.product(*(domains[name] for name in names)):
        for fact in unbounded:
            assert holds(fact, dict(zip(names, values, strict=True))), (fact, values)


def test_bounds_of_factors_bound_the_product() -> None:
    term = variable("n", "int") * variable("m", "int")
    facts = [*known_of(term, lambda one: (sympy.Integer(-2), sympy.Integer(5)))]
    assert len(facts) == 4
    for n, m in itertools.product(range(-2, 6), repeat=2):
        assert all(holds(fact, {"n": n, "m": m}) for fact in facts)
