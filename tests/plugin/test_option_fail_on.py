"""--testmatrix-fail-on"""

from __future__ import annotations

import pytest

VALUE = """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_it():
    torch.compile(lambda x: x * 2, backend=off_by_one)(torch.ones(2))
"""

WARNING = """
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    if not torch._dynamo.config.specialize_int:
        pytest.skip("not in this one")
"""


@pytest.mark.parametrize(
    ("source", "fail_on", "status"),
    [
        (VALUE, None, 1),
        (VALUE, "error", 1),
        (VALUE, "output.value", 1),
        (VALUE, "output", 1),
        (VALUE, "guard,output.dtype", 0),
        (VALUE, "none", 0),
        (WARNING, None, 0),
        (WARNING, "warning", 1),
        (WARNING, "error,warning", 1),
        (WARNING, "outcome", 1),
        (WARNING, "info", 0),
    ],
)
def test_what_makes_the_run_fail(matrix, source, fail_on, status):
    run = matrix(source, *([] if fail_on is None else [f"--testmatrix-fail-on={fail_on}"]))
    assert run.findings
    assert run.exit == run.read.summary.exit == status
    assert ("failed" in run.outcomes) == bool(status)


def test_a_plain_failure_fails_all_the_same(matrix):
    run = matrix("def test_it():\n    assert 0\n", "--testmatrix-fail-on=none")
    assert run.exit == 1


def test_a_test_that_fails_in_one_cell_passes_where_that_does_not_count(matrix):
    run = matrix(
        """
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert torch._dynamo.config.specialize_int
""",
        "--testmatrix-fail-on=none",
    )
    assert run.finding("outcome")
    assert run.outcomes == {"passed": 1}
    assert run.exit == 0


def test_the_failure_says_what_differs(matrix):
    run = matrix(VALUE)
    run.result.stdout.fnmatch_lines(["output.value in static-specialize, *"])
