"""What is known of a test whose worker was lost: with it went the process that ran the test, and the one that watched that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testmatrix.errors import TestmatrixError
from testmatrix.grid import Grid
from testmatrix.plugin.supervision.deaths import Death
from testmatrix.report.build import cell_result
from testmatrix.store import runs
from testmatrix.store.records import Began, NoteEntry, Tested, TestResult
from testmatrix.store.runs import RunFolder

_MESSAGE = "the worker was lost, and with it the process that ran the test"


def tested(test: str, position: int, began: Began | None, grid: Grid) -> Tested:
    """The test's record: lost in the cell that it had begun in, as far as that was written down."""
    if began is None:
        note = NoteEntry(kind="crash", text=f"{_MESSAGE}; in which cell is not known", test=test)
        return Tested(test=test, position=position, failed=True, result=TestResult(test=test, cells={}), notes=(note,))
    from testmatrix.compare.whole import compare_test  # imports sympy, which takes longer than most runs have to spare

    observation = Death(outcome="crashed", cause="lost worker", message=_MESSAGE, began=began).observation()
    return Tested(
        test=test,
        position=position,
        failed=True,
        result=TestResult(test=test, cells={began.cell: cell_result(observation)}),
        findings=compare_test({began.cell: observation}, grid),
    )


def begun(folder: str, test: str) -> Began | None:
    """The run that a test was in when its worker was lost, by the worker's journal."""
    if not folder:
        return None
    try:
        cut_off: Sequence[Began] = runs.read(RunFolder(Path(folder))).began
    except (OSError, TestmatrixError):
        return None
    return next((began for began in cut_off if began.test == test), None)
