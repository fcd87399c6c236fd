"""--testmatrix-control"""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

# Whole numbers: of floats, a random run in float64 would now and then find eager to be the one that is off.
RANDOM = """
import os


@torch.compiler.disable
def noise():
    return int.from_bytes(os.urandom(4), "big")

def test_it():
    compiled(lambda x: x + noise())(torch.ones(2, dtype=torch.int64))
"""

STEADY = """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_it():
    torch.compile(lambda x: x * 2, backend=off_by_one)(torch.ones(2))
"""


def test_what_does_not_repeat_is_unstable(matrix):
    run = matrix(RANDOM)
    assert {finding.verdict for finding in run.findings} <= {"unstable"}
    assert run.findings
    assert run.exit == 0


def test_what_repeats_is_reported(matrix):
    run = matrix(STEADY)
    assert run.finding("output.value").verdict == "new"
    assert run.exit == 1


def test_off_reports_everything(matrix):
    run = matrix(RANDOM, "--testmatrix-control=off")
    assert run.findings
    assert {finding.verdict for finding in run.findings} == {"new"}


@pytest.mark.parametrize(("control", "runs"), [("on", 4 + 1), ("off", 4 + 1)])
def test_a_quiet_test_is_not_run_again(matrix, pytester, control, runs):
    run = matrix(
        """
def test_it():
    with open("ran", "a") as stream:
        stream.write("x")
    compiled(lambda x: x + 1)(torch.ones(2))
""",
        f"--testmatrix-control={control}",
    )
    assert run.clean()
    assert (pytester.path / "ran").read_text() == "x" * runs
