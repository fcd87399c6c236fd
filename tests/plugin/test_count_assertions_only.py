"""What is no count assertion fails in a matrix run as it does in a bare one."""

from __future__ import annotations

import pytest

MAKER = """
def make():
    out = []
    def be(gm, ex):
        out.append(gm)
        return gm
    return be

def test_other():
    seen = []
    def be(gm, ex):
        seen.append(gm)
        return gm
    torch.compile(lambda x: x + 1, backend=be)(torch.ones(2))
    result = len(seen)
    assert result == 1
"""

COMPILES = "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))"


@pytest.mark.parametrize("compiles", [COMPILES, "pass"], ids=["compiles", "never compiles"])
@pytest.mark.parametrize(
    "body",
    [
        "out = 3; assert out == 4",
        "result = 3; assert result == 4",
        "frame_count = 3; assert frame_count == 4",
        "import types; plot = types.SimpleNamespace(graphs=[]); assert len(plot.graphs) == 4",
    ],
)
def test_it_fails(matrix, body, compiles):
    run = matrix(f"{MAKER}\ndef test_it():\n    {compiles}\n    {body}\n", "-k", "test_it")
    assert run.exit == 1
    assert run.outcomes["failed"] == 1
    assert "outcome.count" not in run.kinds
    assert set(run.outcomes_of("test_it").values()) == {"failed"}


@pytest.mark.parametrize("around", ["", "import unittest\nclass Case(unittest.TestCase):\n"], ids=["function", "method"])
def test_a_count_of_a_test_that_never_compiled(matrix, around):
    """Nothing was compiled that a cell could change: the assertion is about the test itself."""
    indent, argument = ("    ", "self") if around else ("", "")
    run = matrix(
        "from torch._dynamo.testing import CompileCounter\n"
        f"{around}{indent}def test_it({argument}):\n{indent}    counter = CompileCounter()\n"
        f"{indent}    (lambda x: x + 1)(torch.ones(2))\n{indent}    assert counter.frame_count == 1\n"
    )
    assert run.exit == 1, run.text
    assert run.outcomes == {"failed": 1}
    run.result.stdout.fnmatch_lines(["*assert *0 == 1*"])


def test_a_plain_assertion_after_a_count(matrix):
    run = matrix("""
from torch._dynamo.testing import CompileCounter

class Box:
    frame_count = 3

def test_it():
    counter = CompileCounter()
    torch.compile(lambda x: x + 1, backend=counter)(torch.ones(2))
    assert counter.frame_count == 7
    counter = Box()
    assert counter.frame_count == 4
""")
    assert run.exit == 1
    assert run.outcomes == {"failed": 1}
    run.result.stdout.fnmatch_lines([">*assert counter.frame_count == 4*"])
