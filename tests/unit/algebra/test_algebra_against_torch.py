"""Conditions as torch makes, evaluates and writes them mean the same when they are read back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._sympy import functions as torchs
from torch.utils._sympy.numbers import int_oo

from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.functions import FUNCTIONS
from testmatrix.compare.algebra.parse import parse, parse_number
from testmatrix.compare.algebra.variables import Sort, variable
from testmatrix.torch_adapter.expressions import text_of

INTS = (-8, -7, -3, -1, 0, 1, 2, 7, 64, 2**31 + 5, -(2**40) - 3, 2**53 + 1)
FLOATS = (-1e10, -3.7, -2.5, -1.5, -1.0, -0.5, 0.0, 0.1, 0.5, 1.0, 2.5, 1e10, 1e300)
COUNTS = (0, 1, 2, 3, 7, 20)
SIZES = (0, 1, 2, 3, 6)

S0, S1, S2, S3 = sympy.symbols("s0 s1 s2 s3", integer=True)
Z0, Z1 = sympy.symbols("zf0 zf1", real=True)
ALL_SORTS: dict[str, Sort] = {"s0": "int", "s1": "int", "s2": "int", "s3": "int", "zf0": "float", "zf1": "float"}


def look_up(name: str) -> Any:
    return variable(name, ALL_SORTS[name])


def torch_value(expression: Any, values: dict[Any, Any]) -> Any:
    """What torch works out; None where it raises or gets nothing finite."""
    try:
        result = expression.xreplace(values)
    except (ZeroDivisionError, ValueError, OverflowError, AssertionError, TypeError):
        return None
    if result in (sympy.true, sympy.false):
        return bool(result)
    if not result.is_number or not result.is_finite or not result.is_real:
        return None
    if isinstance(result, sympy.Float):
        return Fraction(float(result)) if math.isfinite(float(result)) else None  # sympy's floats have no end
    return Fraction(int(result.p), int(result.q))


def check(expression: Any, values: dict[Any, Any]) -> int:
    """Compare with bounds at, below and above the value that torch gets. How many comparisons that were."""
    exactly = {
        symbol: sympy.Float(value) if isinstance(value, float) else sympy.Integer(value) for symbol, value in values.items()
    }
    ours = {symbol.name: Fraction(value) if isinstance(value, float) else value for symbol, value in values.items()}
    value = torch_value(expression, exactly)
    if value is None:
        return 0
    bounds = {value}
    if expression.is_integer or abs(value) < 2**53:  # beyond, sympy rounds an int that it compares with a float
        bounds |= {Fraction(math.floor(value)), Fraction(math.floor(value) + 1)}
    for relation, bound in itertools.product((sympy.Eq, sympy.Ge, sympy.Lt), bounds):
        side = sympy.Integer(int(bound)) if bound == int(bound) else sympy.Float(float(bound))
        condition = relation(expression, side)
        if condition in (sympy.true, sympy.false):
            continue
        text = text_of(condition)
        expected = torch_value(condition, exactly)
        assert holds(parse(text, look_up), ours) is expected, (text, values)
    return len(bounds)


def check_all(expression: Any, domains: dict[Any, Sequence[Any]]) -> None:
    checked = sum(check(expression, dict(zip(domains, values, strict=True))) for values in itertools.product(*domains.values()))
    assert checked > 0


INT_FUNCTIONS: dict[str, tuple[Any, dict[Any, Sequence[Any]]]] = {
    "FloorDiv": (torchs.FloorDiv(S0, S1), {S0: INTS, S1: INTS}),
    "FloorDiv by a constant": (torchs.FloorDiv(8 * S0 + S1 - 9, 8), {S0: INTS, S1: INTS}),
    "FloorDiv by a negative constant": (torchs.FloorDiv(S0 + 5, -3), {S0: INTS}),
    "CleanDiv": (torchs.CleanDiv(S0, 4), {S0: (-8, 0, 4, 64)}),
    "CeilDiv": (torchs.CeilDiv(S0, 3), {S0: INTS}),
    "Mod": (torchs.Mod(S0, S1), {S0: (0, 1, 5, 2**40), S1: (1, 2, 3, 7)}),
    "PythonMod": (torchs.PythonMod(S0, S1), {S0: INTS, S1: INTS}),
    "PythonMod by a negative constant": (torchs.PythonMod(S0, -3), {S0: INTS}),
    "ModularIndexing": (torchs.ModularIndexing(S0, 3, 4), {S0: (0, 1, 5, 11, 12, 13, 2**40)}),
    "PowByNatural": (torchs.PowByNatural(S0, S1), {S0: (-7, -1, 0, 1, 2, 3), S1: COUNTS}),
    "a constant power": (torchs.PowByNatural(S0, sympy.Integer(3)), {S0: INTS}),
    "Min": (torchs.Min(S0, S1, 5), {S0: INTS, S1: INTS}),
    "Max": (torchs.Max(S0, S1, 5), {S0: INTS, S1: INTS}),
    "Abs": (sympy.Abs(S0 - 3), {S0: INTS}),
    "Where": (torchs.Where(S0 > 2, S0, S1), {S0: INTS, S1: INTS}),
    "Piecewise": (sympy.Piecewise((S0, S0 > 2), (S1, sympy.Eq(S1, 3)), (7, True)), {S0: INTS, S1: INTS}),
    "LShift": (torchs.LShift(S0, S1), {S0: INTS, S1: COUNTS}),
    "LShift by a constant": (torchs.LShift(S0, sympy.Integer(3)), {S0: INTS}),
    "RShift": (torchs.RShift(S0, S1), {S0: INTS, S1: COUNTS}),
    "IntTrueDiv": (torchs.IntTrueDiv(S0, S1), {S0: INTS, S1: INTS}),
    "IntTrueDiv by a constant": (torchs.IntTrueDiv(S0, sympy.Integer(10)), {S0: INTS}),
    "ToFloat": (torchs.ToFloat(S0), {S0: INTS[:-1]}),
    "BitwiseFn_bitwise_and": (torchs.BitwiseFn_bitwise_and(S0, S1), {S0: INTS, S1: INTS}),
    "BitwiseFn_bitwise_or": (torchs.BitwiseFn_bitwise_or(S0, S1), {S0: INTS, S1: INTS}),
    "BitwiseFn_bitwise_xor": (torchs.BitwiseFn_bitwise_xor(S0, S1), {S0: INTS, S1: INTS}),
    "IsNonOverlappingAndDenseIndicator of one": (torchs.IsNonOverlappingAndDenseIndicator(S0, S1), {S0: SIZES, S1: SIZES}),
    "IsNonOverlappingAndDenseIndicator": (
        torchs.IsNonOverlappingAndDenseIndicator(S0, S1, S2, S3),
        {S0: SIZES, S1: SIZES, S2: SIZES, S3: SIZES},
    ),
}

FLOAT_FUNCTIONS: dict[str, tuple[Any, dict[Any, Sequence[Any]]]] = {
    "FloatPow": (torchs.FloatPow(Z0, Z1), {Z0: FLOATS, Z1: (-2.0, -0.5, 0.0, 0.5, 1.0, 3.0)}),
    "FloatTrueDiv": (torchs.FloatTrueDiv(Z0, Z1), {Z0: FLOATS, Z1: FLOATS}),
    "TruncToInt": (torchs.TruncToInt(Z0), {Z0: FLOATS}),
    "TruncToFloat": (torchs.TruncToFloat(Z0), {Z0: FLOATS}),
    "CeilToInt": (torchs.CeilToInt(Z0), {Z0: FLOATS}),
    "FloorToInt": (torchs.FloorToInt(Z0), {Z0: FLOATS}),
    "RoundToInt": (torchs.RoundToInt(Z0), {Z0: (*FLOATS, 3.5, 4.5)}),
    "RoundDecimal": (torchs.RoundDecimal(Z0, sympy.Integer(1)), {Z0: (*FLOATS, 0.25, 0.35)}),
    "ceiling": (sympy.ceiling(Z0), {Z0: FLOATS}),
    "floor": (sympy.floor(Z0), {Z0: FLOATS}),
    "floor of a fraction": (sympy.floor(S0 / 2), {S0: INTS}),
    "Max": (torchs.Max(Z0, Z1), {Z0: FLOATS, Z1: FLOATS}),
    "Abs": (sympy.Abs(Z0), {Z0: FLOATS}),
    **{name: (getattr(torchs, name)(Z0), {Z0: FLOATS}) for name in FUNCTIONS if name.startswith("OpaqueUnaryFn_")},
}


@pytest.mark.parametrize("name", INT_FUNCTIONS)
def test_a_function_of_ints_has_torchs_value(name: str) -> None:
    check_all(*INT_FUNCTIONS[name])


@pytest.mark.parametrize("name", FLOAT_FUNCTIONS)
def test_a_function_of_floats_has_torchs_value(name: str) -> None:
    check_all(*FLOAT_FUNCTIONS[name])


def test_what_keeps_sympy_from_multiplying_out_says_nothing() -> None:
    assert parse(text_of(sympy.Ge(torchs.Identity(S0 + 1) * S1, 3)), look_up) == parse("(s0 + 1)*s1 >= 3", look_up)


def test_no_function_that_torch_has_is_left_out() -> None:
    """Those that print as an operator or as other functions do not occur by their names."""
    named = {
        name
        for name, value in vars(torchs).items()
        if isinstance(value, type) and issubclass(value, sympy.Basic) and value.__module__ == torchs.__name__
    }
    assert named - {"MinMaxBase"} <= FUNCTIONS.keys()


@pytest.mark.parametrize(
    "expression",
    [torchs.FloorDiv(S0, S1), torchs.PythonMod(S0, S1), torchs.IntTrueDiv(S0, S1), torchs.FloatTrueDiv(Z0, S1)],
)
def test_a_division_by_zero_has_no_value(expression: Any) -> None:
    condition = parse(text_of(sympy.Ge(expression, 1)), look_up)
    assert holds(condition, {"s0": 3, "s1": 0, "zf0": Fraction(1)}) is None


@pytest.mark.parametrize("expression", [torchs.PowByNatural(S0, S1), torchs.LShift(S0, S1)])
def test_a_negative_exponent_has_no_value(expression: Any) -> None:
    assert holds(parse(text_of(sympy.Ge(expression, 0)), look_up), {"s0": 3, "s1": -1}) is None


CONDITIONS = [
    sympy.And(S0 > 2, sympy.Or(S1 > 3, S0 < 5)),
    sympy.Not(sympy.And(S0 > 2, sympy.Ne(S1, 3))),
    ~sympy.Or(S0 > 2, sympy.Eq(S1, 3)),
    sympy.ITE(S0 > 2, S1 > 3, S1 < 0),
    sympy.Eq(sympy.Piecewise((1, S0 > 2), (0, True)), 1),
    sympy.Ne(S0 / 2 - S1, sympy.Rational(1, 2)),
    sympy.Ge(S0**2 * S1 - 3, S1**3),
    sympy.Xor(S0 > 2, S1 > 2),
]


@pytest.mark.parametrize("condition", CONDITIONS, ids=text_of)
def test_a_condition_holds_where_it_does_for_torch(condition: Any) -> None:
    read = parse(text_of(condition), look_up)
    for a, b in itertools.product(range(-8, 9), repeat=2):
        expected = bool(condition.xreplace({S0: sympy.Integer(a), S1: sympy.Integer(b)}))
        assert holds(read, {"s0": a, "s1": b}) is expected


PYTHON = [
    *("s0 // s1 >= 1", "s0 % s1 == 2", "s0 << 3 > s1", "s0 >> 2 >= s1", "s0**3 - s1 > 2", "(s0 & s1) == 2", "(s0 | s1) > 5"),
    *("(s0 ^ s1) != 3", "~(s0 > s1)", "not s0 > s1", "s0 > 2 and s1 > 3 or s0 == -1", "0 <= s0 < s1", "s0 != s1 != 3"),
    *("max(s0, s1) > 3", "min(s0, s1, 2) == 2", "abs(s0) == abs(s1)", "-s0 < +s1", "s0 / s1 > 0.5", "(s0 > 2) == (s1 > 2)"),
    *("(s0 > 2) + (s1 > 2) == 1", "(s0 > 2) & (s1 > 3)", "(s0 > 2) | (s1 > 3)", "2**s0 > s1 and s0 >= 0", "True", "s0 > True"),
    *("float(s0) >= s1", "-7 // s1 < s0", "-7 % s1 < s0", "s0**2 // -3 > s1"),
]


@pytest.mark.parametrize("text", PYTHON)
def test_a_condition_in_pythons_words_holds_where_it_does_for_python(text: str) -> None:
    read = parse(text, look_up)
    for a, b in itertools.product(range(-8, 9), repeat=2):
        try:
            expected = bool(eval(text.replace("~", "not "), {"s0": a, "s1": b}))
        except (ZeroDivisionError, ValueError):
            continue
        assert holds(read, {"s0": a, "s1": b}) is expected, (a, b)


def test_an_int_that_no_double_has_is_rounded() -> None:
    """As Python does; sympy's floats have as many digits as it takes."""
    assert holds(parse("Eq(ToFloat(s0), 9007199254740992)", look_up), {"s0": 2**53 + 1}) is True
    assert holds(parse("Eq(IntTrueDiv(s0, 1), 9007199254740992)", look_up), {"s0": 2**53 + 1}) is True
    assert holds(parse("Eq(s0, 9007199254740992.0)", look_up), {"s0": 2**53 + 1}) is False


