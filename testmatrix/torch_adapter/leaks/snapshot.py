"""What a process was like at one time, and what a later time has that it had not.

Taking one and looking again costs some ten microseconds where nothing changed: most tests do nothing of the kind, and there are
many of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from testmatrix.torch_adapter.leaks import containers, modules, settings, threads, torchs
from testmatrix.torch_adapter.leaks.leak import Leak, Part, differ

_PARTS: tuple[Part, ...] = (*settings.PARTS, *containers.PARTS, *modules.PARTS, *threads.PARTS, *torchs.PARTS)
_READS = tuple(part.read for part in _PARTS)
_LIVE = tuple(part.live or part.read for part in _PARTS)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The value of each part."""

    values: tuple[Any, ...]


def take() -> Snapshot:
    return Snapshot(tuple([read() for read in _READS]))


def found(before: Snapshot) -> tuple[Leak, ...]:
    """What there is now and was not then, or the other way round."""
    leaks: list[Leak] = []
    for part, old, read in zip(_PARTS, before.values, _LIVE, strict=True):
        now = read()
        if differ(old, now):
            leaks.extend(part.leaks(old, now))
    return tuple(leaks)


def rebased(start: Snapshot, before: Snapshot, after: Snapshot) -> Snapshot:
    """``start`` with what changed between two later times: a fixture's part, which outlives the cell that it was set up in."""
    return Snapshot(
        tuple(
            now if differ(old, now) else first for first, old, now in zip(start.values, before.values, after.values, strict=True)
        )
    )


def refreshed(start: Snapshot) -> Snapshot:
    """What there is now, in place of ``start``, but for what the test runner changes from phase to phase."""
    now = take()
    return Snapshot(tuple([old if part.phased else new for part, old, new in zip(_PARTS, start.values, now.values, strict=True)]))
