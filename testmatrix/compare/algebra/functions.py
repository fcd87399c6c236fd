"""The functions that occur in torch's expressions on symbols, and what each of them is for numbers.

The names are those of ``torch.utils._sympy.functions``, the values those of the Python operations that they stand for. Numbers
are ints and fractions: arithmetic is exact, except in functions that round to a double by what they mean.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import sympy

from testmatrix.compare.algebra.weight import distributed, raised

Number = int | Fraction

#: An exact power or shift beyond this many bits is not worked out: the process would grow with it.
_MAX_BITS = 4096


class Undefined(ArithmeticError):
    """A value that does not exist (a division by zero) or is too large to be worked out."""


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how many arguments it takes (None: any number), what sort its value has, and the value."""

    arity: int | None
    sort: Literal["int", "float", "bool", "same"]  #: ``same``: that of its arguments
    value: Callable[..., Any]


def _floor_div(a: Number, b: Number) -> int:
    if b == 0:
        raise Undefined("division by zero")
    return math.floor(Fraction(a) / b) if isinstance(a, Fraction) or isinstance(b, Fraction) else a // b


def _mod(a: Number, b: Number) -> Number:
    return a - b * _floor_div(a, b)


def rounded(value: float) -> Number:
    """A double as an exact number. Raises Undefined for one that is not finite."""
    if not math.isfinite(value):
        raise Undefined("not finite")
    return Fraction(value)


def _double(function: Callable[..., float]) -> Callable[..., Number]:
    """A function that works on doubles, and rounds to one."""

    def value(*arguments: Number) -> Number:
        try:
            return rounded(function(*map(float, arguments)))
        except (ValueError, OverflowError, ZeroDivisionError) as error:
            raise Undefined(str(error)) from None

    return value


def _true_div(a: Number, b: Number) -> Number:
    try:
        # Python divides ints to the nearest double, whatever their size; floats have been rounded already.
        return rounded(a / b if isinstance(a, int) and isinstance(b, int) else float(a) / float(b))
    except (ZeroDivisionError, OverflowError) as error:
        raise Undefined(str(error)) from None


def power(base: Number, exponent: Number) -> Number:
    """An exact power. Raises Undefined where there is none, or where it is too large."""
    if isinstance(exponent, Fraction):
        if exponent.denominator != 1:
            return _double(math.pow)(base, exponent)
        exponent = int(exponent)
    if exponent < 0:
        return 1 / Fraction(power(base, -exponent)) if base else _undefined()
    bits = max(abs(Fraction(base).numerator), Fraction(base).denominator).bit_length()
    if bits > 1 and exponent * bits > _MAX_BITS:
        raise Undefined("too large")
    return base**exponent


def _undefined() -> Number:
    raise Undefined("division by zero")


def _whole(value: Number) -> int:
    if isinstance(value, Fraction):
        if value.denominator != 1:
            raise Undefined("not an int")
        return int(value)
    return value


def _shift_left(a: Number, b: Number) -> int:
    count = _whole(b)
    if count < 0 or count > _MAX_BITS:
        raise Undefined("shift count")
    return _whole(a) << count


def _shift_right(a: Number, b: Number) -> int:
    count = _whole(b)
    if count < 0:
        raise Undefined("shift count")
    return _whole(a) >> min(count, _MAX_BITS)


def _round_decimal(a: Number, digits: Number) -> Number:
    return rounded(round(float(a), _whole(digits)))


def _bitwise(function: Callable[[int, int], int]) -> Callable[[Number, Number], int]:
    return lambda a, b: function(_whole(a), _whole(b))


def _power_by_natural(base: Number, exponent: Number) -> int:
    if exponent < 0:
        raise Undefined("a negative exponent")
    return _whole(power(base, exponent))


