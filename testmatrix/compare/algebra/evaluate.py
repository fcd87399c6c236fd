"""Conditions as functions of numbers, exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy

from testmatrix.compare.algebra.functions import FUNCTIONS, Undefined, name_of, power
from testmatrix.compare.algebra.variables import Assignment, Value

_RELATIONS = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.Lt: "<",
    sympy.Le: "<=",
    sympy.Gt: ">",
    sympy.Ge: ">=",
}
_NAMES: dict[str, Any] = {"Fraction": Fraction, "power": power, **{name: one.value for name, one in FUNCTIONS.items()}}


class Unevaluable(ValueError):
    """A condition with something in it that has no value for numbers."""


def holds(condition: Any, values: Assignment) -> bool | None:
    """Whether a condition holds for an assignment to all of its sources; None where it has no value there."""
    names, function = compiled(condition)
    return function([values[name] for name in names])


@lru_cache(maxsize=8192)
def compiled(condition: Any) -> tuple[tuple[str, ...], Callable[[Sequence[Value]], bool | None]]:
    """The sources of a condition, sorted, and the condition as a function of their values. Raises Unevaluable."""
    names = tuple(sorted(symbol.name for symbol in condition.free_symbols))
    places = {name: f"v[{position}]" for position, name in enumerate(names)}
    # Written by _code out of names of its own table, positions and numbers: no text of the condition gets into it.
    function = eval(f"lambda v: {_code(condition, places)}", dict(_NAMES))

    def value(values: Sequence[Value]) -> bool | None:
        try:
            return bool(function(values))
        except (Undefined, ArithmeticError, ValueError, MemoryError):
            return None

    return names, value


def _code(node: Any, places: dict[str, str]) -> str:
    if node.is_Symbol:
        return places[node.name]
    if node.is_Integer:
        return f"({int(node)})"
    if node.is_Rational:
        return f"Fraction({int(node.p)}, {int(node.q)})"
    if node in (sympy.true, sympy.false):
        return "True" if node == sympy.true else "False"
    arguments = [_code(argument, places) for argument in node.args]
    return _joined(node, arguments)


def _joined(node: Any, arguments: list[str]) -> str:
    if node.func in _RELATIONS:
        return f"({arguments[0]} {_RELATIONS[node.func]} {arguments[1]})"
    if isinstance(node, sympy.And | sympy.Or):
        return f"({(' and ' if isinstance(node, sympy.And) else ' or ').join(arguments)})"
    if isinstance(node, sympy.Not):
        return f"(not {arguments[0]})"
    if node.is_Add or node.is_Mul:
        return f"({(' + ' if node.is_Add else ' * ').join(arguments)})"
    if node.is_Pow:
        return f"power({', '.join(arguments)})"
    name = name_of(node)
    if name == "Where":
        return f"({arguments[1]} if {arguments[0]} else {arguments[2]})"  # the other one need not have a value
    if name not in FUNCTIONS:
        raise Unevaluable(f"{node.func.__name__} has no value")
    return f"{name}({', '.join(arguments)})"
