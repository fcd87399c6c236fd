"""Whether conditions can hold together: an assignment under which they do, that there is none, or neither within the limit.

Comparisons become linear rows; what is not linear in them (a quotient, a product, the greater of two) is a variable of its own
with what is known of it. Where a solution of the rows does not do for the conditions, the cases that it fell between (of an
``Or``, of an inequality, of a maximum) are gone through one by one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import sympy

from testmatrix.compare.algebra.elimination import Gap, Infeasible, Number, Row, solve
from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.functions import exact, name_of
from testmatrix.compare.algebra.normal import canonical, conjuncts, linear
from testmatrix.compare.algebra.terms import known_of
from testmatrix.compare.algebra.variables import Assignment, Sort, Value, is_valid

_MAX_SYSTEMS = 120
_MAX_DEPTH = 24


@dataclass(frozen=True, slots=True)
class Point:
    """An assignment under which the conditions hold; sources that it leaves out may have any value."""

    values: Mapping[str, Value]


#: ``empty``: no assignment satisfies the conditions; ``unknown``: that was not found out.
Model = Point | Literal["empty", "unknown"]


def linear_model(conditions: Iterable[Any], sorts: Mapping[str, Sort], prefer: Assignment, deadline: float) -> Model:
    """A model of conditions in normal form by linear reasoning; ``prefer`` are values to stay near to."""
    search = _Search(tuple(conditions), sorts, prefer, deadline)
    return search.run()


@dataclass(slots=True)
class _System:
    """Rows that must hold, and choices of which one part each must."""

    rows: list[Row] = field(default_factory=list)
    choices: list[tuple[Any, ...]] = field(default_factory=list)
    defined: set[int] = field(default_factory=set)  #: variables of which all that is known is in the rows
    impossible: bool = False

    def copy(self) -> _System:
        return _System(list(self.rows), list(self.choices), set(self.defined), self.impossible)


class _Search:
    def __init__(self, conditions: tuple[Any, ...], sorts: Mapping[str, Sort], prefer: Assignment, deadline: float) -> None:
        self._conditions, self._sorts, self._prefer, self._deadline = conditions, sorts, prefer, deadline
        self._terms: dict[Any, int] = {}
        self._systems = 0

    def run(self) -> Model:
        system = _System()
        for condition in self._conditions:
            self._add(system, condition)
        return self._solve(system, 0)

    def _solve(self, system: _System, depth: int) -> Model:
        if system.impossible:
            return "empty"
        self._systems += 1
        if self._systems > _MAX_SYSTEMS or depth > _MAX_DEPTH or time.monotonic() > self._deadline:
            return "unknown"
        result = solve(system.rows, self._is_whole, self._preferred(), self._deadline)
        if isinstance(result, Infeasible):
            return "empty"
        if isinstance(result, Gap):
            return self._cases(system, self._split(result), depth)
        values = self._values(result) if result is not None else None
        if values is not None and self._satisfied(values):
            return Point(values)
        return self._next_choice(system, values, depth)

    def _next_choice(self, system: _System, values: Mapping[str, Value] | None, depth: int) -> Model:
        """Go through the cases of a choice that the assignment does not meet, or else of the first."""
        if not system.choices:
            return "unknown"
        violated = [one for one in system.choices if values is None or not any(self._met(case, values) for case in one)]
        choice = (violated or system.choices)[0]
        rest = system.copy()
        rest.choices.remove(choice)
        return self._cases(rest, choice, depth)

    def _cases(self, system: _System, cases: tuple[Any, ...], depth: int) -> Model:
        unknown = False
        for case in cases:
            narrowed = system.copy()
            self._add(narrowed, case)
            found = self._solve(narrowed, depth + 1)
            if isinstance(found, Point):
                return found
            unknown = unknown or found == "unknown"
        return "unknown" if unknown else "empty"

    def _split(self, gap: Gap) -> tuple[Any, ...]:
        term = next(term for term, index in self._terms.items() if index == gap.variable)
        # Not in normal form, which could bring back a comparison that says nothing of this term.
        return sympy.Ge(-term, -gap.below, evaluate=False), sympy.Ge(term, gap.below + 1, evaluate=False)

    def _add(self, system: _System, condition: Any) -> None:
        """A condition as rows and choices of the system."""
        for part in conjuncts(condition):
            if part == sympy.false:
                system.impossible = True
            elif isinstance(part, sympy.Or):
                system.choices.append(tuple(part.args))
            elif isinstance(part, sympy.Ne):
                cases = (sympy.Lt(part.lhs, part.rhs), sympy.Gt(part.lhs, part.rhs))
                system.choices.append(tuple(map(canonical, cases)))
            elif isinstance(part, sympy.Ge | sympy.Gt | sympy.Eq):
                self._add_row(system, part)

    def _add_row(self, system: _System, comparison: Any) -> None:
        terms, bound = linear(comparison)
        if not bound.is_Rational or not all(factor.is_Rational for _, factor in terms):
            return  # nothing that rows can say; it is still checked of every solution
        coefficients = []
        for term, factor in terms:
            coefficients.append((self._index(system, term), exact(factor)))
        relation: Literal[">=", ">", "=="] = (
            "==" if isinstance(comparison, sympy.Eq) else ">" if isinstance(comparison, sympy.Gt) else ">="
        )
        system.rows.append(Row(tuple(sorted(coefficients)), -exact(bound), relation))

    def _index(self, system: _System, term: Any) -> int:
        """The variable of a term; with a new one comes what is known of it."""
        if term not in self._terms:
            self._terms[term] = len(self._terms)
        index = self._terms[term]
        if index not in system.defined:
            system.defined.add(index)
            if term.is_nonnegative:
                system.rows.append(Row(((index, 1),), 0))
            self._define(system, term)
        return index

    def _define(self, system: _System, term: Any) -> None:
        if term.is_Symbol and self._sorts.get(term.name) == "bool":
            self._add(system, sympy.Ge(-term, -1))
        for known in known_of(term, self._bounds):
            if time.monotonic() > self._deadline:
                return  # less is known of it, and nothing that is wrong
            self._add(system, known)

    def _bounds(self, factor: Any) -> tuple[Any, Any]:
        """The least and the greatest value that single conditions leave a factor, or an extremum itself does; else None."""
        numbers = [one for one in factor.args if one.is_Rational]  # of sums and products, they bound nothing
        name = name_of(factor)
        at_least = [one.rhs for one in self._conditions if isinstance(one, sympy.Ge) and one.lhs == factor]
        at_most = [-one.rhs for one in self._conditions if isinstance(one, sympy.Ge) and one.lhs == -factor]
        least = max([*at_least, *(numbers if name == "Max" else ())], default=None)
        most = min([*at_most, *(numbers if name == "Min" else ())], default=None)
        return (sympy.Integer(0) if least is None and factor.is_nonnegative else least), most

    def _is_whole(self, variable: int) -> bool:
        return bool(list(self._terms)[variable].is_integer)

    def _preferred(self) -> dict[int, Number]:
        return {
            index: self._prefer[term.name] for term, index in self._terms.items() if term.is_Symbol and term.name in self._prefer
        }

    def _values(self, solution: Mapping[int, Number]) -> dict[str, Value] | None:
        """The solution as an assignment to all symbols of the conditions; None where it is no valid input."""
        names = {symbol.name for condition in self._conditions for symbol in condition.free_symbols}
        solved = {term.name: solution[index] for term, index in self._terms.items() if term.is_Symbol and index in solution}
        values = {name: _simplified(solved.get(name, self._prefer.get(name, 0))) for name in names}
        return values if all(is_valid(value, self._sorts.get(name, "int")) for name, value in values.items()) else None

    def _satisfied(self, values: Assignment) -> bool:
        return all(holds(condition, values) for condition in self._conditions)

    def _met(self, case: Any, values: Assignment) -> bool:
        return bool(holds(case, values)) if {symbol.name for symbol in case.free_symbols} <= values.keys() else False


def _simplified(value: Number) -> Value:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value
