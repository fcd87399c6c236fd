"""What became of a number in each cell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import CELLS, GRID, TEST, UNSPEC, call, compiled, constant, int_symbol, observe, type_match
from numbers_by_hand import made, shape_guard, size_symbol, sized, table

from testmatrix.compare.finding import IntState
from testmatrix.compare.numbers.rows import carries, number_rows, rate
from testmatrix.grid import parse_grid
from testmatrix.observation import Compile, Guard, Leaf


def state(*compiles: Compile, source: str = "L['n']", value: object = 5) -> IntState:
    """What became of the only int; how often it was compiled is another subject."""
    (row,) = number_rows(made(*compiles, source=source, value=value), GRID)
    assert (row.test, row.source) == (TEST, source)
    return replace(row.cells[UNSPEC], compiles=(), code="")


def test_a_symbol_carries_the_int() -> None:
    assert state(compiled(type_match("L['n']", "int"), symbols=[int_symbol()])) == IntState(state="symbolic")


def test_constants_of_the_other_cells_are_their_setting() -> None:
    (row,) = number_rows(made(compiled(symbols=[int_symbol()])), GRID)
    told = replace(row.cells[CELLS[0]], compiles=())
    assert told == IntState(state="constant", value="5", reason="by design: setting of the cell", line="mod.py:12")


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
        ("L['n']", "kept constant by Dynamo"),
    ],
)
def test_reasons_by_design(source: str, reason: str) -> None:
    expected = IntState(state="constant", value="5", reason=f"by design: {reason}", line="mod.py:12")
    assert state(compiled(constant(source, 5)), source=source) == expected


@pytest.mark.parametrize(
    "forced",
    [
        compiled(symbols=[int_symbol(replacement="5", line="mod.py:14", code="range(n)")]),
        compiled(shape_guard("Eq(s0, 5)", "mod.py:14", code="range(n)"), symbols=[int_symbol()]),
        compiled(shape_guard("L['n'] == 5", "mod.py:14", code="range(n)"), symbols=[int_symbol()]),
        compiled(constant("L['n']", 5, line="mod.py:14", code="range(n)"), symbols=[int_symbol()]),
        compiled(symbols=[replace(int_symbol(line="mod.py:14", code="range(n)"), lower="5", upper="5")]),
    ],
)
def test_a_specialised_symbol_shows_in_any_of_several_ways(forced: Compile) -> None:
    assert state(forced) == IntState(state="constant", value="5", reason="forced: range()", line="mod.py:14")


def test_the_guard_that_forced_it_knows_the_line_better_than_the_symbol() -> None:
    symbol = int_symbol(replacement="5", line="mod.py:10")
    assert state(compiled(shape_guard("Eq(s0, 5)", "mod.py:14"), symbols=[symbol])).line == "mod.py:14"


def test_what_no_line_forced_was_forced_outside_of_the_users_code() -> None:
    assert state(compiled(symbols=[int_symbol(replacement="5")])).reason == "forced: something outside of the user's code"


def test_one_compile_that_carries_it_is_enough_and_the_other_says_why_it_does_not() -> None:
    equal = compiled(shape_guard("Eq(s0, 5)", "mod.py:14", code="if n == 5:"), symbols=[int_symbol()])
    other = compiled(shape_guard("Ne(s0, 5)"), symbols=[int_symbol()])
    assert state(equal, other) == IntState(state="symbolic", reason="forced: ==", line="mod.py:14")


def test_bools_are_no_ints() -> None:
    assert number_rows(made(compiled(constant("L['flag']", True)), source="L['flag']", value=True), GRID) == ()


@pytest.mark.parametrize("source", ["G['__import_torch_dot_nn'].LIMIT", "L['x'].stride()[0]", "L['x']._base.size()[0]"])
def test_what_is_torchs_own_has_no_row(source: str) -> None:
    everywhere = compiled(symbols=[int_symbol(source=source)])
    assert number_rows({cell: observe(cell, call(), compiles=(everywhere,)) for cell in CELLS}, GRID) == ()


def test_ints_of_a_sequence_that_is_one_constant_have_a_row_each() -> None:
    whole = Guard(kind="CONSTANT_MATCH", source="L['x']._sizes", value="torch.Size([3, 4])", value_type="torch.Size", text="")
    observations = {cell: observe(cell, call(), compiles=(compiled(whole),)) for cell in CELLS}
    rows = {row.source: row.cells[CELLS[0]].value for row in number_rows(observations, GRID)}
    assert rows == {"L['x']._sizes[0]": "3", "L['x']._sizes[1]": "4"}


def test_int_keys_of_a_dictionary_are_one_row() -> None:
    keys = Guard(kind="DICT_KEYS_MATCH", source="L['d']", text="len(L['d']) == 2 and list(dict.keys(L['d'])) == [5, 6]")
    rows = table({UNSPEC: observe(UNSPEC, call(), compiles=(compiled(keys),))})
    assert [(row.source, row.kind, row.cells[UNSPEC].value) for row in rows] == [("list(dict.keys(L['d']))", "dict key", "5, 6")]


def test_keys_that_are_text_have_no_row() -> None:
    keys = Guard(kind="DICT_KEYS_MATCH", source="L['d']", text="len(L['d']) == 1 and list(dict.keys(L['d'])) == ['a']")
    assert table({UNSPEC: observe(UNSPEC, call(), compiles=(compiled(keys),))}) == ()


def test_a_member_of_an_enumeration_has_a_row_and_no_part_in_the_rate() -> None:
    told = replace(call(), arguments=(Leaf(path="L['n']", type="mymod.Level", value="Level.LOW"),))
    checked = compiled(Guard(kind="ID_MATCH", source="L['n']", text="mymod.Level"))
    (row,) = rows = table({UNSPEC: observe(UNSPEC, told, compiles=(checked,))})
    assert (row.kind, row.cells[UNSPEC].value, row.cells[UNSPEC].reason) == ("enum member", "Level.LOW", "by design: enum member")
    assert rate(rows, UNSPEC) == (0, 0)


def test_a_number_of_a_subclass_is_constant_by_design() -> None:
    told = replace(call(), arguments=(Leaf(path="L['n']", type="mymod.Count", value="5"),))
    checked = compiled(Guard(kind="CONSTANT_SUBCLASS_MATCH", source="L['n']", text="== 5", value="5", value_type="mymod.Count"))
    (row,) = rows = table({UNSPEC: observe(UNSPEC, told, compiles=(checked,))})
    assert (row.number, row.cells[UNSPEC].value, row.cells[UNSPEC].reason) == ("int", "5", "by design: number of a subclass")
    assert rate(rows, UNSPEC) == (1, 0)


def test_floats_have_rows_of_their_own() -> None:
    symbol = int_symbol("zf0", "L['p']", kind="float")
    observations = made(compiled(symbols=[symbol]), source="L['p']", value=0.5)
    (row,) = rows = number_rows(observations, GRID)
    assert (row.number, row.kind, row.cells[UNSPEC].state, row.cells[CELLS[0]].value) == ("float", "argument", "symbolic", "0.5")
    assert rate(rows, UNSPEC) == (0, 0)


def test_a_float_that_is_not_finite_is_constant_by_design() -> None:
    assert state(compiled(constant("L['p']", float("inf"))), source="L['p']", value=float("inf")).reason == (
        "by design: nan or infinite"
    )


def test_sizes_have_rows_of_their_own() -> None:
    rows = table(sized(compiled(symbols=[size_symbol()])))
    assert [(row.number, row.source, row.kind) for row in rows] == [("size", "L['x'].size()[0]", "size of a tensor")]
    assert rows[0].cells[UNSPEC].state == "symbolic"
    assert rows[0].cells[CELLS[0]].value == "4"
    assert rate(rows, UNSPEC) == (0, 0)


@pytest.mark.parametrize(
    ("size", "subclass", "source", "reason"),
    [
        ("[1]", "Tensor", "L['x']", "0 or 1"),
        ("[0]", "Tensor", "L['x']", "0 or 1"),
        ("[1]", "Parameter", "L['x']", "size of a Parameter"),
        ("[3]", "Tensor", "L['self']._modules['a']._buffers['mean']", "size of a buffer"),
        ("[3]", "Tensor", "L['x']", "kept constant by Dynamo"),
    ],
)
def test_reasons_of_sizes_by_design(size: str, subclass: str, source: str, reason: str) -> None:
    (row,) = table(sized(compiled(), size=size, subclass=subclass, source=source))
    assert (row.cells[UNSPEC].state, row.cells[UNSPEC].reason) == ("constant", f"by design: {reason}")


def test_a_size_that_has_to_equal_another_is_forced() -> None:
    symbol = size_symbol(replacement="4", line="mod.py:14", code="return x @ weight")
    (row,) = table(sized(compiled(symbols=[symbol]), size="[4]"))
    assert (row.cells[UNSPEC].reason, row.cells[UNSPEC].line) == ("forced: shape equality (@)", "mod.py:14")


def test_the_rate_leaves_out_what_is_unused() -> None:
    arguments: dict[str, object] = {"L['n']": 5, "L['k']": 6, "L['unused']": 7}
    guards = compiled(constant("L['k']", 6), symbols=[int_symbol()])
    rows = number_rows({UNSPEC: observe(UNSPEC, call(1, arguments=arguments), compiles=(guards,))}, GRID)
    assert len(rows) == 3
    assert rate(rows, UNSPEC) == (2, 1)
    assert rate(rows, CELLS[0]) == (0, 0)


def test_what_a_tensor_holds_has_no_part_in_the_rate_and_what_a_numpy_scalar_holds_has() -> None:
    held = ("L['t'].item()", "L['bn']._buffers['num_batches_tracked'].item()", "___from_numpy(L['s']).item()")
    symbols = [int_symbol(f"s{position}", source) for position, source in enumerate(held)]
    rows = number_rows({UNSPEC: observe(UNSPEC, call(), compiles=(compiled(constant("L['n']", 5), symbols=symbols),))}, GRID)
    assert [(row.source, row.kind) for row in rows] == [("L['n']", "closure"), (held[2], "numpy scalar")]
    assert rate(rows, UNSPEC) == (2, 1)


def test_a_collapsed_cell_shows_what_stood_for_it() -> None:
    observations = made(compiled(symbols=[int_symbol()]))
    observations[CELLS[0]] = observe(CELLS[0], same_as=UNSPEC)
    (row,) = number_rows(observations, GRID)
    assert row.cells[CELLS[0]].state == "symbolic"
    assert list(row.cells) == list(CELLS)


def test_what_was_never_run_has_no_rows() -> None:
    assert number_rows({}, GRID) == ()
    assert number_rows({CELLS[0]: observe(CELLS[0], same_as=UNSPEC)}, GRID) == ()


@pytest.mark.parametrize(
    ("grid", "cell", "number", "expected"),
    [
        ("default", "dynamic-unspecialize", "int", True),
        ("default", "dynamic-specialize", "int", False),
        ("default", "dynamic-specialize", "size", True),
        ("default", "dynamic-specialize", "float", True),
        ("auto", "auto-unspecialize", "int", False),
        ("shapes=dynamic floats=specialize,unspecialize", "dynamic-specialize", "float", False),
        ("shapes=dynamic floats=specialize,unspecialize", "dynamic-specialize", "int", True),
        ("ints=unspecialize", "unspecialize", "int", False),
    ],
)
def test_what_a_cell_is_meant_to_carry(grid: str, cell: str, number: str, expected: bool) -> None:
    assert carries(parse_grid(grid), cell, number) is expected  # type: ignore[arg-type]
