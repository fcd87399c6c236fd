"""Products and powers by going through the values of one factor: with a number in place of it, what is left is linear.

Where linear reasoning alone shows that the factor lies in a small range, all of its values are gone through, and that there is no
solution is known; elsewhere likely values are, and a solution may be found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from testmatrix.compare.algebra.conjunction import substituted
from testmatrix.compare.algebra.functions import name_of, number
from testmatrix.compare.algebra.model import Model, Point
from testmatrix.compare.algebra.normal import linear
from testmatrix.compare.algebra.variables import Assignment, Sort

_REACH = 20
_LIKELY = (0, 1, -1, 2, 3, -2, 4, -3, 5, 8, 16)

Solve = Callable[[frozenset[Any]], Model]


def enumerated_model(
    conditions: frozenset[Any], sorts: Mapping[str, Sort], prefer: Assignment, deadline: float, solve: Solve
) -> Model:
    """A model of conditions with products in them; ``solve`` is asked about those with a factor replaced by a number."""
    factors = _factors(conditions, sorts)
    for factor in factors:
        if time.monotonic() > deadline:
            return "unknown"
        bounded = solve(conditions | {sympy.Ge(factor, _REACH)}) == solve(conditions | {sympy.Ge(-factor, _REACH)}) == "empty"
        if bounded:
            return _over(range(1 - _REACH, _REACH), factor, conditions, deadline, solve)
    for factor in factors:
        recorded = [prefer[factor.name]] if factor.name in prefer else []
        found = _over([*map(int, recorded), *_LIKELY], factor, conditions, deadline, solve)
        if isinstance(found, Point):
            return found
    return "unknown"


def _over(values: Iterable[int], factor: Any, conditions: frozenset[Any], deadline: float, solve: Solve) -> Model:
    unknown = False
    for value in values:
        if value < 0 and factor.is_nonnegative:
            continue
        if time.monotonic() > deadline:
            return "unknown"
        left = substituted(conditions, {factor: number(value)})
        found: Model = "empty" if sympy.false in left else solve(left) if left else Point({})
        if isinstance(found, Point):
            return Point({**found.values, factor.name: value})
        unknown = unknown or found == "unknown"
    return "unknown" if unknown else "empty"


def _factors(conditions: Iterable[Any], sorts: Mapping[str, Sort]) -> list[Any]:
    """Ints that stand in products, powers and functions that are not linear, those in most of them first."""
    counts: dict[Any, int] = {}
    for condition in conditions:
        for comparison in condition.atoms(sympy.core.relational.Relational) or {condition}:
            for term, _ in linear(comparison)[0]:
                if not term.is_Symbol and name_of(term) not in ("Min", "Max", "Abs"):
                    for symbol in term.free_symbols:
                        counts[symbol] = counts.get(symbol, 0) + 1
    ints = [symbol for symbol in counts if sorts.get(symbol.name, "int") in ("int", "extent")]
    return sorted(ints, key=lambda symbol: (-counts[symbol], str(symbol)))[:3]
