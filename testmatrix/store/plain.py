"""What records and reports may hold: JSON that every reader understands."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: JSON that may be anything; numbers that are not finite are strings (``"nan"``, ``"inf"``, ``"-inf"``).
Json = str | int | float | bool | list["Json"] | dict[str, "Json"] | None

_INT_LIMIT = 2**63  # beyond it, many JSON readers fail or round


def plain_object(evidence: Mapping[str, object]) -> dict[str, Json]:
    return {text(str(key)): plain(value) for key, value in evidence.items()}


def plain(value: object) -> Json:
    """JSON that every reader understands: no number that isn't finite, nothing but text for what JSON has no form for."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return value if -_INT_LIMIT <= value < _INT_LIMIT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return plain_object(value)
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return text(repr(value))


def text(found: str) -> str:
    """Text that UTF-8 can hold: a lone surrogate, which a test may well have made, becomes its escape."""
    return found.encode("utf-8", "backslashreplace").decode("utf-8")


def line(found: str) -> str:
    """The same in one line, whatever a message had in it."""
    return text(" ".join(found.split()))
