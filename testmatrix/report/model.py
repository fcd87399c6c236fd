"""The JSON report, version 1.

History of the format:

1. The first. Since then, without a new version: ``kind`` and ``compiles`` of ints, ``numbers``, ``shard``, and
   ``position`` of tests.

A key may be added without a new version: readers ignore keys that they don't know, and a key that is not in all reports has a
default here. A key that changes its meaning, or goes, makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from testmatrix.compare.finding import Number, Severity, State
from testmatrix.errors import UsageError
from testmatrix.store.records import NoteEntry, Run, TestResult
from testmatrix.triage.verdicts import Verdict

FORMAT: Literal["testmatrix-report"] = "testmatrix-report"
VERSION = 1


class IntResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one int, float or size in one cell."""

    state: State
    value: str = ""
    reason: str = ""  #: of a constant, or of those of a symbol's compiles that have a constant
    line: str = ""
    compiles: tuple[int, ...] = ()  #: of the region's frame, after the first, second, ... distinct value; five at most


class IntEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One int that reached a compiled region."""

    test: str
    region: str
    source: str
    kind: str = ""  #: of its source: ``argument``, ``list value``, ``global``, ...
    cells: Mapping[str, IntResult]


class NumberEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One float or size that reached a compiled region."""

    test: str
    region: str
    source: str
    number: Number
    kind: str = ""
    cells: Mapping[str, IntResult]


class FindingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One finding, with what is needed to see it again."""

    id: str
    test: str
    kind: str
    severity: Severity
    cells: tuple[str, ...]
    reference: str
    summary: str
    evidence: Mapping[str, Any] = {}  #: of :data:`.plain.Json`; msgspec has no recursive types
    cause: str = ""
    verdict: Verdict = "new"
    rerun: str = ""


class CauseEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Findings that share a fingerprint."""

    cause: str
    kind: str
    summary: str
    findings: tuple[str, ...]  #: ids
    tests: int
    verdict: Verdict = "new"


class IntSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Ints in the cell that should carry them as symbols; both 0 where that cell is not in the run."""

    reached: int = 0  #: those that a compiled region used
    symbolic: int = 0


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The run in numbers."""

    tests: int
    cells_run: int  #: tests × cells that were run, the oracle not counted
    cells_collapsed: int  #: tests × cells that another cell's run stands for
    findings: Mapping[str, int] = {}  #: kind to number
    ints: IntSummary = IntSummary()
    wall: float = 0.0  #: seconds
    exit: int = 0


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run says."""

    format: Literal["testmatrix-report"] = FORMAT
    version: int = VERSION
    run: Run
    tests: tuple[TestResult, ...] = ()
    ints: tuple[IntEntry, ...] = ()
    numbers: tuple[NumberEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()
    causes: tuple[CauseEntry, ...] = ()
    summary: Summary
    notes: tuple[NoteEntry, ...] = ()


class _Head(msgspec.Struct):
    """What tells whether the rest can be read."""

    format: str = ""
    version: int = 0


def encode(report: Report) -> bytes:
    """The report as JSON text, indented, with a newline at its end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def decode(data: bytes, where: str = "the report") -> Report:
    """Read a report back; ``where`` names its origin in the error of one line that anything unreadable gets."""
    again = "write one with --testmatrix-json=FILE"
    try:
        head = msgspec.json.decode(data, type=_Head)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"{where} is no JSON report of testmatrix ({error}): {again}") from error
    if head.format != FORMAT:
        raise UsageError(f"{where} is no JSON report of testmatrix (format {head.format!r}): {again}")
    if head.version != VERSION:
        raise UsageError(f"{where} has version {head.version}, but {VERSION} is read here: use the testmatrix that wrote it")
    try:
        return msgspec.json.decode(data, type=Report)
    except msgspec.ValidationError as error:
        raise UsageError(f"{where} is a damaged report ({error}): {again}") from error
