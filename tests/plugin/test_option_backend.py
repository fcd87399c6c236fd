"""--testmatrix-backend"""

from __future__ import annotations

import pytest


def test_cells_for_each_backend(matrix):
    run = matrix(
        """
def test_it():
    torch.compile(lambda x, n: x + n)(torch.ones(2), 2)
""",
        "--testmatrix-backend=eager,aot_eager",
        "--testmatrix-grid=unspec",
    )
    assert run.read.run.cells == ("dynamic-unspecialize-eager", "dynamic-unspecialize-aot_eager")
    assert run.clean(), run.text


@pytest.mark.parametrize(
    ("given", "replaced"),
    [
        ("backend='eager'", True),
        ("backend='aot_eager'", True),
        ("backend=counting", False),
        ("backend=CompileCounter()", False),
    ],
)
def test_named_backends_are_replaced_and_callables_stay(matrix, pytester, given, replaced):
    run = matrix(
        f"""
from torch._dynamo.testing import CompileCounter
from torch._dynamo.backends import registry

def counting(graph, inputs):
    return graph.forward

def suites_own(graph, inputs):
    with open("used", "a") as stream:
        stream.write("x")
    return graph.forward

def test_it(monkeypatch):
    monkeypatch.setitem(registry._COMPILER_FNS, "inductor", suites_own)
    torch.compile(lambda x: x + 1, {given})(torch.ones(2))
""",
        "--testmatrix-backend=inductor",
        "--testmatrix-grid=unspec",
        "--testmatrix-oracle=off",
    )
    assert run.exit == 0, run.text
    assert (pytester.path / "used").exists() == replaced


def test_one_that_is_left_out_is_replaced(matrix):
    run = matrix(
        """
def test_it():
    torch.compile(lambda x: x + 1)(torch.ones(2))
""",
        "--testmatrix-backend=eager",
    )
    assert run.exit == 0
    assert set(run.read.run.grid) == {"shapes", "ints", "backend"}
