"""Records reach the journal in their order, whatever the disk does meanwhile."""

import errno

import pytest

from testmatrix.plugin.keeping import Keeper
from testmatrix.store import journal
from testmatrix.store.journal import Journal
from testmatrix.store.records import Began, decode
from testmatrix.store.runs import RunFolder


@pytest.fixture
def keeper(tmp_path):
    return Keeper(RunFolder(tmp_path / "run"), "gw1")


def kept(keeper):
    payloads, damaged = journal.read(keeper.folder.path / "gw1.journal")
    assert damaged == 0
    return [decode(payload).cell for payload in payloads]


def began(cell):
    return Began(test="a.py::test_a", cell=cell)


def test_each_record_is_there_at_once(keeper):
    keeper.keep(began("first"))
    assert kept(keeper) == ["first"]
    keeper.keep(began("second"))
    assert kept(keeper) == ["first", "second"]
    assert keeper.failure == ""


def test_what_a_full_disk_did_not_take_is_written_later(keeper, monkeypatch):
    keeper.keep(began("first"))
    with monkeypatch.context() as full:

        def append(self, payload):
            raise OSError(errno.ENOSPC, "No space left on device")

        full.setattr(Journal, "append", append)
        keeper.keep(began("second"))
        keeper.keep(began("third"))
    assert keeper.failure.startswith("2 records could not be written to ")
    assert keeper.failure.endswith(": No space left on device")
    assert kept(keeper) == ["first"]

    keeper.keep(began("fourth"))
    assert kept(keeper) == ["first", "second", "third", "fourth"]
    assert keeper.failure == ""


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "run").write_text("a file", encoding="utf-8")
    keeper = Keeper(RunFolder(tmp_path / "run"))
    keeper.keep(began("first"))
    assert keeper.failure.startswith(f"1 record could not be written to {tmp_path / 'run'}: ")
    keeper.close()
