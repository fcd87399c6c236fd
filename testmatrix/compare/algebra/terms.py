"""What is known of a term that is no sum: of a quotient, a product, the greater of two, a rounded number.

It is said in comparisons that are linear in the term and in what it is made of, and in choices between such. Not all of it is
said, but nothing that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import sympy

from testmatrix.compare.algebra.functions import name_of
from testmatrix.compare.algebra.normal import canonical, negation

#: Where a square is bounded by its tangents; more of them find out more, and each is a comparison.
_TANGENTS = (-12, -2, 2, 12)
#: Up to here, every int is a double.
_EXACT = 2**53

#: The least and the greatest value of an expression; None where there is no bound.
Bounds = Callable[[Any], tuple[Any, Any]]


def known_of(term: Any, bounds: Bounds) -> Iterator[Any]:
    """Conditions in normal form that hold of a term whatever the sources are; an ``Or`` is a choice."""
    name = name_of(term)
    if name == "FloorDiv" and term.args[1].is_Integer and term.args[1] > 0:
        dividend, divisor = term.args
        yield from _rounded_down(term * divisor, dividend, divisor)
    elif name in _ROUNDINGS:
        yield from _ROUNDINGS[name](term, term.args[0])
    elif name in ("Min", "Max"):
        yield from _extremum(term, 1 if name == "Max" else -1)
    elif name == "Abs":
        yield from _magnitude(term, term.args[0])
    elif name == "Where":
        condition, then, otherwise = term.args
        yield _either(sympy.And(condition, sympy.Eq(term, then)), sympy.And(negation(condition), sympy.Eq(term, otherwise)))
    elif term.is_Pow and term.exp == 2 and term.base.is_integer:
        yield from _square(term, term.base)
    elif term.is_Mul and len(term.args) == 2:
        yield from _product(term, bounds)


def _at_least(expression: Any, bound: Any) -> Any:
    return canonical(sympy.Ge(expression, bound, evaluate=False))


def _more(expression: Any, bound: Any) -> Any:
    return canonical(sympy.Gt(expression, bound, evaluate=False))


def _either(*cases: Any) -> Any:
    return sympy.Or(*map(canonical, cases), evaluate=False)


def _rounded_down(term: Any, number: Any, step: Any = 1) -> Iterator[Any]:
    yield _at_least(number - term, 0)
    yield _more(term - number, -step)


def _rounded_up(term: Any, number: Any) -> Iterator[Any]:
    yield from _rounded_down(-term, -number)


def _rounded_to_zero(term: Any, number: Any) -> Iterator[Any]:
    down, up = _rounded_down(term, number), _rounded_up(term, number)
    yield _either(sympy.And(_at_least(number, 0), *down), sympy.And(_at_least(-number, 0), *up))


def _rounded_to_nearest(term: Any, number: Any) -> Iterator[Any]:
    yield _at_least(2 * term - 2 * number, -1)
    yield _at_least(2 * number - 2 * term, -1)


def _as_double(term: Any, number: Any) -> Iterator[Any]:
    yield _either(
        sympy.And(_at_least(number, -_EXACT), _at_least(-number, -_EXACT), canonical(sympy.Eq(term, number, evaluate=False))),
        sympy.And(_at_least(number, _EXACT), _at_least(term, _EXACT)),
        sympy.And(_at_least(-number, _EXACT), _at_least(-term, _EXACT)),
    )


_ROUNDINGS: dict[str, Callable[[Any, Any], Iterator[Any]]] = {
    "FloorToInt": _rounded_down,
    "floor": _rounded_down,
    "CeilToInt": _rounded_up,
    "ceiling": _rounded_up,
    "TruncToInt": _rounded_to_zero,
    "RoundToInt": _rounded_to_nearest,
    "ToFloat": _as_double,
}


def _extremum(term: Any, sign: int) -> Iterator[Any]:
    for one in term.args:
        yield _at_least(sign * (term - one), 0)
    yield _either(*(_at_least(sign * (one - term), 0) for one in term.args))


def _magnitude(term: Any, inner: Any) -> Iterator[Any]:
    yield _at_least(term - inner, 0)
    yield _at_least(term + inner, 0)
    yield _either(_at_least(inner - term, 0), _at_least(-inner - term, 0))


def _square(term: Any, base: Any) -> Iterator[Any]:
    yield _at_least(term - base, 0)
    yield _at_least(term + base, 0)
    for point in _TANGENTS:
        yield _at_least(term - 2 * point * base, -(point**2))


def _product(term: Any, bounds: Bounds) -> Iterator[Any]:
    """A product lies between the planes that its factors' bounds span (McCormick, 1976)."""
    one, other = term.args
    (least, most), (lowest, highest) = bounds(one), bounds(other)
    for bound, limit in ((least, lowest), (most, highest)):
        if bound is not None and limit is not None:
            yield _at_least(term - bound * other - limit * one, -bound * limit)
    for bound, limit in ((least, highest), (most, lowest)):
        if bound is not None and limit is not None:
            yield _at_least(bound * other + limit * one - term, bound * limit)
    counted = one.is_integer and other.is_integer and one.is_nonnegative and other.is_nonnegative
    if counted and not (least and lowest):
        # (one - 1) * (other - 1) >= 0 unless one of them is zero
        yield _either(_at_least(-one, 0), _at_least(-other, 0), _at_least(term - one - other, -1))