def test_infinite_bounds_are_read() -> None:
    assert parse(f"s0 < {text_of(int_oo)}", look_up) == sympy.true
    assert parse_number(text_of(-int_oo), look_up) == -sympy.oo


def test_floats_are_read_to_the_last_digit() -> None:
    third = sympy.Float(1 / 3)
    read = parse(text_of(sympy.Eq(Z0, third)), look_up)
    assert holds(read, {"zf0": Fraction(1 / 3)}) is True
    assert holds(read, {"zf0": Fraction(math.nextafter(1 / 3, 1))}) is False


def _leaves() -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from([S0, S1]), st.integers(-9, 9).map(sympy.Integer))


def _grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def applied(function: Callable[..., Any], *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.builds(function, *arguments)

    divisor = st.sampled_from([2, 3, 4, 7, -2, -5]).map(sympy.Integer)
    return st.one_of(
        applied(lambda a, b: a + b, inner, inner),
        applied(lambda a, b: a - b, inner, inner),
        applied(lambda a, b: a * b, inner, inner),
        applied(torchs.FloorDiv, inner, divisor),
        applied(torchs.PythonMod, inner, divisor),
        applied(torchs.Max, inner, inner),
        applied(torchs.Min, inner, inner),
        applied(sympy.Abs, inner),
        applied(lambda a, b, c: torchs.Where(sympy.Gt(a, b), b, c), inner, inner, inner),
    )


@settings(settings.get_profile("algebra"), max_examples=300)
@given(st.recursive(_leaves(), _grown, max_leaves=6), st.integers(-30, 30), st.integers(-30, 30))
def test_nested_functions_have_torchs_value(expression: Any, a: int, b: int) -> None:
    if expression.free_symbols:
        check(expression, {S0: a, S1: b})
