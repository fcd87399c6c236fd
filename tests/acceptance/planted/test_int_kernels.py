"""Ints as symbols inside of generated code. Every kernel takes seconds in its fresh cache: as few values as show it."""

import pytest
import torch


def check(function, values, tensor):
    fast = torch.compile(function)
    for value in values:
        got, want = fast(tensor, value), function(tensor, value)
        assert got.dtype == want.dtype
        assert torch.equal(got, want)


def test_shifted_beyond_32_bits():
    check(lambda x, bits: x - (1 << bits), (4, 41), torch.arange(3))


def test_masked_bits_keep_the_dtype():
    check(lambda x, n: x - (n & 3), (5, 6), torch.arange(3))


def test_power_of_an_int_tensor():
    check(lambda x, n: x.pow(n) + 1, (3,), torch.arange(5))


def test_float_of_a_remainder():
    check(lambda x, k: x + float(k % 4), (5,), torch.ones(2))


@pytest.mark.parametrize("value", [7, -200])
def test_number_too_large_for_its_place(value):
    def put(x, n):
        x[1] = n
        return x

    def outcome(function):
        try:
            return function(torch.zeros(2, dtype=torch.int8), value).tolist()
        except RuntimeError:
            return "refused"

    assert outcome(torch.compile(put)) == outcome(put)


def test_exponent_in_an_inner_gradient():
    def tangent(x, degree):
        y = torch.pow(x, degree).sum()
        (slope,) = torch.autograd.grad(y, x)
        return slope * 2

    fast = torch.compile(tangent, backend="aot_eager")
    for degree in (0, 2, 3):
        x = torch.full((2,), 3.0, requires_grad=True)
        torch.testing.assert_close(fast(x, degree), tangent(x, degree))
