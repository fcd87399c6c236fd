"""The printed command works in the directory where the run was started, as that was started."""

from __future__ import annotations

import shlex

import pytest

DIFFERS = """
def test_outcome(request):
    assert request.config.getoption("--kind", "plain") == "odd"
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert torch._dynamo.config.specialize_int
"""

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--kind", default="plain")
    parser.addoption("--sorts", nargs="*")
    parser.addoption("--flagged", action="store_true")
"""


@pytest.fixture
def rerun(pytester):
    """Runs the command of a run's only finding where we are; returns its arguments."""

    def again(run):
        (finding,) = run.findings
        program, *arguments = shlex.split(finding.rerun)
        assert program == "pytest"
        result = pytester.runpytest_inprocess(*arguments)
        assert result.ret == 1, finding.rerun
        assert result.parseoutcomes() == {"failed": 1}, finding.rerun
        result.stdout.fnmatch_lines(["*1 finding of 1 cause*"])
        return arguments

    return again


@pytest.mark.parametrize("ini", ["[pytest]\n", ""], ids=["ini", "no ini"])
@pytest.mark.parametrize("where", ["sub", "sub/deeper"])
def test_from_a_folder_below(matrix, pytester, monkeypatch, rerun, where, ini):
    folder = pytester.path / where
    folder.mkdir(parents=True)
    if ini:
        pytester.makeini(ini)
    monkeypatch.chdir(folder)
    up = "/".join(".." for _ in where.split("/"))
    run = matrix(DIFFERS, "--kind=odd", up, files={"conftest.py": CONFTEST})
    assert rerun(run)[-1] == f"{up}/test_suite.py::test_outcome"


@pytest.mark.parametrize("ini", ["[pytest]\n", ""], ids=["ini", "no ini"])
def test_from_a_folder_beside(matrix, pytester, monkeypatch, rerun, ini, tmp_path_factory):
    if ini:
        pytester.makeini(ini)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    run = matrix(DIFFERS, "--kind", "odd", str(pytester.path), files={"conftest.py": CONFTEST})
    rerun(run)


def test_a_project_file_in_the_root(matrix, pytester, monkeypatch, rerun):
    """The root directory has the axes: a rerun of a file below it has to have the same one."""
    monkeypatch.chdir("/")  # with any other directory, pytest takes what the two have in common for the root
    source = "import torch\n" + DIFFERS
    toml = "presets.mine = 'ints=specialize,unspecialize'\n"
    files = {"conftest.py": CONFTEST, "below/test_below.py": source, "testmatrix.toml": toml}
    run = matrix("", "--kind=odd", str(pytester.path), "--testmatrix-grid=mine", files=files)
    rerun(run)


def test_options_of_the_suite_and_of_pytest(matrix, pytester, rerun):
    pytester.makefile(".ini", other="[pytest]\nmarkers = odd\n")
    given = ["-vs", "--kind", "odd", "-c", "other.ini", "-x", "-k", "outcome", "--tb", "short", "--flagged", "--sorts", "a", "b"]
    given += ["-Wignore", "-o", "xfail_strict=true", "-p", "no:cacheprovider", "--import-mode=importlib", "--durations=3"]
    arguments = rerun(matrix(DIFFERS, "test_suite.py", *given, files={"conftest.py": CONFTEST}))
    kept = ["-s", "--kind", "odd", "-c", "other.ini", "--flagged", "--sorts", "a", "b", "-W", "ignore"]
    kept += ["-o", "xfail_strict=true", "--import-mode=importlib"]
    assert arguments[: len(kept)] == kept
    assert arguments[len(kept)] == "--testmatrix"
    assert not {"-x", "-v", "-k", "outcome", "--tb", "short"} & set(arguments)


def test_workers(matrix, pytester, monkeypatch, rerun):
    pytest.importorskip("xdist")
    folder = pytester.path / "sub"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run = matrix(DIFFERS, "-n1", "--kind=odd", "..", files={"conftest.py": CONFTEST})
    assert "-n1" not in rerun(run)
