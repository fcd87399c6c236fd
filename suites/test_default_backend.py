"""The default backend, which generates code: few tests, since each one waits for a C++ compiler."""

import random
import unittest

import torch
import torch.nn.functional as F

from .support import same

X = torch.linspace(-1, 1, 12)


def agree_by_default(function, *calls):
    fast = torch.compile(function)
    for args in calls:
        same(fast(*args), function(*args))


class TestGeneratedCode(unittest.TestCase):
    def test_number_in_pointwise_code(self):
        agree_by_default(lambda x, n: torch.relu(x) * n + 1, *((X, n) for n in (2, 3, 4)))

    def test_number_in_a_slice(self):
        agree_by_default(lambda x, n: x[n:] * x[:-n], *((X, n) for n in (1, 2, 3)))

    def test_size_in_a_mean(self):
        agree_by_default(lambda x: x.sum(0) / x.shape[0], *((torch.ones(size, 2),) for size in (4, 5, 6)))

    def test_number_in_a_range(self):
        agree_by_default(lambda x, n: torch.arange(n) * n + x[:1], *((X, n) for n in (3, 4, 5)))

    def test_floor_division_and_remainder(self):
        agree_by_default(lambda x, n: x * (n // 3) + n % 3, *((X, n) for n in (7, 8, -7)))

    def test_fill_value(self):
        agree_by_default(lambda x, f: torch.full((3,), f) + x[:3] * f, *((X, f) for f in (0.5, 0.5)))

    def test_pad(self):
        agree_by_default(lambda x, n: F.pad(x, (n, n)) + 1, *((X, n) for n in (1, 2, 3)))

    def test_one_dimensional_convolution_padding(self):
        def step(x, weight, n):
            return F.conv1d(x, weight, padding=n) * n

        agree_by_default(step, *((X.view(1, 2, 6), torch.ones(2, 2, 3), n) for n in (1, 2, 3)))

    def test_in_place(self):
        fast = torch.compile(lambda x, n: x.mul_(n).sum())
        for n in (2, 3, 4):
            x = torch.ones(5)
            same(fast(x, n), torch.tensor(5.0 * n))
            same(x, torch.full((5,), float(n)))

    def test_backward(self):
        fast = torch.compile(lambda x, n: (x.sin() * n).sum())
        for n in (2, 3, 4):
            x = X.clone().requires_grad_()
            fast(x, n).backward()
            same(x.grad, X.cos() * n)

    def test_random_number_fed_in(self):
        fast = torch.compile(lambda x, n: x * random.randint(1, 9) + n)
        for n in (2, 3, 4):
            random.seed(n)
            got = fast(X, n)
            random.seed(n)
            same(got, X * random.randint(1, 9) + n)

    def test_integer_tensor(self):
        agree_by_default(lambda x, n: (x * n) >> 1, *((torch.arange(5), n) for n in (3, 4, -5)))

    def test_layer_over_batches(self):
        layer = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh()).eval()
        with torch.no_grad():
            agree_by_default(layer, *((torch.ones(rows, 3),) for rows in (2, 3, 4)))
