"""A pytest plugin for a matrix run that collapses nothing: were cells that would have been collapsed what stands for them?"""

import json
import os

import testmatrix.plugin.exploration as exploration
from testmatrix.plugin.exploration import stands_for

_counts = {"collapsed": 0, "unequal": []}
_explore = exploration.Explorer.explore


def _shown(observation):
    """All that is compared of an observation."""
    return (
        observation.outcome,
        observation.exception,
        observation.regions,
        observation.compiles,
        observation.failed_compiles,
        observation.gradients,
        observation.count_assertions,
        observation.counted_outcome,
        observation.pinned,
    )


def _checked(self, test, run):
    explored = _explore(self, test, run)
    runs = []
    for cell in self.cells:
        observation = explored.observations[cell.name]
        stand_in = next((one for one in runs if stands_for(self.grid, one, cell)), None)
        if stand_in is None:
            runs.append(observation)
            continue
        _counts["collapsed"] += 1
        if _shown(stand_in) != _shown(observation):
            _counts["unequal"].append(f"{test}: {cell.name} is not as {stand_in.cell}")
    return explored


exploration.Explorer.explore = _checked


def pytest_sessionfinish():
    with open(os.environ["COLLAPSE_CHECK"], "w", encoding="utf-8") as file:
        json.dump(_counts, file)
