"""The same question put to z3, where it is installed (extra ``guards``)."""

from __future__ import annotations

import contextlib
import importlib.util
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy

from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.functions import name_of
from testmatrix.compare.algebra.model import Model, Point
from testmatrix.compare.algebra.variables import Sort, Value, bounds, is_valid

_MEMORY = 512  # megabytes
_MAX_EXPONENT = 8


class _Untranslatable(ValueError):
    """A condition with something in it that z3 has no theory for."""


@lru_cache(maxsize=1)
def installed() -> bool:
    """Whether z3 can be asked."""
    return importlib.util.find_spec("z3") is not None


def z3_model(conditions: Iterable[Any], sorts: Mapping[str, Sort], deadline: float) -> Model:
    """What z3 finds within the time that is left. What it cannot express is left out, so that a solution is checked here."""
    import z3

    parts = tuple(conditions)
    left = int((deadline - time.monotonic()) * 1000)
    if left <= 0:
        return "unknown"
    context = z3.Context()  # of its own: what one question leaves behind goes with it
    translation = _Translation(z3, context, sorts)
    solver = z3.Solver(ctx=context)
    solver.set("timeout", left)
    solver.set("max_memory", _MEMORY)
    try:
        for part in parts:
            with contextlib.suppress(_Untranslatable):
                solver.add(translation.boolean(part))
        solver.add(*translation.domain())
        answer = solver.check()
        if answer == z3.unsat:
            return "empty"
        found = translation.values(solver.model()) if answer == z3.sat else None
    except (z3.Z3Exception, RecursionError):
        return "unknown"
    if found is None:
        return "unknown"
    values = {str(symbol.name): 0 for part in parts for symbol in part.free_symbols} | found
    if not all(is_valid(value, sorts.get(name, "int")) for name, value in values.items()):
        return "unknown"
    return Point(values) if all(holds(part, values) for part in parts) else "unknown"


class _Translation:
    def __init__(self, z3: Any, context: Any, sorts: Mapping[str, Sort]) -> None:
        self._z3, self._context, self._sorts = z3, context, sorts
        self._symbols: dict[str, Any] = {}

    def domain(self) -> list[Any]:
        """What every source satisfies by its sort."""
        found = []
        for name, symbol in self._symbols.items():
            least, most = bounds(self._sorts.get(name, "int"))
            found += [symbol >= least] if least is not None else []
            found += [symbol <= most] if most is not None else []
        return found

    def values(self, model: Any) -> dict[str, Value] | None:
        found: dict[str, Value] = {}
        for name, symbol in self._symbols.items():
            value = model.eval(symbol, model_completion=True)
            if self._z3.is_int_value(value):
                found[name] = value.as_long()
            elif self._z3.is_rational_value(value):
                found[name] = Fraction(value.numerator_as_long(), value.denominator_as_long())
            else:
                return None
        return found

    def boolean(self, node: Any) -> Any:
        z3 = self._z3
        if node in (sympy.true, sympy.false):
            return z3.BoolVal(node == sympy.true, self._context)
        if isinstance(node, sympy.And | sympy.Or):
            parts = [self.boolean(argument) for argument in node.args]
            return z3.And(*parts) if isinstance(node, sympy.And) else z3.Or(*parts)
        if not isinstance(node, sympy.core.relational.Relational):
            raise _Untranslatable(str(node))
        left, right = self.number(node.lhs), self.number(node.rhs)
        if isinstance(node, sympy.Eq | sympy.Ne):
            return left == right if isinstance(node, sympy.Eq) else left != right
        return left >= right if isinstance(node, sympy.Ge) else left > right

    def number(self, node: Any) -> Any:
        z3 = self._z3
        if node.is_Symbol:
            return self._symbol(node)
        if node.is_Integer:
            return z3.IntVal(int(node), self._context)
        if node.is_Rational:
            return z3.Q(int(node.p), int(node.q), self._context)
        if node.is_Pow and node.exp.is_Integer and 0 <= node.exp <= _MAX_EXPONENT:
            return self._product([self.number(node.base)] * int(node.exp))
        name = name_of(node)
        arguments = [None if name == "Where" and not place else self.number(one) for place, one in enumerate(node.args)]
        if node.is_Add:
            return z3.Sum(arguments)
        return self._product(arguments) if node.is_Mul else self._function(name, node, arguments)

    def _symbol(self, node: Any) -> Any:
        if node.name not in self._symbols:
            make = self._z3.Int if node.is_integer else self._z3.Real
            self._symbols[node.name] = make(node.name, self._context)
        return self._symbols[node.name]

    def _product(self, factors: list[Any]) -> Any:
        product = self._z3.IntVal(1, self._context)
        for factor in factors:
            product = product * factor
        return product

    def _function(self, name: str, node: Any, arguments: list[Any]) -> Any:
        z3 = self._z3
        if name == "FloorDiv" and node.args[1].is_Integer and node.args[1] > 0 and node.args[0].is_integer:
            return arguments[0] / arguments[1]  # of ints, rounded down for a positive divisor
        if name in ("Min", "Max"):
            chosen = arguments[0]
            for other in arguments[1:]:
                chosen = z3.If((chosen <= other) if name == "Min" else (chosen >= other), chosen, other)
            return chosen
        if name == "Where":
            return z3.If(self.boolean(node.args[0]), arguments[1], arguments[2])
        if name == "Abs":
            return z3.If(arguments[0] >= 0, arguments[0], -arguments[0])
        if name in ("FloorToInt", "CeilToInt", "TruncToInt"):
            (real,) = arguments
            floor, ceiling = z3.ToInt(real), -z3.ToInt(-real)
            return floor if name == "FloorToInt" else ceiling if name == "CeilToInt" else z3.If(real >= 0, floor, ceiling)
        raise _Untranslatable(name)
