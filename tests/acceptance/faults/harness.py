"""Runs of the forty tests in processes of their own, and what is left of them afterwards."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: By it, processes that descend from a run are found whatever became of their parents.
_MARK = "RUN_OF_FAULTS"
#: Seconds that a process gets to be gone after the run.
_GRACE = 10
LONGEST = 600
#: Starts Python under a limit of the address space (0: none), and with SIGINT as a terminal's programs have it: what a shell
#: starts in the background ignores it, and so would all that comes of it.
_START = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
if limit := int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


@dataclass(frozen=True)
class Finished:
    """What a run came to, and what it left."""

    status: int
    output: str
    report: dict | None  #: None: it wrote none
    processes: list[str]  #: command lines of those that are still there
    files: list[str]  #: what is left in its directory for temporary files, pytest's own apart


class Place:
    """A directory with the suite, and with all that a run of it writes."""

    def __init__(self, folder, temporary=None):
        self.suite, self.report_file = folder / "suite", folder / "report.json"
        self.temporary = temporary or folder / "temporary"
        self.of_torch = folder / "torch"
        for each in (self.suite, self.temporary):
            each.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "forty.py", self.suite / "test_forty.py")
        shutil.copy(HERE / "planted.py", self.suite / "planted.py")
        (self.suite / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    @property
    def runs(self):
        """Folders of the runs that the store has, the oldest first."""
        return sorted((self.suite / ".testmatrix" / "runs").iterdir())

    def run(self, *options, limit=0, **variables):
        """Run the suite to its end; ``limit`` is that of each process's address space in bytes."""
        return self.start(*options, limit=limit, **variables).wait()

    def start(self, *options, limit=0, **variables):
        self.report_file.unlink(missing_ok=True)
        flags = ["--testmatrix", f"--testmatrix-json={self.report_file}", "-p", "no:cacheprovider", "-q"]
        return Running(self, [sys.executable, "-c", _START, str(limit), "-m", "pytest", *flags, *options], variables)


class Running:
    """A run that is going on: the leader of a process group, as a terminal makes it."""

    def __init__(self, place, command, variables):
        self.place, self._mark = place, f"{_MARK}={uuid.uuid4().hex}"
        name, value = self._mark.split("=")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TESTMATRIX", "PYTEST"))}
        self._process = subprocess.Popen(
            command,
            cwd=place.suite,
            # Torch makes the last one when it is imported, whoever imports it.
            env={
                **inherited,
                **variables,
                name: value,
                "TMPDIR": str(place.temporary),
                "TORCHINDUCTOR_CACHE_DIR": str(place.of_torch),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )

    def signal(self, number, *, group=False):
        (os.killpg if group else os.kill)(self._process.pid, number)

    def wait(self):
        try:
            output, _ = self._process.communicate(timeout=LONGEST)
        finally:
            left = self._left()
            for process in left:
                os.kill(process, signal.SIGKILL)
        file = self.place.report_file
        report = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        files = [path.name for path in self.place.temporary.iterdir() if not path.name.startswith("pytest-of-")]
        return Finished(self._process.returncode, output, report, list(left.values()), files)

    def _left(self):
        """Processes of the run, once those that are about to end have ended."""
        deadline = time.monotonic() + _GRACE
        while (left := self._descendants()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return left

    def _descendants(self):
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if self._mark.encode() in (path / "environ").read_bytes().split(b"\0"):
                    found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # ended meanwhile, or somebody else's
                continue
        return found


def of_others(report, test):
    """All that a report says of the tests apart from one, but for times."""
    return {
        "tests": [_timeless(one) for one in report["tests"] if one["test"] != test],
        "causes": [one for one in report["causes"] if not _is_about(one, report, test)],
        **{
            part: [one for one in report.get(part, []) if one["test"] != test]
            for part in ("ints", "numbers", "findings", "notes")
        },
    }


def whole(report):
    """All that a report says, but for times and for what is of the run itself."""
    run, summary = dict(report["run"]), dict(report["summary"])
    for name in ("id", "started"):
        del run[name]
    del summary["wall"]
    return {**of_others(report, ""), "run": run, "summary": summary}


def _timeless(test):
    cells = {name: {key: value for key, value in cell.items() if key != "duration"} for name, cell in test["cells"].items()}
    return {**test, "cells": cells}


def _is_about(cause, report, test):
    tests = {one["id"]: one["test"] for one in report["findings"]}
    return any(tests[finding] == test for finding in cause["findings"])
