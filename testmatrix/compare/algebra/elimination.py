"""Systems of linear constraints: whether they have a solution, by Fourier-Motzkin elimination with rounding for ints.

A system without a rational solution has none in ints; where all variables of a constraint are ints, its constant is rounded
first, which finds out most systems that only ints do not solve. What has a rational solution is solved backwards, and where
that does not hit an int the variable and the gap are given, to be split at.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from testmatrix.compare.algebra.variables import is_valid

_MAX_ROWS = 600
_MAX_STEPS = 200

Number = int | Fraction


@dataclass(frozen=True, slots=True)
class Row:
    """``sum(coefficient * variable) + constant`` is at least, more than, or exactly zero."""

    coefficients: tuple[tuple[int, Number], ...]  #: (variable, coefficient), sorted by variable, none of them zero
    constant: Number
    relation: Literal[">=", ">", "=="] = ">="


@dataclass(frozen=True, slots=True)
class Gap:
    """No int between two bounds of a variable."""

    variable: int
    below: int


@dataclass(frozen=True, slots=True)
class Infeasible:
    """No assignment satisfies the system."""


#: A solution; that there is none; a gap to split at; None: too large a system, or out of time.
Result = Mapping[int, Number] | Infeasible | Gap | None

_Step = tuple[int, list[Row]]


def solve(rows: Sequence[Row], whole: Callable[[int], bool], prefer: Mapping[int, Number], deadline: float) -> Result:
    """A solution of the system, near to the preferred values where there is a choice."""
    given = 1 + max((variable for row in rows for variable, _ in row.coefficients), default=-1)

    def integral(variable: int) -> bool:
        return variable >= given or whole(variable)

    current = _tidy(rows, integral)
    steps: list[_Step] = []
    for added in range(given, given + _MAX_STEPS):
        if current is None:
            return Infeasible()
        if len(current) > _MAX_ROWS or time.monotonic() > deadline:
            return None
        parametric = _parametrised(current, integral, added)
        if parametric is not None:
            current = [*current, parametric]
        variable = _next_variable(current)
        if variable is None:
            solution = _back(steps, integral, prefer)
            # A gap of a variable that was added here is nothing that the caller could split at.
            return None if isinstance(solution, Gap) and solution.variable >= given else solution
        involved = [row for row in current if _coefficient(row, variable)]
        rest = [row for row in current if not _coefficient(row, variable)]
        steps.append((variable, involved))
        combined = _eliminated(involved, variable)
        if len(rest) + len(combined) > 4 * _MAX_ROWS:
            return None
        current = _tidy([*rest, *combined], integral)
    return None


def _parametrised(rows: Sequence[Row], whole: Callable[[int], bool], added: int) -> Row | None:
    """A consequence of an equation of ints that has no coefficient of one, which has one, in a variable more (Pugh, 1991).

    ``2*p == 3*q`` has its solutions at ``p == 3*t`` only, and dividing by two would forget that.
    """
    equations = [row for row in rows if row.relation == "==" and all(whole(name) for name, _ in row.coefficients)]
    if not equations or any(abs(factor) == 1 for row in equations for _, factor in row.coefficients):
        return None
    equation = equations[0]
    modulus = 1 + min(int(_magnitude(factor)) for _, factor in equation.coefficients)
    reduced = [(name, _balanced(int(factor), modulus)) for name, factor in equation.coefficients]
    coefficients = (*((name, factor) for name, factor in reduced if factor), (added, -modulus))
    return Row(coefficients, _balanced(int(equation.constant), modulus), "==")


def _balanced(number: int, modulus: int) -> int:
    """The remainder that is nearest to zero."""
    return number - modulus * ((2 * number + modulus) // (2 * modulus))


def _coefficient(row: Row, variable: int) -> Number:
    return next((factor for name, factor in row.coefficients if name == variable), 0)


def _magnitude(number: Number) -> Fraction:
    return abs(Fraction(number))


def _next_variable(rows: Sequence[Row]) -> int | None:
    """The variable whose elimination makes the fewest rows; first those that an equation gives without dividing."""
    counts: dict[int, list[int]] = {}
    pivots: dict[int, Fraction] = {}
    for row in rows:
        for variable, factor in row.coefficients:
            count = counts.setdefault(variable, [0, 0])
            if row.relation == "==":
                pivots[variable] = min(_magnitude(factor), pivots.get(variable, _magnitude(factor)))
            else:
                count[factor < 0] += 1
    return min(counts, key=lambda one: (pivots.get(one, math.inf), counts[one][0] * counts[one][1], one)) if counts else None


def _eliminated(rows: Sequence[Row], variable: int) -> list[Row]:
    equations = [row for row in rows if row.relation == "=="]
    if equations:
        # The one with the smallest coefficient: one of 1 loses nothing for ints.
        pivot = min(equations, key=lambda row: _magnitude(_coefficient(row, variable)))
        return [_without(pivot, row, variable) for row in rows if row is not pivot]
    lower = [row for row in rows if _coefficient(row, variable) > 0]
    upper = [row for row in rows if _coefficient(row, variable) < 0]
    return [_sum(low, -_coefficient(high, variable), high, _coefficient(low, variable)) for low in lower for high in upper]


def _without(pivot: Row, row: Row, variable: int) -> Row:
    ours, theirs = _coefficient(row, variable), _coefficient(pivot, variable)
    sign = 1 if theirs > 0 else -1
    return _sum(row, _magnitude(theirs), pivot, -ours * sign)


def _sum(first: Row, times_first: Number, second: Row, times_second: Number) -> Row:
    """A combination of two rows; the factor of one that is no equation must be positive."""
    total: dict[int, Number] = {}
    for row, times in ((first, times_first), (second, times_second)):
        for variable, factor in row.coefficients:
            total[variable] = total.get(variable, 0) + factor * times
    relations = {row.relation for row in (first, second)}
    relation: Literal[">=", ">", "=="] = ">" if ">" in relations else ">=" if ">=" in relations else "=="
    constant = first.constant * times_first + second.constant * times_second
    return Row(tuple(sorted((name, factor) for name, factor in total.items() if factor)), constant, relation)


def _tidy(rows: Sequence[Row], whole: Callable[[int], bool]) -> list[Row] | None:
    """Scaled and rounded rows, of several that differ in the constant the tightest; None where one cannot hold."""
    tightest: dict[tuple[tuple[tuple[int, Number], ...], str], Row] = {}
    for row in rows:
        scaled = _scaled(row, whole)
        if scaled is None:
            return None
        if not scaled.coefficients:
            if not _constant_holds(scaled):
                return None
            continue
        key = (scaled.coefficients, scaled.relation)
        known = tightest.get(key)
        if known is not None and scaled.relation == "==" and known.constant != scaled.constant:
            return None
        if known is None or scaled.constant < known.constant:
            tightest[key] = scaled
    return list(tightest.values())


def _constant_holds(row: Row) -> bool:
    return row.constant == 0 if row.relation == "==" else row.constant > 0 if row.relation == ">" else row.constant >= 0


def _scaled(row: Row, whole: Callable[[int], bool]) -> Row | None:
    """The row with coprime coefficients and, where all variables are ints, a whole constant; None where no int solves it."""
    if not row.coefficients:
        return row
    # Most rows have whole numbers only, and fractions of these would take many times as long.
    multiple = math.lcm(*(factor.denominator for _, factor in row.coefficients))
    multiplied = [(name, int(factor * multiple)) for name, factor in row.coefficients]
    divisor = math.gcd(*(factor for _, factor in multiplied))
    coefficients = tuple((name, factor // divisor) for name, factor in multiplied)
    constant: Number = row.constant * multiple
    relation = row.relation
    if all(whole(name) for name, _ in coefficients):
        if relation == "==" and constant % divisor:
            return None
        constant = -(-constant // divisor) - 1 if relation == ">" else constant // divisor
        relation = "==" if relation == "==" else ">="
    else:
        constant = Fraction(constant) / divisor
    if relation == "==" and coefficients[0][1] < 0:
        coefficients, constant = tuple((name, -factor) for name, factor in coefficients), -constant
    return Row(coefficients, constant, relation)


def _back(steps: Sequence[_Step], whole: Callable[[int], bool], prefer: Mapping[int, Number]) -> Result:
    values: dict[int, Number] = {}
    for variable, rows in reversed(steps):
        low: tuple[Number, bool] | None = None
        high: tuple[Number, bool] | None = None
        for row in rows:
            for name, _ in row.coefficients:
                if name != variable and name not in values:  # no row is left that bounds it
                    values[name] = _nearest(prefer.get(name, 0), whole(name))
            factor = _coefficient(row, variable)
            rest = row.constant + sum(value * values[name] for name, value in row.coefficients if name != variable)
            edge, strict = Fraction(-rest) / factor, row.relation == ">"
            if row.relation == "==" or factor > 0:
                low = max(low or (edge, strict), (edge, strict))
            if row.relation == "==" or factor < 0:
                high = min(high or (edge, strict), (edge, strict), key=lambda one: (one[0], not one[1]))
        chosen = _between(low, high, prefer.get(variable, 0), whole(variable))
        if chosen is None:
            return Gap(variable, math.floor(low[0])) if low is not None and whole(variable) else None
        values[variable] = chosen
    return values


def _nearest(wanted: Number, whole: bool) -> Number:
    return round(wanted) if whole else wanted


def _between(low: tuple[Number, bool] | None, high: tuple[Number, bool] | None, wanted: Number, whole: bool) -> Number | None:
    """A value between two (bound, excluded) as near to the wanted one as may be; None where there is none."""
    if whole:
        least = None if low is None else math.floor(low[0]) + 1 if low[1] else math.ceil(low[0])
        most = None if high is None else math.ceil(high[0]) - 1 if high[1] else math.floor(high[0])
        if least is not None and most is not None and least > most:
            return None
        value = _nearest(wanted, whole)
        value = value if least is None else max(value, least)
        return value if most is None else min(value, most)
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        return None
    candidates = list(_reals(low, high, wanted))
    inside = [one for one in candidates if _exceeds(one, low) and _exceeds(-one, high and (-high[0], high[1]))]
    return next((one for one in inside if is_valid(one, "float")), inside[0])


def _exceeds(value: Number, low: tuple[Number, bool] | None) -> bool:
    return low is None or value > low[0] or (value == low[0] and not low[1])


def _reals(low: tuple[Number, bool] | None, high: tuple[Number, bool] | None, wanted: Number) -> Iterator[Number]:
    """Values to choose from, some of which are between the bounds; sources that are floats need doubles."""
    yield wanted
    middle: Number = 0
    if low is not None and high is not None:
        middle = (Fraction(low[0]) + high[0]) / 2
    elif low is not None:
        middle = low[0] + 1 if low[1] else low[0]
    elif high is not None:
        middle = high[0] - 1 if high[1] else high[0]
    yield middle
    with contextlib.suppress(OverflowError):
        double = float(middle)
        yield from map(Fraction, (double, math.nextafter(double, math.inf), math.nextafter(double, -math.inf)))
