"""What cannot be run: one line, exit status 4, nothing written, no test run."""

from __future__ import annotations

import os

import pytest

from testmatrix.torch_adapter import capabilities
from testmatrix.torch_adapter.capabilities import Capability

SOURCE = """
def test_it():
    open("ran", "w").close()
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""


def refused(run, pytester, *words):
    """Checks the shape of a refusal; returns its line."""
    assert run.exit == 4, run.text
    assert run.report is None
    assert not (pytester.path / "ran").exists()
    said = [line for line in run.result.errlines if line.strip()]
    assert len(said) == 1, said
    assert said[0].startswith("ERROR: testmatrix: ")
    for word in words:
        assert word in said[0]
    return said[0]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("grid=dfault", ["--testmatrix-grid", "unknown preset 'dfault'", "'default'"]),
        ("grid=shaps=static", ["unknown axis 'shaps'", "'shapes'"]),
        ("grid=shapes=statik", ["no value 'statik'", "'static'"]),
        ("grid=shapes=static,", ["empty value"]),
        ("grid=", ["--testmatrix-grid", "empty"]),
        ("grid=shapes=static shapes=dynamic", ["given twice"]),
        ("cells=dynamic-unspecialise", ["--testmatrix-cells", "unknown cell", "'dynamic-unspecialize'"]),
        ("cells=inductor-*", ["no cell matches 'inductor-*'"]),
        ("cells=eager", ["oracle"]),
        ("cells=", ["--testmatrix-cells"]),
        ("backend=indctor", ["--testmatrix-backend", "'inductor'"]),
        ("oracle=perhaps", ["--testmatrix-oracle", "'on' nor 'off'"]),
        ("control=2", ["--testmatrix-control"]),
        ("fail-on=errors", ["--testmatrix-fail-on", "'error'"]),
        ("max-kept=lots", ["--testmatrix-max-kept", "no number of bytes"]),
        ("config=missing.toml", ["--testmatrix-config", "missing.toml", "cannot be read"]),
        ("config=.", ["--testmatrix-config", "cannot be read"]),
        ("json=no/such/folder/report.json", ["--testmatrix-json", "no folder"]),
        ("json=.", ["--testmatrix-json", "directory"]),
        ("json=test_suite.py/report.json", ["--testmatrix-json", "not a folder"]),
    ],
)
def test_an_option(matrix, pytester, option, words):
    refused(matrix(SOURCE, f"--testmatrix-{option}"), pytester, *words)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TESTMATRIX", "perhaps", ["environment TESTMATRIX"]),
        ("TESTMATRIX_GRID", "dfault", ["environment TESTMATRIX_GRID", "'default'"]),
        ("TESTMATRIX_GRIDS", "default", ["TESTMATRIX_GRIDS", "'TESTMATRIX_GRID'"]),
    ],
)
def test_a_variable(matrix, pytester, monkeypatch, variable, value, words):
    monkeypatch.setenv(variable, value)
    if variable == "TESTMATRIX":
        pytester.makepyfile(SOURCE)
        result = pytester.runpytest_inprocess()
        assert result.ret == 4
        result.stderr.fnmatch_lines(["ERROR: testmatrix: environment TESTMATRIX: *"])
        return
    refused(matrix(SOURCE), pytester, *words)


@pytest.mark.parametrize(
    ("line", "words"),
    [("testmatrix_grid = dfault", ["ini testmatrix_grid"]), ("testmatrix_girds = 1", ["testmatrix_girds"])],
)
def test_an_ini_key(matrix, pytester, line, words):
    pytester.makeini(f"[pytest]\n{line}\n")
    refused(matrix(SOURCE), pytester, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[axes\n", ["testmatrix.toml:1:", "not valid TOML"]),
        ("\n\nx = \n", ["testmatrix.toml:3:", "not valid TOML"]),
        ("[axis.mine]\n", ["testmatrix.toml", "unknown key 'axis'", "'axes'"]),
        ("[axes.shapes]\n", ["built in"]),
        ("[axes.mine]\ngoverns = []\n", ["axes.mine", "no values"]),
        ("[axes.mine]\ngoverns = ['int']\n[axes.mine.values.a]\n", ["axes.mine.governs", "'ints'"]),
        ("[presets]\nmine = 'shaps=static'\n", ["presets.mine", "'shapes'"]),
    ],
)
def test_a_configuration(matrix, pytester, text, words):
    refused(matrix(SOURCE, files={"testmatrix.toml": text}), pytester, *words)


def test_a_configuration_that_is_no_text(matrix, pytester):
    (pytester.path / "testmatrix.toml").write_bytes(b"a = 1\nb = '\xff'\n")
    refused(matrix(SOURCE), pytester, "testmatrix.toml:2", "UTF-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write anything")
def test_no_permission(matrix, pytester):
    path = pytester.path / "testmatrix.toml"
    path.write_text("")
    path.chmod(0)
    refused(matrix(SOURCE), pytester, "testmatrix.toml", "cannot be read")


def axis(body):
    return f"[axes.mine]\ngoverns = []\n[axes.mine.values.on]\n{body}\n[axes.mine.values.off]\n"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('settings = {"torch._dynamo.config.specialise_int" = true}', ["no setting 'specialise_int'", "'specialize_int'"]),
        ('settings = {"torch._nowhere.config.x" = true}', ["no config module 'torch._nowhere.config'"]),
        ('settings = {"torch.x" = 1}', ["no setting of a config module"]),
        ('context = "contextlib:nullcontex"', ["axes.mine.values.on", "nullcontex"]),
        ('context = "no_such_module:thing"', ["axes.mine.values.on", "no_such_module"]),
        ('context = "builtins:list"', ["axes.mine.values.on", "no context manager"]),
        ('context = "fails:to_make"', ["axes.mine.values.on", "ZeroDivisionError"]),
        ('context = "breaks"', ["package.module:callable"]),
        ('context = "breaks:anything"', ["axes.mine.values.on", "breaks"]),
        ('environment = {"TESTMATRIX_GRID" = "x"}', ["the same in all cells"]),
    ],
)
def test_an_axis_of_the_projects_own(matrix, pytester, body, words):
    files = {
        "testmatrix.toml": axis(body),
        "fails.py": "def to_make():\n    return 1 / 0\n",
        "breaks.py": "raise RuntimeError('at import')\n",
    }
    pytester.syspathinsert()
    refused(matrix(SOURCE, "--testmatrix-grid=unspec mine=on,off", files=files), pytester, "testmatrix.toml", *words)


@pytest.mark.parametrize("where", ["__enter__", "__exit__"])
def test_a_context_manager_that_fails_in_a_cell(matrix, pytester, where):
    source = """
