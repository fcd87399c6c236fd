"""Differences from eager that have little to do with the cell."""

import numpy as np
import torch


def test_formatted_number():
    def code(x, n):
        return x * 2, format(n, "04d")

    fast = torch.compile(code, backend="eager")
    assert [fast(torch.ones(1), n)[1] for n in (5, 6)] == ["0005", "0006"]


def test_sign_of_a_zero_factor():
    fast = torch.compile(lambda x, gain: x * gain, backend="eager")
    for gain in (0.0, -0.0):
        got = fast(torch.full((3,), 2.0), gain)
        assert torch.equal(got.signbit(), (torch.full((3,), 2.0) * gain).signbit())


def test_replaced_code_is_followed():
    class Filter:
        pass

    def before(self, x):
        return x + 1.0

    def after(self, x):
        return x - 5.0

    Filter.apply = before
    kept = Filter()
    fast = torch.compile(lambda x: kept.apply(x), backend="eager")
    torch.testing.assert_close(fast(torch.ones(3)), kept.apply(torch.ones(3)))
    before.__code__ = after.__code__
    torch.testing.assert_close(fast(torch.ones(3)), kept.apply(torch.ones(3)))


def test_rounded_numpy_scalar():
    def center(x):
        return x - int(round(np.ceil(x.shape[0] / 3)))  # noqa: RUF046 - the rounding of a NumPy scalar is what is tried

    fast = torch.compile(center, backend="eager")
    for n in (4, 7):
        torch.testing.assert_close(fast(torch.ones(n)), center(torch.ones(n)))


def test_filled_with_a_numpy_int():
    def board(x, number):
        return torch.full((3,), number)

    fast = torch.compile(board, backend="aot_eager")
    assert fast(torch.ones(1), np.int64(8)).dtype == board(torch.ones(1), np.int64(8)).dtype
