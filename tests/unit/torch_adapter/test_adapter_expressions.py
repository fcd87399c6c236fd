"""Text of expressions: everything that torch may write reads back as what it was."""

import inspect
import random

import pytest
import sympy
from torch.utils._sympy import functions
from torch.utils._sympy.numbers import int_oo

from testmatrix.torch_adapter.expressions import bound_of, text_of

A, B = sympy.symbols("s0 s1", integer=True, positive=True)
F = sympy.Symbol("zf0", real=True)
CLASSES = {
    name: found
    for name, found in inspect.getmembers(functions, inspect.isclass)
    if issubclass(found, sympy.Function) and found.__module__ == functions.__name__
}
ARGUMENTS = ((A, B), (A,), (A, B, sympy.Integer(3)), (F, B))


def application(cls):
    for arguments in ARGUMENTS:
        try:
            return cls(*arguments)
        except (TypeError, ValueError):
            continue
    raise AssertionError(f"no arguments for {cls}")


def read(text):
    """The text as an expression, functions by their names among torch's."""
    return sympy.sympify(text, locals={**vars(functions), "s0": A, "s1": B, "zf0": F, "int_oo": int_oo})


@pytest.mark.parametrize("name", sorted({*CLASSES, "Max", "Min"}))
def test_functions_read_back(name):
    expression = application(getattr(functions, name))
    text = text_of(expression)
    assert "//" not in text
    assert read(text) == (expression.args[0] if name == "Identity" else expression)  # which stands for its argument


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (functions.FloorDiv(A + 1, B), "FloorDiv(s0 + 1, s1)"),
        (functions.Identity(A), "(s0)"),
        (sympy.Float(0.1), "0.1"),
        (sympy.Float(1 / 3), "0.3333333333333333"),
        (F > 0.3, "zf0 > 0.3"),
        (sympy.And(A > B, sympy.Or(A < 3, sympy.Ne(B, 4))), "(s0 > s1) & ((s0 < 3) | Ne(s1, 4))"),
        (sympy.Eq(A, functions.Mod(B, 8)), "Eq(s0, Mod(s1, 8))"),
        (int_oo, "int_oo"),
        (-int_oo, "-int_oo"),
    ],
)
def test_text(expression, expected):
    assert text_of(expression) == expected


@pytest.mark.parametrize("seed", range(50))
def test_floats_keep_every_digit(seed):
    number = random.Random(seed).uniform(-1, 1) * 10 ** random.Random(seed).randint(-200, 200)
    assert float(text_of(sympy.Float(number))) == number


@pytest.mark.parametrize(
    ("value", "expected"),
    [(int_oo, "oo"), (-int_oo, "-oo"), (sympy.oo, "oo"), (-sympy.oo, "-oo"), (sympy.Integer(2), "2"), (sympy.Float(0.1), "0.1")],
)
def test_bounds(value, expected):
    assert bound_of(value) == expected
