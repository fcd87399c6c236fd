"""One form for conditions that say the same in different words.

A comparison becomes ``terms >= bound``, ``terms == bound`` or ``terms != bound`` with coprime whole coefficients; on floats, a
strict one stays strict. Negations are pushed into the comparisons.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import sympy

from testmatrix.compare.algebra.functions import build, name_of
from testmatrix.compare.algebra.weight import checked, multiplied_out, raised

#: Coefficients of terms that are no sums, and what they are compared with.
Linear = tuple[tuple[tuple[Any, Any], ...], Any]


@lru_cache(maxsize=8192)
def canonical(condition: Any) -> Any:
    """The condition in normal form: a comparison, ``And``, ``Or``, true or false."""
    if condition in (sympy.true, sympy.false):
        return condition
    if isinstance(condition, sympy.And | sympy.Or):
        return condition.func(*map(canonical, condition.args))
    if isinstance(condition, sympy.Not):
        return canonical(negation(condition.args[0]))
    if isinstance(condition, sympy.core.relational.Relational):
        return _comparison(condition)
    return condition


def fixed(symbol: Any, number: Any) -> Any:
    """That a symbol equals a number, in normal form; there are many of these, and sympy takes its time over each."""
    return sympy.Eq(symbol, number, evaluate=False)


def negation(condition: Any) -> Any:
    """What holds exactly where the condition does not."""
    if isinstance(condition, sympy.And | sympy.Or):
        other = sympy.Or if isinstance(condition, sympy.And) else sympy.And
        return other(*map(negation, condition.args))
    if isinstance(condition, sympy.Not):
        return condition.args[0]
    if isinstance(condition, sympy.core.relational.Relational):
        return condition.negated
    return sympy.Not(condition)


def conjuncts(condition: Any) -> tuple[Any, ...]:
    """The conditions that an ``And`` joins; of any other, itself."""
    return tuple(condition.args) if isinstance(condition, sympy.And) else (condition,)


@lru_cache(maxsize=8192)
def linear(condition: Any) -> Linear:
    """(term, coefficient) of each term of a comparison in normal form, and the bound."""
    terms = condition.lhs.as_coefficients_dict()
    return tuple(sorted(terms.items(), key=lambda item: str(item[0]))), condition.rhs


def substitute(expression: Any, values: dict[Any, Any]) -> Any:
    """The expression with expressions in place of symbols, functions brought to their one form again.

    Raises TooLarge where there would be too much of it.
    """
    if expression.is_Symbol:
        return values.get(expression, expression)
    if not expression.args or not expression.free_symbols & values.keys():
        return expression
    arguments = tuple(substitute(argument, values) for argument in expression.args)
    if expression.is_Pow and arguments[1].is_Integer:
        return raised(*arguments)
    name = name_of(expression)
    if name == "Where":
        arguments = (canonical(arguments[0]), *arguments[1:])
    if isinstance(expression, sympy.core.relational.Relational):
        return checked(expression.func(*arguments, evaluate=False))  # whether it holds is for the normal form to say
    return checked(build(name, arguments) if name else expression.func(*arguments))


def _comparison(condition: Any) -> Any:
    kind, left, right = type(condition), condition.lhs, condition.rhs
    if kind in (sympy.Le, sympy.Lt):
        kind, left, right = (sympy.Ge if kind is sympy.Le else sympy.Gt), right, left
    if not (left.is_finite and right.is_finite):
        return kind(left, right)  # infinite bounds are decided by sympy; nothing else is infinite
    total = multiplied_out(left - right)
    constant, rest = total.as_coeff_Add()
    terms = rest.as_coefficients_dict()
    if rest == 0:
        return kind(constant, 0)
    whole = all(term.is_integer for term in terms)
    scale = _scale(list(terms.values()), whole)
    if kind in (sympy.Eq, sympy.Ne) and _leading(terms) < 0:
        scale = -scale
    return _tightened(
        kind, sympy.Add(*(coefficient * scale * term for term, coefficient in terms.items())), -constant * scale, whole
    )


def _tightened(kind: Any, terms: Any, bound: Any, whole: bool) -> Any:
    if whole and not bound.is_Integer and kind in (sympy.Eq, sympy.Ne):
        return sympy.false if kind is sympy.Eq else sympy.true
    if whole and kind is sympy.Gt:
        return _at_least(terms, sympy.floor(bound) + 1)
    if whole and kind is sympy.Ge:
        return _at_least(terms, sympy.ceiling(bound))
    return _compared(kind, terms, bound)


def _compared(kind: Any, terms: Any, bound: Any) -> Any:
    """The comparison, or whether it holds where the signs of the terms settle that; sympy would look into every term."""
    least, greatest = _reach(terms)
    above, below = least is not None and least > bound, greatest is not None and greatest < bound
    if kind in (sympy.Eq, sympy.Ne):
        if above or below:
            return sympy.false if kind is sympy.Eq else sympy.true
    elif above or (least == bound and kind is sympy.Ge):
        return sympy.true
    elif below or (greatest == bound and kind is sympy.Gt):
        return sympy.false
    return kind(terms, bound, evaluate=False)


def _reach(terms: Any) -> tuple[int | None, int | None]:
    """The least and the greatest value that a sum can have by the signs of its terms: zero, or unknown."""
    products = [term.as_coeff_Mul() for term in sympy.Add.make_args(terms)]
    if not all(factor.is_nonnegative for _, factor in products):
        return None, None
    signs = {coefficient > 0 for coefficient, _ in products}
    return (0 if signs == {True} else None), (0 if signs == {False} else None)


def _at_least(terms: Any, bound: Any) -> Any:
    """``terms >= bound``; a quotient rounded down is bounded where what it divides is (``x // 4 >= 2`` where ``x >= 8``)."""
    sign, quotient = terms.as_coeff_Mul()
    if name_of(quotient) != "FloorDiv" or not quotient.args[1].is_Integer or quotient.args[1] < 1 or abs(sign) != 1:
        return _compared(sympy.Ge, terms, bound)
    dividend, divisor = quotient.args
    if sign == 1:
        return canonical(sympy.Ge(dividend, bound * divisor))
    return canonical(sympy.Gt(-dividend, (bound - 1) * divisor))


def _scale(coefficients: list[Any], whole: bool) -> Any:
    """What makes coefficients whole and coprime; of terms that need not be ints, the first one's to one."""
    if not whole and len(coefficients) == 1:
        return 1 / abs(coefficients[0])
    denominators = math.lcm(*(int(coefficient.q) for coefficient in coefficients))
    numerators = math.gcd(*(int(coefficient * denominators) for coefficient in coefficients))
    return sympy.Rational(denominators, numerators)


def _leading(terms: Any) -> Any:
    return terms[min(terms, key=str)]
