import json
import math

import pytest
from report_results import CELLS, GRID, LAST, finding, int_row, result, run

from testmatrix.observation import Compile, GraphBreak, Note, Observation, RegionCall
from testmatrix.report.build import build_report, cell_result, int_cell, notes_of
from testmatrix.report.model import IntSummary, decode, encode
from testmatrix.report.rerun import Invocation, rerun_command
from testmatrix.store.records import CellResult, NoteEntry, TestResult


def test_a_cell_in_numbers():
    observation = Observation(
        test="t",
        cell=LAST,
        outcome="failed",
        duration=1.25,
        compiles=(Compile(frame="f", line=1, breaks=(GraphBreak(reason="print", line="a.py:3"),)), Compile(frame="f", line=1)),
        regions=(RegionCall(region="f", index=0, pinned=("shapes",)),),
        pinned=("ints",),
    )

    assert cell_result(observation) == CellResult(
        outcome="failed", duration=1.25, compiles=2, breaks=1, regions=1, pinned=("ints", "shapes")
    )


def test_a_collapsed_cell_says_what_stands_for_it():
    assert cell_result(Observation(test="t", cell=LAST, outcome="passed", same_as=CELLS[0])).same_as == CELLS[0]


def test_a_note_is_said_once_with_its_cells():
    note = Note(kind="recorder", text="guards:\n  not read")
    observations = [Observation(test="t", cell=cell, outcome="passed", notes=(note, note)) for cell in CELLS[:2]]
    observations.append(Observation(test="t", cell=CELLS[2], outcome="passed", notes=(note,), same_as=CELLS[0]))

    assert notes_of(observations) == (NoteEntry(kind="recorder", text="guards: not read", test="t", cells=CELLS[:2]),)


def test_cells_run_and_collapsed_are_counted_without_the_oracle():
    collapsed = TestResult(
        test="b",
        cells={
            "eager": CellResult(outcome="passed"),
            **{cell: CellResult(outcome="passed", same_as="eager") for cell in CELLS},
        },
    )
    summary = build_report(run(), [result(), collapsed]).summary

    assert (summary.tests, summary.cells_run, summary.cells_collapsed) == (2, 4, 4)


def test_findings_are_counted_by_kind_and_grouped_by_cause():
    report = build_report(run(), [], findings=[finding(), finding(test="b"), finding(kind="outcome")])

    assert report.summary.findings == {"outcome": 1, "output.dtype": 2}
    assert sorted(len(cause.findings) for cause in report.causes) == [1, 2]
    by_id = {each.id: each for each in report.findings}
    assert len(by_id) == 3
    assert all(by_id[each].cause == cause.cause for cause in report.causes for each in cause.findings)


def test_ids_do_not_depend_on_order_or_values():
    findings = [finding(), finding(test="b")]
    there = build_report(run(), [], findings=findings)
    back = build_report(run(), [], findings=list(reversed(findings)))
    other = build_report(run(), [], findings=[finding(summary="other values"), finding(test="b")])

    assert there == back
    assert [each.id for each in there.findings] == [each.id for each in other.findings]


def test_findings_alike_in_all_that_is_hashed_still_have_ids_of_their_own():
    report = build_report(run(), [], findings=[finding(region="f"), finding(region="g")])

    first, second = (each.id for each in report.findings)
    assert second == f"{first}-2"


@pytest.mark.parametrize("busy", ["m.py:1 in f", "m.py:2 in g"])
def test_an_id_depends_on_the_findings_of_its_test_alone(busy):
    """Two that differ in nothing that is hashed, of two causes: what other tests show puts these into either order."""
    twins = [finding(frame="m.py:1 in f"), finding(frame="m.py:2 in g")]
    others = [finding(test=f"b.py::test_{n}", frame=busy) for n in range(3)]
    alone, among = build_report(run(), [], findings=twins), build_report(run(), [], findings=[*others, *twins])

    assert among.findings[0].evidence["frame"] == busy
    ids = [{one.evidence["frame"]: one.id for one in report.findings if one.test == twins[0].test} for report in (alone, among)]
    assert ids[0] == ids[1]


