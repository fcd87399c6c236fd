"""Compiles after each distinct value."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from builders import CELLS, GRID, UNSPEC, call, compiled, constant, int_symbol, observe

from testmatrix.compare.numbers.patterns import pattern
from testmatrix.compare.numbers.rows import number_rows
from testmatrix.observation import Compile, Observation

STATIC = CELLS[0]


def called_with(values: Sequence[object], compiles: Sequence[Compile], cell: str = UNSPEC, source: str = "L['n']") -> Observation:
    calls = [call(1, index, {source: value}) for index, value in enumerate(values)]
    return observe(cell, *calls, compiles=tuple(compiles))


def compiles_in(cell: str, *observations: Observation) -> tuple[int, ...]:
    (row,) = number_rows({one.cell: one for one in observations}, GRID)
    return row.cells[cell].compiles


def constants(values: Sequence[int], first: int = 0) -> list[Compile]:
    return [compiled(constant("L['n']", value), region_call=first + index) for index, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "compiles", "expected"),
    [
        ((5, 6, 7), constants((5, 6, 7)), (1, 2, 3)),
        ((5, 6, 7), [compiled(symbols=[int_symbol()])], (1, 1, 1)),
        ((5, 6, 7), [*constants((5,)), compiled(symbols=[int_symbol()], region_call=1)], (1, 2, 2)),
        ((5, 5, 6, 5, 6), [*constants((5,)), *constants((6,), 2)], (1, 2)),
        (range(8), constants(range(8)), (1, 2, 3, 4, 5)),
        ((5, 6), [], (0, 0)),
    ],
)
def test_by_distinct_value(values: Sequence[int], compiles: Sequence[Compile], expected: tuple[int, ...]) -> None:
    assert compiles_in(UNSPEC, called_with(values, compiles)) == expected


def test_the_frame_that_was_compiled_most_often_counts() -> None:
    resumed = [compiled(constant("L['n']", value), resume=14, region_call=index) for index, value in enumerate((5, 6))]
    assert compiles_in(UNSPEC, called_with((5, 6), [*constants((5,)), *resumed])) == (1, 2)


def test_frames_that_do_not_use_the_number_do_not_count() -> None:
    other = [compiled(frame="mymod.other", region_call=index) for index in range(3)]
    assert compiles_in(UNSPEC, called_with((5, 6, 7), [compiled(symbols=[int_symbol()]), *other])) == (1, 1, 1)


def test_an_unused_number_has_the_compiles_of_its_region() -> None:
    assert compiles_in(UNSPEC, called_with((5, 6, 7), [compiled()])) == (1, 1, 1)


def test_values_that_are_not_recorded_are_those_of_whichever_cell_compiled() -> None:
    calls = [call(1, index) for index in range(3)]
    static = observe(STATIC, *calls, compiles=tuple(constants((5, 6, 7))))
    dynamic = observe(UNSPEC, *calls, compiles=(compiled(symbols=[int_symbol()]),))
    assert compiles_in(STATIC, static, dynamic) == (1, 2, 3)
    assert compiles_in(UNSPEC, static, dynamic) == (1, 1, 1)


def test_as_text() -> None:
    assert pattern((1, 2, 3, 4, 5)) == "123"
    assert pattern((1,)) == "1"
    assert pattern((9, 10)) == "9(10)"
