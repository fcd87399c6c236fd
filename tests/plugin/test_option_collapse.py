"""--testmatrix-collapse"""

from __future__ import annotations

import pytest

SIZES_ALONE = """
def test_it():
    with open("ran", "a") as stream:
        stream.write("x")
    compiled(lambda x: x + 1)(torch.ones(3))
"""
INTS_TOO = """
def test_it():
    with open("ran", "a") as stream:
        stream.write("x")
    compiled(lambda x, n: x + n)(torch.ones(3), 4)
"""


def same_as(run) -> dict[str, str]:
    (cells,) = run.tests.values()
    return {cell: result.same_as for cell, result in cells.items() if result.same_as}


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        (SIZES_ALONE, {"static-unspecialize": "static-specialize", "dynamic-unspecialize": "dynamic-specialize"}),
        (INTS_TOO, {}),
    ],
)
def test_cells_that_differ_in_what_was_not_consulted_are_not_run(matrix, pytester, suite, expected):
    run = matrix(suite)
    assert same_as(run) == expected
    assert run.read.summary.cells_collapsed == len(expected)
    assert (pytester.path / "ran").read_text() == "x" * (4 - len(expected) + 1)  # and the oracle


def test_off_runs_every_cell(matrix, pytester):
    run = matrix(SIZES_ALONE, "--testmatrix-collapse=off")
    assert same_as(run) == {}
    assert (pytester.path / "ran").read_text() == "xxxxx"


@pytest.mark.parametrize(
    "read",
    [
        "torch._dynamo.config.specialize_int",
        "torch._dynamo.config.get_config_copy()",
        "torch._dynamo.config.get_hash()",
        "getattr(torch._dynamo.config, 'specialize_int')",
    ],
)
def test_a_test_that_asks_for_the_setting_itself_runs_in_both_cells(matrix, read):
    run = matrix(SIZES_ALONE.replace("    compiled", f"    {read}\n    compiled"))
    assert same_as(run) == {}


def test_what_a_fixture_of_wider_scope_consults_belongs_to_each_test_under_it(matrix):
    run = matrix("""
@pytest.fixture(scope="module")
def four():
    return compiled(lambda x, n: x + n)(torch.ones(1), 3)

def test_first(four):
    compiled(lambda x: x + 1)(four)

def test_second(four):
    compiled(lambda x: x + 1)(four)
""")
    assert [result.same_as for cells in run.tests.values() for result in cells.values()] == [""] * 10


def test_cells_of_environment_and_context_are_always_run(matrix, pytester):
    (pytester.path / "testmatrix.toml").write_text(
        '[axes.mode]\ngoverns = []\n[axes.mode.values.a]\nenvironment = { MODE = "a" }\n'
        '[axes.mode.values.b]\nenvironment = { MODE = "b" }\n'
    )
    run = matrix("def test_it():\n    pass\n", "--testmatrix-grid=mode=a,b")
    assert same_as(run) == {}


@pytest.mark.parametrize("collapse", ["on", "off"])
def test_findings_are_those_of_all_cells(matrix, collapse):
    suite = """
def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_it():
    torch.compile(lambda x: x * 2, backend=off_by_one)(torch.ones(2))
"""
    run = matrix(suite, f"--testmatrix-collapse={collapse}")
    assert run.read.summary.cells_collapsed == (2 if collapse == "on" else 0)
    finding = run.finding("output.value")
    assert finding.cells == ("static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize")
    assert "in every cell" in finding.summary
    assert finding.verdict == "new"
