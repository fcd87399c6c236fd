"""Runs on disk: a folder for each, with a journal for each of its processes.

.testmatrix/.gitignore                    so that none of it is committed
.testmatrix/runs/20250131T120000.000000Z-5f0c…/
    main.journal                          of the process that reports
    gw0.journal                           of a worker
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from testmatrix.errors import UsageError, nearest
from testmatrix.store.journal import Journal
from testmatrix.store.journal import read as read_payloads
from testmatrix.store.records import VERSION, Began, Finished, Invocation, Record, Run, Started, Tested, decode

LATEST = "latest"
SUFFIX = ".journal"
_MAIN = "main"
_RUNS = "runs"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @classmethod
    def create(cls, store: Path, run: Run) -> RunFolder:
        """Make the folder of a run that begins, and the store, where there is none yet. Raises OSError."""
        folder = cls(store / _RUNS / f"{_sortable(run.started)}-{run.id}")
        folder.path.mkdir(parents=True)
        ignored = store / ".gitignore"
        if not ignored.exists():
            ignored.write_text("*\n", encoding="utf-8")
        return folder

    @property
    def id(self) -> str:
        """The run's id."""
        return self.path.name.partition("-")[2]

    def journal(self, worker: str = "") -> Journal:
        """The journal of one process of the run, to append to; of the one that reports where no worker is named."""
        return Journal.open(self.path / f"{worker or _MAIN}{SUFFIX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """All that the journals of a run hold."""

    run: Run | None = None  #: None where nothing says
    invocation: Invocation = field(default_factory=Invocation)
    tested: tuple[Tested, ...] = ()  #: what was collected, each once, in the order of that
    #: Tests that were cut off: begun, and not tested by any process since. In the order of journals, ``main`` first.
    began: tuple[Began, ...] = ()
    finished: Finished | None = None  #: None where the run did not get to its end
    damaged: int = 0  #: bytes that belong to no record


def runs(store: Path) -> list[RunFolder]:
    """The runs of a store, the oldest first."""
    try:
        found = [path for path in (store / _RUNS).iterdir() if path.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [RunFolder(path) for path in sorted(found, key=lambda path: path.name)]


def latest(store: Path) -> RunFolder | None:
    """The run that began last; None where there is none."""
    return next(reversed(runs(store)), None)


def find(store: Path, name: str) -> RunFolder:
    """The run that is named by its id, by a start of it, or as the latest.

    Raises:
        UsageError: there is none, or more than one.
    """
    known = {folder.id: folder for folder in runs(store)}
    if not known:
        raise UsageError(f"{store} has no run: run pytest --testmatrix first, or name another store")
    if name == LATEST:
        return list(known.values())[-1]
    candidates = [name] if name in known else [id_ for id_ in known if name and id_.startswith(name)]
    if len(candidates) > 1:
        raise UsageError(f"{name!r} may be each of the runs {', '.join(candidates)}: give more characters")
    if not candidates:
        raise UsageError(f"{store} has no run {name!r}: {nearest(name, [*known, LATEST])}")
    return known[candidates[0]]


def journals(folder: RunFolder) -> list[Path]:
    """The journals of a run: that of the process that reports, then those of workers by name."""
    return sorted(folder.path.glob(f"*{SUFFIX}"), key=lambda path: (path.stem != _MAIN, path.name))


def read(folder: RunFolder) -> Recorded:
    """All that a run wrote down so far. Raises UsageError where another version of the package wrote it, OSError otherwise."""
    return read_journals(journals(folder))


def read_journals(paths: Iterable[Path]) -> Recorded:
    """The same of some journals of one run."""
    contents, damaged = [], 0
    for path in paths:
        payloads, lost = read_payloads(path)
        contents.append(_decoded(payloads, path))
        damaged += lost
    started = [record for records in contents for record in records if isinstance(record, Started)]
    # What was run again, as it is where a worker was lost, counts as it was last; pytest may be told to collect a test twice.
    tested = {(record.position, record.test): record for records in contents for record in records if isinstance(record, Tested)}
    names = {test for _, test in tested}
    began = [record for records in contents for record in _cut_off(records) if record.test not in names]
    finished = [_finished(records) for records in contents]
    return Recorded(
        run=started[0].run if started else None,
        invocation=started[0].invocation if started else Invocation(),
        tested=tuple(tested[key] for key in sorted(tested)),
        began=tuple(began),
        finished=next((one for one in finished if one is not None), None),
        damaged=damaged,
    )


def _cut_off(records: Sequence[Record]) -> list[Began]:
    """What a process had begun when it ended, for each process that wrote to the journal."""
    cut: list[Began] = []
    going_on: Began | None = None
    for record in (*records, None):
        if isinstance(record, Began):
            going_on = record
        elif not isinstance(record, Finished):
            # Whatever follows in the same journal after a start is of another process.
            if going_on is not None and not isinstance(record, Tested):
                cut.append(going_on)
            going_on = None
    return cut


def _finished(records: Sequence[Record]) -> Finished | None:
    """How the run ended, unless it was taken up again since."""
    last = next((one for one in reversed(records) if isinstance(one, (Started, Finished))), None)
    return last if isinstance(last, Finished) else None


def _sortable(started: str) -> str:
    moment = datetime.fromisoformat(started).astimezone(timezone.utc)
    return moment.strftime("%Y%m%dT%H%M%S.%fZ")


class _Head(msgspec.Struct):
    """What tells who wrote a record that cannot be read."""

    type: str = ""
    version: int = VERSION


def _decoded(payloads: Sequence[bytes], path: Path) -> list[Record]:
    """The records, or an error of one line where another version wrote them, or something else did."""
    records: list[Record] = []
    for payload in payloads:
        try:
            record = decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(_refusal(payloads, payload, path, error)) from None
        if isinstance(record, Started) and record.version != VERSION:
            raise UsageError(_other_version(path, record.version))
        records.append(record)
    return records


def _refusal(payloads: Sequence[bytes], payload: bytes, path: Path, error: Exception) -> str:
    """What to say of a record that cannot be read: which version wrote it, wherever the journal tells."""
    versions = [head.version for head in map(_head, payloads) if head.type == "started"]
    other = next((version for version in versions if version != VERSION), None)
    if other is not None:
        return _other_version(path, other)
    kind = _head(payload).type
    what = f"a record {kind!r}" if kind else "a record"
    return f"{path} holds {what} that version {VERSION} cannot read ({error}): use the testmatrix that wrote it"


def _other_version(path: Path, version: int) -> str:
    return f"{path} holds records of version {version}, but {VERSION} is read here: use the testmatrix that wrote it"


def _head(payload: bytes) -> _Head:
    try:
        return msgspec.msgpack.decode(payload, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Head()
