"""What a run writes down as it goes: one record for the run itself, for each cell that starts, and for each test that has ended.

A record is written once and never changed. What is in it crosses processes and versions, so it is plain data: a key may be
added with a default; one that changes its meaning, or goes, makes a new :data:`VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from testmatrix.compare.finding import Finding, IntRow
from testmatrix.observation import ORACLE, Outcome
from testmatrix.store.plain import plain

VERSION = 1

#: Why a test runs in a cell: for the first time, once more before a finding is reported, or to arbitrate between two results.
Purpose = Literal["first", "control", "arbitration"]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when it ran, and over which grid."""

    id: str
    started: str  #: ISO 8601 in UTC: ``2025-01-31T12:00:00+00:00``
    torch: str
    python: str
    platform: str
    grid: Mapping[str, tuple[str, ...]]  #: axes in order, with their values in order
    cells: tuple[str, ...]  #: the grid's cells that this run had, in grid order, without the oracle
    oracle: str = ORACLE
    shard: str = ""  #: ``2/8``: the part of the suite that this run was of; empty where it was of all


class Invocation(msgspec.Struct, frozen=True, kw_only=True):
    """What commands that show findings again have in common with that of the run; they are for the directory where it started."""

    grid: tuple[str, ...] = ()  #: flags that change what a cell is, such as ``--testmatrix-grid``
    flags: tuple[str, ...] = ()  #: pytest's and the suite's own, as far as a test depends on them
    root: str = ""  #: from there to what node ids are relative to; empty where that is the same directory


class CellResult(msgspec.Struct, frozen=True, kw_only=True):
    """One test in one cell, in numbers."""

    outcome: Outcome
    duration: float = 0.0  #: seconds
    same_as: str = ""  #: the cell whose run stands for this one, where this one was collapsed
    compiles: int = 0
    breaks: int = 0
    regions: int = 0  #: calls of regions
    pinned: tuple[str, ...] = ()  #: axes that the test fixed itself


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """One test over all cells that it had, the oracle included."""

    __test__ = False  # the name starts with "Test": pytest must not take it for a test class

    test: str  #: pytest's node id
    cells: Mapping[str, CellResult]
    position: int = -1  #: in the order of collection, from 0, of what all shards have together; -1 where it is not known


class NoteEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something to know about a test that is no difference, such as a fault of the recorder."""

    kind: str
    text: str
    test: str = ""
    cells: tuple[str, ...] = ()


class Began(msgspec.Struct, frozen=True, kw_only=True, tag="began"):
    """A test is about to run in a cell: what to blame where nothing follows."""

    test: str
    cell: str
    purpose: Purpose = "first"


class Tested(msgspec.Struct, frozen=True, kw_only=True, tag="tested"):
    """A test has been through the grid, and this is what it showed."""

    __test__ = False  # as above
    test: str
    position: int  #: in the order of collection
    failed: bool  #: it makes the run fail, by itself or by what differs between its cells
    result: TestResult
    ints: tuple[IntRow, ...] = ()  #: rows of floats and sizes, too
    findings: tuple[Finding, ...] = ()
    notes: tuple[NoteEntry, ...] = ()


class Started(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """A run, or a worker of one, begins."""

    run: Run
    worker: str = ""  #: ``gw0``; empty for the process that reports
    invocation: Invocation = Invocation()
    version: int = VERSION


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag="finished"):
    """The run went through all its tests, or what it was asked to stop at."""

    exit: int  #: pytest's status
    wall: float  #: seconds


Record = Began | Tested | Started | Finished


def encode(record: Record) -> bytes:
    """The record in MessagePack."""
    try:
        return _encoder.encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError):  # such as a lone surrogate, which a test may well have made
        return _encoder.encode(plain(msgspec.to_builtins(record, enc_hook=repr)))


def decode(data: bytes) -> Record:
    """Raises msgspec.DecodeError where it is none, or one of another version."""
    return _decoder.decode(data)


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)
