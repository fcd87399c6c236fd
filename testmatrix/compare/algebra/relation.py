"""How two conjunctions are related, with a witness for each direction in which they differ.

The cheapest way that decides is taken: the same normal form; substitution; a recorded value; linear reasoning, which finds a
witness or that there is none; trying out values around the constants that occur; z3 where it is installed. Whatever found a
witness, it counts only after both sides were evaluated for it, exactly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sympy

from testmatrix.compare.algebra.conjunction import Conjunction, Solved, solved
from testmatrix.compare.algebra.enumeration import enumerated_model
from testmatrix.compare.algebra.evaluate import Unevaluable, holds
from testmatrix.compare.algebra.functions import exact
from testmatrix.compare.algebra.model import Model, Point, linear_model
from testmatrix.compare.algebra.normal import canonical, conjuncts, negation, substitute
from testmatrix.compare.algebra.parse import SYMPY_ERRORS
from testmatrix.compare.algebra.search import searched_model
from testmatrix.compare.algebra.solver import installed, z3_model
from testmatrix.compare.algebra.variables import Assignment, Sort, Value, is_valid

#: Seconds for one pair, both directions together.
LIMIT = 0.5

RelationKind = Literal["equal", "narrower", "wider", "neither", "undecided"]


@dataclass(frozen=True, slots=True)
class Witness:
    """Values for all sources of two conjunctions, which one of them accepts and the other rejects."""

    values: tuple[tuple[str, Value], ...]  #: sorted by source
    rejected_by: Any  #: the condition of the (first) rejecting side that does not hold; false where nothing rejects


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What the left side is, compared with the right: ``narrower`` where it lets through less."""

    kind: RelationKind
    left_only: Witness | None = None  #: accepted by the left side alone
    right_only: Witness | None = None

    def mirrored(self) -> Relation:
        kinds: dict[RelationKind, RelationKind] = {"narrower": "wider", "wider": "narrower"}
        return Relation(kind=kinds.get(self.kind, self.kind), left_only=self.right_only, right_only=self.left_only)


_Answer = Witness | Literal["none", "unknown"]


def relate(
    left: Conjunction, right: Conjunction, *, recorded: Assignment | None = None, limit: float = LIMIT, ask_z3: bool = True
) -> Relation:
    """The relation of two conjunctions over the same sources, within ``limit`` seconds.

    ``recorded`` are values that both sides are known to accept: witnesses stay as near to them as they can.
    """
    if left.conditions == right.conditions and left.opaque == right.opaque:
        return Relation(kind="equal")
    sorts = {**left.sorts, **right.sorts}
    question = _Question(sorts, recorded or {}, time.monotonic() + limit, ask_z3 and installed())
    forwards = question.beyond(left, right)
    backwards = question.beyond(right, left)
    return Relation(
        kind=_kind(forwards, backwards),
        left_only=forwards if isinstance(forwards, Witness) else None,
        right_only=backwards if isinstance(backwards, Witness) else None,
    )


def _kind(forwards: _Answer, backwards: _Answer) -> RelationKind:
    if "unknown" in (forwards, backwards):
        return "undecided"
    if isinstance(forwards, Witness):
        return "neither" if isinstance(backwards, Witness) else "wider"
    return "narrower" if isinstance(backwards, Witness) else "equal"


def beyond(
    accepting: Conjunction,
    others: Iterable[Conjunction],
    *,
    recorded: Assignment | None = None,
    limit: float = LIMIT,
    ask_z3: bool = True,
) -> _Answer:
    """An assignment that ``accepting`` lets through and none of the others does; ``none`` where there is none."""
    rejecting = tuple(others)
    sorts = {name: sort for one in (*rejecting, accepting) for name, sort in one.sorts.items()}
    question = _Question(sorts, recorded or {}, time.monotonic() + limit, ask_z3 and installed())
    return question.beyond(accepting, *rejecting)


