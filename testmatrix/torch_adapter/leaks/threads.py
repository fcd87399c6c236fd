"""Threads that a test started and that are still running.

A thread cannot be ended from outside: what it is doing goes on beside whatever comes next in its process. Threads of machinery
that keeps some for later are no leak while they are idle: those of Inductor's pool and others of ``concurrent.futures``, of
``multiprocessing``, of the test runner.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from testmatrix.torch_adapter.exceptions import is_users
from testmatrix.torch_adapter.leaks.leak import Leak, Part, place_of

#: Packages whose threads only count while they run something of somebody else's.
_MACHINERY = re.compile(
    r"^(?:concurrent\.futures|multiprocessing|asyncio|subprocess|torch|triton|numpy|numba|joblib|tqdm|execnet|xdist|_?pytest\w*"
    r"|coverage|testmatrix)(?:\.|$)"
)
#: Names that nobody chose: they are numbered by process.
_NUMBERED = re.compile(r"^Thread-\d+( \(.*\))?$")
#: Seconds for all threads together to end by themselves, such as those of a pool that was told to.
_GRACE = 0.2


def _read() -> frozenset[threading.Thread]:
    return frozenset(threading.enumerate())


def _leaks(before: frozenset[threading.Thread], now: frozenset[threading.Thread]) -> Iterator[Leak]:
    new = sorted(now - before, key=lambda thread: thread.name)
    doing = {thread: code for thread in new if (code := _runs(thread)) is not None}
    until = time.monotonic() + _GRACE
    for thread, code in doing.items():
        thread.join(max(0.0, until - time.monotonic()))
        if thread.is_alive():
            name = "a thread" if _NUMBERED.match(thread.name) else f"thread {re.sub(r'[0-9]+', '#', thread.name)!r}"
            yield Leak(f"{name} is still running: {code.co_name} ({place_of(code)})")


def _runs(thread: threading.Thread) -> CodeType | None:
    """The function that the thread was started for; None where that is an idle machinery's, or Python's own for a foreign one."""
    if isinstance(thread, threading._DummyThread):
        return None
    target = _target(thread)
    module = getattr(target, "__module__", None) or ""
    if _MACHINERY.match(str(module)):
        return _users_function(thread)
    code: CodeType | None = getattr(getattr(target, "__func__", target), "__code__", None)
    return code or _users_function(thread) or type(thread).run.__code__


def _target(thread: threading.Thread) -> Any:
    """What a thread calls, whether it was given it, is a timer or has a ``run`` of its own."""
    target: Any = getattr(thread, "_target", None) or getattr(thread, "function", None)
    while hasattr(target, "func"):  # a partial
        target = target.func
    return target if target is not None else type(thread).run


def _users_function(thread: threading.Thread) -> CodeType | None:
    """The outermost function on the thread's stack that is neither the standard library's nor machinery's."""
    found = None
    frame: FrameType | None = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        is_standard = module.partition(".")[0] in sys.stdlib_module_names
        if not is_standard and not _MACHINERY.match(module) and is_users(frame.f_code.co_filename):
            found = frame.f_code
        frame = frame.f_back
    return found


PARTS = (Part(_read, _leaks),)
