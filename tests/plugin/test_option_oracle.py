"""--testmatrix-oracle"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

SOURCE = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""


def test_off_leaves_it_out(matrix, cells):
    run = matrix(SOURCE, "--testmatrix-oracle=off")
    assert set(run.tests["test_it"]) == set(cells)
    assert run.read.run.oracle == ""
    assert "eager" not in run.result.outlines[-3]


def test_nothing_is_compiled_in_it(matrix):
    run = matrix(SOURCE)
    assert run.tests["test_it"]["eager"].compiles == 0
    assert run.tests["test_it"]["eager"].regions == 1


@pytest.mark.parametrize(
    "stance",
    [
        "torch.compiler.set_stance('default')",
        "torch._dynamo.reset()",
        "torch.compiler.set_stance('eager_then_compile')",
        "torch.compiler.set_stance(force_backend='eager')",
    ],
)
def test_nothing_is_compiled_in_it_whatever_the_test_asks_for(matrix, stance):
    run = matrix(f"""
def test_it():
    {stance}
    region = compiled(lambda x, n: x + n)
    region(torch.ones(2), 2)
    region(torch.ones(2), 3)

def test_after():
    from torch._dynamo import eval_frame
    assert eval_frame._stance.stance == "default" and eval_frame._stance.backend is None
""")
    assert run.tests["test_it"]["eager"].compiles == 0
    assert run.tests["test_it"]["static-specialize"].compiles > 0
    assert run.outcomes == {"passed": 2}, run.text


def test_regions_under_fullgraph_run_in_it(matrix):
    run = matrix("""
def test_it():
    inner = compiled(lambda x: x + 1)
    assert compiled(lambda x: inner(x) * 2, fullgraph=True)(torch.ones(2)).sum() == 8
""")
    assert run.outcomes == {"passed": 1}
    assert run.clean()


def test_a_test_that_asks_for_compilation_is_no_finding(matrix):
    run = matrix("""
def test_it():
    seen = []
    def f(x):
        seen.append(torch.compiler.is_compiling())
        return x + 1
    compiled(f)(torch.ones(2))
    assert seen == [True]
""")
    assert run.tests["test_it"]["eager"].outcome == "failed"
    assert not [finding for finding in run.findings if finding.severity == "error"]
    assert run.exit == 0


def test_a_wrong_value_is_found_by_it(matrix):
    run = matrix("""
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_it():
    torch.compile(lambda x: x * 2, backend=off_by_one)(torch.ones(2))
""")
    assert run.finding("output.value").reference == "eager"
    assert len(run.finding("output.value").cells) == 4
    assert run.exit == 1
