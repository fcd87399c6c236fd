"""Wrong gradients are seen wherever the tensor is that they belong to."""

from __future__ import annotations

import pytest

SUITE = """
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, grad):
        return grad * 2

def backend(graph, inputs):
    if not WRONG:
        return graph
    return lambda *args: tuple(Wrong.apply(out) for out in graph(*args))

@pytest.mark.parametrize("times", [1, 2])
def test_argument(times):
    w = torch.ones(2, requires_grad=True)
    f = compiled(lambda x: x * 3, backend=backend)
    for _ in range(times):
        f(w * 1).sum().backward()

def test_closure():
    w = torch.ones(2, requires_grad=True)
    v = torch.ones(2, requires_grad=True)
    compiled(lambda x: x * w * 3 + v, backend=backend)(torch.ones(2)).sum().backward()
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_gradients_of_leaves(matrix, wrong):
    run = matrix(f"WRONG = {wrong}\n{SUITE}")
    found = [finding for finding in run.findings if finding.kind == "output.grad"]
    assert {finding.test.rpartition("::")[2] for finding in found} == (set(run.tests) if wrong else set()), run.text
    assert not [note for note in run.read.notes if note.kind == "recorder"]
