"""--testmatrix-grid"""

from __future__ import annotations

import pytest

SOURCE = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""


def test_the_default(matrix, cells):
    run = matrix(SOURCE)
    assert run.read.run.grid == {"shapes": ("static", "dynamic"), "ints": ("specialize", "unspecialize")}
    assert run.read.run.cells == cells


@pytest.mark.parametrize(
    ("grid", "cells"),
    [
        ("shapes=dynamic", ["dynamic"]),
        ("ints=unspecialize shapes=dynamic", ["dynamic-unspecialize"]),
        ("shapes=static,auto", ["static", "auto"]),
        ("unspec", ["dynamic-unspecialize"]),
        ("unspec floats=specialize,unspecialize", ["dynamic-unspecialize-specialize", "dynamic-unspecialize-unspecialize"]),
    ],
)
def test_axes_and_presets(matrix, grid, cells):
    run = matrix(SOURCE, f"--testmatrix-grid={grid}")
    assert run.exit == 0
    assert set(run.tests["test_it"]) == {*cells, "eager"}
    assert list(run.read.run.cells) == cells


def test_each_cell_has_its_settings(matrix, pytester):
    run = matrix(
        """
import json
from torch._dynamo import config

def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    static, automatic = config.assume_static_by_default, config.automatic_dynamic_shapes
    with open("seen", "a") as stream:
        print(static, automatic, config.specialize_int, config.specialize_float, file=stream)
""",
        "--testmatrix-grid=full",
        "--testmatrix-oracle=off",
    )
    seen = (pytester.path / "seen").read_text().splitlines()
    assert len(seen) == len(run.read.run.cells) == 12
    for cell, line in zip(run.read.run.cells, seen, strict=True):
        shapes, ints, floats = cell.split("-")
        static, automatic, int_constant, float_constant = (word == "True" for word in line.split())
        assert static == (shapes != "dynamic")
        assert shapes == "dynamic" or automatic == (shapes == "auto")
        assert int_constant == (ints == "specialize")
        assert float_constant == (floats == "specialize")


@pytest.mark.parametrize("how", ["environment", "ini"])
def test_given_otherwise(matrix, monkeypatch, pytester, how):
    if how == "environment":
        monkeypatch.setenv("TESTMATRIX_GRID", "shapes=dynamic")
    else:
        pytester.makeini("[pytest]\ntestmatrix_grid = shapes=dynamic\n")
    assert matrix(SOURCE).read.run.cells == ("dynamic",)


def test_the_flag_beats_the_environment_and_that_the_ini_file(matrix, monkeypatch, pytester):
    pytester.makeini("[pytest]\ntestmatrix_grid = shapes=static\n")
    monkeypatch.setenv("TESTMATRIX_GRID", "shapes=auto")
    assert matrix(SOURCE).read.run.cells == ("auto",)
    assert matrix(SOURCE, "--testmatrix-grid=shapes=dynamic").read.run.cells == ("dynamic",)


@pytest.mark.parametrize("how", ["environment", "ini"])
def test_the_switch_given_otherwise(pytester, monkeypatch, how):
    if how == "environment":
        monkeypatch.setenv("TESTMATRIX", "1")
    else:
        pytester.makeini("[pytest]\ntestmatrix = true\n")
    pytester.makeconftest("import torch\nREGION = torch.compile(lambda x, n: x + n, backend='eager')\n")
    pytester.makepyfile("import torch\nfrom conftest import REGION\n\ndef test_it():\n    REGION(torch.ones(2), 3)\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    assert result.ret == 0
    assert result.outlines[-1] == "ints: 1 of 1 symbolic in dynamic-unspecialize (100 %)"
