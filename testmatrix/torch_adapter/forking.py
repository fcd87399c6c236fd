"""Torch's threads and forks.

GNU OpenMP keeps its threads for later; a forked process believes that it has them, and waits for them forever. So no thread
is started before the process that runs the tests was forked: what files compute while they are imported is done by one thread.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass
class Threads:
    """How many threads torch uses inside an operation, put off until after the fork."""

    wanted: int = 0  #: 0: not put off
    running: bool = False  #: threads were started before the fork all the same

    def put_off(self) -> None:
        """To be called before files are imported."""
        self.wanted = torch.get_num_threads()
        torch.set_num_threads(1)

    def before_fork(self) -> None:
        self.running = _native_threads() > 0

    def after_fork(self) -> None:
        """In the forked process. A number that a file has set meanwhile stays; threads that do not exist are not waited for."""
        if self.running:
            torch.set_num_threads(1)
        elif torch.get_num_threads() == 1 and self.wanted:
            torch.set_num_threads(self.wanted)


def _native_threads() -> int:
    """Threads of this process that Python did not start; 0 where that cannot be told."""
    tasks = Path("/proc/self/task")
    return max(0, len(os.listdir(tasks)) - threading.active_count()) if tasks.exists() else 0
