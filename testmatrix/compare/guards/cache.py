"""A frame's compiles in one cell as a whole: what its cache lets through is the union of what the entries do."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from testmatrix.compare.algebra.evaluate import Unevaluable, holds
from testmatrix.compare.algebra.relation import LIMIT, RelationKind, Witness, beyond
from testmatrix.compare.algebra.variables import Assignment, Sort
from testmatrix.compare.guards.accept import AcceptSet
from testmatrix.compare.guards.rule import joint_sorts, specialised


def accepts(entry: AcceptSet, triggering: AcceptSet) -> bool:
    """Whether the inputs that triggered one compile pass the numeric guards of another, as far as they are known."""
    return _holds_all(entry, triggering.recorded)


def _holds_all(entry: AcceptSet, values: Assignment) -> bool:
    known = [one for one in entry.numeric.conditions if {str(symbol.name) for symbol in one.free_symbols} <= values.keys()]
    try:
        return all(holds(one, values) for one in known)
    except Unevaluable:
        return False


def takes(cache: Sequence[AcceptSet], values: Assignment) -> bool:
    """Whether the numeric guards of some entry let values through, as far as they are on these sources."""
    return bool(values) and any(_holds_all(entry, values) for entry in cache)


def relate_caches(
    reference: Sequence[AcceptSet], other: Sequence[AcceptSet], constants: Assignment | None = None, limit: float = LIMIT
) -> RelationKind:
    """What the union of the numeric parts of ``other`` is, compared with that of ``reference``: ``wider`` lets more through.

    ``constants`` are put in on both sides before.
    """
    deadline = time.monotonic() + limit
    sorts: dict[str, Sort] = {}
    for one in (*reference, *other):
        sorts = joint_sorts(sorts, one.numeric.sorts)
    theirs, ours = ([_with(one, constants or {}, sorts) for one in side] for side in (reference, other))
    fewer = _beyond_all(theirs, ours, deadline)
    more = _beyond_all(ours, theirs, deadline)
    if fewer is None or more is None:
        return "undecided"
    if fewer:
        return "neither" if more else "narrower"
    return "wider" if more else "equal"


def _with(entry: AcceptSet, constants: Assignment, sorts: Mapping[str, Sort]) -> AcceptSet:
    known = {source: value for source, value in constants.items() if source in sorts}
    return replace(entry, numeric=specialised(entry, known, sorts), key=0)


def _beyond_all(entries: Sequence[AcceptSet], others: Sequence[AcceptSet], deadline: float) -> bool | None:
    """Whether some entry lets something through that none of the others does; None where that was not found out."""
    unknown = False
    for entry in entries:
        if any(entry.numeric == other.numeric for other in others):
            continue
        left = max(deadline - time.monotonic(), 0.0)
        found = beyond(entry.numeric, [other.numeric for other in others], recorded=entry.recorded, limit=left)
        if isinstance(found, Witness):
            return True
        unknown = unknown or found == "unknown"
    return None if unknown else False
