"""Expressions of Python ints that come out wrong where an int is a symbol."""

import pytest
import torch


def check(function, values, tensor=None):
    fast = torch.compile(function, backend="eager")
    tensor = torch.ones(3) if tensor is None else tensor
    for value in values:
        got, want = fast(tensor, value), function(tensor, value)
        torch.testing.assert_close(got, want)
        assert got.dtype == want.dtype


@pytest.mark.parametrize("pixels", [140, 250])
def test_rounded_to_hundreds(pixels):
    def canvas(x, width):
        return x.new_zeros(max(round(width, -2), 1))

    x = torch.ones(2)
    assert torch.compile(canvas, backend="eager")(x, pixels).shape == canvas(x, pixels).shape


def test_label_decides():
    def route(x, step):
        return x * 10 if f"{step}" == "7" else x / 10

    check(route, (6, 7, 8))


def test_smaller_of_int_and_float():
    check(lambda x, k: x + min(k, 9.5), (4, 5, 7), torch.arange(5))


def test_outside_of_range():
    def wrap(x, n):
        return x - 1 if n not in range(2, 6) else x + 1

    check(wrap, (5, 6, 8))


def test_range_is_summed():
    check(lambda x, steps: x * sum(steps) + len(steps), (range(3), range(4), range(1, 9, 3)))


def test_modulo_by_zero_is_handled():
    def fold(x, period):
        try:
            phase = 17 % period
        except ZeroDivisionError:
            return x * -1
        return x + phase

    check(fold, (4, 5, 0, 6))


def test_comparison_is_negated():
    check(lambda x, n: x * -(n < 5), (4, 6), torch.zeros(2))


def test_comparison_or_number():
    def flags(x, n):
        return x + 1, (n > 3) & 1

    fast = torch.compile(flags, backend="eager")
    for n in (3, 4):
        assert type(fast(torch.ones(1), n)[1]) is type(flags(torch.ones(1), n)[1])


def test_popped_by_position():
    def rest(x, k):
        queue = [10, 20, 30, 40]
        last = queue.pop(k)
        return x * last + len(queue)

    check(rest, (0, 1, 2))


def test_half_power_of_a_negative():
    check(lambda x, n: x * ((1 - n) ** 0.5).imag, (3, 4))


def test_divmod_falls_back():
    def split(x, seconds):
        minutes, left = divmod(seconds, 60)
        return x * minutes - left

    check(split, (70, 80, 130))


def test_literal_among_arguments():
    def boost(x, first, second):
        if 7 in (first, second):
            return x * 5
        return x + 0

    fast = torch.compile(boost, backend="eager")
    for pair in ((1, 2), (7, 3), (4, 7), (5, 6)):
        torch.testing.assert_close(fast(torch.ones(2), *pair), boost(torch.ones(2), *pair))
