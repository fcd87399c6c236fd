"""A run without the flag is untouched."""

from __future__ import annotations

import re

import pytest


def normal(lines):
    return [re.sub(r"\d+\.\d+s|testmatrix-[\d.]+,? ?", "", line) for line in lines if line]


def test_no_torch_is_imported(pytester):
    pytester.makepyfile("""
import sys

def test_it():
    assert "torch" not in sys.modules
    ours = sorted(name for name in sys.modules if name.split(".")[0] == "testmatrix")
    assert not [name for name in ours if "torch_adapter" in name or "compare" in name or "report" in name], ours
    assert "msgspec" not in sys.modules and "rich" not in sys.modules and "sympy" not in sys.modules
""")
    result = pytester.runpytest_subprocess()
    assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize("options", [[], ["-v"], ["-q", "-rA"], ["--collect-only"]], ids=" ".join)
def test_the_output_is_that_of_a_run_without_the_plugin(pytester, options):
    pytester.makepyfile("""
import pytest, warnings

def test_passes():
    warnings.warn("careful")

def test_fails():
    assert 0

@pytest.mark.skip
def test_skipped():
    pass
""")
    with_it = pytester.runpytest_subprocess(*options, "-p", "no:cacheprovider")
    without = pytester.runpytest_subprocess(*options, "-p", "no:cacheprovider", "-p", "no:testmatrix")
    assert normal(with_it.outlines) == normal(without.outlines)
    assert with_it.errlines == without.errlines
    assert with_it.ret == without.ret


def test_torch_is_left_alone(pytester):
    pytester.makepyfile("""
import torch
from torch._dynamo import convert_frame, eval_frame

def test_it():
    assert eval_frame.OptimizeContext.__call__.__module__.startswith("torch")
    assert convert_frame._compile.__module__.startswith("torch")
    assert not hasattr(torch.compile(lambda x: x, backend="eager"), "_testmatrix_recorded")
""")
    assert pytester.runpytest_inprocess().ret == 0


def test_options_of_ours_that_are_wrong_do_not_stop_it(pytester, monkeypatch):
    monkeypatch.setenv("TESTMATRIX_GRID", "nonsense")
    monkeypatch.setenv("TESTMATRIX_NONSENSE", "1")
    (pytester.path / "testmatrix.toml").write_text("not toml")
    pytester.makepyfile("def test_it(): pass")
    assert pytester.runpytest_inprocess().ret == 0


@pytest.mark.parametrize("value", ["0", "off", "false", ""])
def test_the_switch_turned_off(pytester, monkeypatch, value):
    monkeypatch.setenv("TESTMATRIX", value)
    pytester.makepyfile("def test_it(): pass")
    result = pytester.runpytest_inprocess()
    assert result.ret == 0
    assert "ints:" not in result.stdout.str()
