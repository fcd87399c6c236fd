"""What each cell has, and its reference, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from testmatrix.report.model import FindingEntry
from testmatrix.report.show.layout import columns
from testmatrix.report.show.section import Section
from testmatrix.report.show.values import lines_of, read

_CELLS, _REFERENCE = "cells", "reference"


def sides_section(finding: FindingEntry, width: int) -> Section | None:
    """One column for the reference and one for all cells that have the same; None where the evidence has no cells."""
    cells = read(finding.evidence, _CELLS, dict[str, Any])
    if not cells:
        return None
    # What the cells are told by need not have a reference: a number's state in each cell names all of them.
    told = {_REFERENCE} & finding.evidence.keys()
    sides = {f"{finding.reference} (reference)": finding.evidence[_REFERENCE]} if told else {}
    sides |= _alike(cells)
    heading, lines = columns(tuple(sides), _rows(tuple(sides.values())), width)
    return Section(title="side by side", lines=(*heading, *lines), keys=frozenset({_CELLS} | told), heading=len(heading))


def _alike(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the cells that have them; equal ones once."""
    groups: list[tuple[list[str], Any]] = []
    for cell, value in cells.items():
        members = next((members for members, other in groups if other == value), None)
        if members is None:
            groups.append(([cell], value))
        else:
            members.append(cell)
    return {", ".join(members): value for members, value in groups}


def _rows(values: tuple[Any, ...]) -> list[tuple[str, ...]]:
    """The same key of each side in one row, so that what differs stands beside what it differs from."""
    keys = dict.fromkeys(key for value in values if isinstance(value, Mapping) for key in value)
    if not keys or not all(isinstance(value, Mapping) for value in values):
        return [tuple("\n".join(lines_of(value)) for value in values)]
    return [tuple("\n".join(lines_of({key: value[key]})) if key in value else "" for value in values) for key in keys]
