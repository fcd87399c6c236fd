"""Processes that must not outlive the one that made them.

What only Linux has (adopting orphans, dying with the parent) is done there; elsewhere nothing of it happens.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_LINUX = sys.platform == "linux"
#: From linux/prctl.h.
_SET_PDEATHSIG = 1
_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent dies, so that they can be found."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Have this process killed when its parent ends, however that happens."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before this was said
        os._exit(1)


def children() -> frozenset[int]:
    """Ids of this process's children, adopted ones among them; empty where that cannot be told."""
    found: set[int] = set()
    for listing in Path("/proc/self/task").glob("*/children") if _LINUX else ():
        with suppress(OSError):
            found.update(int(word) for word in listing.read_text().split())
    return frozenset(found)


def end_all(spared: frozenset[int]) -> int:
    """Kill children apart from those spared, and whatever they leave behind; how many there were."""
    ended = 0
    while left := children() - spared:
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
            with suppress(OSError):  # somebody else may have waited for it
                os.waitpid(process, 0)
            ended += 1
    return ended
