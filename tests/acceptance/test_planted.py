"""Every kind of difference that the plugin is for, planted on purpose, and its like that must stay quiet: one run of all."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from testmatrix.configuration import tomllib

PLANTED = Path(__file__).parent / "planted"
EXPECTED = tomllib.loads((PLANTED / "expected.toml").read_text(encoding="utf-8"))
DIFFERING = [name for name, wanted in EXPECTED.items() if not wanted.get("quiet")]
QUIET = [name for name, wanted in EXPECTED.items() if wanted.get("quiet")]


def function_of(nodeid):
    return nodeid.rpartition("::")[2].partition("[")[0]


@pytest.fixture(scope="session")
def planted_report(tmp_path_factory):
    report = tmp_path_factory.mktemp("planted") / "report.json"
    options = ["--testmatrix", f"--testmatrix-json={report}", f"--confcutdir={PLANTED}", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run([sys.executable, "-m", "pytest", *options, PLANTED], capture_output=True, text=True, timeout=900)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def findings(planted_report):
    """Findings that repeat, by the test's function."""
    found = defaultdict(list)
    for finding in planted_report["findings"]:
        if finding["verdict"] != "unstable":
            found[function_of(finding["test"])].append(finding)
    return found


@pytest.mark.parametrize("name", DIFFERING)
def test_differs_where_stated(findings, name):
    kinds = EXPECTED[name]["kinds"]
    of_kind = [each for each in findings[name] if each["kind"].split(".")[0] in kinds]
    shown = [each for each in of_kind if each["severity"] == "error" or each["kind"].startswith("compile")]
    assert {cell for finding in shown for cell in finding["cells"]} == set(EXPECTED[name]["differs"]), findings[name]


@pytest.mark.parametrize("name", QUIET)
def test_stays_quiet(findings, name):
    assert [finding["summary"] for finding in findings[name] if finding["severity"] == "error"] == []


def test_all_are_expected_and_none_is_missing(planted_report):
    assert {function_of(test["test"]) for test in planted_report["tests"]} == set(EXPECTED)


def test_recorder_had_no_faults(planted_report):
    assert [note for note in planted_report["notes"] if note["kind"] == "recorder"] == []
