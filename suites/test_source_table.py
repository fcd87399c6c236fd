"""Every way in which a number reaches a compiled function, each met with exactly three values in turn.

The rows are the kinds of sources that the compiler treats alike: for each one, the number of times that its
function is compiled over the three calls tells whether the number was burned in or carried as a symbol.
"""

import dataclasses
import enum
import functools

import numpy as np
import pytest
import torch
from torch.fx.experimental.sym_node import DynamicInt

X = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
GLOBAL_NUMBER = 5


class Level(enum.IntEnum):
    LOW = 5
    MIDDLE = 6
    HIGH = 7


class Holder:
    def __init__(self, n):
        self.n = n


@dataclasses.dataclass
class Record:
    n: int


class Multiply(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n

    def forward(self, x):
        return x * self.n


def multiply(x, n):
    return x * n


def multiply_by_default(x, n=5):
    return x * n


def compiled(function):
    return torch.compile(function, backend="eager")


def check_calls(function, values):
    fast = compiled(function)
    for value in values:
        torch.testing.assert_close(fast(X, value), function(X, value))


@pytest.mark.parametrize(
    "values",
    [
        pytest.param((5, 6, 7), id="5,6,7"),
        pytest.param((0, 1, 2), id="0,1,2"),
        pytest.param((-3, -2, -4), id="negatives"),
    ],
)
def test_argument(values):
    check_calls(multiply, values)


def test_list_value():
    check_calls(lambda x, numbers: x * numbers[0], ([5], [6], [7]))


def test_tuple_value():
    check_calls(lambda x, numbers: x * numbers[0], ((5,), (6,), (7,)))


def test_dict_value():
    check_calls(lambda x, numbers: x * numbers["n"], ({"n": 5}, {"n": 6}, {"n": 7}))


def test_closure():
    n = 5

    def scale(x):
        return x * n

    fast = compiled(scale)
    for n in (5, 6, 7):
        torch.testing.assert_close(fast(X), X * n)


def test_object_field():
    check_calls(lambda x, holder: x * holder.n, (Holder(5), Holder(6), Holder(7)))


def test_dataclass_field():
    check_calls(lambda x, record: x * record.n, (Record(5), Record(6), Record(7)))


def test_partial():
    check_calls(lambda x, step: step(x), [functools.partial(multiply, n=n) for n in (5, 6, 7)])


def test_torch_size():
    check_calls(lambda x, size: x * size[0], (torch.Size([5]), torch.Size([6]), torch.Size([7])))


def test_global(monkeypatch):
    def scale(x):
        return x * GLOBAL_NUMBER

    fast = compiled(scale)
    for n in (5, 6, 7):
        monkeypatch.setitem(globals(), "GLOBAL_NUMBER", n)
        torch.testing.assert_close(fast(X), X * n)


def test_default_argument(monkeypatch):
    def scale(x):
        return multiply_by_default(x)

    fast = compiled(scale)
    for n in (5, 6, 7):
        monkeypatch.setattr(multiply_by_default, "__defaults__", (n,))
        torch.testing.assert_close(fast(X), X * n)


def test_module_attribute():
    module = Multiply(5)
    fast = compiled(module)
    for n in (5, 6, 7):
        module.n = n
        torch.testing.assert_close(fast(X), X * n)


def test_dict_key():
    def scale(x, table):
        for key in table:
            x = x * key
        return x

    check_calls(scale, ({5: "a"}, {6: "a"}, {7: "a"}))


def test_int_enum():
    check_calls(multiply, (Level.LOW, Level.MIDDLE, Level.HIGH))


def test_equality_branch():
    def scale(x, n):
        if n == 5:
            return x + 1
        return x * n

    check_calls(scale, (5, 6, 7))


def test_range():
    def scale(x, n):
        for i in range(n):
            x = x * (i + 1)
        return x

    check_calls(scale, (5, 6, 7))


def test_list_index():
    def scale(x, n):
        return x * [2.0, 3.0, 4.0][n]

    check_calls(scale, (0, 1, 2))


def test_dim():
    check_calls(lambda x, dim: x.sum(dim=dim), (0, 1, 2))


def test_unused():
    check_calls(lambda x, n: x + 1, (5, 6, 7))


def test_only_returned():
    def step(x, n):
        return x + 1, n

    fast = compiled(step)
    for n in (5, 6, 7):
        result, number = fast(X, n)
        torch.testing.assert_close(result, X + 1)
        assert type(number) is int
        assert number == n


def test_numpy_scalar():
    check_calls(multiply, (np.int64(5), np.int64(6), np.int64(7)))


def test_dynamic_int():
    fast = compiled(multiply)
    for n in (5, 6, 7):
        torch.testing.assert_close(fast(X, DynamicInt(n)), X * n)


def test_float_argument():
    check_calls(multiply, (5.5, 6.5, 7.5))


@pytest.mark.parametrize(
    "sizes",
    [pytest.param((5, 6, 7), id="5,6,7"), pytest.param((0, 1, 2), id="0,1,2")],
)
def test_tensor_size(sizes):
    def scale(x):
        return x * x.shape[0]

    fast = compiled(scale)
    for size in sizes:
        x = torch.ones(size, 3)
        torch.testing.assert_close(fast(x), x * size)


def test_parameter_size():
    def scale(weight):
        return weight * weight.shape[0]

    fast = compiled(scale)
    for size in (5, 6, 7):
        weight = torch.nn.Parameter(torch.ones(size, 3))
        torch.testing.assert_close(fast(weight), weight * size)
