"""The user's lines that guards and symbols name, with the lines around them."""

import linecache
import traceback
from types import SimpleNamespace

import pytest
import torch
from torch.utils._traceback import format_frame

from testmatrix.torch_adapter import places


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "user_module.py"
    path.write_text("".join(f"    value_{n} = {n}\n" for n in range(1, 13)), encoding="utf-8")
    return str(path)


def test_lines_around(module):
    assert places.place(module, 10, "value_10 = 10").context == (
        "   8 |     value_8 = 8",
        "   9 |     value_9 = 9",
        "  10 >     value_10 = 10",
        "  11 |     value_11 = 11",
        "  12 |     value_12 = 12",
    )


def test_first_and_last_lines(module):
    assert [line[:6] for line in places.place(module, 1, "value_1 = 1").context] == ["   1 >", "   2 |", "   3 |"]
    assert [line[:6] for line in places.place(module, 12, "value_12 = 12").context] == ["  10 |", "  11 |", "  12 >"]


@pytest.mark.parametrize(("number", "code"), [(0, ""), (13, ""), (3, "of another version of the file")])
def test_no_lines_where_they_are_not_those(module, number, code):
    assert places.place(module, number, code) == ("user_module.py:" + str(number), code, ())


def test_no_lines_without_the_file():
    assert places.place("/nowhere/gone.py", 3, "x = 1") == ("gone.py:3", "x = 1", ())


def test_a_file_that_is_written_anew(module):
    places.place(module, 2, "value_2 = 2")
    with open(module, "w", encoding="utf-8") as file:
        file.write("first\nsecond\n")
    linecache.checkcache(module)
    assert places.place(module, 2, "second").context == ("   1 | first", "   2 > second")


def test_equal_places_are_one_object(module):
    assert places.place(module, 5, "value_5 = 5") is places.place(module, 5, "value_5 = 5")


def test_the_file_behind_the_name_that_torch_shortens(module):
    frame = traceback.FrameSummary(module, 5, "f")
    sloc = SimpleNamespace(maybe_user_loc=format_frame(frame, line=True))
    found = places.of_shape_location(sloc)
    assert (found.line, found.code) == ("user_module.py:5", "value_5 = 5")
    assert found.context == places.place(module, 5, "value_5 = 5").context


@pytest.mark.parametrize("sloc", [None, SimpleNamespace(maybe_user_loc=None), SimpleNamespace(maybe_user_loc="no place")])
def test_no_place(sloc):
    assert places.of_shape_location(sloc) == places.NOWHERE


def test_a_place_whose_file_is_gone():
    sloc = SimpleNamespace(maybe_user_loc="if n == 5:  # nowhere/gone.py:12 in f")
    assert places.of_shape_location(sloc) == ("gone.py:12", "if n == 5:", ())


def test_no_stack():
    assert places.of_stack(None) == places.of_stack([]) == places.NOWHERE


def test_guards_and_symbols_of_a_compile(record):
    def branch(x, n):
        y = x + 1
        if n == 5:
            y = y * 2
        return y

    with record() as recording:
        torch.compile(branch, backend="eager")(torch.ones(3), 5)
    (found,) = recording.compiles
    first = branch.__code__.co_firstlineno
    (shape,) = [guard for guard in found.guards if guard.kind == "SHAPE"]
    (symbol,) = [symbol for symbol in found.symbols if "L['n']" in symbol.sources]
    (tensor,) = [guard for guard in found.guards if guard.kind == "TENSOR_MATCH"]
    assert shape.context == (
        f"{first:>4} |     def branch(x, n):",
        f"{first + 1:>4} |         y = x + 1",
        f"{first + 2:>4} >         if n == 5:",
        f"{first + 3:>4} |             y = y * 2",
        f"{first + 4:>4} |         return y",
    )
    assert shape.context is symbol.context
    assert f"{first + 1:>4} >         y = x + 1" in tensor.context


def test_a_symbol_that_stays_one_names_its_first_use(record):
    def use(x, n):
        y = x + 1
        return y * n

    with record() as recording:
        torch.compile(use, backend="eager")(torch.ones(3), 5)
    (symbol,) = [symbol for symbol in recording.compiles[0].symbols if "L['n']" in symbol.sources]
    assert (symbol.line, symbol.code) == (f"test_adapter_places.py:{use.__code__.co_firstlineno + 2}", "return y * n")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 4)

    def forward(self, x):
        return self.layer(x + 1)


def test_a_size_that_a_module_of_torchs_burns_in(record):
    with record() as recording:
        torch.compile(Model(), backend="eager")(torch.ones(5, 3))
    (found,) = recording.compiles
    (shape,) = [guard for guard in found.guards if guard.kind == "SHAPE"]
    (symbol,) = [symbol for symbol in found.symbols if symbol.replacement == "3"]
    line = f"test_adapter_places.py:{Model.forward.__code__.co_firstlineno + 1}"
    assert (shape.line, shape.code) == (symbol.line, symbol.code) == (line, "return self.layer(x + 1)")
