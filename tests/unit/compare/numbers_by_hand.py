"""Observations with one number in them. Imported by the tests of this folder."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from builders import CELLS, GRID, STATIC, UNSPEC, call, compiled, constant, int_symbol, observe, tensor

from testmatrix.compare.finding import IntRow
from testmatrix.compare.numbers.rows import number_rows
from testmatrix.observation import Compile, Guard, Observation, Symbol

SIZE = "L['x'].size()[0]"


def made(*compiles: Compile, source: str = "L['n']", value: object = 5, **fields: Any) -> dict[str, Observation]:
    """Constant in every cell but the last, which has ``compiles``."""
    usual = (compiled(constant(source, value)),)
    by_cell = {cell: compiles if cell == UNSPEC else usual for cell in CELLS}
    return {cell: observe(cell, call(1, arguments={source: value}), compiles=by_cell[cell], **fields) for cell in CELLS}


def sized(
    last: Compile, size: str = "", subclass: str = "Tensor", source: str = "L['x']", **fields: Any
) -> dict[str, Observation]:
    """A tensor of one dimension, of size 4 under static shapes; the other cells have ``last`` beside a guard on ``size``."""

    def checked(one: Compile, extent: str) -> Compile:
        text = f"{subclass}, DispatchKeySet(CPU), torch.float32, device=None, requires_grad=False, size={extent}, stride=[1]"
        return replace(one, guards=(Guard(kind="TENSOR_MATCH", source=source, text=text), *one.guards))

    by_cell = {cell: checked(compiled(), "[4]") if cell in STATIC else checked(last, size or "[None]") for cell in CELLS}
    arguments = {source: tensor([0.0] * 4)}
    return {cell: observe(cell, call(1, arguments=arguments), compiles=(by_cell[cell],), **fields) for cell in CELLS}


def size_symbol(name: str = "s7", source: str = SIZE, **fields: Any) -> Symbol:
    return int_symbol(name, source, kind="size", **fields)


def shape_guard(text: str, line: str = "mod.py:12", code: str = "", **fields: Any) -> Guard:
    return Guard(kind="SHAPE", source="", text=text, line=line, code=code, **fields)


def table(observations: dict[str, Observation]) -> tuple[IntRow, ...]:
    return number_rows(observations, GRID)
