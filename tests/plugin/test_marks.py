"""Marks keep their meaning."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("every_cell_is_run")

REGION = "compiled(lambda x: x + 1)(torch.ones(2))"


@pytest.mark.parametrize(
    ("mark", "body", "outcome"),
    [
        ("xfail", "assert 0", "xfailed"),
        ("xfail(strict=True)", "assert 0", "xfailed"),
        ("xfail", "pass", "xpassed"),
        ("xfail(strict=True)", "pass", "failed"),
        ("xfail(raises=ValueError)", "raise ValueError", "xfailed"),
        ("xfail(raises=ValueError)", "raise KeyError", "failed"),
        ("xfail(False, reason='')", "assert 0", "failed"),
        ("xfail(run=False)", "raise SystemExit", "xfailed"),
        ("xfail", "pytest.xfail('known')", "xfailed"),
        ("skip", "assert 0", "skipped"),
        ("skipif(True, reason='so')", "assert 0", "skipped"),
        ("skipif(False, reason='so')", "pass", "passed"),
        ("skipif('1 == 1', reason='so')", "assert 0", "skipped"),
        ("filterwarnings('error')", "__import__('warnings').warn('x')", "failed"),
    ],
)
def test_an_outcome_is_that_of_a_bare_run(matrix, pytester, mark, body, outcome):
    run = matrix(f"""
@pytest.mark.{mark}
def test_it():
    {REGION}
    {body}
""")
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes() == {outcome: 1}
    assert set(run.outcomes_of("test_it").values()) == {outcome}
    assert run.exit == bare.ret
    assert not run.findings


def test_usefixtures(matrix, pytester):
    run = matrix(f"""
@pytest.fixture
def used():
    with open("log", "a") as stream:
        stream.write("x")

@pytest.mark.usefixtures("used")
def test_it():
    {REGION}
""")
    assert run.outcomes == {"passed": 1}
    assert (pytester.path / "log").read_text() == "x" * 5


def test_a_mark_that_a_test_adds_holds_for_that_run(matrix):
    run = matrix(f"""
def test_it(request):
    {REGION}
    if torch._dynamo.config.assume_static_by_default:
        request.applymarker(pytest.mark.xfail(reason="static"))
        assert 0
    assert not list(request.node.iter_markers("xfail"))
""")
    outcomes = run.outcomes_of("test_it")
    assert outcomes["static-specialize"] == "xfailed"
    assert outcomes["dynamic-specialize"] == outcomes["eager"] or outcomes["dynamic-specialize"] == "passed"


def test_expected_to_fail_and_differing(matrix):
    run = matrix(f"""
@pytest.mark.xfail
def test_it():
    {REGION}
    assert torch._dynamo.config.specialize_int
""")
    outcomes = run.outcomes_of("test_it")
    assert outcomes["dynamic-unspecialize"] == "xfailed"
    assert outcomes["static-specialize"] == "xpassed"
    assert {finding.severity for finding in run.findings} == {"warning"}
    assert run.exit == 0


def test_a_condition_that_asks_for_the_cell(matrix):
    run = matrix(f"""
@pytest.mark.skipif("__import__('torch')._dynamo.config.specialize_int", reason="ints are constants")
def test_it():
    {REGION}
""")
    outcomes = run.outcomes_of("test_it")
    assert outcomes["static-specialize"] == "skipped"
    assert outcomes["dynamic-unspecialize"] == "passed"


def test_a_shared_mark_of_a_module(matrix):
    run = matrix(f"""
pytestmark = [pytest.mark.xfail(reason="all")]

def test_it():
    {REGION}
    assert 0
""")
    assert run.outcomes == {"xfailed": 1}
    assert not run.findings
