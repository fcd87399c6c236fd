"""Running one item through the grid in this process, and handing over what it showed.

What is handed over crosses a pipe where a supervisor runs tests in a process of their own; here, nothing of that is known.
"""

from __future__ import annotations

import os
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from testmatrix.errors import TestmatrixError
from testmatrix.grid import Grid
from testmatrix.observation import Observation
from testmatrix.options import Options
from testmatrix.plugin import logged, teardown
from testmatrix.plugin.exploration import Explored, Explorer, Request
from testmatrix.plugin.fixtures import CellFixtures
from testmatrix.plugin.runner import ItemRunner
from testmatrix.report.build import cell_result, notes_of
from testmatrix.store.records import Began, NoteEntry, Purpose, Tested, TestResult, encode

#: A run of a test: the name of its cell, and what it is for.
RunKey = tuple[str, Purpose]
#: Runs that were lost before, by what they were: they are not run again.
Lost = Mapping[RunKey, Observation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What is left of an item that has been through the grid."""

    record: bytes  #: an encoded :class:`Tested`
    reports: tuple[pytest.TestReport, ...]  #: that stand for it
    failed_subtests: int = 0
    warnings: tuple[warnings.WarningMessage, ...] = ()
    scopes_end: bool = False  #: wider scopes are set up that the next item does not share
    lasting: frozenset[str] = frozenset()  #: what it has left in the process that cannot be taken away, such as threads
    worn: bool = False  #: the process ends for that, once all scopes are torn down
    shouldstop: bool | str = False  #: as the test, or a plugin in its process, has set it on the session
    shouldfail: bool | str = False


@dataclass
class Execution:
    """Runs items, one after the other, in the process that it is in."""

    grid: Grid
    options: Options
    explorer: Explorer
    began: Callable[[Began], None] = lambda began: None  #: told before each run of an item
    #: Told after it what it showed; None where memory gave out outside of the test.
    ended: Callable[[Observation | None], None] = lambda observation: None
    positions: dict[int, int] = field(default_factory=dict)  #: in the order of collection, by an item's identity
    _fixtures: CellFixtures = field(default_factory=CellFixtures)
    _runner: ItemRunner | None = None

    def run(self, item: pytest.Item, nextitem: pytest.Item | None, lost: Lost | None = None) -> Ran:
        """Run an item in every cell where it can differ.

        Raises:
            pytest.UsageError: something of the project's own, such as a context manager of a cell, cannot be used.
        """
        self._runner = runner = ItemRunner(item, self.grid, self._fixtures, self.options.max_kept)
        try:
            explored = self._explorer_run(item, runner, lost or {})
        except TestmatrixError as error:
            raise pytest.UsageError(f"testmatrix: {error}") from None
        finally:
            self._runner = None
        return self._handed_over(item, nextitem, runner, explored)

    def _explorer_run(self, item: pytest.Item, runner: ItemRunner, lost: Lost) -> Explored:
        seen: dict[str, Observation] = {}

        def run_once(request: Request) -> Observation:
            observation = lost.get((request.name, request.purpose))
            if observation is None:
                self.began(Began(test=item.nodeid, cell=request.name, purpose=request.purpose))
                try:
                    observation = runner.run(request)
                except MemoryError:
                    self.ended(None)
                    raise
                self.ended(observation)
            seen.setdefault(request.name, observation)
            return observation

        try:
            return self.explorer.explore(item.nodeid, run_once)
        except (TestmatrixError, pytest.exit.Exception):
            raise
        except Exception as error:  # a fault of ours, or no memory for comparing: one test's results, not the run's
            return Explored(observations=seen, fault=f"comparing its cells failed: {_told(error)}")

    def _handed_over(self, item: pytest.Item, nextitem: pytest.Item | None, runner: ItemRunner, explored: Explored) -> Ran:
        chosen, failing = logged.choose_run(explored, runner.runs, self.options)
        reports = logged.with_findings(logged.reports_of(item, chosen, explored), failing, explored.fault)
        return Ran(
            record=encode(self._tested(item, explored, reports)),
            reports=tuple(reports),
            failed_subtests=chosen.failed_subtests if chosen else 0,
            warnings=chosen.warnings if chosen else (),
            scopes_end=teardown.is_due(item, nextitem),
            lasting=frozenset(runner.lasting),
            shouldstop=item.session.shouldstop,
            shouldfail=item.session.shouldfail,
        )

    def _tested(self, item: pytest.Item, explored: Explored, reports: list[pytest.TestReport]) -> Tested:
        test, observations = item.nodeid, explored.observations
        fault = NoteEntry(kind="recorder", text=explored.fault, test=test, cells=tuple(observations))
        return Tested(
            test=test,
            position=self.positions.get(id(item), 0),
            failed=any(report.failed for report in reports),
            result=TestResult(test=test, cells={name: cell_result(one) for name, one in observations.items()}),
            ints=explored.ints,
            findings=explored.findings,
            notes=(*notes_of(observations.values()), *([fault] if explored.fault else [])),
        )

    def tear_down(self, item: pytest.Item, nextitem: pytest.Item | None) -> pytest.TestReport | None:
        """Tear down the wider scopes that the next item does not share; the report where that raised."""
        return teardown.wider_scopes(item, nextitem)

    @contextmanager
    def fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[None]:
        if self._runner is not None and fixturedef.scope != "function":
            with self._runner.wider_setup(fixturedef, request):
                yield
        else:
            self.on_function()
            yield

    def fixture_torn_down(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        if fixturedef.scope != "function":
            self._fixtures.torn_down()

    def on_function(self) -> None:
        if self._runner is not None:
            self._runner.on_function()

    def on_exception(self, when: str, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        if self._runner is not None:
            self._runner.on_exception(when, excinfo)


def _told(error: Exception) -> str:
    """An exception in one line, with where it was raised."""
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({os.path.basename(last.filename)}:{last.lineno})"
