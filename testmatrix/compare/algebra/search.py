"""An assignment by trying out: values around the constants that occur in the conditions, and around those that were recorded.

Where the conditions bound every source and there are few values in all, each of them is tried, and that there is none is known.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import sympy

from testmatrix.compare.algebra.evaluate import compiled
from testmatrix.compare.algebra.functions import exact
from testmatrix.compare.algebra.model import Model, Point
from testmatrix.compare.algebra.variables import Assignment, Sort, Value, bounds, is_valid

_MAX_CANDIDATES = 28
_MAX_TRIED = 6_000

_Test = tuple[tuple[int, ...], Any]


def searched_model(conditions: Iterable[Any], sorts: Mapping[str, Sort], prefer: Assignment, deadline: float) -> Model:
    """A model among likely values; ``empty`` only where all values there are were tried."""
    ordered = sorted(conditions, key=str)
    symbols = sorted({symbol for one in ordered for symbol in one.free_symbols}, key=lambda symbol: str(symbol.name))
    ranges = [_range(symbol, ordered, sorts) for symbol in symbols]
    complete = None not in ranges and prod(len(one or ()) for one in ranges) <= _MAX_TRIED
    values: Sequence[Sequence[Value]]
    if complete:
        values = [list(one or ()) for one in ranges]
    else:
        constants = _constants(ordered)
        values = [_candidates(symbol, constants, sorts, prefer) for symbol in symbols]
    names = [str(symbol.name) for symbol in symbols]
    search = _Backtracking(values, _tests(ordered, names), deadline)
    found = next(search.solutions([]), None)
    if found is not None:
        return Point(dict(zip(names, found, strict=True)))
    return "empty" if complete and not search.gave_up else "unknown"


class _Backtracking:
    """Values for one source after the other; a condition is tested as soon as all of its sources have one."""

    def __init__(self, values: Sequence[Sequence[Value]], tests: Sequence[Sequence[_Test]], deadline: float) -> None:
        self._values, self._tests, self._deadline = values, tests, deadline
        self._tried = 0
        self.gave_up = False  #: out of time, out of tries, or at a value at which a condition has none

    def solutions(self, chosen: list[Value]) -> Iterator[list[Value]]:
        level = len(chosen)
        if level == len(self._values):
            yield list(chosen)
            return
        for value in self._values[level]:
            self._tried += 1
            if self._tried > _MAX_TRIED or (not self._tried % 64 and time.monotonic() > self._deadline):
                self.gave_up = True
                return
            chosen.append(value)
            if self._passes(chosen, level):
                yield from self.solutions(chosen)
            chosen.pop()
            if self.gave_up and self._tried > _MAX_TRIED:
                return

    def _passes(self, chosen: list[Value], level: int) -> bool:
        for places, test in self._tests[level]:
            outcome = test([chosen[place] for place in places])
            if not outcome:
                self.gave_up = self.gave_up or outcome is None
                return False
        return True


def _tests(conditions: Sequence[Any], names: Sequence[str]) -> list[list[_Test]]:
    """For each level of the search, the conditions whose last source gets its value there."""
    levels: list[list[_Test]] = [[] for _ in names]
    for condition in conditions:
        sources, function = compiled(condition)
        places = tuple(names.index(source) for source in sources)
        if places:
            levels[max(places)].append((places, function))
    return levels


def _range(symbol: Any, conditions: Sequence[Any], sorts: Mapping[str, Sort]) -> range | None:
    """All values of a source, where they are few."""
    sort = sorts.get(symbol.name, "int")
    if sort == "float":
        return None
    least, most = bounds(sort)
    for one in conditions:
        if isinstance(one, sympy.Ge) and one.lhs == symbol:
            least = max(int(one.rhs), least if least is not None else int(one.rhs))
        elif isinstance(one, sympy.Ge) and one.lhs == -symbol:
            most = min(-int(one.rhs), most if most is not None else -int(one.rhs))
    if least is None or most is None or most - least > _MAX_TRIED:
        return None
    return range(least, most + 1)


def _constants(conditions: Iterable[Any]) -> list[Value]:
    found = {exact(atom) for one in conditions for atom in one.atoms(sympy.Rational)}
    return sorted(found, key=lambda value: (abs(value), value < 0))


def _candidates(symbol: Any, constants: Sequence[Value], sorts: Mapping[str, Sort], prefer: Assignment) -> list[Value]:
    """Values to try, the likeliest first: the recorded one, what borders on a constant, multiples, and small numbers."""
    sort = sorts.get(symbol.name, "int")
    around: list[Value] = []
    if symbol.name in prefer:
        recorded = prefer[symbol.name]
        around += [recorded, recorded + 1, recorded - 1, 2 * recorded]
    for constant in constants[:6]:
        around += [constant, constant + 1, constant - 1, 2 * constant, -constant]
    around += [0, 1, 2, 3, -1, 5, 7]
    around += [a + b for a, b in itertools.combinations(constants[:4], 2)]
    around += [a * b for a, b in itertools.combinations(constants[:4], 2)]
    if sort == "float":
        around += [Fraction(1, 2), Fraction(-1, 2)]
        around += [(Fraction(a) + b) / 2 for a, b in itertools.pairwise(sorted(constants)[:6])]
    whole = around if sort == "float" else [int(value) for value in around if int(value) == value]
    return [value for value in dict.fromkeys(whole) if is_valid(value, sort)][:_MAX_CANDIDATES]
