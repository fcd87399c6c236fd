"""The same subjects in the style of PyTorch's own tests."""

import torch
import torch._dynamo.test_case
from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize, subtest

X = torch.arange(6, dtype=torch.float32)


class TestParametrized(TestCase):
    def setUp(self):
        super().setUp()
        torch._dynamo.reset()

    @parametrize("n", [2, 5])
    @parametrize("backend", ["eager", "aot_eager"])
    def test_product(self, n, backend):
        fast = torch.compile(lambda x, n: x * n, backend=backend)
        for value in (n, n + 1, n + 2):
            self.assertEqual(fast(X, value), X * value)

    @parametrize("dtype", [torch.int64, torch.float64])
    def test_sum_over_sizes(self, dtype):
        fast = torch.compile(lambda x: x.sum() * x.shape[0], backend="eager")
        for size in (2, 3, 4):
            x = torch.ones(size, dtype=dtype)
            self.assertEqual(fast(x), x.sum() * size, exact_dtype=True)

    @parametrize("sizes", [subtest((2, 3, 4), name="ascending"), subtest((5, 3, 2), name="descending")])
    def test_slices(self, sizes):
        fast = torch.compile(lambda x, n: x[:n] + n, backend="aot_eager")
        for size in sizes:
            self.assertEqual(fast(X, size), X[:size] + size)

    @parametrize("dim", [0, 1])
    def test_stack(self, dim):
        fast = torch.compile(lambda x, n, dim: torch.stack([x, x * n], dim), backend="eager")
        for n in (2, 3, 4):
            self.assertEqual(fast(X, n, dim), torch.stack([X, X * n], dim))

    def test_reset_in_between(self):
        fast = torch.compile(lambda x, n: x + n, backend="eager")
        for n in (2, 3, 4):
            torch._dynamo.reset()
            self.assertEqual(fast(X, n), X + n)


class TestDynamoCase(torch._dynamo.test_case.TestCase):
    def test_constant_folding(self):
        fast = torch.compile(lambda x, n: x * (n * 0 + 2), backend="eager")
        for n in (2, 3, 4):
            self.assertEqual(fast(X, n), X * 2)

    def test_strides_from_numbers(self):
        fast = torch.compile(lambda x, n: torch.empty_strided((2, 3), (1, n)).fill_(n), backend="eager")
        for n in (2, 3, 4):
            got = fast(X, n)
            self.assertEqual(got, torch.full((2, 3), float(n)))
            self.assertEqual(got.stride(), (1, n))


instantiate_parametrized_tests(TestParametrized)
