"""pytest's own options keep their meaning."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

SOURCE = """
def region():
    return compiled(lambda x, n: x + n)(torch.ones(2), 3)

def test_a():
    region()

def test_b():
    region()
    assert torch._dynamo.config.specialize_int

def test_c():
    region()
    assert 0

class TestMore:
    @pytest.mark.parametrize("n", [1, 2])
    def test_d(self, n):
        region()
"""


def names(run):
    return list(run.tests)


@pytest.mark.parametrize(
    ("options", "ran", "outcomes"),
    [
        (["-x"], ["test_a", "test_b"], {"passed": 1, "failed": 1}),
        (["--maxfail=2"], ["test_a", "test_b", "test_c"], {"passed": 1, "failed": 2}),
        (["--maxfail=3"], ["test_a", "test_b", "test_c", "test_d[1]", "test_d[2]"], {"passed": 3, "failed": 2}),
        (["-k", "test_d or test_a"], ["test_a", "test_d[1]", "test_d[2]"], {"passed": 3, "deselected": 2}),
        (["--deselect", "test_suite.py::test_c"], ["test_a", "test_b", "test_d[1]", "test_d[2]"], None),
        (["test_suite.py::TestMore::test_d[2]"], ["test_d[2]"], {"passed": 1}),
        (["-p", "no:cacheprovider", "-k", "test_a"], ["test_a"], None),
        (["--tb=no", "-k", "test_a"], ["test_a"], None),
        (["-s", "-k", "test_a"], ["test_a"], None),
        (["-v", "-k", "test_a"], ["test_a"], None),
        (["-p", "no:warnings", "-k", "test_a"], ["test_a"], None),
        (["-p", "no:logging", "-k", "test_a"], ["test_a"], None),
        (["-p", "no:capture", "-k", "test_a"], ["test_a"], None),
        (["--import-mode=importlib", "-k", "test_a"], ["test_a"], None),
        (["--setup-show", "-k", "test_a"], ["test_a"], None),
        (["--log-cli-level=INFO", "-k", "test_a"], ["test_a"], None),
        (["-p", "no:junitxml", "-k", "test_a"], ["test_a"], None),
        (["--runxfail", "-k", "test_a"], ["test_a"], None),
        (["-p", "no:unittest", "-p", "no:doctest", "-k", "test_a"], ["test_a"], None),
        (["--full-trace", "-k", "test_c"], ["test_c"], None),
        (["--showlocals", "-k", "test_c"], ["test_c"], None),
        (["--color=yes", "-k", "test_c"], ["test_c"], None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_runs(matrix, options, ran, outcomes):
    run = matrix(SOURCE, *options)
    assert names(run) == ran
    assert outcomes is None or run.outcomes == outcomes
    assert not [note for note in run.read.notes if note.kind == "recorder"]


def test_last_failed(matrix):
    assert matrix(SOURCE).outcomes == {"passed": 3, "failed": 2}
    assert names(matrix(SOURCE, "--lf")) == ["test_b", "test_c"]
    assert names(matrix(SOURCE, "--ff")) == ["test_b", "test_c", "test_a", "test_d[1]", "test_d[2]"]


def test_stepwise(matrix):
    assert names(matrix(SOURCE, "--sw")) == ["test_a", "test_b"]
    assert names(matrix(SOURCE, "--sw")) == ["test_b"]


def test_junit(matrix, pytester):
    matrix(
        SOURCE
        + """
def test_e(record_property):
    region()
    record_property("colour", "green")
""",
        "--junitxml=junit.xml",
    )
    (suite,) = ElementTree.parse(pytester.path / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "2", "0")
    cases = {case.get("name"): case for case in suite}
    assert len(cases) == 6
    assert (
        "outcome in dynamic-unspecialize" in ElementTree.tostring(cases["test_b"], "unicode")
        or cases["test_b"].find("failure") is not None
    )
    assert [p.attrib for p in cases["test_e"].iter("property")] == [{"name": "colour", "value": "green"}]


def test_quiet(matrix):
    run = matrix(SOURCE, "-q", "-k", "test_a")
    assert run.result.outlines[0].startswith(".")
    assert run.result.outlines[-1].startswith("ints:")


def test_collect_only(matrix, pytester):
    run = matrix(SOURCE, "--collect-only", "-q")
    bare = pytester.runpytest_inprocess("--collect-only", "-q")
    assert run.exit == 0
    assert run.result.outlines[:5] == bare.outlines[:5]
    assert run.report is None


def test_without_a_terminal(matrix):
    run = matrix(SOURCE, "-p", "no:terminal")
    assert run.exit == 1
    assert not run.text.strip()
    assert len(run.tests) == 5


@pytest.mark.parametrize("option", ["--setup-plan", "--setup-only"])
def test_nothing_is_run_where_only_setups_are_asked_for(matrix, pytester, option):
    run = matrix(
        """
@pytest.fixture(scope="module")
def fixture():
    pass

def test_it(fixture):
    open("ran", "w").close()
""",
        option,
    )
    bare = pytester.runpytest_inprocess(option)
    assert not (pytester.path / "ran").exists()
    assert [line for line in run.result.outlines if "SETUP" in line] == [line for line in bare.outlines if "SETUP" in line]
    assert run.exit == bare.ret == 0


def test_durations(matrix):
    run = matrix(SOURCE, "--durations=0", "--durations-min=0", "-k", "test_a")
    assert len([line for line in run.result.outlines if "call " in line and "test_a" in line]) == 1


def test_short_summary(matrix):
    run = matrix(SOURCE, "-rA")
    assert len([line for line in run.result.outlines if line.startswith("PASSED ")]) == 3
    assert len([line for line in run.result.outlines if line.startswith("FAILED ")]) == 2


def test_no_summary(matrix):
    run = matrix(SOURCE, "--no-summary", "-k", "test_a")
    assert run.exit == 0
    assert "Traceback" not in run.text


def test_progress_counts_tests_and_not_cells(matrix):
    run = matrix(SOURCE, "-v", "-k", "test_a or test_d")
    assert len([line for line in run.result.outlines if "PASSED" in line]) == 3


def test_workers_find_what_one_process_finds(matrix):
    source = (
        SOURCE
        + """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

@pytest.mark.parametrize("n", range(3))
def test_value(n):
    torch.compile(lambda x: x * n, backend=off_by_one)(torch.ones(2))
"""
    )
    alone = matrix(source)
    spread = matrix(source, "-n", "2", subprocess=True)
    assert spread.exit == alone.exit == 1
    assert spread.outcomes == alone.outcomes

    def told(run):
        return [(f.id, f.test, f.kind, f.cells, f.reference, f.cause, f.verdict) for f in run.findings]

    assert told(spread) == told(alone)
    assert [test.test for test in spread.read.tests] == [test.test for test in alone.read.tests]
    assert spread.read.summary.ints == alone.read.summary.ints
    assert spread.read.causes == alone.read.causes
    assert spread.result.outlines[-1] == alone.result.outlines[-1]


def test_bad_input_with_workers(matrix):
    run = matrix(SOURCE, "-n", "2", "--testmatrix-grid=shaps=static", subprocess=True)
    assert run.exit == 4
    assert len([line for line in run.text.splitlines() if "did you mean 'shapes'" in line]) == 1
