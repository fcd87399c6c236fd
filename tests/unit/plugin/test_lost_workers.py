"""What is said of a test whose worker was lost with all that ran it."""

import pytest

from testmatrix.grid import parse_grid
from testmatrix.plugin import lost_workers
from testmatrix.store.records import Began, encode
from testmatrix.store.runs import RunFolder

GRID = parse_grid("default")
TEST = "a.py::test_a"


@pytest.fixture
def folder(tmp_path):
    with RunFolder(tmp_path / "run").journal("gw0") as journal:
        journal.append(encode(Began(test="a.py::test_other", cell="static-specialize")))
    with RunFolder(tmp_path / "run").journal("gw1") as journal:
        journal.append(encode(Began(test=TEST, cell="static-specialize")))
        journal.append(encode(Began(test=TEST, cell="dynamic-specialize")))
    return tmp_path / "run"


def test_the_last_cell_that_it_had_begun_in_is_blamed(folder):
    began = lost_workers.begun(str(folder), TEST)
    assert began == Began(test=TEST, cell="dynamic-specialize")

    tested = lost_workers.tested(TEST, 7, began, GRID)
    assert (tested.position, tested.failed) == (7, True)
    assert {cell: result.outcome for cell, result in tested.result.cells.items()} == {"dynamic-specialize": "crashed"}
    assert [(finding.kind, finding.cells) for finding in tested.findings] == [("crash", ("dynamic-specialize",))]


def test_where_nothing_says_which_cell_that_is_said(tmp_path):
    assert lost_workers.begun("", TEST) is None
    assert lost_workers.begun(str(tmp_path / "nowhere"), TEST) is None

    tested = lost_workers.tested(TEST, 0, None, GRID)
    assert (tested.failed, tested.findings) == (True, ())
    assert [note.kind for note in tested.notes] == ["crash"]
    assert "not known" in tested.notes[0].text
