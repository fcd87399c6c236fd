"""A pytest plugin for matrix runs, used beside :mod:`where`: keeps the pairs of compiles in a file.

``BENCHMARK_PAIRS`` names the file; ``BENCHMARK_STARTED`` is when the process was started, by the clock that all processes of a
machine share. Pairs are made when the run has ended, so that comparing works with the caches of any run.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import where
from pairs import keep, save, without_values

from testmatrix.grid import Grid
from testmatrix.observation import Observation

_tests: dict[str, tuple[dict[str, Observation], Grid]] = {}
_KEEPING = "keeping"


@pytest.hookimpl(trylast=True)
def pytest_sessionstart() -> None:
    exploration: Any = importlib.import_module("testmatrix.plugin.exploration")
    compare = exploration.compare_observations

    def keeping(observations: Mapping[str, Observation], grid: Grid) -> Any:
        with where.timed(_KEEPING):
            test = next(iter(observations.values())).test
            _tests[test] = ({cell: without_values(one) for cell, one in observations.items()}, grid)
        return compare(observations, grid)

    exploration.compare_observations = keeping


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    spent = dict(where.spent)
    wall = time.monotonic() - float(os.environ["BENCHMARK_STARTED"]) - spent.pop(_KEEPING, 0.0)
    save(keep(_tests.values(), wall=wall, spent=spent), Path(os.environ["BENCHMARK_PAIRS"]))
