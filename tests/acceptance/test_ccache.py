"""Real runs with inductor: ccache changes what they cost, and nothing of what they say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

SUITE = """
import pytest
import torch

X = torch.linspace(0, 1, 24)

@pytest.mark.parametrize("shift", [1, 2])
def test_numbers(shift):
    def region(x, n):
        return (x * n).relu() + shift

    fast = torch.compile(region, backend="inductor")
    for n in (3, 4):
        torch.testing.assert_close(fast(X, n), region(X, n))

def test_mutation():
    fast = torch.compile(lambda x, n: x.mul_(n).sum(), backend="inductor")
    x = X.clone()
    torch.testing.assert_close(fast(x, 3), (X * 3).sum())
    torch.testing.assert_close(x, X * 3)
"""

pytestmark = pytest.mark.skipif(shutil.which("ccache") is None, reason="needs ccache")


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "test_suite.py"
    path.write_text(SUITE)
    return path


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary directory for all runs of this module: torch keeps its precompiled headers in it."""
    return tmp_path_factory.mktemp("temporary")


def run(suite: Path, temporary: Path, variables: Mapping[str, str], *arguments: str) -> Any:
    """The report of a matrix run, without what is different every time."""
    report = suite.parent / "report.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CCACHE_", "TORCHINDUCTOR_"))}
    options = ("-q", "-p", "no:cacheprovider", "--testmatrix", f"--testmatrix-json={report}")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments, suite.name],
        cwd=suite.parent,
        env={**environment, "TMPDIR": str(temporary), **variables},
        text=True,
        capture_output=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in temporary.iterdir() if path.name.startswith("testmatrix-")] == []
    read = json.loads(report.read_text())
    del read["run"]["id"], read["run"]["started"]
    return without_times(read)


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in {"duration", "wall"}}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def statistics(directory: Path) -> dict[str, int]:
    done = subprocess.run(
        ["ccache", "--print-stats"],
        env={**os.environ, "CCACHE_DIR": str(directory)},
        text=True,
        capture_output=True,
        check=True,
    )
    return {name: int(count) for name, count in (line.split("\t") for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def without(suite: Path, temporary: Path) -> Any:
    """The report of a run without ccache."""
    return run(suite, temporary, {"CCACHE_DISABLE": "1"})


def test_a_run_says_the_same_with_ccache_as_without(suite: Path, temporary: Path, without: Any, tmp_path: Path) -> None:
    assert len(without["tests"]) == 3
    assert run(suite, temporary, {}) == without
    mine = {"CCACHE_DIR": str(tmp_path / "ccache")}
    assert run(suite, temporary, mine) == without
    first = statistics(tmp_path / "ccache")
    assert first["direct_cache_hit"] > 0
    assert first["cache_miss"] > 0
    assert run(suite, temporary, mine) == without
    second = statistics(tmp_path / "ccache")
    assert second["cache_miss"] == first["cache_miss"], "the second run has built something that the first one had built"
    assert second["direct_cache_hit"] > 2 * first["direct_cache_hit"]


def test_workers_say_the_same(suite: Path, temporary: Path, without: Any, tmp_path: Path) -> None:
    mine = {"CCACHE_DIR": str(tmp_path / "ccache")}
    together = run(suite, temporary, mine, "-n", "2")
    assert together["tests"] == without["tests"]
    assert statistics(tmp_path / "ccache")["direct_cache_hit"] > 0
