"""Axes that a test fixed itself: cells that differ only in these are the same cell, and comparing them says nothing."""

from __future__ import annotations

from collections.abc import Iterable

from testmatrix.grid import Grid
from testmatrix.observation import Observation


def pinned_axes(observation: Observation, region: str = "") -> frozenset[str]:
    """Axes pinned for the whole test, and for a region where one is named (by every call of it)."""
    calls = [frozenset(call.pinned) for call in observation.regions if call.region == region]
    for_region = frozenset.intersection(*calls) if calls else frozenset[str]()
    return frozenset(observation.pinned) | for_region


def comparable(grid: Grid, first: Observation, second: Observation, region: str = "") -> bool:
    """Whether two cells differ in an axis that neither of them pins."""
    differing = {axis.name for axis in grid.differing(grid.cell(first.cell), grid.cell(second.cell))}
    return bool(differing - pinned_axes(first, region) - pinned_axes(second, region))


def first_comparable(grid: Grid, candidates: Iterable[Observation], other: Observation, region: str = "") -> Observation | None:
    """The first of the candidates that ``other`` may be compared with."""
    return next((one for one in candidates if one.cell != other.cell and comparable(grid, one, other, region)), None)
