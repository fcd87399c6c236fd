"""Axes of a project's own."""

from __future__ import annotations

import os

CONFIGURATION = """
[axes.limit]
governs = []
[axes.limit.values.low.settings]
"torch._dynamo.config.recompile_limit" = 2
[axes.limit.values.high.settings]
"torch._dynamo.config.recompile_limit" = 20

[axes.mode]
governs = []
[axes.mode.values.plain.environment]
SUITE_MODE = "plain"
[axes.mode.values.fancy.environment]
SUITE_MODE = "fancy"

[axes.precision]
governs = []
[axes.precision.values.single]
[axes.precision.values.double]
context = "helpers:double"
"""

HELPERS = """
import contextlib
import torch

@contextlib.contextmanager
def double():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
"""

FILES = {"testmatrix.toml": CONFIGURATION, "helpers.py": HELPERS}


def test_settings(matrix):
    run = matrix(
        """
def test_it():
    compiled(lambda x: x + 1)(torch.ones(2))
    with open("seen", "a") as stream:
        print(torch._dynamo.config.recompile_limit, file=stream)
""",
        "--testmatrix-grid=unspec limit=low,high",
        "--testmatrix-oracle=off",
        files=FILES,
    )
    assert run.exit == 0, run.text
    assert open("seen").read().split() == ["2", "20"]  # noqa: SIM115


def test_environment(matrix, monkeypatch):
    monkeypatch.delenv("SUITE_MODE", raising=False)
    run = matrix(
        """
import os

def test_it():
    with open("seen", "a") as stream:
        print(os.environ["SUITE_MODE"], file=stream)

def test_differs():
    assert os.environ["SUITE_MODE"] == "plain"
""",
        "--testmatrix-grid=unspec mode=plain,fancy",
        files=FILES,
    )
    assert open("seen").read().split() == ["plain", "fancy"]  # noqa: SIM115
    assert run.finding("outcome").cells == ("dynamic-unspecialize-fancy",)
    assert run.exit == 1
    assert "SUITE_MODE" not in os.environ


def test_a_context_manager(matrix, pytester):
    pytester.syspathinsert()
    run = matrix(
        """
def test_it():
    with open("seen", "a") as stream:
        print(compiled(lambda x: x + 1)(torch.ones(2)).dtype, file=stream)
""",
        "--testmatrix-grid=unspec precision=single,double",
        "--testmatrix-oracle=off",
        files=FILES,
    )
    assert open("seen").read().split()[:2] == ["torch.float32", "torch.float64"]  # noqa: SIM115
    assert run.tests["test_it"]["dynamic-unspecialize-double"].outcome == "passed"


def test_a_wider_fixture_sees_the_cell(matrix, monkeypatch):
    run = matrix(
        """
import os

@pytest.fixture(scope="session")
def region():
    torch._dynamo.config.recompile_limit
    return os.environ["SUITE_MODE"], compiled(lambda x: x + 1)

def test_it(region):
    assert region[0] == os.environ["SUITE_MODE"]
    region[1](torch.ones(2))
""",
        "--testmatrix-grid=unspec mode=plain,fancy",
        "--testmatrix-oracle=off",
        files=FILES,
    )
    assert run.exit == 0, run.text


def test_the_rerun_command_names_the_grid(matrix, monkeypatch):
    run = matrix(
        """
import os

def test_differs():
    assert os.environ["SUITE_MODE"] == "plain"
""",
        "--testmatrix-grid=unspec mode=plain,fancy",
        files=FILES,
    )
    assert "--testmatrix-grid=unspec mode=plain,fancy" in run.finding("outcome").rerun
