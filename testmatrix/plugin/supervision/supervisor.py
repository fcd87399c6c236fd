"""Keeping a run going whatever its tests do to their process: they run in a forked one, and are watched from here."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from mmap import mmap
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import IO, Any

import pytest

from testmatrix.observation import Observation
from testmatrix.plugin import logged
from testmatrix.plugin.execution import Execution, Lost, Ran, RunKey
from testmatrix.plugin.supervision import child, processes
from testmatrix.plugin.supervision.deaths import Death, described, frame_of
from testmatrix.plugin.supervision.orders import (
    Ended,
    Exhausted,
    Order,
    Raised,
    RunItem,
    Skipped,
    Stop,
    TearDown,
    TornDown,
    receive,
    send,
)
from testmatrix.store.records import Began, NoteEntry, Tested, TestResult, encode
from testmatrix.torch_adapter import arrival, forking

#: Seconds that a process gets to write a traceback after it was told to abort, and to tear down when told to stop.
_GRACE = 5.0
_LONGER_GRACE = 60.0
#: Tests that may leave the same thing behind before that counts as how the suite is.
_HABIT = 3
#: Items that a process may be told to run before anybody asks for them.
_AHEAD = 16
#: Seconds for which answers are looked for now and then rather than waited for, and between two looks.
_BRIEF = 0.02
_NAP = 0.0005
#: Seconds between two looks at a process where the system cannot tell when it ends.
_LOOK = 0.05


@dataclass
class _Process:
    """A forked process that runs tests."""

    id: int
    connection: Connection
    trace: IO[bytes]  #: what ``faulthandler`` writes there
    root: str  #: folder of its compile caches
    called_off: mmap  #: shared with it: its first byte says whether what is ahead is still wanted
    sentinel: int | None  #: readable once the process has ended
    began: Began | None = None  #: the run that it is in
    ahead: deque[int] = field(default_factory=deque)  #: items that it was told to run and nobody has asked for yet, in order
    tears_down: bool = False  #: it was told to tear down wider scopes, and has not said that it did
    worn: bool = False  #: it ends then, as a test has left something in it that would meet the others
    heard: float = 0.0  #: when it last said something
    status: int | None = None  #: of ``os.waitpid``, once it has ended


class Supervisor:
    """Has items run by a process of its own, and by another one where that died."""

    def __init__(self, execution: Execution, timeout: float | None, began: Callable[[Began], None]) -> None:
        self._execution, self._timeout, self._began = execution, timeout, began
        self._looks_ahead = False
        self._left: Counter[str] = Counter()  #: what tests have left in processes that were given up for it
        self._has_lost = False  #: a process died, so that more of them may
        self._folder: str | None = None
        self._process: _Process | None = None
        self._threads = forking.Threads()
        self._spared: frozenset[int] = frozenset()
        self._serve_items: Any = None
        self._indices: dict[int, int] = {}

    def prepare(self, folder: str | None, *, looks_ahead: bool) -> None:
        """Before anything is collected.

        Args:
            folder: where temporary files are kept; None: where the system keeps them.
            looks_ahead: all items are run in their order, whatever comes of them, so that the next one can run while this
                process logs what the last one showed.
        """
        self._folder, self._looks_ahead = folder, looks_ahead
        self._threads.put_off()
        processes.adopt_orphans()

    def collected(self, items: list[pytest.Item], serve_items: Any) -> None:
        self._serve_items = serve_items
        self._indices = {id(item): index for index, item in enumerate(items)}
        self._spared = processes.children()

    def run(self, item: pytest.Item, nextitem: pytest.Item | None) -> Ran:
        """Have an item run; runs that were lost are said in what it hands over.

        Raises:
            KeyboardInterrupt, pytest.exit.Exception, pytest.UsageError: as the item's own run did.
        """
        lost: dict[RunKey, Observation] = {}
        said: list[tuple[str, str]] = []
        while True:
            answer = self._ask_to_run(item, nextitem, lost)
            if isinstance(answer, Death) and answer.began is not None:
                lost[(answer.began.cell, answer.began.purpose)] = answer.observation()
                if answer.output:
                    said.append((f"Captured output of {answer.began.cell}, {answer.outcome}", answer.output))
                continue
            ran = answer if isinstance(answer, Ran) else self._uncompared(item, answer)
            # Terminals show the sections of what failed.
            shown = next((report for report in ran.reports if report.failed), ran.reports[-1])
            shown.sections.extend(said)
            return ran

    def tear_down(self, item: pytest.Item, nextitem: pytest.Item | None) -> pytest.TestReport | None:
        """Have wider scopes torn down; the report where that failed, or took the process down."""
        before: pytest.TestReport | None = None
        if self._process is not None and self._process.tears_down:
            worn = self._process.worn
            answer = self._ask([], item)
            before = _torn_down(answer, item)
            if worn and self._process is not None:
                self._bury(self._process, _GRACE)
            if nextitem is not None:
                return before
            # The session may be about to stop, which was not known when it was told.
        self._drop_ahead()
        if self._process is None:
            return before
        return _torn_down(self._ask([TearDown(self._indices[id(item)], self._index(nextitem))], item), item) or before

    def _ask_to_run(self, item: pytest.Item, nextitem: pytest.Item | None, lost: Lost) -> Ran | TornDown | Death:
        """Have the item run, and where that is allowed, the next ones right after it, while this process logs."""
        index, next_index = self._indices[id(item)], self._index(nextitem)
        ahead = self._looks_ahead and not lost
        if self._process is None or not self._process.ahead or self._process.ahead[0] != index:
            self._drop_ahead()
            orders: list[Order] = [RunItem(index, next_index, lost, tear_down=ahead, habits=self._habits)]
        else:
            self._process.ahead.popleft()
            orders = []
        process = self._process = self._process or self._fork(item.session)
        if ahead and next_index is not None and len(process.ahead) <= _AHEAD // 2:
            orders.extend(self._orders_ahead(process, next_index))
        first = child.first_run(item.nodeid, self._execution)
        answer = self._ask(orders, item, None if (first.cell, first.purpose) in lost else first)
        if self._process is not None and isinstance(answer, Ran):
            self._process.tears_down, self._process.worn = (ahead and answer.scopes_end) or answer.worn, answer.worn
            if answer.worn:
                self._process.ahead.clear()
                self._left.update(answer.lasting)
        return answer

    def _orders_ahead(self, process: _Process, next_index: int) -> Iterator[RunItem]:
        """Orders to run what comes after the items that were ordered already, the next one being the first."""
        last = len(self._indices) - 1
        start = process.ahead[-1] + 1 if process.ahead else next_index
        for index in range(start, min(start + _AHEAD - len(process.ahead), last + 1)):
            process.ahead.append(index)
            yield RunItem(index, index + 1 if index < last else None, {}, tear_down=True, habits=self._habits, ahead=True)

    @property
    def _habits(self) -> frozenset[str]:
        """What so many tests leave behind that it must be meant to stay, such as the one thread of some library."""
        return frozenset(text for text, tests in self._left.items() if tests >= _HABIT)

    def _drop_ahead(self) -> None:
        """Wait for what was run before anybody asked for it, and forget it: nobody will."""
        process = self._process
        if process is None:
            return
        process.called_off[0] = 1
        while process.ahead:
            process.ahead.popleft()
            try:
                dropped = self._listen(process, (Ran, Raised, Exhausted, Skipped), self._timeout)
                if isinstance(dropped, Ran) and dropped.scopes_end:
                    dropped = self._listen(process, (TornDown, Raised), self._timeout)
            except (EOFError, OSError):
                dropped = None
            if dropped is None or isinstance(dropped, Exhausted) or (isinstance(dropped, Ran) and dropped.worn):
                self._bury(process, 0)  # or its end would be taken for what happens to the next order
                return
        process.called_off[0] = 0

    def stop(self, *, interrupted: bool = False) -> None:
        """End the process, and all that it has started. Where a test was interrupted, it is, too."""
        process = self._process
        if process is None:
            return
        process.called_off[0] = 1
        if interrupted:
            with suppress(OSError):
                os.kill(process.id, signal.SIGINT)
        with suppress(OSError, EOFError):
            send(process.connection, Stop())
            self._listen(process, TornDown, _GRACE if interrupted else _LONGER_GRACE)
        self._bury(process, _GRACE)

    def _index(self, item: pytest.Item | None) -> int | None:
        return None if item is None else self._indices[id(item)]

    def _uncompared(self, item: pytest.Item, death: Any) -> Ran:
        """The process died of comparing what the runs showed: of that nothing is left but the failure."""
        text = f"the process that compared the test's cells ended: {death.message}"
        note = NoteEntry(kind="recorder", text=text, test=item.nodeid)
        position = self._indices[id(item)]
        result = TestResult(test=item.nodeid, cells={})
        tested = Tested(test=item.nodeid, position=position, failed=True, result=result, notes=(note,))
        return Ran(record=encode(tested), reports=tuple(logged.unseen(item, f"testmatrix: {text}")))

    def _ask(self, orders: Sequence[Order], item: pytest.Item, begins: Began | None = None) -> Ran | TornDown | Death:
        """Give orders, and wait for what comes of the first that is not answered yet; ``begins`` is the run that comes first."""
        process = self._process = self._process or self._fork(item.session)
        process.heard, process.began = time.monotonic(), begins
        if begins is not None:
            self._began(begins)
        with suppress(OSError):  # it has ended already: what it said before is still to be heard
            for order in orders:
                send(process.connection, order)
        process.tears_down = False
        try:
            answer = self._listen(process, (Ran, TornDown, Raised, Exhausted), self._timeout)
        except (OSError, EOFError):
            return self._death(process, item, "crashed")
        if answer is None:
            return self._death(process, item, "timeout")
        if isinstance(answer, Exhausted):
            return self._exhaustion(process, item, answer)
        if isinstance(answer, Raised):
            _raise(answer)
        assert isinstance(answer, (Ran, TornDown))
        return answer

    def _listen(self, process: _Process, until: Any, timeout: float | None) -> object:
        """The first message of such a kind; None where nothing was heard for so long.

        Raises:
            EOFError, OSError: the process has ended.
        """
        while True:
            if not self._is_heard(process, timeout):
                return None
            message = receive(process.connection)
            process.heard = time.monotonic()
            if isinstance(message, Began):
                process.began = message
                self._began(message)
            elif isinstance(message, (Ended, Ran)):
                process.began = None
            if isinstance(message, until):
                return message

    def _is_heard(self, process: _Process, timeout: float | None) -> bool:
        """Wait until there is a message, or the process has ended, which raises EOFError; False where the time is up."""
        deadline = None if timeout is None else process.heard + timeout
        begun = time.monotonic()
        while not process.connection.poll():
            if self._has_ended(process):
                if process.connection.poll():  # said before it ended
                    return True
                raise EOFError
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return False
            if process.ahead and time.monotonic() - begun < _BRIEF:
                time.sleep(_NAP)  # waking somebody who waits takes the other process longer than a brief test
                continue
            awaited: list[Any] = [process.connection]
            if process.sentinel is not None:
                awaited.append(process.sentinel)
            else:
                left = _LOOK if left is None else min(left, _LOOK)
            wait(awaited, left)
        return True

    def _has_ended(self, process: _Process) -> bool:
        if process.status is None:
            try:
                reaped, status = os.waitpid(process.id, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                reaped, status = process.id, 0
            if reaped:
                process.status = status
        return process.status is not None

    def _fork(self, session: pytest.Session) -> _Process:
        ours, theirs = Pipe()
        trace = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the process is buried
        for stream in (sys.stdout, sys.stderr):
            stream.flush()  # or both processes would write what is waiting
        # Asked for by whoever runs tests in a process of their own; basetemp is shared with it.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        if self._has_lost:
            arrival.load()  # or each process would import torch's compiler by itself, for seconds
        called_off = mmap(-1, 1)
        root, parent = tempfile.mkdtemp(prefix="testmatrix-", dir=self._folder), os.getpid()
        self._threads.before_fork()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are pytest-xdist's and hold nothing
            forked = os.fork()
        if forked == 0:
            ours.close()
            child.become(
                session,
                self._execution,
                theirs,
                parent=parent,
                trace=trace.fileno(),
                caches_root=root,
                called_off=called_off,
                threads=self._threads,
                serve_items=self._serve_items,
            )
        theirs.close()
        return _Process(forked, ours, trace, root, called_off, _sentinel(forked), heard=time.monotonic())

    def _exhaustion(self, process: _Process, item: pytest.Item, told: Exhausted) -> Death:
        """The process gave up, for want of memory."""
        death = self._death(process, item, "crashed")
        message = "it used up the memory of its process, and did not give it back"
        return replace(death, cause="MemoryError", message=message, frame=told.frame)

    def _death(self, process: _Process, item: pytest.Item, outcome: Any) -> Death:
        """What ended the process, or will now, since it does not end by itself."""
        self._has_lost = True
        began, lasted = process.began, time.monotonic() - process.heard
        if outcome == "timeout":
            self._abort(process)
        trace = self._bury(process, 0 if outcome == "timeout" else _GRACE)
        if began is None and process.status is not None and os.waitstatus_to_exitcode(process.status) == child.BROKEN:
            raise RuntimeError(f"in the process that runs the tests:\n{trace}")
        cause, message = described(process.status or 0)
        if outcome == "timeout":
            cause, message = "timeout", f"no end after {self._timeout:g} s"
        frame, output = frame_of(trace), _captured(item)
        return Death(
            outcome=outcome, cause=cause, message=message, frame=frame, output=output, began=began, duration=round(lasted, 6)
        )

    def _abort(self, process: _Process) -> None:
        """Have the process write where it stands, which fatal signals do, whatever it hangs in."""
        with suppress(OSError):
            os.kill(process.id, signal.SIGABRT)
            os.kill(process.id, signal.SIGCONT)  # a process that was stopped acts on no other signal
        self._await_end(process, _GRACE)

    def _await_end(self, process: _Process, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self._has_ended(process):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            wait([process.sentinel] if process.sentinel is not None else [], min(left, _LOOK))
        return True

    def _bury(self, process: _Process, seconds: float) -> str:
        """Make sure that the process has ended, and leave nothing of it; returns where it said that it stood."""
        self._process = None
        if not self._await_end(process, seconds):
            with suppress(OSError):
                os.kill(process.id, signal.SIGKILL)
            self._await_end(process, _LONGER_GRACE)
        process.connection.close()
        process.called_off.close()
        if process.sentinel is not None:
            os.close(process.sentinel)
        processes.end_all(self._spared)
        shutil.rmtree(process.root, ignore_errors=True)
        with process.trace:
            process.trace.seek(0)
            return process.trace.read().decode(errors="replace")


def _torn_down(answer: Ran | TornDown | Death, item: pytest.Item) -> pytest.TestReport | None:
    if isinstance(answer, Death):
        return logged.made_up(item, "teardown", f"tearing down wider fixtures: {answer.message}")
    return answer.report if isinstance(answer, TornDown) else None


def _sentinel(process: int) -> int | None:
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):  # not Linux, or an old one
        return None


def _raise(raised: Raised) -> None:
    """Raise here what was raised there."""
    if raised.kind == "interrupt":
        raise KeyboardInterrupt
    if raised.kind == "exit":
        pytest.exit(raised.text, raised.status)
    if raised.kind == "usage":
        raise pytest.UsageError(raised.text)
    raise RuntimeError(f"in the process that runs the tests:\n{raised.text}")


def _captured(item: pytest.Item) -> str:
    """What pytest had captured of a process that is gone: it goes to a file that both have open."""
    capture: Any = item.config.pluginmanager.get_plugin("capturemanager")
    if capture is None or capture._global_capturing is None:
        return ""
    out, err = capture.read_global_capture()
    return f"{out}{err}".strip()
