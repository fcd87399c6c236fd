"""Differences of single cells, and folding them into findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from testmatrix.compare.finding import Evidence, Finding, Severity
from testmatrix.compare.wording import in_cells, on_calls

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between one cell and its reference."""

    kind: str
    severity: Severity
    cell: str
    reference: str
    left: str  #: what the cell has, as it completes "… is LEFT in CELL"
    right: str
    region: str = ""
    path: str = ""
    subject: str = ""  #: what "is": ``result[1]``
    call: int = 0  #: nth call of the region, from 1; 0 where it is no matter of one call
    frame: str = ""
    signature: str = ""
    #: What must agree, beside kind, region, path and calls, for two cells to show *the same* difference.
    same: str = ""
    detail: dict[str, Evidence] = field(default_factory=dict)


def worst(severities: Iterable[Severity]) -> Severity:
    return min(severities, key=SEVERITIES.index)


def fold(test: str, differences: Sequence[Difference], order: Sequence[str]) -> list[Finding]:
    """One finding for each (kind, region, path) and each set of cells that show it alike; calls become a list."""
    cells: dict[tuple[str, str, str, str, str, str], list[Difference]] = {}
    for difference in differences:
        key = (difference.kind, difference.region, difference.path, difference.reference, difference.cell, difference.severity)
        cells.setdefault(key, []).append(difference)
    alike: dict[tuple[object, ...], dict[str, list[Difference]]] = {}
    for (kind, region, path, reference, cell, severity), group in cells.items():
        key_alike = (kind, region, path, reference, severity, tuple((item.call, item.same) for item in group))
        alike.setdefault(key_alike, {})[cell] = group
    return [_finding(test, groups, order) for groups in alike.values()]


def _finding(test: str, groups: dict[str, list[Difference]], order: Sequence[str]) -> Finding:
    cells = tuple(cell for cell in order if cell in groups)
    group = groups[cells[0]]
    first = group[0]
    calls = list(dict.fromkeys(item.call for item in group if item.call))
    return Finding(
        test=test,
        kind=first.kind,
        severity=worst(item.severity for item in group),
        cells=cells,
        reference=first.reference,
        summary=_summary(first, cells, calls, order),
        region=first.region,
        frame=first.frame,
        signature=first.signature,
        evidence=_evidence(groups, cells, calls),
    )


def _summary(first: Difference, cells: Sequence[str], calls: Sequence[int], order: Sequence[str]) -> str:
    where = ", ".join(filter(None, [first.region, on_calls(calls) if calls else ""]))
    subject = f"{first.subject} is " if first.subject else ""
    text = f"{subject}{first.left} {in_cells(cells, order)}"
    if first.right:  # else there is nothing on the other side to tell
        text = f"{text}, {first.right} in {first.reference}"
    return f"{text} ({where})" if where else text


def _evidence(groups: dict[str, list[Difference]], cells: Sequence[str], calls: Sequence[int]) -> dict[str, Evidence]:
    first = groups[cells[0]][0]
    evidence: dict[str, Evidence] = {"reference": first.right, "cells": {cell: groups[cell][0].left for cell in cells}}
    if first.path:
        evidence["path"] = first.path
    if calls:
        evidence["calls"] = list(calls)
    return {**evidence, **first.detail}
