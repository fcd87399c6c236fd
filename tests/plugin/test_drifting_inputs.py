"""Rounding that loops carry on is nobody's fault; the first wrong value is."""

from __future__ import annotations

BACKEND = """
def off_by(factor):
    def backend(graph, inputs):
        return lambda *args: [out * factor if out.is_floating_point() else out for out in graph(*args)]
    return backend

def loop(factor):
    f = compiled(lambda x: torch.sin(x * 30), backend=off_by(factor))
    x = torch.linspace(0, 1, 8)
    for _ in range(40):
        x = f(x)
"""
SUITE = (
    BACKEND
    + """
def test_training():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    step = compiled(net, backend=off_by(1 + 5e-7))
    for _ in range(3):
        optimizer.zero_grad()
        step(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()

def test_iteration():
    loop(1 + 5e-7)
"""
)
WRONG = (
    BACKEND
    + """
def test_wrong():
    loop(1.01)
"""
)


def test_loops_that_carry_rounding_on(matrix):
    run = matrix(SUITE)
    assert run.clean(), run.text


def test_the_first_wrong_value(matrix):
    run = matrix(WRONG)
    found = run.finding("output.value")
    assert found.severity == "error"
    assert "call 1)" in found.summary
