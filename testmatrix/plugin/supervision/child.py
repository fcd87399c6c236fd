"""The process that runs tests: it does as it is told until it is told to stop."""

from __future__ import annotations

import atexit
import faulthandler
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from mmap import mmap
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

import pytest

from testmatrix.observation import Observation
from testmatrix.plugin.execution import Execution, Lost, Ran
from testmatrix.plugin.supervision import processes
from testmatrix.plugin.supervision.memory import Reserve
from testmatrix.plugin.supervision.orders import (
    Answer,
    Ended,
    Exhausted,
    Raised,
    RunItem,
    Skipped,
    Stop,
    TearDown,
    TornDown,
    receive,
    send,
)
from testmatrix.store.records import Began
from testmatrix.torch_adapter import caches, forking

#: Of a process whose own code failed, past all that could be said to the parent.
BROKEN = 70  # EX_SOFTWARE of sysexits.h


def become(
    session: pytest.Session,
    execution: Execution,
    connection: Connection,
    *,
    parent: int,
    trace: int,
    caches_root: str,
    called_off: mmap,
    threads: forking.Threads,
    serve_items: Callable[[Callable[[pytest.Item, pytest.Item | None], None]], None],
) -> None:
    """Turn the process that was just forked into one that serves; never returns.

    Args:
        trace: file descriptor for the traceback of a fatal signal.
        called_off: its first byte is not zero where nobody wants what is run ahead any more.
        caches_root: folder for the cells' compile caches, which the parent removes.
        serve_items: told what to do with an item when its protocol runs.
    """
    status = BROKEN
    try:
        _settle(session, parent, trace, threads)
        caches.use_root(caches_root)
        child = Child(session, execution, connection, called_off)
        serve_items(child.run_here)
        child.serve()
        status = 0
    except BaseException:  # a fault of ours, which the parent raises
        os.write(trace, traceback.format_exc().encode(errors="replace"))
    finally:
        _leave(status)


def _settle(session: pytest.Session, parent: int, trace: int, threads: forking.Threads) -> None:
    """Be a process of one's own: the parent's exit functions, connections and signal handlers are the parent's."""
    processes.die_with(parent)
    atexit._clear()
    threads.after_fork()
    faulthandler.enable(file=trace)
    signal.signal(signal.SIGINT, _Interrupt())
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for name, plugin in session.config.pluginmanager.list_name_plugin():
        if type(plugin).__name__ == "WorkerInteractor":  # pytest-xdist's: it would speak on the worker's connection
            session.config.pluginmanager.unregister(name=name)


def first_run(test: str, execution: Execution) -> Began:
    """What an item that is to be run begins with, unless that was lost before."""
    return Began(test=test, cell=execution.explorer.cells[0].name)


class _Interrupt:
    """Raises KeyboardInterrupt once: a terminal sends the signal to both processes, and the parent passes it on."""

    def __init__(self) -> None:
        self._raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self._raised:
            self._raised = True
            raise KeyboardInterrupt


def _leave(status: int) -> None:
    """End without what the interpreter does at its end: waiting for threads that a test has left running."""
    with suppress(BaseException):
        atexit._run_exitfuncs()
    _flush()
    logging.raiseExceptions = False
    os._exit(status)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()


class Child:
    """Runs items of the session by their index."""

    def __init__(self, session: pytest.Session, execution: Execution, connection: Connection, called_off: mmap) -> None:
        self._session, self._execution, self._connection = session, execution, connection
        self._process = os.getpid()
        self._lost: Lost = {}
        self._ran: Ran | None = None
        self._called_off = called_off
        self._stops = False  #: something that was run ends the session
        self._reserve = Reserve()
        session.config.pluginmanager.register(self._reserve)
        execution.began, execution.ended = self._began, self._ended
        execution.explorer.comparing = lambda: self._say(Ended())

    def serve(self) -> None:
        """Obey until told to stop, or until nobody is there any more."""
        while True:
            try:
                order = receive(self._connection)
            except KeyboardInterrupt:
                continue  # nothing is running that it could end
            except (EOFError, OSError):
                order = Stop()
            answer = self._obeyed(order)
            self._stops |= isinstance(answer, Raised) or bool(self._session.shouldstop or self._session.shouldfail)
            self._say(answer)
            if isinstance(answer, Ran) and answer.worn:
                self._say(self._obeyed(TearDown(order.index, None)))
                return
            if isinstance(answer, Ran) and answer.scopes_end and order.tear_down:
                self._say(self._obeyed(TearDown(order.index, order.next)))
            if isinstance(order, Stop):
                return

    def run_here(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """What the protocol of an item does in this process, inside of the hook wrappers of all plugins."""
        self._ran = self._execution.run(item, nextitem, self._lost)

    def _obeyed(self, order: Any) -> Answer:
        try:
            return self._do(order)
        except pytest.exit.Exception as error:
            return Raised("exit", str(error.msg), error.returncode)
        except KeyboardInterrupt:
            return Raised("interrupt")
        except pytest.UsageError as error:
            return Raised("usage", str(error))
        except BaseException:
            return Raised("internal", traceback.format_exc())

    def _do(self, order: RunItem | TearDown | Stop) -> Answer:
        if isinstance(order, RunItem) and order.ahead and (self._stops or self._called_off[0]):
            return Skipped()
        if isinstance(order, RunItem):
            item, nextitem = self._item(order.index), self._next(order.next)
            self._lost, self._ran = order.lost, None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            if self._ran is None:
                return Raised("internal", f"another plugin ran {item.nodeid}")
            worn = not self._ran.lasting <= order.habits
            return replace(self._ran, worn=True, scopes_end=True) if worn else self._ran
        if isinstance(order, TearDown):
            return TornDown(self._execution.tear_down(self._item(order.index), self._next(order.next)))
        self._session._setupstate.teardown_exact(None)
        return TornDown(None)

    def _item(self, index: int) -> pytest.Item:
        return self._session.items[index]

    def _next(self, index: int | None) -> pytest.Item | None:
        return None if index is None else self._item(index)

    def _began(self, began: Began) -> None:
        if began != first_run(began.test, self._execution):  # which the parent knows without being told
            self._say(began)

    def _ended(self, observation: Observation | None) -> None:
        if self._reserve.is_whole() and observation is not None:
            return
        exception = observation.exception if observation is not None else None
        self._say(Exhausted(exception.frame if exception is not None else ""))
        _flush()
        os._exit(0)

    def _say(self, answer: Answer) -> None:
        if os.getpid() != self._process:
            os._exit(BROKEN)  # a process that the test forked, and that fell out of it
        with suppress(BrokenPipeError):
            send(self._connection, answer)
