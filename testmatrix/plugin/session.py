"""A matrix run in one process: every item through the grid, and at the end what they showed together."""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

import pytest

from testmatrix.grid import Cell, Grid
from testmatrix.observation import ORACLE
from testmatrix.options import Options
from testmatrix.plugin import logged, lost_workers, workers
from testmatrix.plugin.execution import Execution, Ran
from testmatrix.plugin.exploration import Explorer
from testmatrix.plugin.keeping import Keeper
from testmatrix.plugin.resuming import moved, to_resume
from testmatrix.plugin.workers import Briefing
from testmatrix.report.model import Report, encode
from testmatrix.report.recorded import report_of_tests
from testmatrix.report.write import write_atomically
from testmatrix.store.records import Began, Finished, Invocation, Run, Started, Tested, decode
from testmatrix.store.records import encode as encode_record
from testmatrix.store.runs import RunFolder

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
        self.briefing = Briefing()  #: what workers are told, or what this one was told
        self.keeper: Keeper | None = None  #: None: nothing is kept
        self.unkept = ""  #: why nothing is, where it should be
        self.resumed: Mapping[str, Tested] = {}  #: what an earlier run has done, by node id
        explorer = Explorer(grid=grid, cells=cells, oracle=options.oracle, control=options.control, collapse=options.collapse)
        self.execution = Execution(grid, options, explorer)
        self.runs_items: RunsItems = self.execution
        #: What an item's protocol does; a forked process replaces it.
        self.protocol: Callable[[pytest.Item, pytest.Item | None], None] = self.run_item
        self._invocation = invocation
        self._id = uuid.uuid4().hex[:12]
        self._started = datetime.now(timezone.utc)
        self._clock = time.perf_counter()

    def begin(self, config: pytest.Config) -> None:
        """Before anything is collected: where to keep what the tests show, and what an earlier run has done.

        Raises:
            UsageError: what the earlier run wrote cannot be read.
        """
        self.is_worker = workers.is_worker(config)
        if self.is_worker:
            self.briefing = workers.briefing_of(config)
        elif not config.getoption("collectonly", False):
            self.briefing = self._briefing(config)
        if self.briefing.folder:
            self.keeper = Keeper(RunFolder(Path(self.briefing.folder)), workers.name_of(config))
            self.keeper.keep(Started(run=self.run_info(), worker=self.keeper.worker, invocation=self._invocation))

    def _briefing(self, config: pytest.Config) -> Briefing:
        run, store = self.run_info(), self.options.store_in(config.rootpath)
        source = None
        if self.options.resume and store is not None:
            source, self.resumed = to_resume(store, run)
        return Briefing(
            folder=str(self._folder(store, run)) if store is not None else "",
            temporary=tempfile.mkdtemp(prefix="testmatrix-"),
            resumed="" if source is None else source.id,
            done=tuple(self.resumed),
        )

    def _folder(self, store: Path, run: Run) -> Path | str:
        try:
            return RunFolder.create(store, run).path
        except OSError as error:
            self.unkept = f"nothing is kept of this run: {store} cannot be written ({error.strerror or error})"
            return ""

    def collected(self, items: Sequence[pytest.Item], positions: Mapping[int, int] | None = None) -> None:
        self.execution.positions = dict(positions or {id(item): position for position, item in enumerate(items)})

    def take_over(self, positions: Mapping[str, int]) -> None:
        """Take over what an earlier run has shown of tests, given with the positions that they have now."""
        for test, position in positions.items():
            if test in self.resumed:
                self._take(encode_record(moved(self.resumed[test], position)))

    def began(self, began: Began) -> None:
        if self.keeper is not None:
            self.keeper.keep(began)

    def run_item(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Have an item run in every cell where it can differ, and log the one set of reports that stands for it."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        ran = self.runs_items.run(item, nextitem)
        item.session.shouldstop = item.session.shouldstop or ran.shouldstop
        item.session.shouldfail = item.session.shouldfail or ran.shouldfail
        reports = list(ran.reports)
        if self.is_worker:
            self._keep(ran.record)
            setattr(reports[-1], _ON_REPORT, ran.record)
        else:
            self._take(ran.record)

        def tear_down(stopping: bool) -> pytest.TestReport | None:
            due = stopping or ran.scopes_end
            return self.runs_items.tear_down(item, None if stopping else nextitem) if due else None

        logged.log(item, reports, ran.failed_subtests, ran.warnings, tear_down)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def reported(self, report: pytest.TestReport) -> None:
        """Take what a worker has put on a report of its own, and has kept itself."""
        record = vars(report).pop(_ON_REPORT, None)
        if record is not None:
            self._count(record)

    def lost_with_worker(self, test: str, position: int) -> None:
        """A worker is gone, and nobody will hand over what it has seen of the test that it was in."""
        began = lost_workers.begun(self.briefing.folder, test)
        self._take(encode_record(lost_workers.tested(test, position, began, self.grid)))

    def _take(self, record: bytes) -> None:
        self._keep(record)
        self._count(record)

    def _keep(self, record: bytes) -> None:
        if self.keeper is not None:
            self.keeper.keep(record)

    def _count(self, record: bytes) -> None:
        tested = decode(record)
        assert isinstance(tested, Tested)
        self.tested[tested.position, tested.test] = tested

    def failing(self) -> bool:
        """Whether any finding makes the run fail, or a test that is taken over did."""
        tested = self.tested.values()
        if any(each.failed and each.test in self.resumed for each in tested):
            return True
        return any(logged.is_failing(finding, self.options) for each in tested for finding in each.findings)

    def run_info(self) -> Run:
        import torch

        return Run(
            id=self._id,
            started=self._started.isoformat(timespec="microseconds"),
            torch=str(torch.__version__),  # a class of its own
            python=platform.python_version(),
            platform=platform.platform(),
            grid={axis.name: tuple(value.name for value in axis.values) for axis in self.grid.axes},
            cells=tuple(cell.name for cell in self.cells),
            oracle=ORACLE if self.options.oracle else "",
            shard=str(self.options.shard or ""),
        )

    def report(self, exit_status: int) -> Report:
        return report_of_tests(
            self.run_info(),
            self.tested.values(),
            self._invocation,
            wall=time.perf_counter() - self._clock,
            exit_status=exit_status,
        )

    def end(self, exit_status: int) -> None:
        """Once the tests are over: leave nothing but what is to be kept."""
        if self.keeper is not None:
            if not self.is_worker:
                self.keeper.keep(Finished(exit=exit_status, wall=time.perf_counter() - self._clock))
            self.keeper.close()
        if self.briefing.temporary and not self.is_worker:
            shutil.rmtree(self.briefing.temporary, ignore_errors=True)

    @property
    def complaint(self) -> str:
        """What is to be said of keeping records; empty where all went well."""
        return self.unkept or ("" if self.keeper is None else self.keeper.failure)

    def write(self, report: Report) -> None:
        """Write what was asked for; raises OSError where the disk gave way meanwhile."""
        if self.options.json is not None:
            write_atomically(self.options.json, encode(report))
