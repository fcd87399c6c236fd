"""What a test may do to its process: one function a fault, each ending in its own way or never.

Which one a run has, if any, the variable FAULT says. It is done in one cell only.
"""

import builtins
import ctypes
import mmap
import os
import re
import signal
import subprocess
import sys
import threading
import types
from contextlib import suppress
from pathlib import Path

import torch
import torch._dynamo.config

CELL = "dynamic-unspecialize"
#: The file that fills the disk.
FILLING = "filling"


def act():
    fault = os.environ.get("FAULT", "")
    # Read whether or not there is a fault, so that a run without one collapses no more of the test's cells.
    here = not torch._dynamo.config.assume_static_by_default and not torch._dynamo.config.specialize_int
    if here and fault:
        globals()[fault]()


# It takes the process down.


def segfault():
    ctypes.string_at(0)


def abort():
    os.abort()


def exit_0():
    os._exit(0)


def exit_3():
    os._exit(3)


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def parent_killed():
    """The process that watches this one."""
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def stack_overflow():
    """The C library takes regular expressions apart by recursion."""
    ctypes.CDLL(None).regcomp(ctypes.create_string_buffer(4096), b"(" * 10_000_000, 1)


def crash_with_processes():
    """One is a child, the other has left the group, the session and its parent."""
    subprocess.Popen(["sleep", "1000"])
    subprocess.run([sys.executable, "-c", _DAEMON], check=True)
    ctypes.string_at(0)


_DAEMON = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)"


# It never ends.


def python_loop():
    while True:
        pass


def native_lock():
    """In which no signal is seen, and no other thread runs: it is taken twice."""
    library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(128)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)


def regular_expression():
    re.match("(a+)+$", "a" * 100 + "b")


def lock_taken_twice():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def thread_that_never_ends():
    thread = threading.Thread(target=threading.Event().wait)
    thread.start()
    thread.join()


def stopped():
    os.kill(os.getpid(), signal.SIGSTOP)


# It takes what all tests share.


def memory_asked_for():
    """More than there is, at once."""
    bytearray(1 << 45)


def memory_of_tensors():
    torch.empty(1 << 45, dtype=torch.uint8)


def memory_filled():
    """Down to the last small piece, and none is given back before the test has ended."""
    pieces = []
    _fill(pieces)


def memory_kept():
    """The same, and it is never given back."""
    _fill(_KEPT)


_KEPT = []


def _fill(pieces):
    for size in (1 << 28, 1 << 24, 1 << 20):
        with suppress(OSError):
            while True:
                pieces.append(mmap.mmap(-1, size))  # which costs no memory before it is written to
    for size in (1 << 16, 1 << 12, 1 << 8):
        with suppress(MemoryError):
            while True:
                pieces.append(bytearray(size))
    bytearray(1 << 28)


def disk_filled():
    """To the last byte, and it stays full."""
    with Path(os.environ["TMPDIR"], FILLING).open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))


# It leaves things behind.


def leaks():
    threading.Thread(target=threading.Event().wait, name="planted", daemon=True).start()
    torch._dynamo.config.verbose = True
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.nn.modules.module.register_module_forward_hook(_hook)
    sys.modules["planted_module"] = types.ModuleType("planted_module")
    os.environ["PLANTED"] = "1"
    os.chdir("/")
    builtins.open = _hook


def _hook(*arguments, **more):
    raise AssertionError("left behind by another test")


def assert_nothing_is_left():
    """Of what :func:`leaks` leaves, the thread apart."""
    assert not torch._dynamo.config.verbose
    assert torch.get_default_dtype() == torch.float32
    assert torch.get_default_device() == torch.device("cpu")
    assert not torch.nn.modules.module._global_forward_hooks
    assert "planted_module" not in sys.modules
    assert "PLANTED" not in os.environ
    assert os.getcwd() == os.path.dirname(__file__)
    assert builtins.open is not _hook


def assert_no_thread_is_left():
    assert "planted" not in [thread.name for thread in threading.enumerate()]
