"""A frame's compiles in one cell as a whole: what its cache lets through is the union of what the entries do."""

from __future__ import annotations

import time
from collections.abc import Sequence

from testmatrix.compare.algebra.evaluate import Unevaluable, holds
from testmatrix.compare.algebra.relation import LIMIT, RelationKind, Witness, beyond
from testmatrix.compare.guards.accept import AcceptSet


def accepts(entry: AcceptSet, triggering: AcceptSet) -> bool:
    """Whether the inputs that triggered one compile pass the numeric guards of another, as far as they are known."""
    names = triggering.recorded.keys()
    known = [one for one in entry.numeric.conditions if {str(symbol.name) for symbol in one.free_symbols} <= names]
    try:
        return all(holds(one, triggering.recorded) for one in known)
    except Unevaluable:
        return False


def relate_caches(reference: Sequence[AcceptSet], other: Sequence[AcceptSet], limit: float = LIMIT) -> RelationKind:
    """What the union of the numeric parts of ``other`` is, compared with that of ``reference``: ``wider`` lets more through."""
    deadline = time.monotonic() + limit
    fewer = _beyond_all(reference, other, deadline)
    more = _beyond_all(other, reference, deadline)
    if fewer is None or more is None:
        return "undecided"
    if fewer:
        return "neither" if more else "narrower"
    return "wider" if more else "equal"


def _beyond_all(entries: Sequence[AcceptSet], others: Sequence[AcceptSet], deadline: float) -> bool | None:
    """Whether some entry lets something through that none of the others does; None where that was not found out."""
    unknown = False
    for entry in entries:
        if any(entry.is_same(other) for other in others):
            continue
        left = max(deadline - time.monotonic(), 0.0)
        found = beyond(entry.numeric, [other.numeric for other in others], recorded=entry.recorded, limit=left)
        if isinstance(found, Witness):
            return True
        unknown = unknown or found == "unknown"
    return None if unknown else False
