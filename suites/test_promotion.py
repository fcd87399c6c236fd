"""Result types of scalars with tensors."""

import operator

import pytest
import torch

from .support import agree

DTYPES = [torch.bool, torch.uint8, torch.int32, torch.float16, torch.float64]
SCALARS = {"ints": (2, 3, 4), "floats": (0.5, 1.5, 2.5), "mixed": (2, 1.5, True, 5)}


def make(dtype):
    return torch.tensor([0, 1, 2, 5]).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("kind", SCALARS)
def test_multiply_and_add(dtype, kind):
    agree(lambda x, s: (x * s, s + x), *((make(dtype), s) for s in SCALARS[kind]), backend="aot_eager")


@pytest.mark.parametrize("operate", [operator.truediv, operator.floordiv, operator.mod, operator.pow])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32], ids=str)
def test_division_and_power(operate, dtype):
    agree(lambda x, s: operate(x, s), *((make(dtype), s) for s in (2, 3, 4, 2.5)))


@pytest.mark.parametrize("operate", [operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor])
def test_bits(operate):
    agree(lambda x, s: operate(x, s), *((make(torch.int64), s) for s in (1, 2, 3)))


def test_scalar_on_the_left():
    agree(lambda x, s: (s - x, s / (x + 1), s ** x.float()), *((make(torch.int32), s) for s in (2, 3, 4)))


def test_comparison():
    agree(lambda x, s: (x < s, x == s, x >= s), *((make(torch.int64), s) for s in (1, 2, 5, 1.5)))


def test_where_with_two_scalars():
    agree(lambda x, a, b: torch.where(x > 1, a, b), *((make(torch.float32), a, b) for a, b in ((1, 2), (3, 4), (5, 7))))


def test_where_with_scalar_and_tensor():
    agree(lambda x, s: torch.where(x > 1, x, s), *((make(torch.float64), s) for s in (3, 4, 5)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32], ids=str)
def test_clamp(dtype):
    agree(lambda x, low, high: x.clamp(low, high), *((make(dtype), low, high) for low, high in ((1, 3), (0, 4), (2, 5))))


def test_clamp_float_bounds():
    agree(lambda x, low: x.clamp(min=low), *((make(torch.float32), low) for low in (0.5, 1.5, 2)))


@pytest.mark.parametrize("scalars", [(2, 3, 4), (0.5, 1.5, 2.5), (True, False)], ids=["ints", "floats", "bools"])
def test_new_tensor_from_scalar(scalars):
    def step(x, s):
        return torch.full((2,), s), x.new_full((2,), s), torch.as_tensor(s)

    agree(step, *((make(torch.float32), s) for s in scalars))


def test_tensor_constructor():
    agree(lambda x, n: x + torch.tensor([n, n + 1]), *((make(torch.int32)[:2], n) for n in (2, 3, 4)))


def test_scalar_tensor_and_item():
    def step(x, n):
        return x.sum().item() + n

    agree(step, *((make(dtype), n) for dtype, n in ((torch.int64, 2), (torch.int64, 3), (torch.float64, 4))))


def test_arange_dtype():
    agree(lambda x, n: torch.arange(n) + x, *((make(torch.int32)[:1], n) for n in (3, 4, 5, 2.5)))


def test_alpha():
    agree(lambda x, n: torch.add(x, x, alpha=n), *((make(torch.int32), n) for n in (2, 3, 4)))


def test_addcmul_value():
    agree(lambda x, n: torch.addcmul(x, x, x, value=n), *((make(torch.float64), n) for n in (2, 3, 0.5)))


def test_result_type():
    agree(lambda x, s: (x + 1, torch.result_type(x, s)), *((make(torch.int32), s) for s in (2, 2.5, True, 3)))


# Several values in a row go wrong under torch's own settings; see test_largest_of_int_and_float_keeps_integers.
@pytest.mark.parametrize("n", [2, 4])
def test_largest_of_int_and_float(n):
    agree(lambda x, n: x * max(n, 2.5), (make(torch.int32), n))


@pytest.mark.parametrize("n", [3, 12])
def test_text_of_a_number_is_compared(n):
    agree(lambda x, n: x + 1 if f"{n}" == "12" else x * 2, (make(torch.int32), n))
