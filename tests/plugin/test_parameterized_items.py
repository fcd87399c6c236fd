"""Tests that other packages multiply."""

from __future__ import annotations

import pytest

ALL = {"static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize", "eager"}

EXPAND = """
import unittest
from parameterized import parameterized

class Case(unittest.TestCase):
    @parameterized.expand([("two", 2, []), ("three", 3, [])])
    def test_it(self, name, n, seen):
        assert seen == []
        seen.append(n)
        assert compiled(lambda x: x * n)(torch.ones(2)).sum() == 2 * n
"""

CLASSES = """
import unittest
from parameterized import parameterized_class

@parameterized_class([{"n": 2}, {"n": 3}])
class Case(unittest.TestCase):
    def test_it(self):
        n = self.n
        type(self).n = 0
        assert n in (2, 3)
        assert compiled(lambda x: x * n)(torch.ones(2)).sum() == 2 * n
"""

INSTANTIATED = """
from torch.testing._internal.common_utils import TestCase, instantiate_parametrized_tests, parametrize

class Case(TestCase):
    @parametrize("n", [2, 3])
    def test_it(self, n):
        self.assertEqual(compiled(lambda x: x * n)(torch.ones(2)).sum(), 2 * n)

instantiate_parametrized_tests(Case)
"""

DEVICES = """
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, parametrize

class TestDevice(TestCase):
    @parametrize("n", [2, 3])
    def test_it(self, device, n):
        self.assertEqual(compiled(lambda x: x * n)(torch.ones(2, device=device)).sum(), 2 * n)

instantiate_device_type_tests(TestDevice, globals(), only_for="cpu")
"""


@pytest.mark.parametrize("source", [EXPAND, CLASSES, INSTANTIATED, DEVICES], ids=["expand", "class", "torch", "devices"])
def test_each_of_them_runs_in_every_cell(matrix, source):
    run = matrix(source)
    assert run.outcomes == {"passed": 2}, run.text
    assert run.read.summary.tests == 2
    assert all({c: r.outcome for c, r in test.cells.items()} == dict.fromkeys(ALL, "passed") for test in run.read.tests)
    assert all(result.regions == 1 for test in run.read.tests for result in test.cells.values())
    assert run.clean(), run.text


def test_one_that_differs_is_named(matrix):
    run = matrix("""
import unittest
from parameterized import parameterized

class Case(unittest.TestCase):
    @parameterized.expand([(2,), (3,)])
    def test_it(self, n):
        compiled(lambda x: x * n)(torch.ones(2))
        assert n == 2 or torch._dynamo.config.specialize_int
""")
    assert run.finding("outcome").test.endswith("Case::test_it_1")
    assert run.outcomes == {"passed": 1, "failed": 1}
