import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.compare.finding import Finding, IntRow, IntState
from testmatrix.errors import UsageError
from testmatrix.store.journal import Journal, frame
from testmatrix.store.records import (
    VERSION,
    Began,
    CellResult,
    Finished,
    Invocation,
    NoteEntry,
    Run,
    Started,
    Tested,
    TestResult,
    encode,
)
from testmatrix.store.runs import Recorded, RunFolder, find, journals, latest, read, read_journals, runs

CELL = "dynamic-unspecialize"
RUN = Run(
    id="5f0c11223344",
    started="2025-01-31T14:00:00+02:00",
    torch="2.13.0",
    python="3.11.7",
    platform="linux",
    grid={"shapes": ("dynamic",), "ints": ("unspecialize",)},
    cells=(CELL,),
)
STARTED = Started(run=RUN, invocation=Invocation(flags=("-c", "x.ini")))


def ended(name, position=0, **changes):
    return Tested(
        test=name,
        position=position,
        failed=False,
        result=TestResult(test=name, cells={CELL: CellResult(outcome="passed", **changes)}),
        ints=(IntRow(test=name, region="f", source="L['n']", cells={CELL: IntState(state="symbolic", compiles=(1, 1))}),),
        findings=(
            Finding(
                test=name, kind="outcome", severity="error", cells=(CELL,), reference="eager", summary="é", evidence={"a": [1]}
            ),
        ),
        notes=(NoteEntry(kind="recorder", text="none", test=name, cells=(CELL,)),),
    )


def began(name):
    return Began(test=name, cell=CELL, purpose="control")


@pytest.fixture
def store(tmp_path):
    return tmp_path / "project" / ".testmatrix"


@pytest.fixture
def write(store):
    """Writes records into journals of a run, by worker."""
    folder = RunFolder.create(store, RUN)

    def write_them(**records):
        for worker, each in records.items():
            with folder.journal("" if worker == "main" else worker) as journal:
                for record in each:
                    journal.append(encode(record))
        return folder

    return write_them


def test_where_a_run_is(store):
    folder = RunFolder.create(store, RUN)
    folder.journal().close()
    folder.journal("gw0").close()
    assert folder.path == store / "runs" / "20250131T120000.000000Z-5f0c11223344"
    assert folder.id == RUN.id
    assert [path.name for path in journals(folder)] == ["main.journal", "gw0.journal"]
    assert (store / ".gitignore").read_text() == "*\n"


def test_what_a_person_wrote_into_the_store_is_kept(store):
    store.mkdir(parents=True)
    (store / ".gitignore").write_text("runs\n")
    RunFolder.create(store, RUN)
    assert (store / ".gitignore").read_text() == "runs\n"


def test_all_that_was_written_is_read(write):
    folder = write(
        main=[STARTED, Finished(exit=1, wall=2.5)],
        gw1=[STARTED, began("t::a"), ended("t::a", 2)],
        gw0=[STARTED, began("t::c"), ended("t::c", 0), began("t::b"), ended("t::b", 1)],
    )
    assert read(folder) == Recorded(
        run=RUN,
        invocation=Invocation(flags=("-c", "x.ini")),
        tested=(ended("t::c", 0), ended("t::b", 1), ended("t::a", 2)),
        finished=Finished(exit=1, wall=2.5),
    )


def test_a_test_counts_once_and_as_it_was_last(write):
    folder = write(main=[STARTED, ended("t", compiles=1), STARTED, ended("t", compiles=2)])
    assert read(folder).tested == (ended("t", compiles=2),)


def test_a_test_that_was_collected_twice_counts_twice(write):
    folder = write(main=[STARTED, ended("t", 4), ended("t", 1)])
    assert read(folder).tested == (ended("t", 1), ended("t", 4))


def test_what_was_going_on_when_a_process_ended(write):
    folder = write(
        gw0=[STARTED, began("t::a"), ended("t::a"), began("t::b")],
        main=[STARTED, began("t::c"), STARTED, began("t::d"), ended("t::d"), Finished(exit=2, wall=1.0)],
    )
    assert read(folder).began == (began("t::c"), began("t::b"))


def test_what_was_cut_off_and_is_tested_elsewhere_is_not_missing(write):
    folder = write(gw0=[STARTED, began("t::a")], gw1=[STARTED, began("t::a"), ended("t::a")])
    assert read(folder).began == ()


def test_the_last_run_of_a_test_is_what_was_going_on(write):
    first, second = Began(test="t", cell="static"), Began(test="t", cell="dynamic", purpose="arbitration")
    assert read(write(main=[STARTED, first, second])).began == (second,)


def test_a_test_that_an_interrupted_run_did_not_get_to_the_end_of(write):
    assert read(write(main=[STARTED, began("t"), Finished(exit=2, wall=1.0)])).began == (began("t"),)


def test_a_run_that_was_taken_up_again_has_not_finished(write):
    first = write(main=[STARTED, Finished(exit=2, wall=1.0), STARTED, ended("t")])
    assert read(first).finished is None
    assert read(write(main=[Finished(exit=0, wall=3.0)])).finished == Finished(exit=0, wall=3.0)


def test_an_empty_folder_holds_nothing(store):
    assert read(RunFolder.create(store, RUN)) == Recorded()


RECORDS = [STARTED, began("t::a"), ended("t::a"), began("t::b"), ended("t::b", 1), Finished(exit=0, wall=1.0)]


