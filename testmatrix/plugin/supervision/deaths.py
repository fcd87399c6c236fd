"""How a process that ran a test came to its end, as data."""

from __future__ import annotations

import os
import re
import signal
import sysconfig
from dataclasses import dataclass

from testmatrix.observation import ExceptionRecord, Observation, Outcome, Phase
from testmatrix.store.records import Began
from testmatrix.torch_adapter.exceptions import is_users

_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$')
_LIBRARY = sysconfig.get_path("stdlib")
_PACKAGES = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """The end of a process that should have gone on."""

    outcome: Outcome
    cause: str  #: ``SIGSEGV``, ``exit``, ``timeout``
    message: str
    frame: str = ""  #: ``file.py:12 in function``: the innermost frame of the user's, as far as it could still be told
    output: str = ""  #: what it had printed, where that was captured
    began: Began | None = None  #: the run that it was in; None: it was busy with something else
    duration: float = 0.0  #: seconds since that began

    def observation(self) -> Observation:
        """All that is known of the run that was lost."""
        assert self.began is not None
        exception = ExceptionRecord(type=self.cause, message=self.message, frame=self.frame)
        phase = Phase(when="call", outcome="failed", duration=self.duration, exception=exception)
        return Observation(
            test=self.began.test, cell=self.began.cell, outcome=self.outcome, phases=(phase,), duration=self.duration
        )


def described(status: int) -> tuple[str, str]:
    """The cause and a sentence for a status of ``os.waitpid``."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = f"signal {number}"
        return name, f"the process was killed by signal {number} ({name})"
    code = os.waitstatus_to_exitcode(status)
    return "exit", f"the process ended with status {code} (os._exit, or native code that exits)"


def frame_of(trace: str) -> str:
    """``file.py:12 in function`` of the innermost frame that is the user's, in what ``faulthandler`` wrote; or empty."""
    frames = [match for line in _current_thread(trace) if (match := _FRAME.match(line))]
    users = [frame for frame in frames if _is_suites(frame["file"])]
    if not frames:
        return ""
    frame = users[0] if users else frames[0]
    return f"{os.path.basename(frame['file'])}:{frame['line']} in {frame['function']}"


def _current_thread(trace: str) -> list[str]:
    """Lines on the thread that the signal hit; where none is marked, on the last one listed, which is the main thread."""
    sections: list[list[str]] = []
    for line in trace.splitlines():
        if "(most recent call first)" in line:
            sections.append([line])
        elif sections:
            sections[-1].append(line)
    marked = [section for section in sections if section[0].startswith("Current thread")]
    return (marked or sections or [[]])[-1]


def _is_suites(file: str) -> bool:
    of_library = file.startswith(_LIBRARY) and not any(name in file for name in _PACKAGES)
    return is_users(file) and not of_library
