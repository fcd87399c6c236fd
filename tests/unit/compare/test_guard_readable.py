"""Conditions as they are shown, side by side: nothing is lost on the way to a person."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from builders import compiled, constant, int_symbol, shape_guard, tensor_match
from hypothesis import given, settings
from hypothesis import strategies as st

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.variables import Sort, variable
from testmatrix.compare.guards.accept import accept_set
from testmatrix.compare.guards.readable import readable, readable_number, readable_set, readable_values
from testmatrix.compare.guards.sides import sides
from testmatrix.observation import Guard

SOURCES: dict[str, tuple[str, Sort]] = {
    "n": ("L['n']", "int"),
    "m": ("L['d']['m, or so']", "int"),
    "a": ("L['x'].size()[0]", "extent"),
    "z": ("L['self'].scale", "float"),
}


def look_up(name: str) -> Any:
    found = SOURCES.get(name) or next(one for one in SOURCES.values() if one[0] == name)
    return variable(*found)


def read(text: str) -> Any:
    return parse(text, look_up)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("n > 3", "L['n'] >= 4"),
        ("n < 3", "L['n'] <= 2"),
        ("Eq(n, -3)", "L['n'] == -3"),
        ("Ne(n, m)", "L['d']['m, or so'] != L['n']"),
        ("Eq(Mod(a, 8), 0)", "L['x'].size()[0] % 8 == 0"),
        ("Ne(Mod(n + 1, 3), 2)", "(L['n'] + 1) % 3 != 2"),
        ("FloorDiv(n, 4) >= m", "L['n'] // 4 >= L['d']['m, or so']"),
        ("2*n - 3*m > 4", "2*L['n'] >= 3*L['d']['m, or so'] + 5"),
        ("z > 0.1", "L['self'].scale > 0.1"),
        ("z <= 1.5", "L['self'].scale <= 1.5"),
        ("Max(n, 3) < m", "L['d']['m, or so'] >= Max(L['n'], 3) + 1"),
        ("n*n > 4", "L['n']**2 >= 5"),
        ("Eq((n + 1)**2 * m, 4)", None),
        ("(n > 2) | (m > 3)", "L['d']['m, or so'] >= 4 or L['n'] >= 3"),
        ("(n > 2) | ((m > 3) & (n < 0))", "(L['d']['m, or so'] >= 4 and L['n'] <= -1) or L['n'] >= 3"),
        ("False", "False"),
    ],
)
def test_how_a_condition_is_written(text: str, shown: str | None) -> None:
    written = readable(read(text))
    assert shown is None or written == shown
    assert read(written) == read(text)


def _terms() -> st.SearchStrategy[str]:
    name = st.sampled_from(["n", "m", "a", "z"])
    whole = st.sampled_from(["n", "m", "a"])
    small = st.integers(2, 6)
    return st.one_of(
        name,
        st.builds("{}*{}".format, st.integers(-3, 3), name),
        st.builds("FloorDiv({} + {}, {})".format, whole, whole, small),
        st.builds("FloorDiv({}, {})".format, whole, whole),
        st.builds("Mod({}, {})".format, whole, small),
        st.builds("Mod({} + 1, {})".format, whole, whole),
        st.builds("Max({}, {}, {})".format, name, name, small),
        st.builds("Min({}, {})".format, whole, small),
        st.builds("Abs({} - {})".format, name, name),
        st.builds("{}*{}".format, name, name),
        st.builds("{}**{}".format, whole, small),
        st.builds("LShift({}, {})".format, whole, whole),
        st.builds("RShift(7, {})".format, whole),
        st.builds("PowByNatural({}, {})".format, whole, whole),
        st.builds("TruncToInt({}*z)".format, small),
        st.builds("ToFloat({})".format, whole),
        st.builds("Where({} > 2, {}, {})".format, whole, whole, whole),
        st.builds("Mod(FloorDiv({}, {}), {})".format, whole, small, small),
    )


def _comparisons() -> st.SearchStrategy[str]:
    term = _terms()
    side = st.one_of(term, st.builds("{} + {}".format, term, term), st.builds("{} - 3*{}".format, term, term))
    other = st.one_of(st.integers(-9, 9).map(str), st.sampled_from(["0.5", "0.1", "-1e-05"]), term)
    ordered = st.builds("({} {} {})".format, side, st.sampled_from(["<", "<=", ">", ">="]), other)
    return st.one_of(ordered, st.builds("{}({}, {})".format, st.sampled_from(["Eq", "Ne"]), side, other))


def _conditions() -> st.SearchStrategy[str]:
    one = _comparisons()
    return st.one_of(one, one, st.builds("({} | {})".format, one, one), st.builds("(({} & {}) | {})".format, one, one, one))


@settings(max_examples=400)
@given(_conditions())
def test_what_is_written_is_the_same_condition_when_it_is_read(text: str) -> None:
    condition = read(text)
    assert read(readable(condition)) == condition


@settings(max_examples=100)
@given(st.lists(_conditions(), max_size=4))
def test_a_set_says_all_that_is_in_it(texts: list[str]) -> None:
    conditions = Conjunction().and_also(map(read, texts)).conditions
    lines = [line for line in readable_set(conditions) if " in [" not in line and " in (" not in line]
    bounds = [one for one in conditions if readable(one).replace(" <= ", " >= ").split(" >= ")[0] in map(_source, SOURCES)]
    assert {read(line) for line in lines} | set(bounds) >= conditions


def _source(name: str) -> str:
    return SOURCES[name][0]


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        (["n >= 2", "n <= 9"], ["L['n'] in [2, 9]"]),
        (["n >= 2"], ["L['n'] in [2, oo)"]),
        (["n <= -2"], ["L['n'] in (-oo, -2]"]),
        (["n >= 2", "n <= 2"], ["L['n'] == 2"]),
        (["z >= 0.5", "z <= 1.5"], ["L['self'].scale in [0.5, 1.5]"]),
        (["z > 0.5"], ["L['self'].scale > 0.5"]),
        (["n >= 2", "Ne(n, 5)", "m + n > 3"], ["L['d']['m, or so'] + L['n'] >= 4", "L['n'] != 5", "L['n'] in [2, oo)"]),
        ([], []),
    ],
)
def test_bounds_of_one_source_are_an_interval(texts: list[str], lines: list[str]) -> None:
    assert readable_set(Conjunction().and_also(map(read, texts)).conditions) == lines


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_written_to_the_last_digit(value: float) -> None:
    exactly = Fraction(value)
    assert Fraction(float(readable_number(exactly))) == exactly
    shown = readable(read(f"Eq(z, {value!r})"))
    assert holds(read(shown), {"L['self'].scale": exactly}) is True


def test_values_are_an_assignment() -> None:
    assert readable_values([("L['n']", 5), ("L['v']", Fraction(1, 2))]) == "L['n']=5, L['v']=0.5"


def test_sides_fold_what_both_have() -> None:
    flag = constant("L['flag']", True)
    symbols = [int_symbol()]
    reference = compiled(
        flag, tensor_match("L['x']", "[4]", "[None]"), shape_guard("s0 > 3"), shape_guard("f(s0) > 1"), symbols=symbols
    )
    other = compiled(flag, tensor_match("L['x']", "[None]", "[None]"), shape_guard("s0 > 3"), symbols=symbols)
    shown = sides(accept_set(reference), accept_set(other))
    assert shown.reference == ("L['x'].size()[0] == 4", "not understood: f(L['n']) > 1")
    assert shown.cell == ()
    assert shown.common[0] == "L['n'] in [4, oo)"
    assert [line.split(":")[0] for line in shown.common[1:]] == ["L['flag']", "L['x']"]
    assert sides(accept_set(other), accept_set(reference)).cell == shown.reference


def test_what_has_no_source_is_the_process() -> None:
    shown = sides(accept_set(compiled(Guard(kind="GRAD_MODE", source="", text="on"))), accept_set(compiled()))
    assert shown.reference == ("process: GRAD_MODE on",)
