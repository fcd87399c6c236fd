"""Tracebacks are the suite's and torch's: the recorder is not in them."""

from __future__ import annotations

import pytest

RAISES = {
    "a region": """
def double(x):
    raise ValueError("from the region")

def test_it():
    compiled(double)(torch.ones(2))
""",
    "a backend": """
def backend(gm, inputs):
    raise ValueError("from the backend")

def test_it():
    torch.compile(lambda x: x * 2, backend=backend)(torch.ones(2))
""",
    "a graph break": """
def test_it():
    compiled(lambda x: print(x), fullgraph=True)(torch.ones(2))
""",
    "a backward pass": """
class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("from the gradient")

def test_it():
    x = torch.ones(2, requires_grad=True)
    Raises.apply(compiled(lambda x: x * 2)(x)).sum().backward()
""",
    "what is compiled": """
def test_it():
    compiled(3)
""",
}


@pytest.mark.parametrize("style", ["long", "short"])
@pytest.mark.parametrize("source", RAISES.values(), ids=RAISES)
def test_the_recorder_is_not_in_them(matrix, source, style):
    run = matrix(source, f"--tb={style}")
    assert run.outcomes == {"failed": 1}
    shown = run.text.partition(" FAILURES ")[2].partition("= testmatrix =")[0]
    assert "test_suite.py" in shown
    assert "recorded_" not in shown
    assert "testmatrix/torch_adapter" not in shown
