"""Results that are to become part of one report: what each says of each test, and whether they go together. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import msgspec

from testmatrix.errors import UsageError
from testmatrix.report.model import FindingEntry, IntEntry, NumberEntry, Report
from testmatrix.store.records import Began, NoteEntry, Run, TestResult

_SHARDS = re.compile(r"(?P<numbers>\d{1,9}(?:,\d{1,9})*)/(?P<total>\d{1,9})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shards:
    """Which shards of how many; none of 0 for the whole suite."""

    numbers: frozenset[int] = frozenset()
    total: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The results of one run, or of several that were merged before."""

    where: str  #: what they were read from
    report: Report
    began: tuple[Began, ...] = ()  #: tests that were cut off
    ended: bool = True  #: the run got to its end
    damaged: int = 0  #: bytes of its journals that belong to no record

    @property
    def shards(self) -> Shards:
        shard = self.report.run.shard
        match = _SHARDS.fullmatch(shard)
        if match is not None:
            return Shards(frozenset(map(int, match["numbers"].split(","))), int(match["total"]))
        if shard:
            raise UsageError(f"{self.where} is damaged: {shard!r} is no shard: write it once more")
        return Shards()

    def described(self) -> str:
        """As an error names it."""
        shard = self.report.run.shard
        return f"{self.where} ({f'shard {shard}' if shard else 'the whole suite'}, run {self.report.run.id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestPart:
    """All that one part says of one test."""

    __test__ = False  # the name starts with "Test": pytest must not take it for a test class

    part: Part
    name: str
    #: With its place in the order of collection, as far as that is known; several where pytest was told to collect it again.
    results: tuple[tuple[int, TestResult], ...]
    ints: tuple[IntEntry, ...] = ()
    numbers: tuple[NumberEntry, ...] = ()
    findings: tuple[FindingEntry, ...] = ()
    notes: tuple[NoteEntry, ...] = ()

    @property
    def run(self) -> str:
        return self.part.report.run.id


class _OfTest(Protocol):
    @property
    def test(self) -> str: ...


_Entry = TypeVar("_Entry", bound=_OfTest)


def tests_of(part: Part) -> Iterator[TestPart]:
    """What a part says, test by test in its order."""
    report = part.report
    places: dict[str, list[tuple[int, TestResult]]] = {}
    for index, result in enumerate(report.tests):
        places.setdefault(result.test, []).append((result.position if result.position >= 0 else index, result))
    ints, numbers, findings = _by_test(report.ints), _by_test(report.numbers), _by_test(report.findings)
    notes = _by_test(report.notes)
    strays = {*ints, *numbers, *findings}.difference(places)
    if strays:
        raise UsageError(f"{part.where} is damaged: it has entries of {min(strays)}, which is none of its tests")
    for name, results in places.items():
        yield TestPart(
            part=part,
            name=name,
            results=tuple(results),
            ints=ints.get(name, ()),
            numbers=numbers.get(name, ()),
            findings=findings.get(name, ()),
            notes=notes.get(name, ()),
        )


def _by_test(entries: Iterable[_Entry]) -> dict[str, tuple[_Entry, ...]]:
    grouped: dict[str, list[_Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.test, []).append(entry)
    return {test: tuple(each) for test, each in grouped.items()}


def said(test: TestPart) -> object:
    """What two parts must have in common to say the same of a test: all but what it took, and how to see it again."""
    cells = [
        {cell: msgspec.structs.replace(each, duration=0.0) for cell, each in result.cells.items()} for _, result in test.results
    ]
    # In a report, findings are in the order of causes, and thus of other tests', too.
    findings = sorted((msgspec.structs.replace(finding, rerun="") for finding in test.findings), key=lambda one: one.id)
    return cells, test.ints, test.numbers, findings, test.notes


def conflict(one: TestPart, other: TestPart) -> UsageError:
    """What to say of two parts that say different things of one test."""
    ours, theirs = one.part.shards.numbers, other.part.shards.numbers
    pair = f"{one.part.described()} and {other.part.described()}"
    advice = "leave one out, or take the newest of each test with --newest"
    if ours and theirs and not ours & theirs:
        advice = "shards have tests in common only where they planned with other durations or other tests; run them again alike"
    return UsageError(f"{pair} have different results of {one.name}: {advice}")


def check_alike(parts: Sequence[Part]) -> None:
    """Raise UsageError where two parts cannot be of one run that was split: says which two, and how they differ."""
    first = parts[0]
    facts = _facts(first.report.run)
    for part in parts[1:]:
        for what, other in _facts(part.report.run).items():
            if facts[what] != other:
                raise _apart(first, part, f"the {what} is {facts[what]} in one, {other} in the other")


def _facts(run: Run) -> dict[str, str]:
    """What all parts must have in common."""
    return {
        "grid": " ".join(f"{axis}={','.join(values)}" for axis, values in run.grid.items()),
        "list of cells": ", ".join(run.cells),
        "oracle": run.oracle or "off",
        "version of torch": run.torch,
    }


def check_shards(parts: Sequence[Part]) -> None:
    """Raise UsageError where parts are of different splits. Shards may come with the whole that was made of them."""
    whole = [part for part in parts if not part.shards.total]
    shards = [part for part in parts if part.shards.total]
    known = {test.test for part in whole for test in part.report.tests}
    for part in shards:
        if whole and any(test.test not in known for test in part.report.tests):
            raise _apart(whole[0], part, "one is of the whole suite, and lacks tests of the other")
        if part.shards.total != shards[0].shards.total:
            raise _apart(shards[0], part, "they are shards of another number of them")


def _apart(one: Part, other: Part, how: str) -> UsageError:
    return UsageError(f"{one.described()} and {other.described()} do not go together: {how}")
