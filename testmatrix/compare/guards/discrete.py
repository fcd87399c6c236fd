"""The discrete part of a guard set: conditions that hold or do not, on types, identities, lengths and the process.

Each is a source, a kind and a payload without ids, numbers that torch counts up, and order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from testmatrix.compare.numbers.constants import CONSTANT_KINDS, ints_of
from testmatrix.compare.wording import stable_source
from testmatrix.observation import Guard

#: Guards that settle the type of their source, so that a type guard beside them adds nothing.
IMPLY_TYPE = CONSTANT_KINDS | {
    *("TENSOR_MATCH", "ID_MATCH", "CLASS_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "MODULE_MATCH", "SEQUENCE_LENGTH")
}
#: Stand for conditions that are recorded one by one.
_STAND_INS = frozenset({"SHAPE_ENV"})
_LENGTH = re.compile(r"(?:not \S+|len\(.+?\) == (?P<length>\d+))(?= and |$)")
_EXTENT = re.compile(r"\b(size|stride)=([\[(])([^\])]*)[\])]")
_NUMBERED_ID = re.compile(r"(___check_(?:type|obj)_id\(.*?), \d+\)")


@dataclass(frozen=True, slots=True)
class Atom:
    """One discrete condition of a guard set."""

    source: str  #: empty for the process
    kind: str
    payload: str


def atoms_of(guards: Iterable[Guard]) -> Iterator[tuple[Atom, Guard]]:
    """The discrete conditions of guards, each with the guard that it comes from; what others imply is left out."""
    listed = tuple(guards)
    typed = {stable_source(guard.source) for guard in listed if guard.kind in IMPLY_TYPE}
    for guard in listed:
        atom = _atom(guard, typed)
        if atom is not None:
            yield atom, guard


def _atom(guard: Guard, typed: set[str]) -> Atom | None:
    source = stable_source(guard.source)
    if guard.kind == "SHAPE" or guard.kind in _STAND_INS or (guard.kind == "TYPE_MATCH" and source in typed):
        return None
    if guard.kind in CONSTANT_KINDS:
        items = ints_of(guard)
        if is_number(guard):
            return None
        if items is not None:  # the elements are numbers; in a cell that carries ints, the length is checked by itself
            return Atom(source, "SEQUENCE_LENGTH", payload(f"length {len(items)} and {guard.value_type}"))
    if guard.kind == "SEQUENCE_LENGTH":
        return Atom(source, guard.kind, payload(_LENGTH.sub(_length, guard.text, count=1)))
    if guard.kind == "TENSOR_MATCH":
        return Atom(source, guard.kind, _EXTENT.sub("", guard.text))
    return Atom(source, guard.kind, payload(guard.text))


def payload(text: str) -> str:
    """What is checked, without ids and order; torch repeats some checks once for every place that asked for them."""
    parts = _NUMBERED_ID.sub(r"\1)", stable_source(text)).split(" and ")
    return " and ".join(sorted(set(parts)))


def _length(match: re.Match[str]) -> str:
    return f"length {match['length'] or 0}"


def is_number(guard: Guard) -> bool:
    """Whether a guard compares with a number that is one to the algebra: an int, or a float that is finite."""
    return guard.kind in CONSTANT_KINDS and (
        guard.value_type == "int" or (guard.value_type == "float" and guard.value.lstrip("-")[:1].isdigit())
    )


def static_extents(guard: Guard) -> Iterator[tuple[str, str]]:
    """(source, value) of the sizes and strides that a tensor guard fixes: ``size=[8, None]`` -> ``x.size()[0]``, ``8``."""
    source = stable_source(guard.source)
    for match in _EXTENT.finditer(guard.text):
        for position, entry in enumerate(match.group(3).split(",")):
            if entry.strip().isdigit():
                yield f"{source}.{match.group(1)}()[{position}]", entry.strip()
