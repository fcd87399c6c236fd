"""What one side only traced is not compared with what the other computed."""

from __future__ import annotations

SUITE = """
def test_export():
    def f(x):
        return x + 1
    torch._dynamo.export(f)(torch.ones(2))

def test_fake_in_one():
    from torch._subclasses.fake_tensor import FakeTensorMode
    fake = FakeTensorMode().from_tensor(torch.ones(2))
    def backend(graph, inputs):
        return lambda *args: [fake]
    compiled(lambda x: x + 1, backend=backend)(torch.ones(2))

def test_meta_in_one():
    def backend(graph, inputs):
        return lambda *args: [torch.ones(2, device="meta")]
    compiled(lambda x: x + 1, backend=backend)(torch.ones(2))
"""


def test_traced_on_one_side(matrix):
    run = matrix(SUITE)
    assert [finding for finding in run.findings if finding.severity == "error"] == [], run.text
