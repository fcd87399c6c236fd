"""Which test a worker gets next, where several share one machine: the longest ones first, and then file by file."""

from __future__ import annotations

import bisect
import heapq
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

#: Tests shorter than this part of an even share of the run are all alike: whoever gets the last of them, it hardly matters.
_SHORT = 1 / 200
#: Tests of which nothing is recorded begin as early as if they took this part of an even share: any of them may be the longest.
_UNKNOWN = 1 / 4


@dataclass(frozen=True, slots=True)
class Worker:
    """What is known of a worker when tests are given out."""

    busy: float  #: seconds until it could begin another test
    file: str = ""  #: of the last test that it was given


class Waiting:
    """Tests that no worker has been given yet, by their positions.

    Tests of about one length (within a factor of two) are alike. Among these, a worker stays in the file that it is in, so that
    fixtures of modules and classes need not be set up again for every test, and goes on to one that no other worker is in.
    """

    def __init__(
        self, files: Sequence[str], seconds: Sequence[float], workers: int, unknown: Collection[int] = frozenset()
    ) -> None:
        """Of unknown tests, the seconds are no more than a guess."""
        self._files, self._seconds, self._unknown = files, seconds, unknown
        self._share = sum(seconds) / max(workers, 1)
        #: Length, file, positions in order.
        self._lengths: dict[int, dict[str, list[int]]] = {}
        self._count = 0
        for position in range(len(files)):
            self.add(position)

    def __len__(self) -> int:
        return self._count

    def add(self, position: int) -> None:
        """Let a test wait, for the first time or again."""
        files = self._lengths.setdefault(self._length(position), {})
        bisect.insort(files.setdefault(self._files[position], []), position)
        self._count += 1

    def take(self, worker: Worker, others: Collection[Worker]) -> int | None:
        """The test that a worker is to run once it has done what it holds; None where it had better end then.

        A worker has to know its next test before it begins one, so what it is given waits for it however long that takes. It
        gets what would be left for it if all helped themselves to the longest test as soon as they are free. If by
        then nothing is left, the wait for it would be the run's end: only a short test is worth it.
        """
        if not self._count:
            return None
        length = self._left_for(worker, others)
        if length is None:
            length = min(self._lengths)
            if length > 0:
                return None
        return self._pop(length, worker.file, {other.file for other in others})

    def _length(self, position: int) -> int:
        seconds, short = self._seconds[position], self._share * _SHORT
        if position in self._unknown:
            seconds = max(seconds, self._share * _UNKNOWN)
        return 0 if seconds <= short else 1 + math.floor(math.log2(seconds / short))

    def _left_for(self, worker: Worker, others: Iterable[Worker]) -> int | None:
        """The length of the first test, longest first, for which the worker is free before all others are."""
        free = [other.busy for other in others]
        heapq.heapify(free)
        for length in sorted(self._lengths, reverse=True):
            for positions in self._lengths[length].values():
                for position in positions:
                    if not free or worker.busy <= free[0]:
                        return length
                    heapq.heapreplace(free, free[0] + self._seconds[position])
        return None

    def _pop(self, length: int, file: str, taken: Collection[str]) -> int:
        files = self._lengths[length]
        if file not in files:
            file = next((one for one in files if one not in taken), next(iter(files)))
        positions = files[file]
        position = positions.pop(0)
        self._count -= 1
        if not positions:
            del files[file]
        if not files:
            del self._lengths[length]
        return position
