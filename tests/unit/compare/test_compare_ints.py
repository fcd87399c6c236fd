from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import CELLS, GRID, TEST, UNSPEC, call, compiled, constant, int_symbol, observe, shape_guard, type_match

from testmatrix.compare.finding import Finding, IntState
from testmatrix.compare.ints import int_rows, rate
from testmatrix.compare.whole import compare_test
from testmatrix.observation import Compile, Guard, Observation


def made(*compiles: Compile, source: str = "L['n']", value: object = 5, **fields: Any) -> dict[str, Observation]:
    """Constant in every cell but the last, which has ``compiles``."""
    arguments = {source: value}
    usual = (compiled(constant(source, value)),)
    by_cell = {cell: compiles if cell == UNSPEC else usual for cell in CELLS}
    return {cell: observe(cell, call(1, arguments=arguments), compiles=by_cell[cell], **fields) for cell in CELLS}


def state(*compiles: Compile, source: str = "L['n']", code: str = "") -> IntState:
    told = tuple(
        replace(
            one,
            guards=tuple(replace(guard, code=code) for guard in one.guards),
            symbols=tuple(replace(symbol, code=code) for symbol in one.symbols),
        )
        for one in compiles
    )
    (row,) = int_rows(made(*told, source=source), GRID)
    assert (row.test, row.source) == (TEST, source)
    return row.cells[UNSPEC]


def specialised(observations: dict[str, Observation]) -> list[Finding]:
    return [finding for finding in compare_test(observations, GRID) if finding.kind == "guard.specialized"]


def test_a_symbol_carries_the_int() -> None:
    assert state(compiled(type_match("L['n']", "int"), symbols=[int_symbol()])) == IntState(state="symbolic")


def test_constants_of_the_other_cells_are_their_setting() -> None:
    (row,) = int_rows(made(compiled(symbols=[int_symbol()])), GRID)
    assert row.cells[CELLS[0]] == IntState(state="constant", value="5", reason="by design: setting of the cell", line="mod.py:12")


def test_an_int_in_no_guard_and_no_symbol_is_unused() -> None:
    assert state(compiled()).state == "unused"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("G['TICK']", "global"),
        ("L['self'].calls", "module attribute"),
        ("L['self'].stages[2]", "module attribute"),
        ("L['f'].__defaults__[0]", "default argument"),
        ("list(dict.keys(L['d']))[0]", "dict key"),
    ],
)
def test_reasons_by_design(source: str, reason: str) -> None:
    observations = made(compiled(constant(source, 5)), source=source)
    (row,) = int_rows(observations, GRID)
    assert row.cells[UNSPEC] == IntState(state="constant", value="5", reason=f"by design: {reason}", line="mod.py:12")
    (finding,) = specialised(observations)
    assert (finding.severity, finding.cells) == ("info", (UNSPEC,))


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("for i in range(n):", "range()"),
        ("return x.sum(dim=n)", "dim="),
        ("if n == 5:", "=="),
        ("if n in TABLE:", "lookup"),
        ("return x[..., k] * 2", "index"),
        ("return torch.hann_window(n)", "argument of a call"),
        ("", "an operation"),
    ],
)
def test_reasons_that_force(code: str, reason: str) -> None:
    forced = compiled(symbols=[int_symbol(replacement="5", line="mod.py:14")])
    assert state(forced, code=code) == IntState(state="constant", value="5", reason=f"forced: {reason}", line="mod.py:14")
    (finding,) = specialised(made(forced))
    assert (finding.severity, finding.cells, finding.frame) == ("warning", (UNSPEC,), "mod.py:14")


@pytest.mark.parametrize(
    "forced",
    [
        compiled(shape_guard("Eq(s0, 5)", "mod.py:14"), symbols=[int_symbol()]),
        compiled(shape_guard("L['n'] == 5", "mod.py:14"), symbols=[int_symbol()]),
        compiled(constant("L['n']", 5, line="mod.py:14"), symbols=[int_symbol()]),
    ],
)
def test_a_specialised_symbol_shows_in_any_of_three_ways(forced: Compile) -> None:
    assert (state(forced).value, state(forced).line, state(forced).reason) == ("5", "mod.py:14", "forced: an operation")


def test_one_compile_that_carries_it_is_enough() -> None:
    equal = compiled(shape_guard("Eq(s0, 5)"), symbols=[int_symbol()])
    other = compiled(shape_guard("Ne(s0, 5)"), symbols=[int_symbol()])
    assert state(equal, other).state == "symbolic"
    assert specialised(made(equal, other)) == []


def test_bools_and_sizes_are_no_ints() -> None:
    flag = made(compiled(constant("L['flag']", True)), source="L['flag']", value=True)
    assert int_rows(flag, GRID) == ()
    size = compiled(symbols=[int_symbol("s0", "L['x'].size()[0]", kind="size")])
    assert int_rows(made(size, source="L['x'].shape[0]"), GRID) == ()


def test_sources_inside_torch_are_no_ints_of_the_users() -> None:
    assert int_rows(made(compiled(), source="G['__import_torch_dot_nn'].LIMIT"), GRID) == ()


def test_ints_of_a_sequence_that_is_one_constant_have_a_row_each() -> None:
    whole = Guard(kind="CONSTANT_MATCH", source="L['x']._sizes", value="torch.Size([3, 4])", value_type="torch.Size", text="")
    told = (compiled(whole),)
    observations = {cell: observe(cell, call(), compiles=told) for cell in CELLS}
    rows = {row.source: row.cells[CELLS[0]].value for row in int_rows(observations, GRID)}
    assert rows == {"L['x']._sizes[0]": "3", "L['x']._sizes[1]": "4"}


def test_the_rate_leaves_out_what_is_unused() -> None:
    arguments = {"L['n']": 5, "L['k']": 6, "L['unused']": 7}
    guards = compiled(constant("L['k']", 6), symbols=[int_symbol()])
    rows = int_rows({UNSPEC: observe(UNSPEC, call(1, arguments=arguments), compiles=(guards,))}, GRID)
    assert len(rows) == 3
    assert rate(rows, UNSPEC) == (2, 1)
    assert rate(rows, CELLS[0]) == (0, 0)


def test_pinned_regions_were_not_asked_to_carry_ints() -> None:
    assert specialised(made(compiled(constant("L['n']", 5)), pinned=("shapes",))) == []


def test_a_collapsed_cell_shows_what_stood_for_it() -> None:
    observations = made(compiled(symbols=[int_symbol()]))
    observations[CELLS[0]] = observe(CELLS[0], same_as=UNSPEC)
    (row,) = int_rows(observations, GRID)
    assert row.cells[CELLS[0]].state == "symbolic"
