"""The summary section and what a person does with it."""

from __future__ import annotations

import shlex

import pytest

CLEAN = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""

DIFFERS = """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

@pytest.mark.parametrize("n", [1, 2], ids=["one", "two words"])
def test_value(n):
    torch.compile(lambda x: x * n, backend=off_by_one)(torch.ones(2))

def test_outcome():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert torch._dynamo.config.specialize_int
"""


def section(run) -> list[str]:
    lines = run.result.outlines
    start = next(index for index, line in enumerate(lines) if line.strip("= ") == "testmatrix")
    end = next(index for index, line in enumerate(lines[start + 1 :], start + 1) if line.startswith("==="))
    return [line for line in lines[start + 1 : end] if line]


def test_quiet_when_clean(matrix):
    run = matrix(CLEAN)
    (line,) = section(run)
    assert line.startswith("1 test × 4 cells + eager: 4 run, ")
    assert line.endswith("no findings")


@pytest.mark.parametrize("source", [CLEAN, DIFFERS, "X = 1\n"], ids=["clean", "differs", "empty"])
@pytest.mark.parametrize("options", [[], ["-q"]], ids=" ".join)
def test_the_int_line_is_the_last_of_the_output(matrix, source, options):
    run = matrix(source, *options)
    assert run.result.outlines[-1].startswith("ints: ")
    assert len([line for line in run.result.outlines if line.startswith("ints: ")]) == 1


def test_every_finding_is_there_by_cause(matrix):
    run = matrix(DIFFERS)
    text = "\n".join(section(run))
    assert "output.value  all 4 cells  2 tests" in text
    assert "outcome  static-unspecialize, dynamic-unspecialize  1 test" in text
    assert "3 findings of 2 causes: 2 error" in text


def test_every_rerun_command_reruns(matrix, pytester):
    run = matrix(DIFFERS)
    for finding in run.findings:
        program, *arguments = shlex.split(finding.rerun)
        assert program == "pytest"
        assert finding.rerun in run.text or finding.id not in {cause.findings[0] for cause in run.read.causes}
        result = pytester.runpytest_inprocess(*arguments, "--testmatrix-json=again.json")
        again = type(run)(result, None)
        assert result.ret == 1, again.text
        text = (pytester.path / "again.json").read_text()
        assert finding.kind in text
        assert len(result.parseoutcomes()) == 1


def test_a_rerun_from_a_folder_with_a_configuration(matrix, pytester):
    run = matrix(DIFFERS, "--testmatrix-backend=eager", "-k", "outcome")
    (finding,) = run.findings
    assert "--testmatrix-backend=eager" in finding.rerun
    result = pytester.runpytest_inprocess(*shlex.split(finding.rerun)[1:])
    assert result.ret == 1


def test_a_failing_test_names_its_finding(matrix):
    run = matrix(DIFFERS, "-k", "two")
    run.result.stdout.fnmatch_lines(["*output.value in static-specialize, *"])
    run.result.stdout.fnmatch_lines(["FAILED test_suite.py::test_value[[]two words[]] - output.value *"])


def test_colours(matrix):
    assert "\x1b[" in matrix(DIFFERS, "--color=yes").result.stdout.str()
    assert "\x1b[" not in matrix(DIFFERS, "--color=no").result.stdout.str()


def test_a_narrow_terminal_does_not_cut_commands(matrix, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    run = matrix(DIFFERS, "-k", "outcome")
    assert f"    {run.findings[0].rerun}" in run.result.outlines


def test_plain_failures_are_no_findings(matrix):
    run = matrix("def test_it():\n    compiled(lambda x: x + 1)(torch.ones(2))\n    assert 0\n")
    assert run.exit == 1
    assert section(run)[0].endswith("no findings")
