"""A conjunction of conditions over sources, and its solved form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

from testmatrix.compare.algebra.normal import canonical, conjuncts, linear, substitute
from testmatrix.compare.algebra.variables import Sort
from testmatrix.compare.algebra.weight import TooLarge

_MAX_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Conditions in normal form, all of which must hold, over sources of known sorts.

    ``opaque`` are the texts of conditions that were not understood: they must hold, too, and nobody knows where they do.
    """

    conditions: frozenset[Any] = frozenset()
    sorts: Mapping[str, Sort] = field(default_factory=dict, hash=False, compare=False)
    opaque: frozenset[str] = frozenset()

    def and_also(self, conditions: Iterable[Any]) -> Conjunction:
        added = frozenset(part for one in conditions for part in conjuncts(canonical(one)))
        return Conjunction((self.conditions | added) - {sympy.true}, self.sorts, self.opaque)


@dataclass(frozen=True, slots=True)
class Solved:
    """A conjunction with its equations solved and its bounds merged."""

    definitions: Mapping[Any, Any]  #: symbols that are determined by others, or by nothing
    conditions: frozenset[Any]  #: on the symbols that are left; ``{false}`` where nothing is let through

    @property
    def is_empty(self) -> bool:
        return sympy.false in self.conditions

    def resolved(self, condition: Any) -> Any:
        """A condition in terms of the symbols that are left, in normal form."""
        return canonical(substitute(condition, dict(self.definitions)))

    def implies(self, condition: Any) -> bool:
        """Whether the condition follows by substitution and from one bound alone; False where more would be needed."""
        if self.is_empty:
            return True
        return all(self._implies_part(part) for part in conjuncts(self.resolved(condition)))

    def _implies_part(self, part: Any) -> bool:
        if part == sympy.true or part in self.conditions:
            return True
        if isinstance(part, sympy.Or):
            return any(self._implies_part(one) for one in part.args)
        if not isinstance(part, sympy.Ge | sympy.Gt | sympy.Ne):
            return False
        bounds = _bounds_of(self.conditions)
        if isinstance(part, sympy.Ne):
            least, most = bounds.get(part.lhs), bounds.get(-part.lhs)
            return bool((least is not None and least > part.rhs) or (most is not None and -most < part.rhs))
        least = bounds.get(part.lhs)
        return bool(least is not None and (least >= part.rhs if isinstance(part, sympy.Ge) else least > part.rhs))


@lru_cache(maxsize=4096)
def solved(conditions: frozenset[Any]) -> Solved:
    """The solved form of conditions in normal form."""
    definitions: dict[Any, Any] = {}
    remaining = set(conditions)
    for _ in range(_MAX_ROUNDS):
        if sympy.false in remaining:
            return Solved({}, frozenset({sympy.false}))
        equations = (one for one in remaining if isinstance(one, sympy.Eq))
        solution = next(filter(None, map(_solution, sorted(equations, key=_constants_first))), None)
        if solution is None:
            merged = _merged(remaining)
            if merged == remaining:
                break
            remaining = merged
            continue
        symbol, value, equation = solution
        remaining.discard(equation)
        replacing = {symbol: value}
        definitions = {name: substitute(one, replacing) for name, one in definitions.items()}
        definitions[symbol] = value
        if symbol.is_nonnegative:
            remaining.add(sympy.Ge(value, 0, evaluate=False))  # what the symbol said by itself
        remaining = set(substituted(remaining, replacing))
    return Solved(definitions, frozenset(remaining))


def _constants_first(equation: Any) -> tuple[int, str]:
    """Constants before relations between symbols; the order must not depend on hashes."""
    return len(equation.free_symbols), str(equation)


def without(conditions: frozenset[Any], symbol: Any) -> frozenset[Any] | None:
    """What the conditions ask of all other symbols, where an equation of theirs says what the symbol is; None where none does."""
    for equation in sorted((one for one in conditions if symbol in one.free_symbols), key=str):
        value = _value_of(symbol, equation)
        if value is not None:
            asked = {sympy.Ge(value, 0)} if symbol.is_nonnegative else set()
            return put_in(conditions - {equation} | asked, symbol, value)
    return None


