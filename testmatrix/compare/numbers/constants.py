"""Constants that a guard compares with."""

from __future__ import annotations

import re

from testmatrix.observation import Guard

CONSTANT_KINDS = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
#: Sequences of ints that a constant may hold as a whole, and another cell element by element.
_SEQUENCES = frozenset({"torch.Size", "tuple", "list"})
_INTS = re.compile(r"(?:torch\.Size)?[(\[]+(?P<items>(?:-?\d+(?:, -?\d+)*)?),?[)\]]+")


def ints_of(guard: Guard) -> list[str] | None:
    """The elements of a constant that is a sequence of ints; None for any other."""
    match = _INTS.fullmatch(guard.value) if guard.value_type in _SEQUENCES else None
    if match is None:
        return None
    return match["items"].split(", ") if match["items"] else []
