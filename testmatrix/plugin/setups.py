"""What the cells of a grid set, in the form in which it is set: worked out once, as every run of every test needs it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from testmatrix.grid import Cell, Grid
from testmatrix.plugin.exploration import Request
from testmatrix.torch_adapter.cell import CellSetup
from testmatrix.torch_adapter.settings import Key


@dataclass(frozen=True, slots=True)
class Setups:
    """A grid's cells, and the settings in which they can differ."""

    grid: Grid
    watch: tuple[Key, ...]
    by_cell: Mapping[str, CellSetup]
    axes: Mapping[str, frozenset[Key]]  #: the settings of each

    def of(self, request: Request) -> CellSetup:
        if request.cell is None:
            return CellSetup(oracle=True, float64=request.float64)
        return self.by_cell[request.cell.name]

    def written(self, keys: Collection[Key]) -> tuple[str, ...]:
        """Axes of which a setting is among these."""
        return tuple(name for name, settings in self.axes.items() if not settings.isdisjoint(keys)) if keys else ()


_latest: Setups | None = None


def setups_of(grid: Grid) -> Setups:
    """A process has one grid at a time."""
    global _latest
    if _latest is None or _latest.grid is not grid:
        axes = {
            axis.name: frozenset((setting.module, setting.name) for value in axis.values for setting in value.settings)
            for axis in grid.axes
        }
        _latest = Setups(
            grid=grid,
            watch=tuple(sorted(frozenset().union(*axes.values()))),
            by_cell={cell.name: _setup(grid, cell) for cell in grid.cells},
            axes=axes,
        )
    return _latest


def _setup(grid: Grid, cell: Cell) -> CellSetup:
    return CellSetup(
        settings=tuple((setting.module, setting.name, setting.value) for setting in grid.settings_of(cell)),
        environment=tuple(grid.environment_of(cell).items()),
        contexts=grid.contexts_of(cell),
        backend=grid.backend_of(cell),
    )
