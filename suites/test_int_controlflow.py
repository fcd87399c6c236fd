"""Branches, loops and exceptions that depend on a number or on a size."""

import unittest

import torch
from parameterized import parameterized

from .support import agree, same

X = torch.arange(6, dtype=torch.float32)


def classify(x, n):
    if n < 0:
        return x - 1
    elif n == 0:
        return x * 0
    elif n < 10:
        return x + n
    return x / n


def conditional_expression(x, n):
    return x * (n if n > 4 else -n)


def chained_comparison(x, n):
    return x + 1 if 2 < n <= 5 else x - 1


def negated_equality(x, n):
    return x + 1 if n != 3 else x * 10


def boolean_operators(x, n):
    return x + (n and 7) - (n or 3)


def truthiness(x, n):
    return x * 2 if n else x * 3


def logical_not(x, n):
    return x + (not n)


def parity(x, n):
    return x + n if n % 2 == 0 else x - n


def matching(x, n):
    match n:
        case 1:
            return x + 100
        case 2 | 3:
            return x + 200
        case _ if n < 0:
            return x - n
    return x * n


def halving_loop(x, n):
    while n > 1:
        x = x + n
        n = n // 2
    return x


def growing_loop(x, n):
    total = 1
    while total < n:
        total *= 2
    return x * total


def loop_with_break(x, n):
    for i in range(8):
        if i * i > n:
            break
        x = x + i
    else:
        x = x * 100
    return x


def loop_with_continue(x, n):
    for i in range(5):
        if i == n:
            continue
        x = x + i
    return x


def stepped_range(x, n):
    return sum((x * i for i in range(1, 12, abs(n) + 1)), x)


def reversed_range(x, n):
    for i in reversed(range(n)):
        x = x * 2 + i
    return x


def nested_loops(x, n):
    for i in range(n):
        for j in range(i):
            x = x + i * j
    return x


def comprehension(x, n):
    return torch.stack([x * i for i in range(1, 2 + abs(n))]).sum(0)


def enumerated(x, n):
    for i, part in enumerate(x.split(2), n):
        x = x + part.sum() * i
    return x


def membership(x, n):
    return x + 1 if n in (2, 3, 5, 7) else x - 1


def early_return_in_loop(x, n):
    for i in (1, 2, 4, 8):
        if i >= n:
            return x * i
    return x


def sign_of_difference(x, n):
    return x * ((n > 3) - (n < 3))


FUNCTIONS = [
    (function.__name__, function)
    for function in (
        classify,
        conditional_expression,
        chained_comparison,
        negated_equality,
        boolean_operators,
        truthiness,
        logical_not,
        parity,
        matching,
        halving_loop,
        growing_loop,
        loop_with_break,
        loop_with_continue,
        stepped_range,
        reversed_range,
        nested_loops,
        comprehension,
        enumerated,
        membership,
        early_return_in_loop,
        sign_of_difference,
    )
]


class TestBranchesAndLoops(unittest.TestCase):
    @parameterized.expand(FUNCTIONS)
    def test_small_numbers(self, _name, function):
        agree(function, *((X, n) for n in (2, 3, 5, 0)))

    @parameterized.expand([entry for entry in FUNCTIONS if entry[1] in (classify, parity, halving_loop, comprehension)])
    def test_negative_then_positive(self, _name, function):
        agree(function, *((X, n) for n in (-2, -5, 4)))


class TestRangeMembership(unittest.TestCase):
    # A number that was seen to vary cannot be looked for in a range (torch 2.13), so every test has one number only.
    @parameterized.expand([(2,), (3,), (5,)])
    def test_member(self, n):
        def step(x, n):
            return x + 1 if n in range(2, 9, 3) else x - 1

        agree(step, (X, n), (X * 2, n))


class TestSizesDecide(unittest.TestCase):
    @parameterized.expand([("growing", (3, 4, 5, 6)), ("shrinking", (6, 5, 4, 3)), ("to_the_edge", (4, 2, 1, 0))])
    def test_threshold(self, _name, sizes):
        def step(x):
            return x * 2 if x.shape[0] > 4 else x + x.shape[0]

        agree(step, *(torch.ones(size, 2) for size in sizes))

    def test_equal_sizes(self):
        def join(x, y):
            return x + y if x.shape[0] == y.shape[0] else torch.cat([x, y])

        agree(join, *((torch.ones(a), torch.ones(b)) for a, b in ((3, 3), (3, 4), (5, 5), (6, 5))))

    def test_loop_over_rows(self):
        def total(x):
            result = x.new_zeros(x.shape[1])
            for row in x:
                result = result + row * row.shape[0]
            return result

        agree(total, *(torch.ones(rows, 3) for rows in (2, 3, 4)))

    def test_size_multiple(self):
        def fold(x):
            if x.shape[0] % 4 == 0:
                return x.reshape(4, -1).sum(0)
            return x.sum().reshape(1)

        agree(fold, *(torch.arange(float(size)) for size in (8, 12, 10, 16)), backend="aot_eager")

    def test_number_against_size(self):
        def crop(x, n):
            return x[:n] if n < x.shape[0] else x

        agree(crop, *((torch.arange(5.0), n) for n in (2, 4, 5, 9)))


class TestExceptions(unittest.TestCase):
    def test_division_by_zero_is_caught(self):
        def divide(x, n):
            try:
                return x * (12 // n)
            except ZeroDivisionError:
                return x - 1

        agree(divide, *((X, n) for n in (3, 4, 5)))

    def test_raised_by_a_check(self):
        def check(x, n):
            if n > 4:
                raise ValueError("too large")
            return x + n

        fast = torch.compile(check, backend="eager")
        for n in (2, 3, 4):
            same(fast(X, n), check(X, n))
        for n in (5, 6):
            with self.assertRaisesRegex(ValueError, "too large"):
                fast(X, n)

    def test_assertion_with_message(self):
        def check(x, n):
            assert n < 10, "number is out of range"
            return x * n

        fast = torch.compile(check, backend="eager")
        for n in (4, 5, 6):
            same(fast(X, n), check(X, n))
        with self.assertRaisesRegex(AssertionError, "out of range"):
            fast(X, 11)

    def test_finally_runs(self):
        def log(x, n, seen):
            try:
                if n > 3:
                    raise KeyError(n)
                return x + n
            except KeyError:
                return x - n
            finally:
                seen.append(n)

        agree(log, *((X, n, []) for n in (2, 4, 3, 5)))

    def test_index_error_is_caught(self):
        def pick(x, n):
            try:
                return x * [1.0, 2.0, 3.0][n]
            except IndexError:
                return x

        agree(pick, *((X, n) for n in (0, 2, 3, 1)))
