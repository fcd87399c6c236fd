"""Normal form and solved form: what they are for conditions that somebody could get wrong."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from random_conditions import SORTS, conditions, grid, let_through

from testmatrix.compare.algebra.conjunction import Conjunction, Solved, solved, without
from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.normal import canonical, negation, substitute
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.variables import Sort, variable
from testmatrix.compare.algebra.weight import TooLarge

SETTINGS = settings(settings.get_profile("algebra"), max_examples=200)


def look_up(name: str) -> Any:
    sort: Sort = "float" if name.startswith("z") else "extent" if name in ("a", "b") else "int"
    return variable(name, sort)


def read(text: str) -> Any:
    return parse(text, look_up)


def solution(*texts: str) -> Solved:
    return solved(Conjunction().and_also(map(read, texts)).conditions)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2*n + 4 > 3*m", "2*n - 3*m >= -3"),
        ("n > 3", "n >= 4"),
        ("2*n > 3", "n >= 2"),
        ("-3*n > 7", "n <= -3"),
        ("Eq(4*n, 6*m)", "Eq(3*m, 2*n)"),
        ("n < m", "~(n >= m)"),
        ("FloorDiv(n, 4) >= 2", "n >= 8"),
        ("FloorDiv(n, 4) <= 2", "n <= 11"),
        ("FloorDiv(n, 4) < -2", "n <= -9"),
        ("FloorDiv(n, -4) >= 2", "n <= -8"),
        ("FloorDiv(z, 2) >= 3", "z >= 6"),
        ("FloorDiv(z, 2) <= 3", "z < 8"),
        ("z > 1.5", "2*z > 3"),
        ("-2.0*z >= 3", "z <= -1.5"),
        ("Eq(n*(m + 1), n*m + 5)", "Eq(n, 5)"),
        ("a >= 0", "True"),
        ("a >= -3", "True"),
        ("a < 0", "False"),
        ("a > 0", "a >= 1"),
        ("Eq(2*n, 3)", "False"),
        ("Ne(2*n, 3)", "True"),
        ("Eq(n/2, m)", "Eq(n, 2*m)"),
        ("(FloorDiv(8*n + 3, 8) > 2)", "n > 2"),
        ("Eq(CeilDiv(n, 4), -FloorDiv(-n, 4))", "True"),
        ("Max(n, m, n) > Max(m, n)", "False"),
        ("Max(n, Max(m, 3), 5) > 2", "Max(m, n, 5) > 2"),
        ("n < oo", "True"),
        ("Eq(Mod(n, 1), 0)", "True"),
    ],
)
def test_the_same_in_other_words(text: str, same: str) -> None:
    assert read(text) == read(same)


@pytest.mark.parametrize(("text", "other"), [("z > 1", "z >= 1"), ("z >= 1", "z >= 2"), ("FloorDiv(z, 2) <= 3", "z <= 7")])
def test_floats_are_not_rounded(text: str, other: str) -> None:
    assert read(text) != read(other)


@SETTINGS
@given(conditions(sorted(SORTS)))
def test_the_negation_holds_where_the_condition_does_not(text: str) -> None:
    condition = read_sorted(text)
    values = grid([text])
    names = list(values)
    expected = let_through([text], values)
    opposite = canonical(negation(condition))
    for place in ({name: (step * 7 + index * 13) % 40 for index, name in enumerate(names)} for step in range(12)):
        point = {name: int(values[name].ravel()[position]) for name, position in place.items()}
        fact = bool(expected[tuple(place[name] for name in names)])
        assert holds(condition, point) is fact
        assert holds(opposite, point) is (not fact)


def read_sorted(text: str) -> Any:
    return parse(text, lambda name: variable(name, SORTS[name]))


def test_an_equation_defines_a_symbol_and_constants_come_first() -> None:
    found = solution("Eq(n, 3)", "Eq(m, n + k)", "k >= 2")
    assert found.definitions[look_up("n")] == 3
    assert found.definitions[look_up("m")] == look_up("k") + 3
    assert found.conditions == {read("k >= 2")}


def test_a_size_that_an_equation_defines_is_still_not_negative() -> None:
    found = solution("Eq(a, n - 3)")
    assert found.definitions == {look_up("a"): look_up("n") - 3} or found.conditions == set()
    assert found.implies(read("n >= 3"))
    assert not found.implies(read("n >= 4"))


def test_a_fraction_that_must_be_an_int_is_no_definition() -> None:
    found = solution("Eq(2*n, 3*m)")
    assert not found.definitions
    assert found.conditions == {read("Eq(2*n, 3*m)")}


def test_a_float_is_defined_by_a_fraction() -> None:
    assert solution("Eq(2*z, 3)").definitions == {look_up("z"): sympy.Rational(3, 2)}


@pytest.mark.parametrize(
    ("texts", "left"),
    [
        (["n >= 2", "n >= 5"], ["n >= 5"]),
        (["n >= 2", "Ne(n, 2)"], ["n >= 3"]),
        (["n >= 2", "Ne(n, 2)", "Ne(n, 3)", "Ne(n, 5)"], ["n >= 4", "Ne(n, 5)"]),
        (["n <= 5", "Ne(n, 4)", "Ne(n, 5)"], ["n <= 3"]),
        (["n >= 2", "Ne(n, 1)"], ["n >= 2"]),
        (["n + m >= 2", "Ne(n + m, 2)"], ["n + m >= 3"]),
        (["z > 1", "Ne(z, 1)"], ["z > 1", "Ne(z, 1)"]),
    ],
)
def test_bounds_are_merged(texts: list[str], left: list[str]) -> None:
    assert solution(*texts).conditions == set(map(read, left))


def test_bounds_that_meet_are_an_equation() -> None:
    found = solution("n >= 5", "n <= 5", "m >= n")
    assert found.definitions == {look_up("n"): 5}
    assert found.conditions == {read("m >= 5")}


@pytest.mark.parametrize(
    "texts",
    [
        ["n >= 3", "n <= 2"],
        ["Eq(n, 3)", "Eq(n, 4)"],
        ["Eq(n, m + 1)", "Eq(m, n + 1)"],
        ["Eq(a, n)", "Eq(n, -1)"],
        ["Eq(n, 3)", "Ne(n, 3)"],
        ["n >= 2", "n <= 3", "Ne(n, 2)", "Ne(n, 3)"],
        ["Eq(Mod(n, 8), 3)", "Eq(n, 16)"],
        ["False", "n >= 2"],
    ],
)
def test_a_contradiction_is_empty(texts: list[str]) -> None:
    found = solution(*texts)
    assert found.is_empty
    assert found.implies(read("n >= 99"))


@pytest.mark.parametrize(
    ("text", "follows"),
    [
        ("n >= 3", True),
        ("n > 2", True),
        ("n >= 4", False),
        ("Ne(n, 2)", True),
        ("Ne(n, 3)", False),
        ("(n >= 2) | (m > 5)", True),
        ("Eq(m, n + 1)", True),
        ("m >= 4", True),
        ("k >= 1", False),
    ],
)
def test_what_follows_from_one_bound(text: str, follows: bool) -> None:
    assert solution("n >= 3", "Eq(m, n + 1)").implies(read(text)) is follows


def test_a_condition_may_hold_for_the_case_that_has_no_value_elsewhere() -> None:
    condition = read("Where(n > 0, FloorDiv(5, n), 1) >= 1")
    assert holds(condition, {"n": 0}) is True
    assert holds(condition, {"n": 6}) is False
    assert holds(read("FloorDiv(5, n) >= 1"), {"n": 0}) is None


def test_what_would_grow_is_not_put_in() -> None:
    big = read("n >= 1").lhs ** 60
    with pytest.raises(TooLarge):
        substitute(substitute(big, {look_up("n"): big}), {look_up("n"): big})
    with pytest.raises(TooLarge):
        substitute(big, {look_up("n"): sympy.Integer(10) ** 300})


def test_putting_in_brings_functions_to_their_one_form() -> None:
    put_in = substitute(read("FloorDiv(n, 4) + Where(n > 2, m, 7) + Max(n, m) >= 0").lhs, {look_up("n"): 8 * look_up("k")})
    assert canonical(sympy.Ge(put_in, 0)) == read("2*k + Where(8*k > 2, m, 7) + Max(m, 8*k) >= 0")


@SETTINGS
@given(st.lists(conditions(sorted(SORTS)[:3]), min_size=1, max_size=3), st.sampled_from(["n", "m", "a"]), st.integers(-3, 6))
def test_a_symbol_that_an_equation_gives_is_taken_out_and_what_is_asked_of_the_others_stays(
    texts: list[str], name: str, shift: int
) -> None:
    """Compared with going through all values of the symbol, as far as these reach."""
    equation = f"Eq({name}, b + {shift})"
    symbol = variable(name, SORTS[name])
    made = Conjunction().and_also(read_sorted(text) for text in [*texts, equation]).conditions
    left = without(made, symbol)
    if left is None:
        assert sympy.false in made or symbol not in set().union(*(one.free_symbols for one in made))
        return
    assert not any(symbol in one.free_symbols for one in left)
    for point in ({"n": n, "m": m, "a": a, "b": b} for n in (-3, 0, 4) for m in (-2, 5) for a in (0, 3) for b in (0, 1, 7)):
        value = point["b"] + shift
        reached = SORTS[name] == "int" or value >= 0
        expected = reached and all(holds(one, {**point, name: value}) for one in made)
        assert all(holds(one, point) for one in left) is expected


def test_nothing_is_taken_out_without_an_equation_that_gives_it() -> None:
    n = look_up("n")
    assert without(frozenset({read("n >= 3"), read("m > n")}), n) is None
    assert without(frozenset({read("Eq(2*n, 3*m)")}), n) is None
    assert without(frozenset({read("Eq(n*n, m + n)")}), n) is None
    assert without(frozenset({read("Eq(a, m)"), read("m < 9")}), look_up("a")) == {read("m >= 0"), read("m < 9")}
