"""Assertions on how much was compiled: expected to depend on the cell, and passed over."""

from __future__ import annotations

import pytest

SETUP = """
import unittest
from torch._dynamo.testing import CompileCounter, CompileCounterWithBackend
from torch._dynamo.utils import counters

def log(word):
    with open("log", "a") as stream:
        stream.write(word + " ")

def three_times(counter):
    region = torch.compile(lambda x, n: x + n, backend=counter)
    return [region(torch.ones(2), n) for n in (5, 6, 7)]
"""

#: Bodies that pass in a bare run (two compiles) and in no cell; ``self`` is a TestCase.
BODIES = {
    "plain": """
counter = CompileCounter()
three_times(counter)
assert counter.frame_count == 2
""",
    "with a message": """
counter = CompileCounter()
three_times(counter)
assert counter.frame_count == 2, "recompiled"
""",
    "method": """
counter = CompileCounter()
three_times(counter)
self.assertEqual(counter.frame_count, 2)
""",
    "several lines": """
counter = CompileCounter()
three_times(counter)
self.assertEqual(
    counter.frame_count,
    2,
)
""",
    "local variable": """
counter = CompileCounter()
three_times(counter)
frames = counter.frame_count
total = frames + 0
assert total == 2
""",
    "counters": """
three_times("eager")
assert counters["stats"]["unique_graphs"] == 2
""",
    "own backend": """
count = 0
def backend(gm, inputs):
    nonlocal count
    count += 1
    return gm.forward
three_times(backend)
assert count == 2
""",
    "graphs collected": """
collected = []
def backend(gm, inputs):
    collected.append(gm)
    return gm
three_times(backend)
assert len(collected) == 2
""",
    "two in a row": """
counter = CompileCounter()
three_times(counter)
assert counter.frame_count == 2
assert counter.op_count == 2
""",
    "in a loop": """
counter = CompileCounter()
region = torch.compile(lambda x, n: x + n, backend=counter)
for n, expected in ((5, 1), (6, 2), (7, 2)):
    region(torch.ones(2), n)
    assert counter.frame_count == expected
""",
    "in a helper": """
counter = CompileCounter()
three_times(counter)
def check():
    self.assertEqual(counter.frame_count, 2)
check()
""",
}


def suite(body: str, after: str = "log('after')") -> str:
    lines = "\n        ".join(body.strip().splitlines())
    return f"{SETUP}\nclass Case(unittest.TestCase):\n    def test_it(self):\n        {lines}\n        {after}\n"


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_goes_on_past_them(matrix, pytester, body):
    run = matrix(suite(body), "--testmatrix-cells=static-specialize,dynamic-unspecialize")
    assert run.exit == 0, run.text
    assert run.outcomes == {"passed": 1}
    assert run.kinds == ["outcome.count"], run.text
    assert run.finding("outcome.count").severity == "info"
    assert len(run.finding("outcome.count").cells) == 2
    assert set(run.outcomes_of("test_it").values()) == {"passed"}
    assert (pytester.path / "log").read_text() == "after " * 3


@pytest.mark.parametrize("body", [BODIES["plain"], BODIES["method"], BODIES["own backend"]], ids=["plain", "method", "own"])
def test_what_follows_is_compared(matrix, body):
    run = matrix(suite(body, "assert torch._dynamo.config.specialize_int or not torch._dynamo.config.assume_static_by_default"))
    assert run.exit == 1
    assert run.finding("outcome").cells == ("static-unspecialize",)
    assert run.finding("outcome.count")


def test_a_region_after_one_is_compared(matrix):
    after = """
        def off_by_one(gm, inputs):
            return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in gm.forward(*args)]
        torch.compile(lambda x: x * 2, backend=off_by_one)(torch.ones(2))
"""
    run = matrix(suite(BODIES["plain"], after.strip()))
    assert len(run.finding("output.value").cells) == 4


def test_expected_graph_text(matrix, pytester):
    run = matrix(f"""
{SETUP}
import expecttest
from torch._dynamo.testing import EagerAndRecordGraphs

class Case(expecttest.TestCase):
    def test_it(self):
        backend = EagerAndRecordGraphs()
        torch.compile(lambda x, n: x + n, backend=backend)(torch.ones(2), 5)
        text = backend.graphs[0].code
        self.assertExpectedInline(text.strip(), '''something else''')
        log("after")
""")
    assert run.outcomes == {"passed": 1}, run.text
    assert run.kinds == ["outcome.count"]
    assert (pytester.path / "log").read_text() == "after " * 4  # eager has no graph


@pytest.mark.parametrize(
    "assertion",
    ["assert result[0].sum() == 0", "self.assertEqual(result[0].sum(), 0)", "raise AssertionError('no')", "self.fail('no')"],
)
def test_other_assertions_fail_the_test(matrix, assertion):
    run = matrix(suite(f"counter = CompileCounter()\nresult = three_times(counter)\n{assertion}"))
    assert run.exit == 1
    assert run.outcomes == {"failed": 1}
    assert "outcome.count" not in run.kinds


def test_the_functions_code_is_put_back(matrix):
    run = matrix(
        suite(BODIES["plain"])
        + """
CODES = []

class Later(unittest.TestCase):
    def test_code(self):
        counter = CompileCounter()
        code = type(self).test_code.__code__
        three_times(counter)
        assert "note" not in code.co_names or torch._dynamo.config is None

def test_after():
    assert "note" not in Case.test_it.__code__.co_names
"""
    )
    assert run.exit == 0, run.text


def test_a_failing_test_is_shown_as_in_a_bare_run(matrix):
    run = matrix(suite("counter = CompileCounter()\nthree_times(counter)\nassert counter.frame_count == 2\nassert 1 == 3"))
    assert run.outcomes == {"failed": 1}
    run.result.stdout.fnmatch_lines(["*assert 1 == 3*"])