@given(cut=st.integers(0, sum(len(frame(encode(record))) for record in RECORDS)))
def test_a_journal_cut_at_any_byte(cut, tmp_path_factory):
    frames = [frame(encode(record)) for record in RECORDS]
    ends = [sum(map(len, frames[: n + 1])) for n in range(len(frames))]
    path = tmp_path_factory.mktemp("cut") / "main.journal"
    path.write_bytes(b"".join(frames)[:cut])
    complete = [record for record, end in zip(RECORDS, ends, strict=True) if end <= cut]
    found = read_journals([path])
    assert found.tested == tuple(record for record in complete if isinstance(record, Tested))
    assert (found.run is not None, found.finished is not None) == (STARTED in complete, RECORDS[-1] in complete)
    assert found.damaged == cut - max([0, *(end for end in ends if end <= cut)])
    assert [one.test for one in found.began] == ([complete[-1].test] if complete and isinstance(complete[-1], Began) else [])


def test_a_run_goes_on_after_a_torn_record(write, store):
    folder = write(main=[STARTED, ended("t::a")])
    path = folder.path / "main.journal"
    path.write_bytes(path.read_bytes() + frame(encode(ended("t::torn")))[:-1])
    found = read(write(main=[STARTED, ended("t::b", 1)]))
    assert [one.test for one in found.tested] == ["t::a", "t::b"]
    assert found.damaged == len(frame(encode(ended("t::torn")))) - 1


@pytest.fixture
def three(store):
    """Runs with two ids that begin alike; the last two began in the same second."""
    ids = {"aa11": "2025-01-31T12:00:00+00:00", "ab22": "2025-02-01T09:00:00+00:00", "aa33": "2025-02-01T09:00:00.002+00:00"}
    return [RunFolder.create(store, msgspec.structs.replace(RUN, id=id_, started=started)) for id_, started in ids.items()]


def test_runs_in_the_order_in_which_they_began(store, three):
    assert runs(store) == three
    assert latest(store) == find(store, "latest") == three[2]


@pytest.mark.parametrize(("name", "expected"), [("aa11", 0), ("ab", 1), ("aa3", 2)])
def test_a_run_by_its_id_or_a_start_of_it(store, three, name, expected):
    assert find(store, name) == three[expected]


def test_an_id_is_meant_also_where_it_is_the_start_of_another(store, three):
    RunFolder.create(store, msgspec.structs.replace(RUN, id="ab"))
    assert find(store, "ab").id == "ab"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("aa", "'aa' may be each of the runs aa11, aa33: give more characters"),
        ("aa12", "has no run 'aa12': did you mean 'aa11'?"),
        ("lastest", "has no run 'lastest': did you mean 'latest'?"),
        ("", "has no run ''"),
        ("../runs", "has no run '../runs': valid: aa11, aa33, ab22, latest"),
    ],
)
def test_a_run_that_is_not_there(store, three, name, says):
    with pytest.raises(UsageError) as raised:
        find(store, name)
    assert says in str(raised.value)


@pytest.mark.parametrize("name", ["latest", "aa11"])
def test_a_store_without_runs(store, name):
    assert (latest(store), runs(store)) == (None, [])
    with pytest.raises(UsageError, match="has no run: run pytest --testmatrix first"):
        find(store, name)


OTHER = VERSION + 1
NEWER = msgspec.msgpack.encode({"type": "started", "run": msgspec.to_builtins(RUN), "version": OTHER})
CHANGED = msgspec.msgpack.encode({"type": "started", "runs": [], "version": OTHER})
UNKNOWN = msgspec.msgpack.encode({"type": "weather", "sky": "blue"})


@pytest.mark.parametrize(
    ("payloads", "says"),
    [
        ([NEWER], f"holds records of version {OTHER}, but {VERSION} is read here"),
        ([CHANGED], f"holds records of version {OTHER}, but {VERSION} is read here"),
        ([NEWER, UNKNOWN], f"holds records of version {OTHER}, but {VERSION} is read here"),
        ([UNKNOWN, CHANGED], f"holds records of version {OTHER}, but {VERSION} is read here"),
        ([encode(STARTED), UNKNOWN], f"holds a record 'weather' that version {VERSION} cannot read"),
        ([b"\xc1"], f"holds a record that version {VERSION} cannot read"),
        ([b"\xa1\xff"], f"holds a record that version {VERSION} cannot read"),
        ([msgspec.msgpack.encode({"type": "tested"})], f"holds a record 'tested' that version {VERSION} cannot read"),
    ],
)
def test_records_of_another_version(tmp_path, payloads, says):
    path = tmp_path / "main.journal"
    with Journal.open(path) as journal:
        for payload in payloads:
            journal.append(payload)
    with pytest.raises(UsageError) as raised:
        read_journals([path])
    assert str(raised.value).startswith(f"{path} {says}")
    assert str(raised.value).endswith("use the testmatrix that wrote it")
    assert "\n" not in str(raised.value)


def test_a_key_that_was_added_since_is_ignored(tmp_path):
    added = msgspec.msgpack.encode({**msgspec.to_builtins(STARTED), "weather": "fine"})
    (tmp_path / "main.journal").write_bytes(frame(added))
    assert read_journals([tmp_path / "main.journal"]).run == RUN


def test_runs_are_read_without_torch():
    program = "import sys, testmatrix.store.runs; sys.exit('torch' in sys.modules or 'pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
