"""Conditions as people write them: over sources, ranges as intervals, remainders as remainders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy

from testmatrix.compare.algebra.functions import exact, name_of
from testmatrix.compare.algebra.normal import linear
from testmatrix.compare.algebra.variables import Value, is_valid

_OPERATORS = {"FloorDiv": "//", "LShift": "<<", "RShift": ">>", "IntTrueDiv": "/", "FloatTrueDiv": "/", "PowByNatural": "**"}

#: These bind less than a sum.
_SHIFTS = frozenset({"LShift", "RShift"})


def readable(condition: Any) -> str:
    """One condition in normal form: ``L['n'] >= 2``, ``L['x'].size()[0] % 8 == 0``."""
    if isinstance(condition, sympy.And | sympy.Or):
        word = " and " if isinstance(condition, sympy.And) else " or "
        return word.join(sorted(_part(part) for part in condition.args))
    if not isinstance(condition, sympy.Eq | sympy.Ne | sympy.Ge | sympy.Gt):
        return str(condition)
    terms, bound = linear(condition)
    told, bound = _with_remainders(dict(terms), bound)
    sign = {sympy.Eq: "==", sympy.Ne: "!=", sympy.Ge: ">=", sympy.Gt: ">"}[condition.func]
    if all(count < 0 for count in told.values()):  # -x >= 3 is x <= -3
        told, bound = {term: -count for term, count in told.items()}, -bound
        sign = {">=": "<=", ">": "<"}.get(sign, sign)
    left, right = _sides(told, bound)
    return f"{_sum(left)} {sign} {_sum(right)}"


def readable_set(conditions: Iterable[Any]) -> list[str]:
    """Conditions of a set, sorted; both bounds of one source as one interval."""
    lower: dict[str, Any] = {}
    upper: dict[str, Any] = {}
    lines: list[str] = []
    for condition in conditions:
        terms = linear(condition)[0] if isinstance(condition, sympy.Ge) else ()
        if len(terms) == 1 and terms[0][0].is_Symbol and abs(terms[0][1]) == 1:
            symbol, sign = terms[0]
            (lower if sign == 1 else upper)[str(symbol.name)] = condition.rhs * sign
        else:
            lines.append(readable(condition))
    for source in lower.keys() | upper.keys():
        lines.append(_interval(source, lower.get(source), upper.get(source)))
    return sorted(lines)


def readable_values(values: Iterable[tuple[str, Value]]) -> str:
    """An assignment: ``L['n']=5, L['x'].size()[0]=4``."""
    return ", ".join(f"{source}={readable_number(value)}" for source, value in values)


def readable_number(value: Value) -> str:
    """An int as it is, a fraction as the double that it is."""
    return str(value) if isinstance(value, int) else repr(float(value))


def _interval(source: str, least: Any, most: Any) -> str:
    if least is not None and least == most:
        return f"{source} == {least}"
    left = "(-oo" if least is None else f"[{_number(least)}"
    return f"{source} in {left}, {'oo)' if most is None else f'{_number(most)}]'}"


def _part(condition: Any) -> str:
    return f"({readable(condition)})" if isinstance(condition, sympy.And | sympy.Or) else readable(condition)


def _with_remainders(terms: dict[Any, Any], bound: Any) -> tuple[dict[Any, Any], Any]:
    """``x - 8*(x // 8)`` is ``x % 8``; what the dividend has of a number is part of the bound."""
    for quotient in [term for term in terms if name_of(term) == "FloorDiv"]:
        dividend, divisor = quotient.args
        factor = -terms[quotient] / divisor
        added, rest = dividend.as_coeff_Add()
        parts = rest.as_coefficients_dict()
        if all(terms.get(part) == factor * count for part, count in parts.items()):
            kept = {term: count for term, count in terms.items() if term not in parts and term != quotient}
            remainder = sympy.Function("Mod", integer=True)(dividend, divisor)
            return _with_remainders({**kept, remainder: factor}, bound + factor * added)
    return terms, bound


def _sides(terms: Mapping[Any, Any], bound: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
    left = {term: count for term, count in terms.items() if count > 0}
    right = {term: -count for term, count in terms.items() if count < 0}
    if bound != 0 and not (bound < 0 and right):
        right[sympy.Integer(1)] = bound
    elif bound < 0:
        left[sympy.Integer(1)] = -bound
    return left, right


def _sum(terms: Mapping[Any, Any]) -> str:
    text = ""
    for term, count in sorted(terms.items(), key=lambda item: (item[0] == 1, str(item[0]))):
        magnitude = _number(abs(count)) if term == 1 else _product(abs(count), term)
        sign = "-" if count < 0 else "+"
        if abs(count) == 1 and ((sign == "-" and not text) or (name_of(term) in _SHIFTS and len(terms) > 1)):
            magnitude = _operand(term)  # a sign binds more than a division, a sum more than a shift
        text = f"{text} {sign} {magnitude}" if text else f"{'-' if count < 0 else ''}{magnitude}"
    return text or "0"


def _product(count: Any, term: Any) -> str:
    return _expression(term) if count == 1 else f"{_number(count)}*{_operand(term)}"


def _number(value: Any) -> str:
    number = exact(value) if value.is_Rational else None
    if isinstance(number, Fraction) and is_valid(number, "float"):
        return repr(float(number))
    return str(value)


def _expression(node: Any) -> str:
    if node.is_Symbol:
        return str(node.name)
    if node.is_Rational:
        return _number(node)
    if node.is_Add:
        return _sum(node.as_coefficients_dict())
    if node.is_Mul:
        return "*".join(_operand(factor) for factor in node.args)
    if node.is_Pow:
        return f"{_operand(node.base)}**{_operand(node.exp)}"
    name = name_of(node)
    if name == "Mod":
        return f"{_operand(node.args[0])} % {_operand(node.args[1])}"
    if name in _OPERATORS:
        return f"{_operand(node.args[0])} {_OPERATORS[name]} {_operand(node.args[1])}"
    if name:
        return f"{name.removeprefix('OpaqueUnaryFn_').removeprefix('BitwiseFn_')}({', '.join(map(_expression, node.args))})"
    return readable(node) if isinstance(node, sympy.logic.boolalg.Boolean) else str(node)


def _operand(node: Any) -> str:
    text = _expression(node)
    natural = node.is_Integer and node >= 0
    return text if node.is_Symbol or natural or (text.endswith(")") and " " not in text) else f"({text})"
