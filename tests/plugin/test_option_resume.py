"""--testmatrix-resume: what an earlier run has done is taken over, and only the rest is run."""

from testmatrix.store import runs

#: Says which tests run; stops the run after the second.
COUNTING = """
import os
import pytest

def pytest_runtest_call(item):
    with open("ran", "a") as file:
        file.write(item.name + "\\n")

@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish(nodeid):
    if os.environ.get("INTERRUPT") and nodeid.endswith("test_b"):
        raise KeyboardInterrupt
"""
FOUR = """
def test_a():
    compiled(lambda x, n: x + n)(torch.ones(2), 3)

def test_b():
    compiled(lambda x, n: x.sum(dim=n))(torch.ones(2, 2), 1)

def test_c():
    compiled(lambda x, n: x * n)(torch.ones(2), 5)

def test_d():
    pass
"""
FILES = {"conftest.py": COUNTING}


def ran(pytester):
    """Names of the tests that ran since this was last asked."""
    path = pytester.path / "ran"
    names = set(path.read_text(encoding="utf-8").split()) if path.exists() else set()
    path.unlink(missing_ok=True)
    return names


def interrupted(matrix, pytester, monkeypatch, source=FOUR):
    with monkeypatch.context() as patched:
        patched.setenv("INTERRUPT", "1")
        run = matrix(source, files=FILES, no_reraise_ctrlc=True)
    assert run.exit == 2
    assert list(run.tests) == ["test_a", "test_b"]
    ran(pytester)
    return run


def comparable(run):
    """What a run reported, apart from times."""
    tests = {
        (test.test, test.position): {
            name: (cell.outcome, cell.same_as, cell.compiles, cell.breaks, cell.regions) for name, cell in test.cells.items()
        }
        for test in run.read.tests
    }
    return tests, run.read.ints, run.read.numbers, run.findings, run.read.causes, run.read.notes


def test_only_the_rest_is_run(matrix, pytester, monkeypatch):
    interrupted(matrix, pytester, monkeypatch)
    resumed = matrix("", "--testmatrix-resume")
    assert ran(pytester) == {"test_c", "test_d"}
    assert comparable(resumed) == comparable(matrix("", "--testmatrix-store=none"))
    assert resumed.exit == 0
    assert resumed.outcomes == {"passed": 2, "deselected": 2}


def test_it_says_what_it_goes_on_with(matrix, pytester, monkeypatch):
    first = interrupted(matrix, pytester, monkeypatch)
    assert f"testmatrix: 2 tests are taken over from run {first.read.run.id}" in matrix("", "--testmatrix-resume").text


def test_with_nothing_left_all_is_reported(matrix, pytester):
    first = matrix(FOUR, files=FILES)
    ran(pytester)
    again = matrix("", "--testmatrix-resume")
    assert ran(pytester) == set()
    assert comparable(again) == comparable(first)
    assert again.exit == 0


def test_a_failure_that_is_taken_over_fails_the_run(matrix, pytester):
    first = matrix("def test_fails(): raise ValueError")
    assert first.exit == 1
    again = matrix("", "--testmatrix-resume")
    assert again.exit == 1
    assert [test.cells for test in again.read.tests] == [test.cells for test in first.read.tests]


def test_a_resumed_run_can_be_resumed(matrix, pytester, monkeypatch):
    interrupted(matrix, pytester, monkeypatch)
    matrix("", "--testmatrix-resume", "-k", "test_c")
    ran(pytester)
    last = matrix("", "--testmatrix-resume")
    assert ran(pytester) <= {"test_a", "test_b", "test_d"}
    assert list(last.tests) == ["test_a", "test_b", "test_c", "test_d"]


def test_where_there_is_no_earlier_run_all_is_run(matrix, pytester):
    run = matrix(FOUR, "--testmatrix-resume", files=FILES)
    assert len(ran(pytester)) == 4
    assert "no earlier run over these cells to resume: all tests are run" in run.text


def test_a_run_over_other_cells_is_none_to_go_on_with(matrix, pytester):
    matrix(FOUR, "--testmatrix-cells=static-*", files=FILES)
    ran(pytester)
    run = matrix("", "--testmatrix-resume")
    assert len(ran(pytester)) == 4
    assert "no earlier run over these cells" in run.text


def test_the_journal_of_another_version_is_refused(matrix, pytester, monkeypatch):
    matrix(FOUR)
    monkeypatch.setattr(runs, "VERSION", runs.VERSION + 1)
    run = matrix("", "--testmatrix-resume")
    assert run.exit == 4
    assert "use the testmatrix that wrote it" in run.text
    assert "Traceback" not in run.text
