"""What the supervising process and the one that runs tests say to each other."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, Literal

import pytest

from testmatrix.plugin.execution import Lost, Ran
from testmatrix.store.records import Began


@dataclass(frozen=True, slots=True)
class RunItem:
    """Run the session's item at ``index``; ``next`` is what will come after it, as far as is known."""

    index: int
    next: int | None
    lost: Lost
    tear_down: bool = False  #: and then, where the next item does not share them, the wider scopes
    ahead: bool = False  #: nobody has asked for the item yet, and perhaps nobody will
    habits: frozenset[str] = frozenset()  #: what tests may leave behind without the process being given up


@dataclass(frozen=True, slots=True)
class TearDown:
    """Tear down the wider scopes that the next item does not share."""

    index: int
    next: int | None


@dataclass(frozen=True, slots=True)
class Stop:
    """Tear down all that is set up, and end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """All runs that were said to begin are over: from here on, the process does the framework's own work."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """An item was not run ahead, since it had become clear that nobody would ask for it."""


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The run that was said to begin has left no memory: the process, which is of no use any more, ends."""

    frame: str = ""  #: ``file.py:12 in function``: where an exception of the run was raised


@dataclass(frozen=True, slots=True)
class TornDown:
    report: pytest.TestReport | None


@dataclass(frozen=True, slots=True)
class Raised:
    """Something that ends the session rather than a test."""

    kind: Literal["exit", "interrupt", "usage", "internal"]
    text: str = ""
    status: int | None = None  #: that ``pytest.exit`` was given


Order = RunItem | TearDown | Stop
Answer = Began | Ended | Exhausted | Skipped | Ran | TornDown | Raised


def send(connection: Connection, message: Order | Answer) -> None:
    connection.send_bytes(pickle.dumps(_portable(message), pickle.HIGHEST_PROTOCOL))


def receive(connection: Connection) -> Any:
    """The next message; raises EOFError where there is none any more."""
    return pickle.loads(connection.recv_bytes())


def _portable(message: Order | Answer) -> Order | Answer:
    """The message with objects that plugins and tests have put into it, and that do not pickle, replaced by their text."""
    if isinstance(message, Ran):
        reports = tuple(_portable_report(report) for report in message.reports)
        return replace(message, reports=reports, warnings=tuple(_portable_warning(each) for each in message.warnings))
    if isinstance(message, TornDown) and message.report is not None:
        return TornDown(_portable_report(message.report))
    return message


def _portable_report(report: pytest.TestReport) -> pytest.TestReport:
    if report.longrepr is None and not report.user_properties and vars(report).keys() == _PLAIN:
        return report
    for name, value in vars(report).items():
        if name == "user_properties":
            report.user_properties = [(key, each if _pickles(each) else repr(each)) for key, each in value]
        elif not _pickles(value):
            setattr(report, name, str(value))
    return report


def _portable_warning(warned: warnings.WarningMessage) -> warnings.WarningMessage:
    if _pickles(warned):
        return warned
    # A class that cannot be imported by its name, such as one made inside a test: its nearest base that can.
    category = next(cls for cls in warned.category.__mro__ if _pickles(cls) and issubclass(cls, Warning))
    return warnings.WarningMessage(str(warned.message), category, warned.filename, warned.lineno)


def _pickles(value: object) -> bool:
    try:
        pickle.loads(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    except Exception:  # somebody's own class may raise anything
        return False
    return True


#: What pytest itself puts into a report.
_PLAIN = vars(
    pytest.TestReport(nodeid="", location=("", 0, ""), keywords={}, outcome="passed", longrepr=None, when="call")
).keys()
