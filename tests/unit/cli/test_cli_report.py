import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from testmatrix.cli.report import report
from testmatrix.compare.finding import Finding, IntRow, IntState
from testmatrix.errors import UsageError
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
    findings = [
        Finding(
            test=f"a.py::test_{n}",
            kind="output.value",
            severity="warning",
            cells=(CELL,),
            reference="eager",
            summary="1 | 2",
            signature=str(n),
        )
        for n in range(12)
    ]
    states = [
        IntState(state="symbolic"),
        IntState(state="constant", value="3", reason="forced: range()", line="a.py:9"),
        IntState(state="constant", value="4", reason="forced: range()", line="a.py:10"),
    ]
    ints = [IntRow(test="a.py::test_0", region="a.f", source=f"L['n{n}']", cells={CELL: state}) for n, state in enumerate(states)]
    path = tmp_path / "report.json"
    path.write_bytes(encode(build_report(run, [], findings=findings, ints=ints, exit_status=1)))
    return path


def invoke(*args):
    return CliRunner().invoke(report, [str(each) for each in args])


def test_text_has_every_cause_and_ends_with_the_int_line(path):
    result = invoke(path)

    assert result.exit_code == 1
    assert sum(line.startswith("warning") for line in result.output.splitlines()) == 12
    assert result.output.endswith(f"ints: 1 of 3 symbolic in {CELL} (33 %)\n")


def test_json_is_the_report_itself(path):
    assert decode(invoke(path, "--format", "json").output.encode()) == decode(path.read_bytes())


def test_markdown(path):
    assert invoke(path, "--format", "markdown").output.startswith("### testmatrix: 12 causes, 12 new\n")


def test_the_table_of_ints(path):
    lines = invoke(path, "--ints").output.splitlines()

    assert lines[0] == "torch 2.13.0"
    assert lines[-1] == "ints: 1 of 3 symbolic in dynamic-unspecialize (33 %)"


def test_the_table_of_ints_as_a_page_says_how_it_was_made(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("report.json", "--ints", "--format", "markdown", "-o", "ints.md")
    text = (tmp_path / "ints.md").read_text()

    assert text.startswith("# Ints, floats and sizes in torch 2.13.0\n")
    assert "\ntestmatrix report report.json --ints --format markdown -o ints.md\n" in text


def test_output_to_a_file(path, tmp_path):
    result = invoke(path, "-o", tmp_path / "out.md", "--format", "markdown")

    assert result.output == ""
    assert (tmp_path / "out.md").read_text().startswith("### testmatrix")


def test_a_clean_report_exits_with_0(path):
    data = json.loads(path.read_bytes())
    data["summary"]["exit"] = 0
    path.write_text(json.dumps(data))

    assert invoke(path).exit_code == 0


@pytest.mark.parametrize(("name", "says"), [("missing.json", "cannot be read"), (".", "cannot be read")])
def test_a_file_that_cannot_be_read(tmp_path, name, says):
    result = invoke(tmp_path / name)

    assert isinstance(result.exception, UsageError)
    assert says in str(result.exception)


def test_nothing_is_written_for_a_report_that_cannot_be_read(tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    result = invoke(tmp_path / "bad.json", "-o", tmp_path / "out.md")

    assert isinstance(result.exception, UsageError)
    assert not (tmp_path / "out.md").exists()


def test_reports_are_read_without_torch():
    program = "import sys, testmatrix.cli.report; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
