"""What conditions speak of: numbers by their sources, and which values those can have."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import sympy

#: ``extent``: a size, stride or storage offset, which is never negative.
Sort = Literal["int", "extent", "float", "bool"]
Value = int | Fraction
Assignment = Mapping[str, Value]

#: Beyond these, nothing is an int to torch; sizes that no machine holds are no inputs either.
LARGEST = 2**63 - 1


@lru_cache(maxsize=4096)
def variable(source: str, sort: Sort) -> Any:
    """The sympy symbol of a source."""
    if sort == "float":
        return sympy.Symbol(source, real=True)
    if sort == "int":
        return sympy.Symbol(source, integer=True)
    return sympy.Symbol(source, integer=True, nonnegative=True)


def bounds(sort: Sort) -> tuple[int | None, int | None]:
    """Least and greatest value that a source of that sort has, whatever the conditions say; None: no such bound."""
    if sort == "bool":
        return 0, 1
    if sort == "float":
        return None, None
    return (0 if sort == "extent" else -LARGEST - 1), LARGEST


def is_valid(value: Value, sort: Sort) -> bool:
    """Whether an input can have that value: an int that torch can hold, a size that is not negative, a float that is a double."""
    if sort == "float":
        try:
            return Fraction(float(value)) == value
        except OverflowError:
            return False
    least, greatest = bounds(sort)
    return isinstance(value, int) and (least is None or least <= value) and (greatest is None or value <= greatest)
