"""Python arithmetic, mathematics and text made of numbers inside a compiled function."""

import math
import operator
import unittest

import torch
from parameterized import parameterized, parameterized_class

from .support import agree

X = torch.arange(4, dtype=torch.float32)

BINARY = [
    ("add", operator.add),
    ("subtract", operator.sub),
    ("multiply", operator.mul),
    ("floor_divide", operator.floordiv),
    ("true_divide", operator.truediv),
    ("modulo", operator.mod),
    ("power", lambda a, b: a ** abs(b)),
    ("left_shift", lambda a, b: a << abs(b)),
    ("right_shift", lambda a, b: a >> abs(b)),
    ("bit_and", operator.and_),
    ("bit_or", operator.or_),
    ("bit_xor", operator.xor),
    ("divmod", divmod),
    ("minimum", min),
    ("maximum", max),
    ("greatest_common_divisor", math.gcd),
]

UNARY = [
    ("negate", operator.neg),
    ("plus", operator.pos),
    ("absolute", abs),
    ("invert", operator.invert),
    ("to_int", int),
    ("to_float", float),
    ("to_bool", bool),
    ("round", round),
    ("round_to_hundreds", lambda n: round(n, 2)),
    ("index", operator.index),
    ("half_rounded", lambda n: round(n / 2)),
    ("ceiling_of_third", lambda n: math.ceil(n / 3)),
    ("floor_of_third", lambda n: math.floor(n / 3)),
    ("truncated_third", lambda n: math.trunc(n / 3)),
    ("square_root", lambda n: math.sqrt(abs(n))),
    ("logarithm", lambda n: math.log2(abs(n) + 1)),
    ("exponential", lambda n: math.exp(n / 10)),
    ("sine", math.sin),
    ("hypotenuse", lambda n: math.hypot(n, 3)),
    ("floor_division_by_negative", lambda n: n // -3),
    ("remainder_by_negative", lambda n: n % -3),
    ("float_remainder", lambda n: n % 2.5),
    ("float_power", lambda n: abs(n) ** 0.5),
    ("cube", lambda n: n**3),
    ("number_times_ten_to_text", lambda n: str(n * 10)),
    ("formatted", lambda n: f"{n:04d}|{n + 1}"),
    ("bit_length", lambda n: abs(n).bit_length()),
    ("sorted", lambda n: sorted([n, 3, -1])),
    ("summed", lambda n: sum([n, 2 * n, 1])),
    ("comparison", lambda n: (n > 2, n <= 3, n != 4)),
    ("any_and_all", lambda n: (any([n > 4, n < -4]), all([n, 1]))),
]


class TestBinary(unittest.TestCase):
    @parameterized.expand(BINARY)
    def test_on_numbers(self, _name, operate):
        def step(x, a, b):
            return x + 1, operate(a, b)

        agree(step, (X, 7, 2), (X, 9, 4), (X, -8, 3), (X, 5, -2))

    @parameterized.expand([entry for entry in BINARY if entry[0].split("_")[-1] in ("divide", "modulo", "power", "shift")])
    def test_used_by_a_tensor(self, _name, operate):
        def step(x, a, b):
            return x * operate(a, b)

        agree(step, (X, 6, 4), (X, 7, 3), (X, 8, 5))


class TestUnary(unittest.TestCase):
    @parameterized.expand(UNARY)
    def test_on_numbers(self, _name, operate):
        def step(x, n):
            return x * 2, operate(n)

        agree(step, *((X, n) for n in (3, 4, -7)))


@parameterized_class(("start", "backend"), [(2, "aot_eager"), (-6, "eager")])
class TestLongerFormulas(unittest.TestCase):
    def setUp(self):
        self.x = torch.arange(8, dtype=torch.float32)
        self.values = [self.start + i for i in range(4)]

    def check(self, function):
        agree(function, *((self.x, value) for value in self.values), backend=self.backend)

    def test_polynomial(self):
        self.check(lambda x, n: x * (3 * n**2 - 2 * n + 1))

    def test_round_up_to_multiple(self):
        self.check(lambda x, n: x.new_ones((abs(n) + 7) // 8 * 8))

    def test_alternating_sign(self):
        self.check(lambda x, n: x * (1 if n % 2 == 0 else -1))

    def test_scale_by_square_root(self):
        self.check(lambda x, n: x / math.sqrt(n * n + 1))

    def test_augmented_assignment(self):
        def step(x, n):
            n += 3
            n *= 2
            n -= x.shape[0]
            return x + n, n

        self.check(step)

    def test_clamped(self):
        self.check(lambda x, n: x + max(-2, min(n, 3)))


class TestMixedNumbers(unittest.TestCase):
    def test_int_and_float_arguments(self):
        agree(lambda x, n, f: x * n + f, (X, 2, 0.5), (X, 3, 0.25), (X, 4, 0.25), (X, 4, 1.5))

    def test_largest_of_ints_and_size(self):
        agree(lambda x, n: x * max(n, x.shape[0], 3), *((torch.ones(size), n) for size, n in ((2, 5), (6, 4), (3, 3))))

    def test_key_function(self):
        def nearest(x, n):
            return x + min([2, 7, 12], key=lambda candidate: abs(candidate - n))

        agree(nearest, *((X, n) for n in (3, 6, 11, 2)))

    def test_reduced_list(self):
        def total(x, numbers):
            return x * math.prod(numbers) + sum(numbers) - len(numbers)

        agree(total, (X, [2, 3]), (X, [3, 4]), (X, [4, 5]), (X, [4, 5, 6]))

    def test_text_decides(self):
        def choose(x, n):
            return x + 1 if str(n).startswith("1") else x - 1

        agree(choose, *((X, n) for n in (12, 13, 21)))
