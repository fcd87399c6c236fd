"""How large an expression is, so that none is built that takes long to work with or more memory than it is worth.

A text of a few characters can stand for an expression of any size: powers of powers, and remainders, each of which has its
dividend twice. Where symbols are replaced by expressions, the same happens from one condition to the next.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy

#: Parts of an expression whose powers are written out as products.
MAX_WEIGHT = 3_000
#: Products of sums are multiplied out up to so many terms; beyond, they are terms themselves.
_MAX_TERMS = 64
#: Bits of a number that count as one part, and how many a number may have; Python writes out few more.
_BITS = 64
_MAX_BITS = 8_192


class TooLarge(ArithmeticError):
    """An expression that is not built."""


@lru_cache(maxsize=16384)
def weight(expression: Any) -> int:
    """How many parts an expression has when powers are written out as products, long numbers counted as several."""
    if expression.is_Rational:
        bits = max(abs(expression.p), expression.q).bit_length()
        return 1 + bits // _BITS if bits <= _MAX_BITS else MAX_WEIGHT + 1
    if expression.is_Pow and expression.exp.is_Integer:
        return weight(expression.base) * max(abs(int(expression.exp)), 1)
    return 1 + sum(map(weight, expression.args))


def checked(expression: Any) -> Any:
    """The expression. Raises TooLarge where it is."""
    if weight(expression) > MAX_WEIGHT:
        raise TooLarge("too large")
    return expression


def raised(base: Any, exponent: Any) -> Any:
    """A power with a whole exponent that is not negative. Raises TooLarge for one that would be."""
    if weight(base) * max(int(exponent), 1) > MAX_WEIGHT:
        raise TooLarge("too large")
    return checked(base**exponent)


def multiplied_out(expression: Any) -> Any:
    """Products and powers of sums as sums of products, unless there would be too many."""
    return sympy.expand(expression) if _terms(expression) <= _MAX_TERMS else expression


def distributed(expression: Any) -> Any:
    """Products of sums as sums of products, unless there would be too many; powers as they are."""
    return sympy.expand_mul(expression) if _terms(expression) <= _MAX_TERMS else expression


def _terms(expression: Any) -> int:
    """How many terms an expression has when it is multiplied out, at most; counted no further than to too many."""
    too_many = _MAX_TERMS + 1
    if expression.is_Add:
        return min(sum(map(_terms, expression.args)), too_many)
    if expression.is_Mul:
        terms = 1
        for factor in expression.args:
            terms = min(terms * _terms(factor), too_many)
        return terms
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 1:
        return int(min(_terms(expression.base) ** min(int(expression.exp), _MAX_TERMS), too_many))
    # What is in a function is multiplied out, too.
    return 1 if all(_terms(argument) <= _MAX_TERMS for argument in expression.args) else too_many
