"""A matrix run: every item through the grid, and at the end what they showed together."""

from __future__ import annotations

import platform
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import pytest

from testmatrix.compare.finding import Finding, IntRow
from testmatrix.errors import TestmatrixError
from testmatrix.grid import Cell, Grid
from testmatrix.observation import ORACLE
from testmatrix.options import Options
from testmatrix.plugin import holding, teardown
from testmatrix.plugin.exploration import Explored, Explorer
from testmatrix.plugin.fixtures import CellFixtures
from testmatrix.plugin.runner import ItemRunner, Run
from testmatrix.report.build import build_report, cell_result, notes_of
from testmatrix.report.model import Report, encode
from testmatrix.report.rerun import Invocation, rerun_command
from testmatrix.report.write import write_atomically
from testmatrix.store.records import NoteEntry, TestResult
from testmatrix.store.records import Run as RunInfo


@dataclass
class Results:
    """What the tests of one process showed; can be pickled, so that workers hand theirs over."""

    tests: list[TestResult] = field(default_factory=list)
    ints: list[IntRow] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[NoteEntry] = field(default_factory=list)
    positions: dict[str, int] = field(default_factory=dict)  #: of tests in the order of collection

    def add(self, nodeid: str, explored: Explored) -> None:
        observations = explored.observations
        self.tests.append(TestResult(test=nodeid, cells={name: cell_result(o) for name, o in observations.items()}))
        self.ints.extend(explored.ints)
        self.findings.extend(explored.findings)
        self.notes.extend(notes_of(observations.values()))

    def extend(self, other: Results) -> None:
        self.tests.extend(other.tests)
        self.ints.extend(other.ints)
        self.findings.extend(other.findings)
        self.notes.extend(other.notes)
        self.positions.update(other.positions)

    def sort(self) -> None:
        """Bring what several workers did into the order in which one process does it."""
        for rows in (self.tests, self.ints, self.findings, self.notes):
            rows.sort(key=lambda row: self.positions.get(row.test, 0))


class MatrixSession:
    """State of a matrix run in one process."""

    def __init__(self, options: Options, grid: Grid, cells: tuple[Cell, ...], invocation: Invocation) -> None:
        self.options, self.grid, self.cells = options, grid, cells
        self.results = Results()
        self._explorer = Explorer(
            grid=grid, cells=cells, oracle=options.oracle, control=options.control, collapse=options.collapse
        )
        self._fixtures = CellFixtures()
        self._runner: ItemRunner | None = None
        self._invocation = invocation
        self._started = datetime.now(timezone.utc)
        self._clock = time.perf_counter()

    def run_item(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Run an item in every cell where it can differ, and log the one set of reports that stands for it."""
        self._runner = runner = ItemRunner(item, self.grid, self._fixtures, self.options.max_kept)
        try:
            explored = self._explorer.explore(item.nodeid, runner.run)
            self.results.add(item.nodeid, explored)
        except TestmatrixError as error:  # such as a context manager of the project's own that cannot be entered
            raise pytest.UsageError(f"testmatrix: {error}") from None
        finally:
            self._runner = None
        chosen, failing = choose_run(explored, runner.runs, self.options)
        reports = _with_findings(list(chosen.reports), failing)
        _log(item, chosen, reports, nextitem)

    def collected(self, items: Sequence[pytest.Item]) -> None:
        self.results.positions = {item.nodeid: position for position, item in enumerate(items)}

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

    def failing(self) -> bool:
        """Whether any finding makes the run fail."""
        return any(is_failing(finding, self.options) for finding in self.results.findings)

    def report(self, exit_status: int) -> Report:
        import torch

        self.results.sort()
        info = RunInfo(
            id=uuid.uuid4().hex[:12],
            started=self._started.isoformat(timespec="seconds"),
            torch=str(torch.__version__),  # a class of its own
            python=platform.python_version(),
            platform=platform.platform(),
            grid={axis.name: tuple(value.name for value in axis.values) for axis in self.grid.axes},
            cells=tuple(cell.name for cell in self.cells),
            oracle=ORACLE if self.options.oracle else "",
            shard=str(self.options.shard or ""),
        )
        return build_report(
            info,
            self.results.tests,
            ints=self.results.ints,
            findings=self.results.findings,
            notes=self.results.notes,
            rerun=lambda finding: rerun_command(finding, self._invocation),
            wall=time.perf_counter() - self._clock,
            exit_status=exit_status,
        )

    def write(self, report: Report) -> None:
        """Write what was asked for; raises OSError where the disk gave way meanwhile."""
        if self.options.json is not None:
            write_atomically(self.options.json, encode(report))


def is_failing(finding: Finding, options: Options) -> bool:
    """Whether a finding makes the run fail: of a failing kind, and one that repeats."""
    return not finding.unstable and options.fails(finding.kind, finding.severity)


def choose_run(explored: Explored, runs: dict[str, Run], options: Options) -> tuple[Run, tuple[Finding, ...]]:
    """The run whose reports stand for the test, and the findings that make it fail.

    Where a failing finding is about the outcome, it is a run that fails; otherwise the first cell's, as in a bare run.
    """
    failing = tuple(finding for finding in explored.findings if is_failing(finding, options))
    for finding in failing:
        for name in finding.cells:
            run = runs.get(name)
            if finding.kind == "outcome" and run is not None and run.observation.outcome in ("failed", "error"):
                return run, failing
    return next(iter(runs.values())), failing


def _with_findings(reports: list[pytest.TestReport], failing: tuple[Finding, ...]) -> list[pytest.TestReport]:
    """The reports with failing findings in them: a test fails where its cells differ, even though each of them passed."""
    if not failing:
        return reports
    lines = [f"{finding.kind} in {', '.join(finding.cells)}: {finding.summary}" for finding in failing]
    decisive = next((r for r in reports if r.failed), None)
    if decisive is not None:
        decisive.sections.insert(0, ("testmatrix", "\n".join(lines)))
        return reports
    last = next((r for r in reversed(reports) if r.when == "call" and type(r) is pytest.TestReport), reports[0])
    if hasattr(last, "wasxfail"):
        del last.wasxfail
    last.outcome = "failed"
    last.longrepr = "\n".join(lines)
    return reports


def _log(item: pytest.Item, chosen: Run, reports: list[pytest.TestReport], nextitem: pytest.Item | None) -> None:
    """Log the reports of one run as if it were the only one, and tear down wider scopes where pytest would."""
    holding.set_failed_subtests(item, chosen.failed_subtests)
    for warning in chosen.warnings:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno, warning.file, warning.line)
    last = reports[-1:]
    for report in reports[:-1]:
        item.ihook.pytest_runtest_logreport(report=report)
    # Not earlier: the reports so far decide whether the session goes on, and with it what is torn down.
    teardown.merged(last, teardown.wider_scopes(item, nextitem))
    for report in last:
        item.ihook.pytest_runtest_logreport(report=report)
