"""Going on with an earlier run: what it has done is taken over, and only the rest is run."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

import msgspec
import pytest

from testmatrix.plugin import shards
from testmatrix.store import runs
from testmatrix.store.records import Run, Tested
from testmatrix.store.runs import RunFolder

NAME = "testmatrix-resume"


def to_resume(store: Path, run: Run) -> tuple[RunFolder | None, Mapping[str, Tested]]:
    """The last run over the same cells with the same torch and of the same part of the suite, and what it has done.

    Raises:
        UsageError: another version of the package wrote it.
    """
    for folder in reversed(runs.runs(store)):
        recorded = runs.read(folder)
        if recorded.run is not None and _what(recorded.run) == _what(run):
            return folder, {tested.test: tested for tested in recorded.tested}
    return None, {}


def _what(run: Run) -> object:
    """What two runs must have in common for one to go on with the other."""
    return dict(run.grid), run.cells, run.oracle, run.torch, run.python, run.shard


class ResumePlugin:
    """Deselects what is done already."""

    def __init__(self, done: Iterable[str], source: str) -> None:
        self._done, self._source = frozenset(done), source
        self.positions: dict[int, int] = {}  #: of items, before any of them is taken over, by identity
        self.taken_over: dict[str, int] = {}  #: positions of tests that are, by node id

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Being registered last, this comes after all else that selects: a shard is planned with all of its tests."""
        yield
        self.positions = shards.positions(config) or {id(item): position for position, item in enumerate(items)}
        done = [item for item in items if item.nodeid in self._done]
        self.taken_over = {item.nodeid: self.positions[id(item)] for item in done}
        if done:
            items[:] = [item for item in items if item.nodeid not in self._done]
            config.hook.pytest_deselected(items=done)

    def pytest_report_collectionfinish(self, config: pytest.Config) -> str | None:
        if config.option.verbose < 0:
            return None
        if not self._source:
            return "testmatrix: no earlier run over these cells to resume: all tests are run"
        return f"testmatrix: {len(self.taken_over)} tests are taken over from run {self._source}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """With nothing left to run, there was something to report all the same."""
        if self.taken_over and session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK


def moved(tested: Tested, position: int) -> Tested:
    """The same at the position that the test has now."""
    return msgspec.structs.replace(tested, position=position)
