"""Numbers at the ends of their ranges: huge, zero, one, negative, infinite and not a number."""

import math
import unittest

import torch
from parameterized import parameterized

from .support import agree


class TestHugeInts(unittest.TestCase):
    def setUp(self):
        self.x = torch.arange(3, dtype=torch.int64)

    @parameterized.expand([("int32_edge", 2**31), ("double_edge", 2**53), ("near_int64_edge", 2**62), ("negative", -(2**62))])
    def test_added(self, _name, edge):
        agree(lambda x, n: x + n, *((self.x, n) for n in (edge - 1, edge, edge + 1, 3)))

    @parameterized.expand([("int32_edge", 2**31), ("double_edge", 2**53), ("near_int64_edge", 2**62)])
    def test_python_arithmetic(self, _name, edge):
        def step(x, n):
            return x + 1, n - 1, n // 3, n % 1000

        agree(step, *((self.x, n) for n in (edge, edge + 1, edge + 5)))

    def test_compared(self):
        agree(lambda x, n: x + 1 if n > 2**53 else x - 1, *((self.x, n) for n in (2**53 - 1, 2**53, 2**53 + 1)))

    def test_largest_int64(self):
        agree(lambda x, n: x.clamp(max=n), *((self.x, n) for n in (1, 2**63 - 1, 2**40)))

    def test_beyond_int64_as_python_number(self):
        def step(x, n):
            return x + (1 if n > 2**64 else 2)

        agree(step, *((self.x, n) for n in (2**64 + 1, 2**65, 2**63 - 1)))

    def test_as_float(self):
        agree(lambda x, n: x.double() * float(n), *((self.x, n) for n in (2**53, 2**53 + 1, 2**62)), backend="aot_eager")

    def test_hash_constant(self):
        agree(lambda x, n: (x * 31 + n) % 1000003, *((self.x, n) for n in (2**31 - 1, 2**31, 2**40 + 7)))


class TestZeroOneNegative(unittest.TestCase):
    VALUES = (0, 1, -1, 2, -2)

    def test_multiplied(self):
        agree(lambda x, n: x * n, *((torch.ones(3), n) for n in self.VALUES))

    def test_divisor(self):
        agree(lambda x, n: x / n, *((torch.arange(3.0), n) for n in self.VALUES))

    def test_slice_ends(self):
        x = torch.arange(6)
        for n in self.VALUES:
            with self.subTest(n=n):
                agree(lambda x, n: (x[n:], x[:n]), (x, n), (x, n + 1), (x, n - 1))

    def test_powers(self):
        agree(lambda x, n: x**n, *((torch.arange(1.0, 4.0), n) for n in self.VALUES))

    def test_repeat_counts(self):
        agree(lambda x, n: x.repeat(n, 2), *((torch.ones(3), n) for n in (0, 1, 2, 3)))

    def test_empty_then_full(self):
        agree(lambda x: (x.sum(), x.numel(), x + 1), *(torch.ones(size, 2) for size in (0, 1, 2, 3)))

    def test_roll_both_ways(self):
        agree(lambda x, n: x.roll(n), *((torch.arange(5), n) for n in self.VALUES), backend="aot_eager")


class TestFloats(unittest.TestCase):
    def setUp(self):
        self.x = torch.tensor([-1.0, 0.0, 2.0])

    @parameterized.expand([("nan", math.nan), ("infinity", math.inf), ("minus_infinity", -math.inf)])
    def test_met_between_ordinary_values(self, _name, special):
        agree(lambda x, f: x * f, *((self.x, f) for f in (0.5, special, 1.5, special)))

    def test_infinite_fill_for_a_mask(self):
        def mask(x, f):
            return x.masked_fill(x > 0, f).amax()

        agree(mask, *((self.x, f) for f in (-math.inf, math.inf, 0.0)))

    def test_sign_of_zero(self):
        fast = torch.compile(lambda x, f: x * f, backend="eager")
        for f in (-0.0, 1.0, -2.0):
            self.assertEqual(torch.signbit(fast(torch.ones(2), f)).tolist(), [f < 0 or f == 0.0] * 2)

    # The guard compares with ==, for which 0.0 and -0.0 are the same number.
    @unittest.expectedFailure
    def test_minus_zero_after_zero(self):
        fast = torch.compile(lambda x, f: x * f, backend="eager")
        fast(torch.ones(2), 0.0)
        self.assertTrue(torch.signbit(fast(torch.ones(2), -0.0)).all())

    def test_checks_on_floats(self):
        def step(x, f):
            if math.isnan(f):
                return x
            return x + 1 if math.isinf(f) else x * f

        agree(step, *((self.x, f) for f in (0.5, math.inf, math.nan, 2.5)))

    def test_tiny_and_large(self):
        agree(lambda x, f: x.double() * f, *((self.x, f) for f in (1e-300, 1e300, 5e-324, 0.1)), backend="aot_eager")

    def test_float_to_int(self):
        agree(lambda x, f: (x + 1, int(f), round(f)), *((self.x, f) for f in (0.5, 1.5, 2.5, -0.5)))

    def test_whole_floats(self):
        agree(lambda x, f: (x * f, f.is_integer()), *((self.x, f) for f in (2.0, 3.0, 3.5)))