def _non_overlapping_and_dense(*arguments: Number) -> int:
    """Whether sizes (the first half of the arguments) and strides (the second) describe memory without gaps and overlaps."""
    half = len(arguments) // 2
    sizes, strides = arguments[:half], arguments[half:]
    if len(strides) != len(sizes):
        raise Undefined("an odd number of arguments")
    if half == 1:
        return int(strides[0] == 1 or sizes[0] < 2)
    expected: Number = 1
    for size, stride in sorted(zip(sizes, strides, strict=True), key=operator.itemgetter(1)):
        if size == 1:
            continue
        if stride != expected:
            return 0
        expected *= size
    return 1


_UNARY = ("sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "asinh", "log2")

FUNCTIONS: dict[str, Function] = {
    "FloorDiv": Function(2, "int", _floor_div),
    "CleanDiv": Function(2, "int", _floor_div),
    "CeilDiv": Function(2, "int", lambda a, b: -_floor_div(-a, b)),
    "Mod": Function(2, "int", _mod),
    "PythonMod": Function(2, "int", _mod),
    "ModularIndexing": Function(3, "int", lambda a, b, c: _mod(_floor_div(a, b), c)),
    "Min": Function(None, "same", min),
    "Max": Function(None, "same", max),
    "Abs": Function(1, "same", abs),
    "Where": Function(3, "same", lambda condition, a, b: a if condition else b),
    "Identity": Function(1, "same", lambda a: a),
    "LShift": Function(2, "int", _shift_left),
    "RShift": Function(2, "int", _shift_right),
    "PowByNatural": Function(2, "int", _power_by_natural),
    "FloatPow": Function(2, "float", _double(math.pow)),
    "FloatTrueDiv": Function(2, "float", _true_div),
    "IntTrueDiv": Function(2, "float", _true_div),
    "ToFloat": Function(1, "float", lambda a: rounded(float(a))),
    "TruncToInt": Function(1, "int", math.trunc),
    "TruncToFloat": Function(1, "float", lambda a: Fraction(math.trunc(a))),
    "CeilToInt": Function(1, "int", math.ceil),
    "FloorToInt": Function(1, "int", math.floor),
    "ceiling": Function(1, "int", math.ceil),
    "floor": Function(1, "int", math.floor),
    "RoundToInt": Function(1, "int", round),
    "RoundDecimal": Function(2, "float", _round_decimal),
    "BitwiseFn_bitwise_and": Function(2, "int", _bitwise(operator.and_)),
    "BitwiseFn_bitwise_or": Function(2, "int", _bitwise(operator.or_)),
    "BitwiseFn_bitwise_xor": Function(2, "int", _bitwise(operator.xor)),
    "IsNonOverlappingAndDenseIndicator": Function(None, "int", _non_overlapping_and_dense),
    **{f"OpaqueUnaryFn_{name}": Function(1, "float", _double(getattr(math, name))) for name in _UNARY},
}


def build(name: str, arguments: tuple[Any, ...]) -> Any:
    """A function of expressions as an expression; one form for what can be written in several ways."""
    if name in ("Mod", "PythonMod"):
        return arguments[0] - arguments[1] * build("FloorDiv", arguments)
    if name == "CeilDiv":
        return -build("FloorDiv", (-arguments[0], arguments[1]))
    if name == "ModularIndexing":
        return build("Mod", (build("FloorDiv", arguments[:2]), arguments[2]))
    if name in ("FloorDiv", "CleanDiv"):
        return _build_floor_div(*arguments)
    if name in ("Min", "Max"):
        return _build_extremum(name, arguments)
    if name == "Identity":
        return arguments[0]
    if name == "Where" and arguments[0] in (sympy.true, sympy.false):
        return arguments[1] if arguments[0] == sympy.true else arguments[2]
    if name in ("LShift", "RShift") and arguments[1].is_Integer and 0 <= arguments[1] <= _MAX_BITS:
        factor = sympy.Integer(2) ** arguments[1]
        return arguments[0] * factor if name == "LShift" else _build_floor_div(arguments[0], factor)
    if name == "PowByNatural" and arguments[1].is_Integer and 0 <= arguments[1] <= 4:
        return raised(*arguments)
    if name in ("TruncToInt", "CeilToInt", "FloorToInt", "RoundToInt", "floor", "ceiling") and arguments[0].is_integer:
        return arguments[0]
    return _applied(name, arguments)


def _build_floor_div(dividend: Any, divisor: Any) -> Any:
    """``(8*p + r) // 8`` as ``p + r // 8``, and a division of a division as one."""
    if not divisor.is_Integer:
        return _applied("FloorDiv", _cancelled(dividend, divisor))
    if divisor in (0, 1):
        return dividend if divisor == 1 else _applied("FloorDiv", (dividend, divisor))
    if divisor < 0:
        dividend, divisor = -dividend, -divisor
    whole, rest = [], []
    for term in sympy.Add.make_args(distributed(dividend)):
        coefficient, factor = term.as_coeff_Mul()
        if factor == 1 and coefficient.is_Integer:
            quotient, remainder = divmod(int(coefficient), int(divisor))
            whole.append(sympy.Integer(quotient))
            rest.append(sympy.Integer(remainder))
        elif coefficient.is_Integer and factor.is_integer and coefficient % divisor == 0:
            whole.append(coefficient // divisor * factor)
        else:
            rest.append(term)
    left = sympy.Add(*rest)
    if left.is_Integer and 0 <= left < divisor:
        return sympy.Add(*whole)
    if name_of(left) == "FloorDiv" and left.args[1].is_Integer and left.args[1] > 0:
        return sympy.Add(*whole, _applied("FloorDiv", (left.args[0], left.args[1] * divisor)))
    return sympy.Add(*whole, _applied("FloorDiv", (left, divisor)))


def _cancelled(dividend: Any, divisor: Any) -> tuple[Any, Any]:
    """Both without the symbols that are a factor of each: where one is zero, there was no quotient before."""
    for symbol in sorted(divisor.free_symbols, key=str):
        terms = sympy.Add.make_args(dividend)
        if symbol in sympy.Mul.make_args(divisor) and all(symbol in sympy.Mul.make_args(term) for term in terms):
            dividend, divisor = sympy.Add(*(term / symbol for term in terms)), divisor / symbol
    return dividend, divisor


def _build_extremum(name: str, arguments: tuple[Any, ...]) -> Any:
    """``Min`` and ``Max`` flat, without repetitions and in one order; sympy's own compare all arguments with each other."""
    flat = [inner for one in arguments for inner in (one.args if name_of(one) == name else (one,))]
    numbers = [one for one in flat if one.is_Rational]
    others = sorted({one for one in flat if not one.is_Rational}, key=str)
    if numbers:
        others.append(min(numbers) if name == "Min" else max(numbers))
    return others[0] if len(others) == 1 else _applied(name, tuple(others))


def _applied(name: str, arguments: tuple[Any, ...]) -> Any:
    """The function as it stands, or its value where all arguments are numbers."""
    function = FUNCTIONS[name]
    if all(argument.is_Rational for argument in arguments):
        try:
            return number(function.value(*map(exact, arguments)))
        except (Undefined, OverflowError):
            pass  # stays as it is written
    integer = function.sort == "int" or (
        function.sort == "same" and all(argument.is_integer for argument in arguments[name == "Where" :])
    )
    return sympy.Function(name, **({"integer": True} if integer else {"real": True}))(*arguments)


def name_of(expression: Any) -> str:
    """Name of the function that an expression is an application of; empty for all others."""
    return str(expression.func.__name__) if isinstance(expression, sympy.core.function.AppliedUndef) else ""


def exact(value: Any) -> Number:
    """A sympy number as an int or a fraction."""
    return int(value) if value.is_Integer else Fraction(int(value.p), int(value.q))


def number(value: Number | float | bool) -> Any:
    """An int, a fraction or a double as a sympy number, exactly."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Undefined("not finite")
        value = Fraction(value)
    if isinstance(value, Fraction):
        return sympy.Rational(value.numerator, value.denominator)
    return sympy.Integer(int(value))
