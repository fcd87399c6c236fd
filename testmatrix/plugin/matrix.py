"""The hooks of a matrix run. Registered only where there is one."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any

import pytest

from testmatrix.errors import TestmatrixError
from testmatrix.plugin import log_capture, resuming, schedule, shards, workers
from testmatrix.plugin.resuming import ResumePlugin
from testmatrix.plugin.session import MatrixSession
from testmatrix.plugin.supervision.supervisor import Supervisor
from testmatrix.report.model import Report
from testmatrix.report.terminal import summary_lines


class MatrixPlugin:
    """Delegates to the session; holds what must cross from one hook to another."""

    def __init__(self, session: MatrixSession, supervisor: Supervisor | None = None) -> None:
        self._matrix = session
        self._supervisor = supervisor  #: None: tests run in pytest's own process, or in workers
        self._resume: ResumePlugin | None = None
        self._report: Report | None = None
        self._failure = ""
        self._last_line = ""
        self._take_back: Callable[[], None] = lambda: None

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._take_back = log_capture.install()
        shards.install(session.config, self._matrix.options)
        schedule.install(session.config, self._matrix.options)
        try:
            self._matrix.begin(session.config)
        except TestmatrixError as error:
            raise pytest.UsageError(f"testmatrix: {error}") from None
        if not self._matrix.is_worker:
            _interrupt_on_termination()
        if workers.leaves_tests_to_workers(session.config):
            self._supervisor = None
        elif self._matrix.options.resume:
            self._resume = ResumePlugin(self._matrix.briefing.done, self._matrix.briefing.resumed)
            session.config.pluginmanager.register(self._resume, resuming.NAME)
        if self._supervisor is not None:
            looks_ahead = not self._matrix.is_worker and _runs_straight_through(session.config)
            self._supervisor.prepare(self._matrix.briefing.temporary or None, looks_ahead=looks_ahead)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of pytest-xdist is about to start."""
        workers.brief(node, self._matrix.briefing)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, sched: Any) -> None:
        """A worker is gone in the middle of a test."""
        collection = list(getattr(sched, "collection", None) or ())
        self._matrix.lost_with_worker(crashitem, collection.index(crashitem) if crashitem in collection else len(collection))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended."""
        told = workers.told_by(node)
        if told is not None:
            self._matrix.take_over(told.taken_over)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        if item.config.getoption("setupplan", False) or item.config.getoption("setuponly", False):
            return None
        self._matrix.protocol(item, nextitem)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        positions = self._resume.positions if self._resume is not None else shards.positions(session.config)
        self._matrix.collected(session.items, positions)
        if self._resume is not None and not self._matrix.is_worker:
            self._matrix.take_over(self._resume.taken_over)
        if self._supervisor is not None:
            self._supervisor.collected(session.items, self._serve)

    def _serve(self, protocol: Callable[[pytest.Item, pytest.Item | None], None]) -> None:
        """In the forked process: items run there, and what they show is handed over."""
        self._matrix.protocol = protocol

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        with self._matrix.execution.fixture_setup(fixturedef, request):
            return (yield)

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        self._matrix.execution.fixture_torn_down(fixturedef)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        self._matrix.execution.on_function()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        result = yield
        if call.excinfo is not None:
            self._matrix.execution.on_exception(call.when, call.excinfo)
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._supervisor is not None:
            self._supervisor.stop(interrupted=session.exitstatus == pytest.ExitCode.INTERRUPTED)
        if self._matrix.is_worker:
            taken_over = self._resume.taken_over if self._resume is not None else {}
            workers.tell(session.config, workers.Collected(taken_over=taken_over))
            self._matrix.end(int(session.exitstatus))
            return
        if session.config.getoption("collectonly", False):
            return
        if session.exitstatus == pytest.ExitCode.OK and self._matrix.failing():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._finish(session)
        self._matrix.end(int(session.exitstatus))

    def _finish(self, session: pytest.Session) -> None:
        self._report = self._matrix.report(int(session.exitstatus))
        try:
            self._matrix.write(self._report)
        except OSError as error:
            self._failure = f"testmatrix: the report could not be written: {error}"
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
            if session.config.pluginmanager.get_plugin("terminalreporter") is None:
                print(self._failure, file=sys.stderr)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Where workers of pytest-xdist run the tests, what these show comes with their reports."""
        if not self._matrix.is_worker:
            self._matrix.reported(report)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._report is None:
            return
        terminalreporter.section("testmatrix")
        width = terminalreporter._tw.fullwidth
        written = self._matrix.options.json if not self._failure else None
        color = terminalreporter._tw.hasmarkup
        *lines, self._last_line = summary_lines(self._report, width=width, color=color, file=str(written or ""))
        for line in lines:
            terminalreporter.write_line(line)
        for said in (self._failure, self._matrix.complaint and f"testmatrix: {self._matrix.complaint}"):
            if said:
                terminalreporter.write_line(said, red=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """The int line comes last, after pytest's own last line."""
        self._take_back()
        reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._last_line:
            reporter.write_line(self._last_line)


def _runs_straight_through(config: pytest.Config) -> bool:
    """Whether nothing that a test shows keeps the next one from running, and neither's output goes to the terminal."""
    stops = config.getoption("maxfail", 0) or config.getoption("stepwise", False)
    logs = config.pluginmanager.has_plugin("logging") and config.getini("log_cli")
    return not stops and config.getoption("capture", "fd") != "no" and not logs


def _interrupt_on_termination() -> None:
    """Have SIGTERM, with which CI systems cancel, do what Ctrl-C does: the run reports on what was done."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # the next one ends the process
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