def put_in(conditions: Iterable[Any], symbol: Any, value: Any) -> frozenset[Any] | None:
    """The conditions with an expression in place of a symbol; None where they would be too large."""
    try:
        return substituted(conditions, {symbol: value})
    except TooLarge:
        return None


def substituted(conditions: Iterable[Any], values: dict[Any, Any]) -> frozenset[Any]:
    """The conditions with expressions in place of symbols, in normal form and one by one. Raises TooLarge."""
    return frozenset(part for one in conditions for part in conjuncts(canonical(substitute(one, values)))) - {sympy.true}


def _solution(condition: Any) -> tuple[Any, Any, Any] | None:
    """(symbol, what it equals, the equation) of an equation that gives one symbol in terms of others."""
    if not isinstance(condition, sympy.Eq):
        return None
    for term, _ in reversed(linear(condition)[0]):
        value = _value_of(term, condition) if term.is_Symbol else None
        if value is not None:
            return term, value, condition
    return None


def _value_of(symbol: Any, condition: Any) -> Any:
    """What an equation says that a symbol is; None where it does not."""
    if not isinstance(condition, sympy.Eq):
        return None
    terms, bound = linear(condition)
    coefficient = dict(terms).get(symbol)
    others = [(other, factor) for other, factor in terms if other != symbol]
    if coefficient is None or any(symbol in other.free_symbols for other, _ in others):
        return None
    if (abs(coefficient) != 1 and symbol.is_integer) or not _fits(symbol, bound, others):
        return None
    return (bound - sympy.Add(*(factor * other for other, factor in others))) / coefficient


def _fits(symbol: Any, bound: Any, others: list[tuple[Any, Any]]) -> bool:
    """Whether the right side is an int where the symbol is one; else the equation says more than the substitution would."""
    return not symbol.is_integer or (bound.is_Integer and all(term.is_integer and factor.is_Integer for term, factor in others))


def _bounds_of(conditions: Iterable[Any]) -> dict[Any, Any]:
    return {one.lhs: one.rhs for one in conditions if isinstance(one, sympy.Ge)}


def _merged(conditions: set[Any]) -> set[Any]:
    """The conditions with the tightest of the bounds on the same terms, and with equations where bounds meet."""
    bounds: dict[Any, Any] = {}
    others: set[Any] = set()
    for one in conditions:
        if isinstance(one, sympy.Ge):
            bounds[one.lhs] = max(one.rhs, bounds.get(one.lhs, one.rhs))
        else:
            others.add(one)
    for one in sorted((one for one in others if isinstance(one, sympy.Ne)), key=lambda one: (str(one.lhs), one.rhs)):
        _drop_unequal(one, bounds, others)
    made: set[Any] = set(others)
    for terms, bound in bounds.items():
        opposite = bounds.get(-terms)
        if opposite is not None and -opposite < bound:
            return {sympy.false}
        if opposite is not None and -opposite == bound:
            made.update(conjuncts(canonical(sympy.Eq(terms, bound))))
        else:
            known = sympy.Ge(terms, bound, evaluate=False)  # in normal form, as it came
            made.add(known if known in conditions else sympy.Ge(terms, bound))
    return made - {sympy.true}


def _drop_unequal(unequal: Any, bounds: dict[Any, Any], others: set[Any]) -> None:
    """``x >= 2`` and ``x != 2`` is ``x >= 3``; what is out of bounds anyway says nothing."""
    for terms, value in ((unequal.lhs, unequal.rhs), (-unequal.lhs, -unequal.rhs)):
        bound = bounds.get(terms)
        if bound is None or not terms.is_integer:
            continue
        if bound == value:
            bounds[terms] = bound + 1
        if bound >= value:
            others.discard(unequal)
