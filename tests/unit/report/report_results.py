"""Small results to build reports from. Imported by the tests of this folder."""

from testmatrix.compare.finding import Finding, IntRow, IntState
from testmatrix.store.records import CellResult, Run, TestResult

CELLS = ("static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize")
GRID = {"shapes": ("static", "dynamic"), "ints": ("specialize", "unspecialize")}
LAST = CELLS[-1]


def run(**changes):
    fields = {
        "id": "r1",
        "started": "2025-01-31T12:00:00+00:00",
        "torch": "2.13.0",
        "python": "3.11.7",
        "platform": "linux",
        "grid": GRID,
        "cells": CELLS,
    }
    return Run(**{**fields, **changes})


def result(name="a.py::test_a", cells=CELLS, **changes):
    fields = {"outcome": "passed", "duration": 0.5, "compiles": 1, "regions": 1}
    return TestResult(test=name, cells={cell: CellResult(**{**fields, **changes}) for cell in (*cells, "eager")})


def finding(**changes):
    fields = {
        "test": "a.py::test_a",
        "kind": "output.dtype",
        "severity": "error",
        "cells": (LAST,),
        "reference": "eager",
        "summary": f"result: float32 in eager, int64 in {LAST}",
        "signature": "dtype float32 int64",
    }
    return Finding(**{**fields, **changes})


def int_row(state="symbolic", test="a.py::test_a", cells=CELLS, source="L['n']"):
    return IntRow(test=test, region="a.f", source=source, cells={cell: IntState(state=state) for cell in cells})
