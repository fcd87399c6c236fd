"""--testmatrix-cells"""

from __future__ import annotations

import pytest

SOURCE = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""


@pytest.mark.parametrize(
    ("filter_", "expected"),
    [
        ("dynamic-unspecialize", ["dynamic-unspecialize"]),
        ("dynamic-unspecialize,static-specialize", ["static-specialize", "dynamic-unspecialize"]),
        ("static-*", ["static-specialize", "static-unspecialize"]),
        ("*-unspecialize", ["static-unspecialize", "dynamic-unspecialize"]),
        ("[sd]*-specialize", ["static-specialize", "dynamic-specialize"]),
    ],
)
def test_only_these_are_run(matrix, filter_, expected):
    run = matrix(SOURCE, f"--testmatrix-cells={filter_}")
    assert list(run.read.run.cells) == expected
    assert set(run.tests["test_it"]) == {*expected, "eager"}
    assert run.read.summary.cells_run == len(expected)


def test_without_a_cell_for_the_rate_it_says_so(matrix):
    run = matrix(SOURCE, "--testmatrix-cells=static-*")
    assert run.result.outlines[-1] == "ints: no rate, since no cell of this run has dynamic shapes and unspecialized ints"


def test_a_difference_from_eager_shows_in_one_cell_alone(matrix):
    source = """
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert torch.compiler.is_compiling() or torch._dynamo.config.specialize_int
"""
    run = matrix(source, "--testmatrix-cells=dynamic-unspecialize,dynamic-specialize")
    assert run.finding("outcome").cells == ("dynamic-unspecialize",)
