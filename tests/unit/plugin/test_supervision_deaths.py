"""What is said of a process that ended: from its status, and from what it had written of where it was."""

import os
import signal
import subprocess
import sys
import sysconfig

import pytest
import torch

from testmatrix.plugin.supervision.deaths import Death, described, frame_of
from testmatrix.store.records import Began

LIBRARY = sysconfig.get_path("stdlib")


def status_of(code):
    """The status of a process that runs the code, as ``os.waitpid`` gives it."""
    process = subprocess.Popen([sys.executable, "-c", f"import os, signal\n{code}"])
    return os.waitpid(process.pid, 0)[1]


@pytest.mark.parametrize(
    ("code", "cause", "says"),
    [
        ("os._exit(0)", "exit", "status 0"),
        ("os._exit(3)", "exit", "status 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "SIGKILL", "signal 9 (SIGKILL)"),
        ("os.kill(os.getpid(), signal.SIGRTMIN + 3)", f"signal {signal.SIGRTMIN + 3}", f"signal {signal.SIGRTMIN + 3} ("),
    ],
)
def test_a_status_in_words(code, cause, says):
    found, message = described(status_of(code))
    assert found == cause
    assert says in message


def trace(*frames, thread="Current thread 0x1"):
    lines = [f'  File "{file}", line {line} in {function}' for file, line, function in frames]
    return "\n".join(["Fatal Python error: Aborted", "", f"{thread} (most recent call first):", *lines])


def test_the_innermost_frame_of_the_users_is_the_culprit():
    text = trace(
        (f"{LIBRARY}/threading.py", 5, "join"),
        (torch._ops.__file__, 7, "__call__"),
        ("/suite/test_it.py", 12, "hang"),
        ("/suite/test_it.py", 20, "test_it"),
    )
    assert frame_of(text) == "test_it.py:12 in hang"


def test_without_one_it_is_the_innermost():
    assert frame_of(trace((f"{LIBRARY}/threading.py", 5, "join"))) == "threading.py:5 in join"


def test_of_several_threads_it_is_the_one_that_the_signal_hit():
    other = trace(("/suite/other.py", 1, "other"), thread="Thread 0x2")
    mine = trace(("/suite/test_it.py", 2, "mine"))
    assert frame_of(f"{mine}\n\n{other}") == frame_of(f"{other}\n\n{mine}") == "test_it.py:2 in mine"


def test_where_none_is_marked_it_is_the_main_thread_which_comes_last():
    first = trace(("/suite/other.py", 1, "other"), thread="Thread 0x2")
    last = trace(("/suite/test_it.py", 2, "mine"), thread="Thread 0x1")
    assert frame_of(f"{first}\n\n{last}") == "test_it.py:2 in mine"


@pytest.mark.parametrize("text", ["", "Segmentation fault", "Current thread 0x1 (most recent call first):\n  <no Python frame>"])
def test_where_nothing_is_known_nothing_is_said(text):
    assert frame_of(text) == ""


def test_what_faulthandler_really_writes_is_read(tmp_path):
    file = tmp_path / "test_it.py"
    file.write_text("import faulthandler, ctypes\ndef crashing():\n    ctypes.string_at(0)\nfaulthandler.enable()\ncrashing()")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGSEGV
    assert frame_of(done.stderr) == "test_it.py:3 in crashing"


def test_a_lost_run_is_an_observation_of_its_cell():
    death = Death(
        outcome="timeout",
        cause="timeout",
        message="no end after 5 s",
        frame="test_it.py:12 in hang",
        began=Began(test="test_it.py::test_it", cell="dynamic-specialize"),
        duration=5.25,
    )
    observation = death.observation()
    assert (observation.test, observation.cell, observation.outcome) == ("test_it.py::test_it", "dynamic-specialize", "timeout")
    assert (observation.exception.message, observation.exception.frame) == ("no end after 5 s", "test_it.py:12 in hang")
    assert observation.duration == 5.25