class Failing:
    def __enter__(self):
        pass

    def __exit__(self, *raised):
        pass

    def fail(self, *raised):
        raise ZeroDivisionError("not now")
"""
    pytester.syspathinsert()
    files = {"testmatrix.toml": axis('context = "failing:Failing"'), "failing.py": f"{source}\n    {where} = fail\n"}
    run = matrix("def test_it():\n    pass\n", "--testmatrix-grid=unspec mine=on,off", files=files)
    assert run.exit == 4, run.text
    run.result.stderr.fnmatch_lines(["ERROR: testmatrix: context 'failing:Failing': ZeroDivisionError: not now"])


def test_an_axis_that_is_not_used_may_be_anything(matrix):
    text = axis('settings = {"torch._dynamo.config.specialise_int" = true}')
    assert matrix(SOURCE, files={"testmatrix.toml": text}).exit == 0


def test_torch_without_a_hook(matrix, pytester, monkeypatch):
    unknown = Capability("torch._dynamo.eval_frame", "NoSuchThing", "to see regions")
    monkeypatch.setattr(capabilities, "CAPABILITIES", (*capabilities.CAPABILITIES, unknown))
    refused(matrix(SOURCE), pytester, "torch 2.", "NoSuchThing", "to see regions", "works with: torch 2.13")


@pytest.mark.parametrize("option", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_torch_without_a_hook_where_a_conftest_file_imports_it(matrix, pytester, monkeypatch, option):
    if option:
        monkeypatch.setenv("PYTEST_PLUGINS", "old_torch")
    else:
        option = ["-p", "old_torch"]
    run = matrix(
        SOURCE,
        *option,
        subprocess=True,
        files={
            "conftest.py": "import torch\n",
            "old_torch.py": """
from testmatrix.torch_adapter import capabilities
unknown = capabilities.Capability("torch._dynamo.eval_frame", "NoSuchThing", "to see regions")
capabilities.CAPABILITIES = (*capabilities.CAPABILITIES, unknown)
capabilities.SUPPORTED = "torch 2.99"  # one that was tried is not looked at before a suite imports its compiler
""",
        },
    )
    refused(run, pytester, "NoSuchThing")


def test_torch_missing(matrix, pytester):
    blocker = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Blocker())
"""
    run = matrix(SOURCE, "-p", "without_torch", subprocess=True, files={"without_torch.py": blocker})
    refused(run, pytester, "torch cannot be imported", "pip install 'torch>=2.13'")


def test_no_test_collected(matrix):
    run = matrix("X = 1\n")
    assert run.exit == 5
    assert run.read.summary.exit == 5
    assert run.read.summary.tests == 0
    assert "note: no test was run, so there was nothing to compare" in run.result.outlines


def test_a_filter_that_leaves_no_test(matrix):
    run = matrix(SOURCE, "-k", "nothing_like_it")
    assert run.exit == 5
    assert run.read.tests == ()


def test_nothing_is_compiled(matrix):
    run = matrix("""
def test_it():
    assert torch.ones(2).sum() == 2
""")
    assert run.exit == 0
    assert run.read.summary.cells_run == 1
    assert "nothing was compiled" in run.text


@pytest.mark.parametrize("text", ["import no_such_module\n", "def broken(:\n", "raise RuntimeError('at import')\n"])
def test_a_file_that_breaks_at_import(matrix, pytester, text):
    run = matrix("", files={"test_broken.py": text})
    bare = pytester.runpytest_inprocess()
    assert run.exit == bare.ret == 2
    assert run.outcomes == bare.parseoutcomes() == {"errors": 1}


def test_a_file_that_breaks_at_import_beside_others(matrix, pytester):
    run = matrix(SOURCE, "--continue-on-collection-errors", files={"test_broken.py": "import no_such_module\n"})
    assert run.exit == 1
    assert run.outcomes == {"passed": 1, "errors": 1}
    assert list(run.tests) == ["test_it"]


def test_an_unknown_flag_is_pytests_to_refuse(matrix):
    run = matrix(SOURCE, "--testmatrix-girds=default")
    assert run.exit == 4
    assert "unrecognized arguments" in run.text
