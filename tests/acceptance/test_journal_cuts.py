"""What a run has written down is there whatever becomes of it: its files cut at any byte, its processes killed at any time."""

import random
import re
import shutil
import struct
import sys

import pytest
from faults.harness import Place, of_others, whole
from faults.planted import CELL

from testmatrix.store import runs
from testmatrix.store.records import Tested, decode
from testmatrix.store.runs import RunFolder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes and their leavings are looked up in /proc")

TEST = "test_forty.py::test_faulted"
POSITIONS = 200


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run by two workers that came to its end: its place and its report."""
    place = Place(tmp_path_factory.mktemp("finished"))
    done = place.run("-n2")
    assert done.status == 0, done.output
    return place, done.report


def ends_of_records(data):
    """Where each record of a journal ends, by the lengths that are in front of them."""
    ends, position = [], 0
    while position < len(data):
        (length,) = struct.unpack_from("<4xI", data, position)
        position += 12 + length
        ends.append(position)
    assert position == len(data)
    return ends


def test_a_cut_journal_yields_every_complete_record(finished, tmp_path):
    place, report = finished
    (folder,) = place.runs
    journals = runs.journals(RunFolder(folder))
    assert [path.name for path in journals] == ["main.journal", "gw0.journal", "gw1.journal"]
    chosen, copy = random.Random(2025), tmp_path / "cut.journal"
    seen = set()
    for number in range(POSITIONS):
        path = journals[number % len(journals)]
        data, ends = path.read_bytes(), ends_of_records(path.read_bytes())
        cut = chosen.randrange(len(data) + 1)
        copy.write_bytes(data[:cut])
        complete = [end for end in ends if end <= cut]
        records = [decode(data[start + 12 : end]) for start, end in zip([0, *complete], complete, strict=False)]
        recorded = runs.read_journals([copy])
        tested = {record.test: record for record in records if isinstance(record, Tested)}
        assert {one.test: one for one in recorded.tested} == tested
        assert (recorded.run is None) == (not complete)
        assert recorded.damaged == cut - (complete[-1] if complete else 0)
        seen.add(len(complete))
    assert len(seen) > 20, "the positions are everywhere in the journals"
    assert {one.test for one in runs.read(RunFolder(folder)).tested} == {one["test"] for one in report["tests"]}


def test_a_run_goes_on_from_cut_journals(finished, tmp_path):
    place, report = finished
    shutil.copytree(place.suite, tmp_path / "suite")
    resumed = Place(tmp_path)
    (folder,) = resumed.runs
    chosen, kept = random.Random(1), set()
    for path in runs.journals(RunFolder(folder)):
        data = path.read_bytes()
        path.write_bytes(data[: chosen.randrange(ends_of_records(data)[0], len(data))])
        kept |= {one.test for one in runs.read_journals([path]).tested}
    done = resumed.run("--testmatrix-resume", "-n2")
    assert done.status == 0, done.output
    assert whole(done.report) == whole(report)
    assert 0 < len(kept) < 40
    run_again = re.findall(r"(\d+) (?:passed|skipped|xfailed)", done.output)
    assert sum(map(int, run_again)) == 40 - len(kept)


def test_a_killed_worker_loses_the_test_that_it_was_in_and_no_other(finished, tmp_path):
    _, report = finished
    killed = Place(tmp_path).run("-n2", FAULT="parent_killed")
    assert killed.report is not None, killed.output
    assert of_others(killed.report, TEST) == of_others(report, TEST)
    (cells,) = [one["cells"] for one in killed.report["tests"] if one["test"] == TEST]
    assert {name: cell["outcome"] for name, cell in cells.items()} == {CELL: "crashed"}
    (finding,) = [one for one in killed.report["findings"] if one["test"] == TEST]
    assert (finding["kind"], finding["cells"]) == ("crash", [CELL])
    assert killed.status == 1, killed.output
    assert (killed.processes, killed.files) == ([], [])


def test_a_killed_run_can_be_gone_on_with(finished, tmp_path):
    """Where it was the only process, nobody is left to report, nor to remove its temporary files."""
    _, report = finished
    place = Place(tmp_path)
    killed = place.run(FAULT="parent_killed")
    assert killed.status == -9
    assert killed.report is None
    assert killed.processes == []
    (folder,) = place.runs
    recorded = runs.read(RunFolder(folder))
    assert [(began.test, began.cell) for began in recorded.began] == [(TEST, CELL)]
    (position,) = [one["position"] for one in report["tests"] if one["test"] == TEST]
    assert [one.position for one in recorded.tested] == list(range(position))

    resumed = place.run("--testmatrix-resume")
    assert resumed.status == 0, resumed.output
    assert whole(resumed.report) == whole(report)