def test_region_and_frame_are_evidence():
    (entry,) = build_report(run(), [], findings=[finding(region="m.f", frame="a.py:1 in g", evidence={"x": 1})]).findings

    assert entry.evidence == {"region": "m.f", "frame": "a.py:1 in g", "x": 1}


def test_evidence_is_json_that_every_reader_understands():
    evidence = {"nan": math.nan, "inf": [-math.inf], "big": 2**64, "object": {1: (1.5, b"x")}, "text": "\ud800"}
    report = build_report(run(), [], findings=[finding(evidence=evidence, summary="two\nlines")])
    data = json.loads(encode(report), parse_constant=pytest.fail)

    assert decode(encode(report)) == report
    (entry,) = data["findings"]
    assert entry["summary"] == "two lines"
    assert entry["evidence"] == {
        "nan": "nan",
        "inf": ["-inf"],
        "big": str(2**64),
        "object": {"1": [1.5, "b'x'"]},
        "text": "\\ud800",
    }


def test_an_unstable_finding_is_no_news():
    report = build_report(run(), [], findings=[finding(unstable=True)])

    assert report.findings[0].verdict == report.causes[0].verdict == "unstable"


@pytest.mark.parametrize(
    ("grid", "cells", "expected"),
    [
        (GRID, CELLS, LAST),
        (GRID, CELLS[:3], ""),
        ({"shapes": ("auto",), "ints": ("unspecialize",)}, ("auto-unspecialize",), ""),
        ({"ints": ("unspecialize",)}, ("unspecialize",), ""),
        (
            {"shapes": ("dynamic",), "ints": ("unspecialize",), "backend": ("eager", "inductor")},
            ("dynamic-unspecialize-inductor",),
            "dynamic-unspecialize-inductor",
        ),
    ],
)
def test_the_cell_that_ints_are_counted_in(grid, cells, expected):
    assert int_cell(run(grid=grid, cells=cells)) == expected


def test_ints_are_counted_in_the_cell_that_should_carry_them():
    rows = [int_row(), int_row("constant"), int_row("unused"), int_row(cells=CELLS[:3])]

    assert build_report(run(), [result()], ints=rows).summary.ints == IntSummary(reached=2, symbolic=1)


def test_ints_of_a_run_without_that_cell_are_not_counted():
    assert build_report(run(cells=CELLS[:3]), [result()], ints=[int_row()]).summary.ints == IntSummary()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, f"pytest --testmatrix --testmatrix-cells={LAST} a.py::test_a"),
        ({"test": "a.py::test_a[it's $x]"}, f"pytest --testmatrix --testmatrix-cells={LAST} 'a.py::test_a[it'\"'\"'s $x]'"),
        ({"cells": CELLS}, f"pytest --testmatrix --testmatrix-cells={CELLS[0]} a.py::test_a"),
        ({"reference": CELLS[0]}, f"pytest --testmatrix --testmatrix-cells={LAST},{CELLS[0]} a.py::test_a"),
        ({"cells": ("eager",), "reference": ""}, "pytest --testmatrix a.py::test_a"),
        ({"cells": ("eager",), "reference": LAST}, f"pytest --testmatrix --testmatrix-cells={LAST} a.py::test_a"),
        ({"cells": ("eager", LAST)}, f"pytest --testmatrix --testmatrix-cells={LAST} a.py::test_a"),
    ],
)
def test_the_command_that_shows_it_again(changes, expected):
    assert rerun_command(finding(**changes)) == expected


@pytest.mark.parametrize(
    ("root", "expected"),
    [("", "a.py::test_a"), ("..", "../a.py::test_a"), ("../b", "../b/a.py::test_a"), ("suite", "suite/a.py::test_a")],
)
def test_the_test_is_named_from_where_the_run_was_started(root, expected):
    command = rerun_command(finding(), Invocation(flags=("-c", "x.ini"), root=root))
    assert command == f"pytest -c x.ini --testmatrix --testmatrix-cells={LAST} {expected}"


def test_the_grid_of_the_run_is_part_of_the_command():
    command = rerun_command(finding(), Invocation(grid=("--testmatrix-grid=shapes=dynamic ints=unspecialize",)))

    assert command.startswith("pytest --testmatrix '--testmatrix-grid=shapes=dynamic ints=unspecialize' ")
