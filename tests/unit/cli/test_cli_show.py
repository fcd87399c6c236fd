"""The command ``testmatrix show``."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from testmatrix.cli.main import main
from testmatrix.compare.finding import Finding
from testmatrix.report.build import build_report
from testmatrix.report.model import decode, encode
from testmatrix.store.records import Run

CELL = "dynamic-unspecialize"


@pytest.fixture
def path(tmp_path):
    run = Run(
        id="r1",
        started="2025-01-31T12:00:00+00:00",
        torch="2.13.0",
        python="3.11.7",
        platform="linux",
        grid={"shapes": ("dynamic",), "ints": ("unspecialize",)},
        cells=(CELL,),
    )
    found = Finding(
        test="a.py::test_a",
        kind="guard.missing",
        severity="error",
        cells=(CELL,),
        reference="eager",
        summary="not checked",
        signature="s",
        evidence={"guards": {"reference": ["a == 1"], "cell": [], "common": ["b == 2"]}},
    )
    path = tmp_path / "report.json"
    path.write_bytes(encode(build_report(run, [], findings=[found], exit_status=1)))
    return path


def invoke(*args):
    return CliRunner().invoke(main, ["show", *(str(each) for each in args)])


def test_a_finding_by_a_start_of_its_id(path):
    (finding,) = decode(path.read_bytes()).findings
    result = invoke(finding.id[:5], path)

    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"error  guard.missing  new\nnot checked\n  finding    {finding.id}\n")
    assert "… and 1 condition in common (--all prints them)" in result.stdout
    assert "\x1b" not in result.stdout


def test_all(path):
    (finding,) = decode(path.read_bytes()).findings

    assert "  in both of them:\n    b == 2\n" in invoke("--all", finding.id, path).stdout


def test_a_cause(path):
    (cause,) = decode(path.read_bytes()).causes

    assert "the first of them:" in invoke(cause.cause, path).stdout


@pytest.mark.parametrize(
    ("word", "says"),
    [("abc", "too short"), ("zzzzzz", "no finding and no cause 'zzzzzz'")],
)
def test_what_cannot_be_found_is_a_usage_error_of_one_line(path, word, says):
    result = invoke(word, path)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("testmatrix: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "says"), [(None, "cannot be read"), ("{}", "is no JSON report of testmatrix"), ("\x00", "is no JSON report")]
)
def test_a_file_that_cannot_be_read(tmp_path, content, says):
    file = tmp_path / "r.json"
    if content is not None:
        file.write_text(content)
    result = invoke("abcdef", file)

    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1


def test_both_arguments_are_needed(path):
    assert invoke("abcdef").exit_code == 2
    assert invoke().exit_code == 2


def test_findings_are_shown_without_torch():
    program = "import sys, testmatrix.cli.show; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
