"""--testmatrix-json"""

from __future__ import annotations

import json

import pytest

SOURCE = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""


def test_the_report(matrix, pytester, cells):
    run = matrix(SOURCE)
    data = json.loads((pytester.path / "report.json").read_text())
    assert (data["format"], data["version"]) == ("testmatrix-report", 1)
    assert data["run"]["cells"] == list(cells)
    assert data["summary"]["exit"] == run.exit == 0
    assert data["summary"]["tests"] == 1
    assert data["summary"]["cells_run"] == 4
    assert data["ints"][0]["source"] == "L['n']"
    assert data["ints"][0]["cells"]["dynamic-unspecialize"]["state"] == "symbolic"


def test_relative_to_where_the_run_started(pytester, monkeypatch):
    pytester.makepyfile("""
import os

def test_it(tmp_path):
    os.chdir(tmp_path)
""")
    result = pytester.runpytest_inprocess("--testmatrix", "--testmatrix-json=here.json")
    assert result.ret == 0
    assert (pytester.path / "here.json").exists()


@pytest.mark.parametrize("status", [0, 1])
def test_a_report_replaces_an_older_one(matrix, pytester, status):
    (pytester.path / "report.json").write_text("old")
    run = matrix(f"def test_it():\n    assert {not status}\n")
    assert run.exit == run.read.summary.exit == status


def test_none_is_written_when_only_collecting(matrix):
    run = matrix(SOURCE, "--collect-only", "-q")
    assert run.report is None
    assert "testmatrix" not in run.text


def test_the_disk_gives_way(pytester):
    pytester.makepyfile("""
import os, pathlib, shutil

def test_it():
    shutil.rmtree(pathlib.Path("reports"))
""")
    (pytester.path / "reports").mkdir()
    result = pytester.runpytest_inprocess("--testmatrix", "--testmatrix-json=reports/report.json")
    assert result.ret == 3
    assert "testmatrix: the report could not be written" in result.stdout.str()


def test_odd_names_and_values(matrix):
    run = matrix("""
@pytest.mark.parametrize("x", [float("nan"), float("inf"), "\\ud800", "a\\nb", "ü"], ids=["nan", "inf", "surrogate", "line", "ü"])
def test_it(x):
    compiled(lambda y: y + (x if isinstance(x, float) else 1))(torch.ones(2))
""")
    assert run.outcomes == {"passed": 5}, run.text
    assert run.clean()
