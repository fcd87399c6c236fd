"""Subtests: unittest's and pytest's."""

from __future__ import annotations

import pytest

UNITTEST = """
import unittest

class Case(unittest.TestCase):
    def test_it(self):
        for n in (2, 3, 4):
            with self.subTest(n=n):
                result = compiled(lambda x: x * n)(torch.ones(2))
                BODY
"""

PYTEST = """
def test_it(subtests):
    for n in (2, 3, 4):
        with subtests.test(n=n):
            result = compiled(lambda x: x * n)(torch.ones(2))
            BODY
"""

both = pytest.mark.parametrize("source", [UNITTEST, PYTEST], ids=["unittest", "pytest"])


@both
def test_passing_subtests(matrix, pytester, source):
    run = matrix(source.replace("BODY", "assert result.sum() == 2 * n"))
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes()
    assert run.tests["test_it"]["dynamic-unspecialize"].regions == 3
    assert run.clean()


@both
def test_failing_subtests_are_counted_as_in_a_bare_run(matrix, pytester, source):
    run = matrix(source.replace("BODY", "assert n == 3"))
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes()
    assert set(run.outcomes_of("test_it").values()) == {"failed"}
    assert run.exit == bare.ret == 1
    assert not run.findings


@both
def test_skipped_subtests(matrix, pytester, source):
    run = matrix(source.replace("BODY", "pytest.skip('not this') if n == 3 else None"))
    bare = pytester.runpytest_inprocess()
    assert run.outcomes == bare.parseoutcomes()
    assert run.clean()


@both
def test_a_subtest_that_fails_in_one_cell(matrix, source):
    run = matrix(source.replace("BODY", "assert n != 3 or torch._dynamo.config.assume_static_by_default"))
    assert set(run.finding("outcome").cells) == {"dynamic-specialize", "dynamic-unspecialize"}
    assert run.exit == 1


@both
def test_the_last_run_leaves_no_failed_subtest_behind(matrix, source):
    run = matrix(
        source.replace("BODY", "assert n != 3 or torch._dynamo.config.assume_static_by_default"), "--testmatrix-fail-on=none"
    )
    assert run.exit == 0
    assert "failed" not in run.outcomes
