"""What pytest collects, for a command that plans a run: asked of a process of its own, which this module is a plugin of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from testmatrix import options
from testmatrix.errors import TestmatrixError, UsageError
from testmatrix.options import LISTING_VARIABLE

_SEE = "see what 'pytest --collect-only' says"


class Broken(msgspec.Struct, frozen=True):
    """A file, or another collector, that could not be collected."""

    where: str
    reason: str


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """What a run with the same arguments would have."""

    tests: tuple[str, ...] = ()  #: ids of what is selected
    broken: tuple[Broken, ...] = ()
    durations: str = ""  #: the file that ``--testmatrix-durations``, its variable or its ini key names


def collected(pytest_args: Sequence[str]) -> Listing:
    """What pytest collects with these arguments in the current directory; raises UsageError of one line where it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "listing.json"
        # No shard, whatever the environment or the ini file says: all of them are to be planned.
        asked = ["--collect-only", "-q", "-p", __name__, "--testmatrix-shard=1/1"]
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *asked, *pytest_args],
            env={**os.environ, LISTING_VARIABLE: str(path)},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        listing = msgspec.json.decode(path.read_bytes(), type=Listing) if path.exists() else None
    collects = ran.returncode in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if listing is None or not (collects or listing.broken):
        raise UsageError(f"pytest cannot collect here ({_said(ran)}): {_SEE}")
    if listing.broken:
        first, *more = listing.broken
        others = f", and {len(more)} more" if more else ""
        raise UsageError(f"{first.where} cannot be collected ({first.reason}){others}: {_SEE}")
    if not listing.tests:
        raise UsageError("no test is collected: name a path that has some")
    return listing


def _said(ran: subprocess.CompletedProcess[str]) -> str:
    """The line in which pytest said why it stopped."""
    lines = [line.strip() for line in (*ran.stderr.splitlines(), *ran.stdout.splitlines()) if line.strip()]
    # What argparse refuses comes after a usage line that begins with "ERROR: ", too.
    for mark in (": error: ", "ERROR: "):
        for line in lines:
            if mark in line:
                return line.partition(mark)[2]
    return lines[-1].removeprefix("E ").strip() if lines else f"status {ran.returncode}"


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get(LISTING_VARIABLE)
    if path is not None:
        config.pluginmanager.register(_Lister(Path(path)))


class _Lister:
    """Writes down what the process collects."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._broken: list[Broken] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            lines = [line.strip() for line in report.longreprtext.splitlines() if line.strip()]
            raised = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
            reason = re.sub(r"\s+", " ", (raised or lines or ["no reason given"])[-1])
            self._broken.append(Broken(report.nodeid or "the suite", reason))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        config = session.config
        try:
            found = options.resolve(vars(config.option), os.environ, options.read_ini(config.getini), config.rootpath)
        except TestmatrixError as error:
            raise pytest.UsageError(f"testmatrix: {error}") from None
        listing = Listing(
            tests=tuple(item.nodeid for item in session.items),
            broken=tuple(self._broken),
            durations="" if found.durations is None else str(found.durations),
        )
        self._path.write_bytes(msgspec.json.encode(listing))
