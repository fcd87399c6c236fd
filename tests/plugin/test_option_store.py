"""--testmatrix-store: where a run writes down what its tests show."""

import os
from pathlib import Path

import pytest

from testmatrix.options import NO_STORE
from testmatrix.store import runs

TWO = "def test_one(): pass\ndef test_two(): pass"


def recorded(store):
    (folder,) = runs.runs(Path(store))
    return runs.read(folder)


def test_it_is_in_the_root_directory(matrix, pytester):
    run = matrix(TWO)
    kept = recorded(pytester.path / ".testmatrix")
    assert kept.run.id == run.read.run.id
    assert [one.test for one in kept.tested] == ["test_suite.py::test_one", "test_suite.py::test_two"]
    assert kept.finished.exit == 0
    assert (kept.began, kept.damaged) == ((), 0)


def test_nothing_of_it_is_offered_for_committing(matrix, pytester):
    matrix(TWO)
    assert (pytester.path / ".testmatrix" / ".gitignore").read_text(encoding="utf-8") == "*\n"


def test_it_is_where_it_was_asked_for(matrix, pytester):
    matrix(TWO, "--testmatrix-store=kept/here")
    assert len(recorded(pytester.path / "kept" / "here").tested) == 2
    assert not (pytester.path / ".testmatrix").exists()


def test_none_keeps_nothing(matrix, pytester):
    run = matrix(TWO, f"--testmatrix-store={NO_STORE}", "-p", "no:cacheprovider")
    assert run.exit == 0
    assert sorted(path.name for path in pytester.path.iterdir() if not path.name.startswith("__")) == [
        "report.json",
        "test_suite.py",
    ]


def test_a_plain_run_and_one_that_only_collects_keep_nothing(pytester):
    pytester.makepyfile(TWO)
    pytester.runpytest_inprocess()
    pytester.runpytest_inprocess("--testmatrix", "--collect-only")
    assert not (pytester.path / ".testmatrix").exists()


def test_each_run_has_a_folder(matrix, pytester):
    ids = [matrix(TWO).read.run.id, matrix().read.run.id]
    assert [folder.id for folder in runs.runs(pytester.path / ".testmatrix")] == ids


def test_findings_ints_and_notes_are_kept_as_they_are_reported(matrix, pytester):
    run = matrix(
        """
def test_differs():
    compiled(lambda x, n: x.sum(dim=n))(torch.ones(2, 2), 1)
    assert torch._dynamo.config.assume_static_by_default
"""
    )
    (kept,) = recorded(pytester.path / ".testmatrix").tested
    assert kept.failed
    assert kept.result.cells == run.read.tests[0].cells
    assert kept.position == run.read.tests[0].position
    assert [finding.kind for finding in kept.findings] == [finding.kind for finding in run.findings]
    assert [row.source for row in kept.ints if row.number == "int"] == [row.source for row in run.read.ints]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="it takes another process")
def test_what_a_test_showed_is_there_while_the_next_one_runs(matrix, pytester):
    run = matrix(
        """
from pathlib import Path
from testmatrix.store import runs

def test_one():
    pass

def test_two():
    (folder,) = runs.runs(Path(".testmatrix"))
    recorded = runs.read(folder)
    assert [one.test for one in recorded.tested] == ["test_suite.py::test_one"]
    assert recorded.finished is None
""",
        "--maxfail=1",  # with which no test is run before the last one is written down
    )
    assert run.outcomes == {"passed": 2}


def test_a_place_that_cannot_be_written_is_said_and_the_run_goes_on(matrix, pytester):
    (pytester.path / "file").write_text("no folder", encoding="utf-8")
    run = matrix(TWO, "--testmatrix-store=file")
    assert run.outcomes == {"passed": 2}
    assert run.exit == 0
    assert "testmatrix: nothing is kept of this run: file cannot be written (" in run.text


def test_an_empty_value_is_refused(matrix):
    run = matrix(TWO, "--testmatrix-store=")
    assert run.exit == 4
    assert "--testmatrix-store: the value is empty" in run.text
