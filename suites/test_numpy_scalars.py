"""NumPy scalars and arrays, which a compiled function carries as tensors."""

import unittest

import numpy as np
import torch
from parameterized import parameterized, parameterized_class

from .support import agree, same

TYPES = [np.int8, np.int32, np.int64, np.uint8, np.float16, np.float32, np.float64]
X = torch.arange(4, dtype=torch.float32)


class TestScalarArguments(unittest.TestCase):
    @parameterized.expand([(kind.__name__, kind) for kind in TYPES])
    def test_times_tensor(self, _name, kind):
        agree(lambda x, s: x * s, *((X, kind(n)) for n in (2, 3, 4)))

    def test_numpy_bool(self):
        agree(lambda x, s: torch.where(torch.as_tensor(s), x, -x), (X, np.bool_(True)), (X, np.bool_(False)))

    def test_added_to_python_int(self):
        agree(lambda x, s, n: x + (s + n), *((X, np.int64(n), n + 1) for n in (2, 3, 4)))

    def test_int_then_numpy_int(self):
        agree(lambda x, s: x * s, (X, 2), (X, np.int64(3)), (X, 4), (X, np.float32(0.5)))

    def test_kept_in_a_list(self):
        agree(lambda x, scalars: x * scalars[0] + scalars[1], *((X, [np.int64(n), np.float64(n / 2)]) for n in (2, 3, 4)))

    def test_as_tensor(self):
        agree(lambda x, s: x + torch.tensor(s), *((X, np.float32(f)) for f in (0.5, 1.5, 2.5)), backend="aot_eager")

    def test_isinstance_of_int(self):
        def step(x, s):
            if isinstance(s, int):
                return x + s
            return x - s

        agree(step, (X, np.int64(2)), (X, 3), (X, 4), (X, np.float32(0.5)))

    # A compiled function sees a 0-d array where the plain one sees a scalar.
    @unittest.expectedFailure
    def test_isinstance_of_scalar(self):
        agree(lambda x, s: x + s if isinstance(s, np.generic) else x - s, (X, np.int64(2)), (X, np.int64(3)))

    def test_to_python_int(self):
        agree(lambda x, s: x * int(s), *((X, np.int64(n)) for n in (2, 3, 4)))

    def test_as_slice_end(self):
        agree(lambda x, s: x[: int(s)] + 1, *((X, np.int32(n)) for n in (1, 2, 3)))

    def test_decides_a_branch(self):
        agree(lambda x, s: x + 1 if s > 2 else x - 1, *((X, np.int64(n)) for n in (1, 2, 3, 4)))


@parameterized_class([{"dtype": np.int32}, {"dtype": np.float64}])
class TestFunctions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.arrays = [np.arange(size, dtype=cls.dtype) for size in (3, 4, 5)]

    def test_maximum_and_minimum(self):
        def step(a, n):
            return np.maximum(a, n), np.minimum(a, n)

        agree(step, *((a, n) for a, n in zip(self.arrays, (1, 2, 3))))

    def test_max_and_min_of_array(self):
        agree(lambda a: a * 2 + np.max(a) - np.min(a), *self.arrays)

    def test_array_to_tensor(self):
        agree(lambda a: torch.from_numpy(a) * a.shape[0], *self.arrays)

    def test_reshape_and_sum(self):
        agree(lambda a, n: a.reshape(1, -1).sum(axis=0) * n, *((a, n) for a, n in zip(self.arrays, (2, 3, 4))))

    def test_mixed_with_python_numbers(self):
        agree(lambda a, n, f: a * n + f, *((a, n, n / 4) for a, n in zip(self.arrays, (2, 3, 5))))


class TestDecorated(unittest.TestCase):
    def test_numpy_function_compiled(self):
        @torch.compile(backend="eager")
        def normalise(a, shift):
            return (a - a.mean()) / (a.std() + shift)

        for size, shift in ((3, 1), (4, 2), (5, 3)):
            a = np.arange(size, dtype=np.float64)
            same(normalise(a, shift), (a - a.mean()) / (a.std() + shift))

    def test_scalar_result_of_reduction(self):
        fast = torch.compile(lambda a: np.sum(a), backend="eager")
        for size in (3, 4, 5):
            a = np.arange(size)
            self.assertEqual(int(fast(a)), int(a.sum()))
