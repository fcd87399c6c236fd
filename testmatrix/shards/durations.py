"""How long tests took: read from JSON reports, or from a small file of its own.

The file is JSON with sorted keys, so that it can be kept under version control::

    {"format": "testmatrix-durations", "version": 1, "durations": {"tests/test_a.py::test_it": 1.25}}
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from testmatrix.errors import UsageError

FORMAT = "testmatrix-durations"
VERSION = 1

#: JSON reports of runs. This package is below ``testmatrix.report`` and reads only what it needs of them.
REPORT_FORMAT = "testmatrix-report"
REPORT_VERSION = 1

#: Seconds by test id.
Durations = Mapping[str, float]

_DIGITS = 6  # microseconds, as in reports
_HOW = "name a report that a run wrote with --testmatrix-json, or a file that 'testmatrix shard durations' wrote"


class _Head(msgspec.Struct):
    format: str = ""
    version: int = 0


class _File(msgspec.Struct):
    durations: dict[str, float]


class _Cell(msgspec.Struct):
    duration: float = 0.0
    same_as: str = ""


class _Test(msgspec.Struct):
    test: str
    cells: dict[str, _Cell]


class _Report(msgspec.Struct):
    tests: list[_Test] = []


def read_durations(path: Path) -> dict[str, float]:
    """The durations in a file of either sort; raises UsageError of one line where it cannot be read or is damaged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({(error.strerror or str(error)).lower()}): {_HOW}") from None
    return decode_durations(data, str(path))


def decode_durations(data: bytes, where: str) -> dict[str, float]:
    """As :func:`read_durations`, from the content of a file; ``where`` names it in errors."""
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} holds no durations ({error}): {_HOW}") from None
    known = {FORMAT: VERSION, REPORT_FORMAT: REPORT_VERSION}
    if head.format not in known:
        raise UsageError(f"{where} holds no durations (format {head.format!r}): {_HOW}")
    if head.version != known[head.format]:
        raise UsageError(
            f"{where} has version {head.version}, but {known[head.format]} is read here: use the testmatrix that wrote it"
        )
    try:
        if head.format == FORMAT:
            durations = msgspec.json.decode(data, type=_File).durations
        else:
            durations = {test.test: _seconds(test) for test in msgspec.json.decode(data, type=_Report).tests}
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} is damaged ({error}): {_HOW}") from None
    for test, seconds in durations.items():
        if not (math.isfinite(seconds) and seconds >= 0):
            raise UsageError(f"{where} is damaged ({test!r} took {seconds} seconds): {_HOW}")
    return durations


def _seconds(test: _Test) -> float:
    """What the test costs a run: the cells that were run, the oracle included."""
    return sum(cell.duration for cell in test.cells.values() if not cell.same_as)


def combine(sources: Iterable[Durations]) -> dict[str, float]:
    """All of them together; of a test that is in several, the median, so that their order makes no difference."""
    found: dict[str, list[float]] = {}
    for source in sources:
        for test, seconds in source.items():
            found.setdefault(test, []).append(seconds)
    return {test: statistics.median(seconds) for test, seconds in sorted(found.items())}


def encode_durations(durations: Durations) -> bytes:
    """The file's content: the same bytes for the same durations, one test a line."""
    ordered = {test: round(seconds, _DIGITS) for test, seconds in sorted(durations.items())}
    content = {"format": FORMAT, "version": VERSION, "durations": ordered}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
