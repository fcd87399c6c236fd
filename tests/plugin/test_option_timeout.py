"""--testmatrix-timeout: a test that does not end in one cell is ended there."""

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="tests are not forked here")

HANGS = """
import time

def hang():
    while True:
        time.sleep(0.01)

def test_before():
    pass

def test_hangs():
    if not torch._dynamo.config.assume_static_by_default:
        hang()

def test_after():
    pass
"""


def test_a_test_that_never_ends_is_ended(matrix):
    run = matrix(HANGS, "--testmatrix-timeout=2s", "--testmatrix-cells=*-specialize")
    assert run.outcomes_of("test_hangs") == {
        "static-specialize": "passed",
        "dynamic-specialize": "timeout",
        "eager": "passed",
    }
    finding = run.finding("timeout")
    assert finding.cells == ("dynamic-specialize",)
    assert "no end after 2 s" in finding.summary
    assert "test_suite.py:" in finding.summary
    assert "in hang" in finding.summary
    assert run.outcomes == {"passed": 2, "failed": 1}
    assert run.exit == 1


def test_the_time_is_that_of_one_cell(matrix):
    """A cell that takes most of the time leaves the next one all of it."""
    run = matrix(
        "import time\ndef test_takes_its_time(): time.sleep(1.2)",
        "--testmatrix-timeout=3",
        "--testmatrix-collapse=off",
    )
    assert set(run.outcomes_of("test_takes_its_time").values()) == {"passed"}
    assert run.exit == 0


def test_other_tests_get_a_process_that_hangs_in_nothing(matrix):
    run = matrix(
        """
import threading

def test_deadlock():
    threading.Lock().acquire() and (lock := threading.Lock()).acquire() and lock.acquire()

@pytest.mark.parametrize("n", range(3))
def test_after(n):
    pass
""",
        "--testmatrix-timeout=2",
        "--testmatrix-cells=static-specialize",
        "--testmatrix-control=off",
    )
    assert run.finding("timeout").cells == ("static-specialize", "eager")
    assert run.outcomes == {"passed": 3, "failed": 1}


def test_zero_is_no_limit(matrix):
    run = matrix("import time\ndef test_one(): time.sleep(0.5)", "--testmatrix-timeout=0")
    assert run.outcomes == {"passed": 1}


@pytest.mark.parametrize("text", ["", "soon", "-1", "1 day"])
def test_bad_values_are_refused(matrix, text):
    run = matrix("def test_one(): pass", f"--testmatrix-timeout={text}")
    assert run.exit == 4
    assert f"--testmatrix-timeout: {text!r} is no number of seconds" in run.text
