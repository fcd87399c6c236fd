"""Running a pytest item once in a cell, and turning what pytest saw into an observation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from testmatrix.grid import Grid
from testmatrix.observation import ExceptionRecord, Observation
from testmatrix.plugin import count_assertions, holding, outcomes, teardown
from testmatrix.plugin.count_assertions import CountAssertion
from testmatrix.plugin.exploration import Request
from testmatrix.plugin.fixtures import CellFixtures
from testmatrix.plugin.pristine import Pristine
from testmatrix.plugin.setups import setups_of
from testmatrix.torch_adapter import capabilities, exceptions
from testmatrix.torch_adapter import cell as cells
from testmatrix.torch_adapter.recording import Recording

#: How many functions with failing count assertions a test may have one after the other.
_MOST_COUNT_RERUNS = 3


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an item: what was observed, and the reports that pytest would have logged."""

    observation: Observation
    reports: tuple[pytest.TestReport, ...]
    failed_subtests: int
    warnings: tuple[warnings.WarningMessage, ...] = ()


@dataclass
class _Raised:
    """Exceptions of the run that is going on, as pytest reported them."""

    records: dict[str, list[ExceptionRecord]] = field(default_factory=dict)
    count_assertion: CountAssertion | None = None


class ItemRunner:
    """Runs one item as often as asked, each time from the same state."""

    def __init__(self, item: pytest.Item, grid: Grid, fixtures: CellFixtures, max_kept: int) -> None:
        self._item: Any = item
        self._setups, self._fixtures, self._max_kept = setups_of(grid), fixtures, max_kept
        self._pristine = Pristine(item)
        self._raised = _Raised()
        self._has_run = False
        self.runs: dict[str, Run] = {}  #: the first run of each cell, by its name
        self.lasting: set[str] = set()  #: what runs have left in the process that cannot be taken away

    def run(self, request: Request) -> Observation:
        """Run the item in a cell; where it fails on how much was compiled, run it again past that."""
        run = self._once(request, None)
        before = run.observation.outcome
        passed: list[str] = []
        for _ in range(_MOST_COUNT_RERUNS):
            assertion = self._raised.count_assertion
            if assertion is None or run.observation.outcome != "failed" or not self._compiles(request, run):
                break
            run = self._once(request, assertion, passed)
        if passed:
            counted = replace(run.observation, count_assertions=tuple(dict.fromkeys(passed)), counted_outcome=before)
            run = replace(run, observation=counted)
        self.runs.setdefault(request.name, run)
        return run.observation

    def _compiles(self, request: Request, run: Run) -> bool:
        """Whether there is anything that an assertion could have counted; the oracle has only what its cells compiled."""
        if request.cell is not None:
            return run.observation.reached_compiler
        return any(other.observation.reached_compiler for other in self.runs.values())

    def on_exception(self, when: str, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """An exception that ended a phase or a subtest of the run that is going on."""
        error = excinfo.value
        self._raised.records.setdefault(when, []).append(exceptions.record(error))
        if isinstance(error, AssertionError) and self._raised.count_assertion is None:
            self._raised.count_assertion = count_assertions.find(error.__traceback__)

    def on_function(self) -> None:
        """Wider scopes are set up, the function's own begins: what there is now is what later runs start from."""
        self._fixtures.begin_function()
        self._pristine.begin_function()

    @contextmanager
    def wider_setup(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[None]:
        """Around the setup of a fixture of wider scope."""
        before = self._pristine.before_wider_setup()
        try:
            with self._fixtures.watching(fixturedef, request):
                yield
        finally:
            if self._fixtures.is_of_cell(fixturedef):
                self._pristine.belongs_to_cell(before)

    def _once(self, request: Request, assertion: CountAssertion | None, passed: list[str] | None = None) -> Run:
        """One run in the cell. What has torch's compiler imported in it is in no cell, and is made again where that matters."""
        run, recording = self._attempt(request, assertion, passed)
        if recording.arrived and (run.observation.reached_compiler or recording.settings_read):
            run, _ = self._attempt(request, assertion, passed)
        return run

    def _attempt(self, request: Request, assertion: CountAssertion | None, passed: list[str] | None) -> tuple[Run, Recording]:
        self._renew()
        started = time.perf_counter()
        passing: AbstractContextManager[list[str]]
        passing = nullcontext([]) if assertion is None else count_assertions.passed_over(assertion, self._item.config)
        with (
            cells.running(self._setups.of(request), self._setups.watch, self._max_kept) as recording,
            passing as failed,
            holding.held_reports(self._item.config) as reports,
            warnings.catch_warnings(record=True) as warned,
        ):
            runtestprotocol(self._item, log=True, nextitem=self._item.parent)
            if self._fixtures.any_of_cell():
                teardown.merged(reports, teardown.report_of(self._item, self._fixtures.finish))
        self.lasting.update(recording.lasting)
        if passed is not None:
            passed.extend(failed)
        subtests = holding.failed_subtests(self._item)
        observation = self._observation(request, recording, reports, subtests, time.perf_counter() - started)
        return Run(observation, tuple(reports), subtests, tuple(warned or ())), recording

    def _renew(self) -> None:
        """Undo what an earlier run left on the item itself."""
        self._raised = _Raised()
        self._fixtures.begin()
        if self._has_run:
            self._pristine.put_back()
            self._pristine.forget_instance()
        self._has_run = True
        holding.set_failed_subtests(self._item, 0)

    def _observation(
        self, request: Request, recording: Recording, reports: list[pytest.TestReport], subtests: int, duration: float
    ) -> Observation:
        return Observation(
            test=self._item.nodeid,
            cell=request.name,
            outcome=outcomes.outcome_of(reports, subtests),
            phases=outcomes.phases_of(reports, self._raised.records),
            duration=duration,
            regions=tuple(call for call in recording.regions if call is not None),
            compiles=tuple(recording.compiles),
            failed_compiles=tuple(recording.failed_compiles),
            gradients=tuple(recording.gradients),
            settings_read=tuple(sorted(f"{module}.{name}" for module, name in recording.settings_read)),
            pinned=self._setups.written(recording.settings_written),
            notes=tuple(recording.notes),
            torch=capabilities.version(),
        )
