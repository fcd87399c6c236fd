"""What a real run's findings look like in ``testmatrix show``."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from testmatrix.cli.main import main

#: A function that is assumed to be constant hangs on a setting: a trace checks less where that is off.
MISSING = """
@torch._dynamo.assume_constant_result
def careful():
    return torch._dynamo.config.specialize_int

def scaled(x, n, mode):
    # Few rows are not scaled.
    if careful() and x.size(0) > 3:
        x = x + 0
    if careful() and mode == "add":
        return x + n
    return x + n

def test_missing():
    compiled(scaled)(torch.ones(8, 4), 5, "add")
"""
OTHERS = """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_value():
    torch.compile(lambda x: x * 2, backend=off_by_one)(torch.zeros(3, 4))

def scaled(x, n):
    if n == 5:
        return x * n
    return x + n

def test_specialized():
    compiled(scaled)(torch.ones(4), 5)

def test_outcome():
    compiled(lambda x: x + 1)(torch.ones(2))
    if not torch._dynamo.config.specialize_int:
        raise ValueError("symbols")
"""
DYNAMIC = "--testmatrix-grid=shapes=dynamic ints=specialize,unspecialize"


@pytest.fixture
def show(pytester):
    """Lines that the command prints about a finding of the last run, without those of its head."""

    def lines(word: str, *args: str) -> list[str]:
        result = CliRunner().invoke(main, ["show", word, str(pytester.path / "report.json"), *args], catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return result.stdout.splitlines()

    return lines


def section(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    return [line.strip() for line in lines[start : next((n for n in range(start, len(lines)) if not lines[n]), len(lines))]]


def number(suite: str, code: str) -> int:
    """The line of a suite that has a piece of code."""
    return next(n for n, line in enumerate(suite.splitlines(), 1) if code in line)


@pytest.fixture
def missing(matrix):
    """By source: what the cell with symbols no longer checks."""
    run = matrix(MISSING, DYNAMIC)
    return {one.evidence["source"]: one for one in run.findings if one.kind == "guard.missing"}


def test_a_missing_guard_on_a_size(missing, show, pytester):
    finding = missing["L['x'].size()[0]"]
    lines = show(finding.id)
    line = number((pytester.path / "test_suite.py").read_text(encoding="utf-8"), "x.size(0) > 3")

    assert lines[0] == "warning  guard.missing  new"
    assert section(lines, "condition") == ["L['x'].size()[0] >= 4 (SHAPE)"]
    rows = [[side.strip() for side in row.split("|")] for row in section(lines, "what is checked")[:-1]]
    assert rows[0] == ["dynamic-specialize (reference)", "dynamic-unspecialize"]
    assert ["L['x'].size()[0] in [4, oo)", "L['x'].size()[0] in [2, oo)"] in rows
    assert section(lines, "what is checked")[-1].endswith("in common (--all prints them)")
    relation = section(lines, "relation")
    assert relation[0] == "dynamic-unspecialize lets through more than dynamic-specialize"
    assert relation[1] == "with these put in on both sides: L['n']=5"
    assert relation[2].startswith("accepted by dynamic-unspecialize alone: L['x'].size()[0]=")
    assert int(relation[2].partition("size()[0]=")[2].partition(",")[0]) < 4
    shown = section(lines, f"test_suite.py:{line}")
    assert shown[2] == f"{line} >     if careful() and x.size(0) > 3:"
    assert len(shown) == 5
    assert "evidence" not in lines


def test_a_missing_guard_on_something_else(missing, show):
    lines = show(missing["L['mode']"].cause)

    assert section(lines, "condition") == ["L['mode'] == 'add' (CONSTANT_MATCH)"]
    assert any(line.startswith("accepted by dynamic-unspecialize alone: L['mode']=") for line in section(lines, "relation"))


def test_common_conditions_on_demand(missing, show):
    finding = missing["L['mode']"]
    folded, unfolded = show(finding.id), show(finding.id, "--all")

    assert not any("TENSOR_MATCH" in line for line in folded)
    assert sum("L['x']: TENSOR_MATCH" in line for line in unfolded) == 1


def test_other_kinds(matrix, show):
    run = matrix(OTHERS)
    ids = {one.kind: one.id for one in run.findings}
    specialized, value, outcome = (show(ids[kind]) for kind in ("guard.specialized", "output.value", "outcome"))

    assert "source  L['n']" in section(specialized, "evidence")
    assert section(specialized, "side by side")[0] == (
        "static-specialize, static-unspecialize, dynamic-specialize | dynamic-unspecialize"
    )
    assert any(line.endswith(">     if n == 5:") for line in specialized)
    assert section(value, "side by side")[0].startswith("eager (reference) | static-specialize, ")
    assert ["max_abs", "1.0"] in [line.split() for line in section(value, "evidence")]
    assert "outcome: passed" in section(outcome, "side by side")[1]
    assert any("message: symbols" in line for line in section(outcome, "side by side"))


def test_every_finding_and_every_cause_of_a_run_can_be_shown(matrix, show):
    run = matrix(OTHERS + MISSING.replace("scaled", "careless"))

    assert {one.kind for one in run.findings} == {"guard.missing", "guard.specialized", "outcome", "output.value"}
    for finding in run.findings:
        assert f"  finding    {finding.id}" in show(finding.id)
    for cause in run.read.causes:
        assert f"  cause     {cause.cause}" in show(cause.cause)