class _Question:
    def __init__(self, sorts: Mapping[str, Sort], recorded: Assignment, deadline: float, ask_z3: bool) -> None:
        self._sorts, self._recorded, self._deadline, self._ask_z3 = sorts, recorded, deadline, ask_z3

    def beyond(self, accepting: Conjunction, *rejecting: Conjunction) -> _Answer:
        """Whether something is accepted that none of the others accepts."""
        try:
            return self._beyond(accepting, *rejecting)
        except SYMPY_ERRORS:
            return "unknown"  # one odd expression must not cost a run; the pair is reported as undecided

    def _beyond(self, accepting: Conjunction, *rejecting: Conjunction) -> _Answer:
        base = solved(accepting.conditions)
        if base.is_empty:
            return "none"
        if any(one.opaque <= accepting.opaque and all(map(base.implies, one.conditions)) for one in rejecting):
            return "none"
        if any(one.opaque for one in (accepting, *rejecting)):
            return "unknown"
        unknown = False
        for violation in _violations(base, rejecting):
            found = self._model(base, violation, accepting, rejecting)
            if isinstance(found, Witness):
                return found
            unknown = unknown or found == "unknown"
        return "unknown" if unknown else "none"

    def _model(self, base: Solved, violation: Any, accepting: Conjunction, rejecting: tuple[Conjunction, ...]) -> _Answer:
        """A witness that violates what the others ask."""
        wanted = solved(base.conditions | frozenset(conjuncts(canonical(violation))))
        if wanted.is_empty:
            return "none"
        values: dict[str, Value] = {}
        unknown = False
        for part in _components(wanted.conditions):
            found = self._model_of(part)
            if found == "empty":
                return "none"
            if isinstance(found, Point):
                values.update(found.values)
            unknown = unknown or found == "unknown"
        if unknown:
            return "unknown"
        return self._checked(self._completed(values, wanted, base), accepting, rejecting)

    def _model_of(self, conditions: frozenset[Any]) -> Model:
        ways: list[Callable[[], Model]] = [
            lambda: self._recorded_model(conditions),
            lambda: self._linear_model(conditions),
            lambda: searched_model(conditions, self._sorts, self._recorded, self._deadline),
            lambda: enumerated_model(conditions, self._sorts, self._recorded, self._deadline, self._linear_model),
        ]
        if self._ask_z3:
            ways.append(lambda: z3_model(conditions, self._sorts, self._deadline))
        for way in ways:
            try:
                found = way()
            except SYMPY_ERRORS:
                continue  # this way has no answer
            if found != "unknown":
                return found
        return "unknown"

    def _linear_model(self, conditions: frozenset[Any]) -> Model:
        return linear_model(conditions, self._sorts, self._recorded, self._deadline)

    def _recorded_model(self, conditions: frozenset[Any]) -> Model:
        names = {symbol.name for one in conditions for symbol in one.free_symbols}
        if not names <= self._recorded.keys() or not all(holds(one, self._recorded) for one in conditions):
            return "unknown"
        return Point({name: self._recorded[name] for name in names})

    def _completed(self, values: dict[str, Value], *solutions: Solved) -> dict[str, Value]:
        """Values for the symbols that were solved for, and for those that nothing is asked of."""
        complete = dict(values)
        determined = {symbol.name for one in solutions for symbol in one.definitions}
        for name, sort in self._sorts.items():
            if name not in complete and name not in determined:
                complete[name] = self._recorded.get(name, 2 if sort == "extent" else 0)
        for one in solutions:
            numbers = {symbol: complete[symbol.name] for value in one.definitions.values() for symbol in value.free_symbols}
            for symbol, value in one.definitions.items():
                result = substitute(value, {key: sympy.sympify(number) for key, number in numbers.items()})
                if result.is_Rational:
                    complete[symbol.name] = exact(result)
        return complete

    def _checked(self, values: dict[str, Value], accepting: Conjunction, rejecting: tuple[Conjunction, ...]) -> _Answer:
        """The witness, if it is one: evaluated for both sides as they were given, not as they were solved."""
        try:
            if not all(is_valid(values[name], sort) for name, sort in self._sorts.items()):
                return "unknown"
            if not all(holds(one, values) for one in accepting.conditions):
                return "unknown"
            failing = [
                next((one for one in sorted(each.conditions, key=str) if holds(one, values) is False), None) for each in rejecting
            ]
        except (KeyError, Unevaluable):
            return "unknown"
        if any(one is None for one in failing):
            return "unknown"
        return Witness(tuple(sorted(values.items())), failing[0] if failing else sympy.false)


def _violations(base: Solved, rejecting: tuple[Conjunction, ...]) -> Iterator[Any]:
    """What must hold for the others to reject: one condition that does not follow is violated by each of them."""
    ways: list[list[Any]] = []
    for one in rejecting:
        resolved = (base.resolved(condition) for condition in sorted(one.conditions, key=str) if not base.implies(condition))
        ways.append([canonical(negation(condition)) for condition in resolved])
    if len(ways) == 1:
        yield from ways[0]
    else:
        yield sympy.And(*(sympy.Or(*way) for way in ways))


def _components(conditions: frozenset[Any]) -> list[frozenset[Any]]:
    """The conditions in groups that share no symbols: each can be looked at by itself."""
    groups: list[tuple[set[Any], set[Any]]] = []
    for condition in sorted(conditions, key=str):
        symbols, members = set(condition.free_symbols), {condition}
        rest = []
        for other_symbols, other_members in groups:
            if other_symbols & symbols:
                symbols |= other_symbols
                members |= other_members
            else:
                rest.append((other_symbols, other_members))
        groups = [*rest, (symbols, members)]
    return [frozenset(members) for _, members in groups]
