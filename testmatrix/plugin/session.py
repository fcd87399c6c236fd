"""A matrix run in one process: every item through the grid, and at the end what they showed together."""

from __future__ import annotations

import platform
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Protocol

import pytest

from testmatrix.grid import Cell, Grid
from testmatrix.observation import ORACLE
from testmatrix.options import Options
from testmatrix.plugin import logged
from testmatrix.plugin.execution import Execution, Ran
from testmatrix.plugin.exploration import Explorer
from testmatrix.report.build import build_report
from testmatrix.report.model import Report, encode
from testmatrix.report.rerun import Invocation, rerun_command
from testmatrix.report.write import write_atomically
from testmatrix.store.records import Run, Tested, decode

#: Under which a test's record travels on its last report, from a worker of pytest-xdist to the process that reports.
_ON_REPORT = "testmatrix_record"


class RunsItems(Protocol):
    """What runs items: this process, or one that it watches."""

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> Ran: ...

    def tear_down(self, item: pytest.Item, nextitem: pytest.Item | None) -> pytest.TestReport | None: ...


class MatrixSession:
    """State of a matrix run in one process."""

    def __init__(self, options: Options, grid: Grid, cells: tuple[Cell, ...], invocation: Invocation) -> None:
        self.options, self.grid, self.cells = options, grid, cells
        #: By position and node id: pytest can be told to run a file twice.
        self.tested: dict[tuple[int, str], Tested] = {}
        self.is_worker = False  #: of pytest-xdist: another process reports
        explorer = Explorer(grid=grid, cells=cells, oracle=options.oracle, control=options.control, collapse=options.collapse)
        self.execution = Execution(grid, options, explorer)
        self.runs_items: RunsItems = self.execution
        #: What an item's protocol does; a forked process replaces it.
        self.protocol: Callable[[pytest.Item, pytest.Item | None], None] = self.run_item
        self._invocation = invocation
        self._id = uuid.uuid4().hex[:12]
        self._started = datetime.now(timezone.utc)
        self._clock = time.perf_counter()

    def collected(self, items: Sequence[pytest.Item]) -> None:
        self.execution.positions = {id(item): position for position, item in enumerate(items)}

    def run_item(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Have an item run in every cell where it can differ, and log the one set of reports that stands for it."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        ran = self.runs_items.run(item, nextitem)
        reports = list(ran.reports)
        if self.is_worker:
            setattr(reports[-1], _ON_REPORT, ran.record)
        else:
            self._take(ran.record)

        def tear_down(stopping: bool) -> pytest.TestReport | None:
            due = stopping or ran.scopes_end
            return self.runs_items.tear_down(item, None if stopping else nextitem) if due else None

        logged.log(item, reports, ran.failed_subtests, ran.warnings, tear_down)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def reported(self, report: pytest.TestReport) -> None:
        """Take what a worker has put on a report of its own."""
        record = vars(report).pop(_ON_REPORT, None)
        if record is not None:
            self._take(record)

    def _take(self, record: bytes) -> None:
        tested = decode(record)
        assert isinstance(tested, Tested)
        self.tested[tested.position, tested.test] = tested

    def failing(self) -> bool:
        """Whether any finding makes the run fail."""
        return any(logged.is_failing(finding, self.options) for each in self.tested.values() for finding in each.findings)

    def run_info(self) -> Run:
        import torch

        return Run(
            id=self._id,
            started=self._started.isoformat(timespec="seconds"),
            torch=str(torch.__version__),  # a class of its own
            python=platform.python_version(),
            platform=platform.platform(),
            grid={axis.name: tuple(value.name for value in axis.values) for axis in self.grid.axes},
            cells=tuple(cell.name for cell in self.cells),
            oracle=ORACLE if self.options.oracle else "",
            shard=str(self.options.shard or ""),
        )

    def report(self, exit_status: int) -> Report:
        tested = sorted(self.tested.values(), key=lambda each: each.position)
        return build_report(
            self.run_info(),
            [each.result for each in tested],
            ints=[row for each in tested for row in each.ints],
            findings=[finding for each in tested for finding in each.findings],
            notes=[note for each in tested for note in each.notes],
            rerun=lambda finding: rerun_command(finding, self._invocation),
            wall=time.perf_counter() - self._clock,
            exit_status=exit_status,
        )

    def write(self, report: Report) -> None:
        """Write what was asked for; raises OSError where the disk gave way meanwhile."""
        if self.options.json is not None:
            write_atomically(self.options.json, encode(report))
