"""``unittest.TestCase`` with everything that it has around a test."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

ALL = {"static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize", "eager"}

#: A case that writes a line for everything that happens to it.
LOGGING = """
import unittest


def log(word):
    with open("log", "a") as stream:
        stream.write(word + " ")

def setUpModule():
    log("module+")

def tearDownModule():
    log("module-")

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        log("class+")
        cls.addClassCleanup(log, "cleanup-class")
        CLASS_SETUP

    @classmethod
    def tearDownClass(cls):
        log("class-")

    def setUp(self):
        log("+")
        self.addCleanup(log, "cleanup")
        self.value = 1

    def tearDown(self):
        log("-")

    def test_one(self):
        assert self.value == 1
        self.value = 2
        compiled(lambda x: x + 1)(torch.ones(2))

    def test_two(self):
        compiled(lambda x: x + 1)(torch.ones(2))
"""


def test_setup_and_teardown_of_a_plain_case_are_around_every_cell(matrix, pytester):
    run = matrix(LOGGING.replace("CLASS_SETUP", "pass"))
    assert run.outcomes == {"passed": 2}
    each = "+ - cleanup " * 5
    assert (pytester.path / "log").read_text() == f"module+ class+ {each}{each}class- cleanup-class module- "
    assert run.clean()


def test_a_class_that_compiles_is_set_up_for_every_cell(matrix, pytester):
    run = matrix(LOGGING.replace("CLASS_SETUP", "cls.region = compiled(lambda x: x + 1); cls.region(torch.ones(2))"))
    assert run.outcomes == {"passed": 2}
    each = "class+ + - cleanup class- cleanup-class " * 5
    assert (pytester.path / "log").read_text() == f"module+ {each}{each}module- "


def test_what_a_class_shares_is_as_before_in_each_cell(matrix):
    run = matrix("""
import unittest

class Case(unittest.TestCase):
    total = 0

    @classmethod
    def setUpClass(cls):
        cls.model = torch.nn.Linear(2, 2)
        cls.made = torch.zeros(2)
        cls.log = []

    def test_it(self):
        assert self.total == 0 and self.made.sum() == 0 and self.log == []
        type(self).total += 1
        self.made.add_(1)
        self.log.append(1)
        optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        compiled(self.model)(torch.ones(2)).sum().backward()
        optimizer.step()
        type(self).left = 1

    def test_next(self):
        assert self.left == 1
""")
    assert run.outcomes == {"passed": 2}, run.text
    assert run.clean(), run.text


def test_a_state_that_is_set_for_a_class_is_the_state_of_every_cell(matrix):
    run = matrix("""
import os, random, unittest

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_default_dtype(torch.float64)
        os.environ["SUITE_VARIABLE"] = "1"
        torch.manual_seed(3)
        random.seed(3)
        cls.expected = (torch.rand(2), random.random())
        torch.manual_seed(3)
        random.seed(3)

    @classmethod
    def tearDownClass(cls):
        torch.set_default_dtype(torch.float32)
        del os.environ["SUITE_VARIABLE"]

    def check(self):
        assert os.environ["SUITE_VARIABLE"] == "1"
        assert torch.equal(torch.rand(2), self.expected[0]) and random.random() == self.expected[1]
        assert compiled(lambda x: x * 2)(torch.ones(2)).dtype == torch.float64

    def test_one(self):
        self.check()

    def test_two(self):
        self.check()

class Next(unittest.TestCase):
    def test_after(self):
        assert "SUITE_VARIABLE" not in os.environ
        assert torch.ones(1).dtype == torch.float32
""")
    assert run.outcomes == {"passed": 3}, run.text
    assert run.clean(), run.text


def test_expected_failures_and_skips(matrix):
    run = matrix("""
import unittest

class Case(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self):
        compiled(lambda x: x + 1)(torch.ones(2))
        assert 0

    @unittest.expectedFailure
    def test_unexpected(self):
        compiled(lambda x: x + 1)(torch.ones(2))

    @unittest.skip("never")
    def test_skip(self):
        assert 0

    def test_skips_itself(self):
        compiled(lambda x: x + 1)(torch.ones(2))
        self.skipTest("not now")

@unittest.skipIf(True, "none of them")
class Skipped(unittest.TestCase):
    def test_it(self):
        assert 0
""")
    assert run.outcomes == {"xfailed": 1, "failed": 1, "skipped": 3}, run.text
    assert set(run.outcomes_of("test_expected").values()) == {"xfailed"}
    assert set(run.outcomes_of("test_unexpected").values()) == {"failed"}
    assert set(run.outcomes_of("test_skips_itself").values()) == {"skipped"}
    assert not run.findings


def test_expected_failure_in_some_cells_only(matrix):
    run = matrix("""
import unittest

class Case(unittest.TestCase):
    @unittest.expectedFailure
    def test_it(self):
        compiled(lambda x: x + 1)(torch.ones(2))
        assert not torch._dynamo.config.assume_static_by_default
""")
    assert run.finding("outcome").cells == ("dynamic-specialize", "dynamic-unspecialize")


@pytest.mark.parametrize(
    ("where", "outcome"),
    [("setUp", "failed"), ("tearDown", "failed"), ("cleanup", "failed"), ("setUpClass", "errors"), ("tearDownClass", "errors")],
)
def test_whatever_raises_is_said_as_in_a_bare_run(matrix, pytester, where, outcome):
    run = matrix(f"""
import unittest

def fail(where):
    if where == {where!r}:
        raise RuntimeError("broken")

class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        fail("setUpClass")

    @classmethod
    def tearDownClass(cls):
        fail("tearDownClass")

    def setUp(self):
        self.addCleanup(fail, "cleanup")
        compiled(lambda x: x + 1)(torch.ones(2))
        fail("setUp")

    def tearDown(self):
        fail("tearDown")

    def test_it(self):
        pass
""")
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes()
    assert outcome in run.outcomes
    assert not run.findings


def test_asynchronous_cases(matrix):
    run = matrix("""
import unittest

class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.value = 2

    async def test_it(self):
        assert compiled(lambda x, n: x + n)(torch.ones(2), self.value).sum() == 6
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.outcomes_of("test_it") == dict.fromkeys(ALL, "passed")
    assert run.clean()


def test_torchs_own_base_class(matrix):
    run = matrix("""
import torch._dynamo.test_case
from torch._dynamo.testing import CompileCounter

class Case(torch._dynamo.test_case.TestCase):
    def test_it(self):
        counter = CompileCounter()
        region = torch.compile(lambda x, n: x + n, backend=counter)
        for n in (5, 6, 7):
            self.assertEqual(region(torch.ones(2), n), torch.ones(2) + n)
        self.assertEqual(counter.frame_count, 2)
        self.assertTrue(True)
""")
    compiles = {cell: result.compiles for cell, result in run.tests["test_it"].items()}
    assert compiles == {
        "static-specialize": 3,
        "static-unspecialize": 3,
        "dynamic-specialize": 3,
        "dynamic-unspecialize": 1,
        "eager": 0,
    }
    assert run.outcomes == {"passed": 1}, run.text
    assert run.kinds == ["outcome.count"]
