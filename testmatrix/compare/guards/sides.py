"""Two guard sets side by side, in readable form."""

from __future__ import annotations

from dataclasses import dataclass

from testmatrix.compare.guards.accept import AcceptSet
from testmatrix.compare.guards.readable import readable_set


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Lines of two guard sets; what both have is apart."""

    reference: tuple[str, ...]
    cell: tuple[str, ...]
    common: tuple[str, ...]


def sides(reference: AcceptSet, other: AcceptSet) -> Sides:
    """The conditions of both sets over sources, sorted."""
    left, right = _lines(reference), _lines(other)
    common = set(left) & set(right)
    return Sides(
        reference=tuple(line for line in left if line not in common),
        cell=tuple(line for line in right if line not in common),
        common=tuple(line for line in left if line in common),
    )


def _lines(accepting: AcceptSet) -> list[str]:
    numeric = readable_set(accepting.numeric.conditions)
    discrete = sorted(f"{atom.source or 'process'}: {atom.kind} {atom.payload}".rstrip() for atom in accepting.atoms)
    return [*numeric, *(f"not understood: {one.text}" for one in accepting.opaque), *discrete]
