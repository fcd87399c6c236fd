"""Writing down what a run shows as it goes, so that nothing is lost with a process."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field

from testmatrix.store.journal import Journal
from testmatrix.store.records import Record, encode
from testmatrix.store.runs import RunFolder


@dataclass
class Keeper:
    """The journal of this process. What the disk does not take is kept for the next attempt."""

    folder: RunFolder
    worker: str = ""
    failure: str = ""  #: why the last attempt to write failed; empty where all is written
    _journal: Journal | None = None
    _waiting: deque[bytes] = field(default_factory=deque)

    def keep(self, record: Record | bytes) -> None:
        """Write a record down; never raises, since a full disk must not end the run."""
        self._waiting.append(record if isinstance(record, bytes) else encode(record))
        try:
            if self._journal is None:
                self._journal = self.folder.journal(self.worker)
            while self._waiting:
                self._journal.append(self._waiting[0])
                self._waiting.popleft()
            self.failure = ""
        except OSError as error:
            count = f"{len(self._waiting)} record{'s' if len(self._waiting) > 1 else ''}"
            self.failure = f"{count} could not be written to {self.folder.path}: {error.strerror or error}"

    def close(self) -> None:
        if self._journal is not None:
            with suppress(OSError):
                self._journal.close()
