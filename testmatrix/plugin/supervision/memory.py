"""Memory that is left for saying that there is none.

A test that takes all that a limit allows leaves nothing for pytest to report it with, nor for the recorder. So some address space
is held, which costs nothing while nobody writes to it, and given up as soon as there is nothing else.
"""

from __future__ import annotations

import gc
import mmap
import resource
import sys
from collections.abc import Generator
from contextlib import suppress
from typing import Any

import pytest

#: Enough for a report with its traceback, and for running the test in another cell.
_SIZE = 64 * 2**20
#: Where Python keeps the last exception, and with it all that the frames hold which it came through.
_LAST_EXCEPTION = ("last_exc", "last_type", "last_value", "last_traceback")


class Reserve:
    """Address space held by this process; a plugin of pytest's, too."""

    def __init__(self) -> None:
        self._held = _mapped()
        self._works = self._held is not None  #: there was no shortage before the first test

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Before anything is made of an exception."""
        if call.excinfo is not None:
            self.open()
        return (yield)

    def open(self) -> None:
        """Give it up, where no other memory is left."""
        if self._held is not None and _is_short():
            self._held.close()
            self._held = None

    def is_whole(self) -> bool:
        """Whether there is memory for another run, now that one is over; its last remains are thrown away if there is not."""
        if not self._works or not _is_limited() or (self._held is not None and not _is_short()):
            return True
        self.open()
        for name in _LAST_EXCEPTION:
            with suppress(AttributeError):
                delattr(sys, name)
        gc.collect()
        self._held = self._held or _mapped()
        if self._held is not None and not _is_short():
            return True
        self.open()  # for what is to be said now
        return False


def _is_limited() -> bool:
    """Whether address space can run out: without a limit, the system grants any, and kills who uses what it has not."""
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _mapped() -> mmap.mmap | None:
    try:
        return mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, MemoryError):
        return None


def _is_short() -> bool:
    mapped = _mapped()
    if mapped is None:
        return True
    mapped.close()
    return False
