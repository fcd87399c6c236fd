"""--testmatrix-supervise: tests run in a forked process, and what happens to that is one cell's result."""

import os
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="tests are not forked here")

CRASH = """
import os

def test_before():
    pass

def test_crashes():
    if not torch._dynamo.config.assume_static_by_default:
        os._exit(3)

def test_after():
    pass
"""


def test_a_crash_is_the_result_of_its_cells(matrix):
    run = matrix(CRASH)
    assert run.outcomes_of("test_crashes") == {
        "static-specialize": "passed",
        "dynamic-specialize": "crashed",
        "static-unspecialize": "passed",
        "dynamic-unspecialize": "crashed",
        "eager": "passed",
    }
    finding = run.finding("crash")
    assert finding.cells == ("dynamic-specialize", "dynamic-unspecialize")
    assert "status 3" in finding.summary
    assert run.outcomes == {"passed": 2, "failed": 1}
    assert run.exit == 1


def test_what_it_had_printed_is_shown(matrix):
    run = matrix("""
import os

def test_crashes():
    print("the last words", flush=True)
    os._exit(3)
""")
    assert "the last words" in run.text


def test_a_test_that_is_lost_in_every_cell_fails(matrix):
    run = matrix("import os\ndef test_crashes(): os.abort()")
    assert set(run.outcomes_of("test_crashes").values()) == {"crashed"}
    assert run.outcomes == {"failed": 1}
    assert "SIGABRT" in run.finding("crash").summary


def test_wider_fixtures_are_set_up_again_after_a_crash(matrix):
    run = matrix("""
import os

@pytest.fixture(scope="module")
def kept():
    return []

def test_before(kept):
    kept.append(1)

def test_crashes():
    os._exit(0)

def test_after(kept):
    assert kept == []
""")
    assert run.outcomes == {"passed": 2, "failed": 1}


@pytest.mark.parametrize("scope", ["function", "module"])
def test_a_crash_of_a_fixture_is_that_of_its_test(matrix, scope):
    run = matrix(f"""
import os

@pytest.fixture(scope="{scope}")
def crashing():
    os._exit(3)

def test_before():
    pass

def test_crashes(crashing):
    pass

def test_after():
    pass
""")
    assert run.finding("crash").test.endswith("test_crashes")
    assert run.outcomes == {"passed": 2, "failed": 1}


def test_a_crash_while_wider_fixtures_are_torn_down_is_an_error_of_the_last_test(matrix):
    run = matrix("""
import os

@pytest.fixture(scope="module")
def crashing():
    yield
    os._exit(3)

def test_a(crashing):
    pass

def test_b(crashing):
    pass
""")
    assert run.outcomes == {"passed": 2, "errors": 1}
    assert "tearing down wider fixtures: the process ended with status 3" in run.text
    assert run.exit == 1


def test_a_crash_that_comes_before_anybody_asked_for_the_test_is_its_own(matrix):
    """The next test runs while the last one is logged, and may be over long before that."""
    slow = "import time\ndef pytest_runtest_logfinish(nodeid): time.sleep(0.3)"
    run = matrix(CRASH, files={"conftest.py": slow})
    assert run.finding("crash").test.endswith("test_crashes")
    assert run.read.notes == ()


def test_a_crash_that_nobody_asks_for_any_more_is_nobodys(matrix):
    stopping = """
import time
def pytest_runtest_logfinish(nodeid): time.sleep(0.3)
def pytest_runtest_logreport(report):
    if report.when == "call":
        stop()
def pytest_sessionstart(session):
    global stop
    def stop(): session.shouldstop = "enough"
"""
    run = matrix(CRASH, files={"conftest.py": stopping})
    assert list(run.tests) == ["test_before"]
    assert run.findings == ()
    assert run.outcomes == {"passed": 1}


def test_off_runs_tests_in_the_process_of_pytest(matrix):
    source = "import os\ndef test_process(record_property): record_property('process', os.getpid())"

    def process(*args):
        path = "junit.xml"
        run = matrix(source, f"--junitxml={path}", *args)
        assert run.exit == 0
        with open(path, encoding="utf-8") as file:
            return int(file.read().partition('name="process" value="')[2].partition('"')[0])

    assert process("--testmatrix-supervise=off") == os.getpid()
    assert process("--testmatrix-supervise=on") != os.getpid()
    assert process() != os.getpid()


def test_a_debugger_gets_the_process_of_pytest(matrix):
    run = matrix("import os\ndef test_process(): assert os.getpid() == int(os.environ['OUTER'])", "--pdb", "-s")
    assert run.outcomes == {"passed": 1}


@pytest.fixture(autouse=True)
def outer(monkeypatch):
    monkeypatch.setenv("OUTER", str(os.getpid()))


def test_what_a_test_reports_arrives(matrix):
    run = matrix(
        """
import warnings

class Odd:
    def __repr__(self):
        return "an odd one"

def test_reports(request):
    request.node.user_properties.append(("odd", Odd()))
    class Mine(UserWarning):
        pass
    warnings.warn(Mine("of a class of its own"))
    assert {"a": 1} == {"a": 2}
""",
        "--junitxml=junit.xml",
    )
    assert run.outcomes == {"failed": 1, "warnings": 1}
    assert "of a class of its own" in run.text
    with open("junit.xml", encoding="utf-8") as file:
        assert "an odd one" in file.read()


@pytest.mark.parametrize("text", ["", "maybe"])
def test_bad_values_are_refused(matrix, text):
    run = matrix("def test_one(): pass", f"--testmatrix-supervise={text}")
    assert run.exit == 4
    assert f"--testmatrix-supervise: {text!r} is neither 'on' nor 'off'" in run.text
