"""Several runs' results as one report: the shards of a suite, or whatever else was run apart. Pure.

What comes out depends on the results alone: neither on their order, nor on how often one of them is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from testmatrix.report.build import assemble
from testmatrix.report.model import Report, encode
from testmatrix.report.parts import Part, TestPart, check_alike, check_shards, conflict, said, tests_of
from testmatrix.store.records import NoteEntry, Run
from testmatrix.triage.causes import digest

#: pytest's statuses, the worst last: clean, no test, a test failed, interrupted, usage, a fault of pytest's own.
_STATUSES = (0, 5, 1, 2, 4, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One report, and what it lacks."""

    report: Report
    missing: tuple[str, ...]  #: what should be there and is not, one line each


def merge(parts: Sequence[Part], *, newest: bool = False) -> Merged:
    """Join the results of one or more runs.

    Args:
        newest: Of a test that several runs have, take what the one that started last says. A run of which nothing is left then
            has no part in the exit status, either.

    Raises:
        UsageError: two of them are not of one grid and suite, or say different things about the same test.
    """
    ordered = sorted(parts, key=_age)
    check_alike(ordered)
    tests: dict[str, TestPart] = {}
    for part in ordered:
        for test in tests_of(part):
            known = tests.setdefault(test.name, test)
            if newest and known.run != test.run:
                tests[test.name] = test
            elif said(known) != said(test):
                raise conflict(known, test)
    kept = [part for part in ordered if not newest or not _is_superseded(part, tests)]
    check_shards(kept)
    return Merged(report=_joined(kept, tests), missing=tuple(_missing(kept, tests)))


def _age(part: Part) -> tuple[str, str, bytes, str]:
    """The oldest first; the rest only makes the order the same whatever that of the arguments is."""
    return part.report.run.started, part.report.run.id, encode(part.report), part.where


def _is_superseded(part: Part, tests: dict[str, TestPart]) -> bool:
    """Whether newer runs have all that this one has."""
    names = [test.test for test in part.report.tests]
    return bool(names) and all(tests[name].run != part.report.run.id for name in names)


def _joined(parts: Sequence[Part], tests: dict[str, TestPart]) -> Report:
    ordered = sorted(tests.values(), key=lambda test: (test.results[0][0], test.name))
    results = [placed for test in ordered for placed in test.results]
    return assemble(
        _joint_run(parts),
        [result for _, result in sorted(results, key=lambda placed: (placed[0], placed[1].test))],
        ints=[entry for test in ordered for entry in test.ints],
        numbers=[entry for test in ordered for entry in test.numbers],
        findings=[entry for test in ordered for entry in test.findings],
        notes=[*_general_notes(parts), *(entry for test in ordered for entry in test.notes)],
        wall=max(part.report.summary.wall for part in parts),  # shards run beside each other
        exit_status=max((part.report.summary.exit for part in parts), key=_badness),
    )


def _joint_run(parts: Sequence[Part]) -> Run:
    """What the runs have in common, and of the rest as much as one line holds."""
    runs = [part.report.run for part in parts]
    ids = sorted({run.id for run in runs})
    first = runs[0]
    return Run(
        id=ids[0] if len(ids) == 1 else digest(*ids),
        started=first.started,
        torch=first.torch,
        python=_listed(run.python for run in runs),
        platform=_listed(run.platform for run in runs),
        grid=first.grid,
        cells=first.cells,
        oracle=first.oracle,
        shard=_joint_shard(parts),
    )


def _joint_shard(parts: Sequence[Part]) -> str:
    """Empty where it is the whole suite again; ``1,3/8`` where it is not."""
    absent = _absent(parts)
    total = max(part.shards.total for part in parts)
    there = sorted(set(range(1, total + 1)) - set(absent))
    return f"{','.join(map(str, there))}/{total}" if absent else ""


def _absent(parts: Sequence[Part]) -> list[int]:
    """Numbers of the shards that are not there."""
    shards = [part.shards for part in parts]
    if any(not each.total for each in shards):  # of the whole suite
        return []
    return sorted(set(range(1, shards[0].total + 1)).difference(*(each.numbers for each in shards)))


def _general_notes(parts: Sequence[Part]) -> list[NoteEntry]:
    """Notes that are on no test, each once."""
    found: list[NoteEntry] = []
    for part in parts:
        found += [note for note in part.report.notes if not note.test and note not in found]
    return found


def _missing(parts: Sequence[Part], tests: dict[str, TestPart]) -> Iterator[str]:
    for number in _absent(parts):
        yield f"shard {number}/{parts[0].shards.total} is missing"
    said_before: set[str] = set()
    for part in parts:
        for line in _cut_short(part, tests):
            if line not in said_before:
                yield line
            said_before.add(line)


def _cut_short(part: Part, tests: dict[str, TestPart]) -> Iterator[str]:
    """What one run lacks."""
    if not part.ended:
        yield f"{part.where}: the run did not get to its end"
    for one in part.began:
        if one.test not in tests:
            yield f"{part.where}: {one.test} began in {one.cell} and did not end"
    if part.damaged:
        yield f"{part.where}: {part.damaged} bytes belong to no record: it was cut or damaged there"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(set(words)))


def _badness(status: int) -> tuple[int, int]:
    return (_STATUSES.index(status) if status in _STATUSES else len(_STATUSES)), status
