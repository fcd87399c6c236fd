"""The page about a finding or a cause."""

import re

import pytest
from report_results import CELLS, LAST, finding, run

from testmatrix.report.build import build_report
from testmatrix.report.model import decode, encode
from testmatrix.report.show.page import show_lines

OTHERS = CELLS[:3]
GUARDS = {
    "guard": "SHAPE",
    "source": "L['x'].size()[0]",
    "text": "L['x'].size()[0] >= 4",
    "witness": {"L['n']": "5", "L['x'].size()[0]": "3"},
    "accepted_by": LAST,
    "line": "a.py:12",
    "context": ["  10 | def f(x):", "  11 |", "  12 >     if x.size(0) > 3:", "  13 |         x = x + 1", "  14 |     return x"],
    "relation": "wider",
    "constants": {"L['n']": "5"},
    "guards": {
        "reference": ["L['n'] == 5", "L['x'].size()[0] in [4, oo)", "L['mode']: CONSTANT_MATCH == 'add'"],
        "cell": ["L['x'].size()[0] in [2, oo)", "L['n']: TYPE_MATCH int"],
        "common": ["L['x'].size()[1] == 8", "process: GRAD_MODE grad_mode=True"],
    },
    "cache": {"reference": 2, "cell": 1, "relation": "equal"},
}
IN_WORDS = {
    "reference": "rejected",
    "cells": {LAST: "L['x'].size()[0] >= 4 is not checked"},
    "path": "SHAPE L['x'].size()[0] L['x'].size()[0] >= 4",
    "calls": [1],
}


def guard_finding(**evidence):
    return finding(
        kind="guard.missing",
        severity="warning",
        reference=CELLS[0],
        summary=f"L['x'].size()[0] >= 4 is not checked in {LAST}, rejected in {CELLS[0]}",
        region="a.f",
        frame="a.py:12",
        evidence={**IN_WORDS, **GUARDS, **evidence},
    )


def report_of(*findings):
    """As it is read back from a file."""
    return decode(encode(build_report(run(), [], findings=findings)))


def page(*findings, **options):
    """Lines about the first of the findings."""
    report = report_of(*findings)
    entry = next(one for one in report.findings if one.test == findings[0].test and one.kind == findings[0].kind)
    return show_lines(report, entry, **{"width": 130, **options})


def section(lines, title):
    """The lines below a title, up to the next empty one."""
    start = lines.index(title) + 1
    return lines[start : next((n for n in range(start, len(lines)) if not lines[n]), len(lines))]


def test_the_head():
    same = [
        finding(test=f"a.py::test_{name}", region="a.f", frame="a.py:3 in f", evidence={"calls": [1, 2, 4]}) for name in "abcb"
    ]
    same[3] = finding(test="a.py::test_b", cells=OTHERS, frame="a.py:3 in f")
    lines = page(*same)
    report = report_of(*same)
    entry = next(one for one in report.findings if one.test == "a.py::test_a")

    assert lines[:10] == [
        "error  output.dtype  new",
        "result: float32 in eager, int64 in dynamic-unspecialize",
        f"  finding    {entry.id}",
        f"  cause      {entry.cause} (3 other findings of 2 tests)",
        "  test       a.py::test_a",
        "  cells      dynamic-unspecialize",
        "  reference  eager",
        "  region     a.f, calls 1, 2 and 4",
        "  at         a.py:3 in f",
        "",
    ]
    assert lines[10] == f"  {entry.rerun}"


def test_an_only_finding_says_so():
    assert any(line.endswith("(no other finding)") for line in page(finding()))


def test_guard_sets_stand_side_by_side_with_conditions_on_one_source_in_one_row():
    assert section(page(guard_finding()), "what is checked") == [
        "  static-specialize (reference)      | dynamic-unspecialize",
        "  L['n'] == 5                        | L['n']: TYPE_MATCH int",
        "  L['x'].size()[0] in [4, oo)        | L['x'].size()[0] in [2, oo)",
        "  L['mode']: CONSTANT_MATCH == 'add' |",
        "  … and 2 conditions in common (--all prints them)",
    ]


def test_all_conditions_on_demand():
    assert section(page(guard_finding(), everything=True), "what is checked")[-3:] == [
        "  in both of them:",
        "    L['x'].size()[1] == 8",
        "    process: GRAD_MODE grad_mode=True",
    ]


def test_guards_in_words():
    lines = page(guard_finding())

    assert section(lines, "condition") == ["  L['x'].size()[0] >= 4 (SHAPE)"]
    assert section(lines, "relation") == [
        "  dynamic-unspecialize lets through more than static-specialize",
        "  with these put in on both sides: L['n']=5",
        "  accepted by dynamic-unspecialize alone: L['x'].size()[0]=3, L['n']=5",
        "  compiles of this frame: 2 in static-specialize, 1 in dynamic-unspecialize; taken together, as far as numbers go,",
        "    dynamic-unspecialize and static-specialize let through the same",
    ]


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ("narrower", f"{LAST} lets through less than {CELLS[0]}"),
        ("neither", f"{LAST} and {CELLS[0]} each let through what the other rejects"),
        ("undecided", f"whether {LAST} lets through more or less than {CELLS[0]} was not decided within the time allowed"),
    ],
)
def test_every_relation_has_words(relation, words):
    assert section(page(guard_finding(relation=relation)), "relation")[0] == f"  {words}"


def test_a_condition_on_no_number_names_its_source():
    flag = guard_finding(guard="CONSTANT_MATCH", source="L['mode']", text="== 'add'")
    process = guard_finding(guard="GRAD_MODE", source="", text="grad_mode=True")

    assert section(page(flag), "condition") == ["  L['mode'] == 'add' (CONSTANT_MATCH)"]
    assert section(page(process), "condition") == ["  the process grad_mode=True (GRAD_MODE)"]


def test_the_users_line_with_the_lines_around_it():
    lines = page(guard_finding())

    assert section(lines, "a.py:12") == GUARDS["context"]
    assert section(page(guard_finding(context=[])), "a.py:12") == ["  (not to be had)"]


def test_what_guards_are_told_by_is_not_repeated():
    assert "evidence" not in page(guard_finding())
    assert "side by side" not in page(guard_finding())


def test_sides_that_the_summary_lacks_are_shown_for_guards_too():
    assert "side by side" in page(guard_finding(reference="something else"))


def test_of_several_cells_the_one_that_is_shown_is_named():
    several = finding(
        kind="guard.missing", cells=CELLS[2:], reference=CELLS[0], summary="x", evidence={"guards": GUARDS["guards"]}
    )

    assert "  (dynamic-specialize is the first of 2 cells that show it)" in page(several)


def test_a_specialized_number_has_its_state_in_each_cell():
    states = dict.fromkeys(OTHERS, "constant 5 by design: setting of the cell")
    evidence = {
        "source": "L['n']",
        "number": "int",
        "kind": "argument",
        "reason": "forced: ==",
        "line": "a.py:14",
        "cells": {**states, LAST: "constant 5 forced: =="},
        "context": ["  14 >     if n == 5:"],
    }
    lines = page(finding(kind="guard.specialized", severity="warning", frame="a.py:14", evidence=evidence))

    assert section(lines, "side by side") == [
        "  static-specialize, static-unspecialize, dynamic-specialize | dynamic-unspecialize",
        "  constant 5 by design: setting of the cell                  | constant 5 forced: ==",
    ]
    assert section(lines, "evidence") == [
        "  source  L['n']",
        "  number  int",
        "  kind    argument",
        "  reason  forced: ==",
    ]
    assert section(lines, "a.py:14") == ["  14 >     if n == 5:"]


def test_an_outcome_has_both_ends_side_by_side():
    told = {"outcome": "failed", "exception": "ValueError", "message": "seven", "frame": "a.py:3 in f"}
    evidence = {"cells": {LAST: told}, "reference": {"outcome": "passed"}, "cause_of_it": {"depth": [1, 2]}}
    lines = page(finding(kind="outcome", evidence=evidence))

    assert section(lines, "side by side") == [
        "  eager (reference) | dynamic-unspecialize",
        "  outcome: passed   | outcome: failed",
        "                    | exception: ValueError",
        "                    | message: seven",
        "                    | frame: a.py:3 in f",
    ]
    assert section(lines, "evidence") == ["  cause_of_it  depth: [1, 2]"]


def test_nothing_of_the_evidence_is_dropped():
    evidence = {
        "reference": "0.0",
        "cells": {LAST: "1.0 at [0]"},
        "path": "result[0]",
        "max_abs": "1.0",
        "index": [0],
        "note": "",
        "later": {"a": ["x", {"b": None}], "c": True},
    }
    text = "\n".join(page(finding(evidence=evidence)))

    assert "  path     result[0]\n  max_abs  1.0\n  index    [0]\n  note     -\n" in text
    assert "  later    a:\n             - x\n             - b: None\n           c: True" in text


@pytest.mark.parametrize("damaged", [None, 7, "text", [], ["x", 3], {"a": 1}, {"reference": 4, "cell": None}, [[{}]]])
@pytest.mark.parametrize("key", [*GUARDS, *IN_WORDS, "region", "frame"])
def test_damaged_evidence_takes_nothing_else_down(key, damaged):
    report = report_of(guard_finding())
    (entry,) = report.findings
    entry = type(entry)(
        **{**{name: getattr(entry, name) for name in entry.__struct_fields__}, "evidence": {**entry.evidence, key: damaged}}
    )
    lines = show_lines(report, entry, width=130)

    assert lines[0] == "warning  guard.missing  new"
    assert all(len(line) <= 130 for line in lines if "pytest" not in line)


def test_the_damaged_value_itself_is_there():
    assert "  relation  sideways" in page(guard_finding(relation="sideways"))
    assert "  witness      - 1" in "\n".join(page(guard_finding(witness=["1", "x"])))
    assert "  guards  reference: 5" in page(guard_finding(guards={"reference": 5}))


def test_deep_nesting_ends():
    deep = "x"
    for _ in range(200):
        deep = [deep]

    assert sum("[[[[" in line for line in page(finding(evidence={"deep": deep}))) >= 1


def test_control_characters_cannot_reach_the_terminal():
    lines = page(finding(summary="\x1b[31mred", evidence={"mess\x07age": "a\x1b]0;title\x07b\nc\td"}))

    assert all(line.isprintable() for line in lines)
    assert lines[-2:] == ["  mess\\x07age  a\\x1b]0;title\\x07b", "               c       d"]


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 130])
def test_text_is_wrapped_and_never_cut(width):
    lines = page(guard_finding(), width=width, everything=True)
    text = "".join("".join(lines).split())

    assert all(len(line) <= max(width, 40) for line in lines if "pytest" not in line and line not in GUARDS["context"])
    for condition in [*GUARDS["guards"]["common"], "lets through more than"]:
        assert "".join(condition.split()) in text


def test_columns_become_a_list_where_there_is_no_room_for_them():
    lines = section(page(guard_finding(), width=30), "what is checked")

    assert not [line for line in lines if "|" in line]
    assert [line for line in lines if line.endswith(":")] == ["    (reference):", "  dynamic-unspecialize:"]


def test_colour_changes_nothing_but_colour():
    coloured = page(guard_finding(), color=True)

    assert "\x1b[33mwarning\x1b[0m  guard.missing  new" in coloured
    assert "\x1b[1m  12 >     if x.size(0) > 3:\x1b[0m" in coloured
    assert [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured] == page(guard_finding())


def test_a_cause_has_its_findings_by_test_and_the_first_in_full():
    found = [finding(test="a.py::test_b"), finding(), finding(cells=OTHERS, severity="warning")]
    report = report_of(*found)
    (cause,) = report.causes
    first = report.findings[0]
    lines = show_lines(report, cause, width=130)

    assert lines[:5] == [
        "error  output.dtype  new",
        cause.summary,
        f"  cause     {cause.cause}",
        "  findings  3 of 2 tests",
        "",
    ]
    assert [len(section(lines, test)) for test in ("a.py::test_a", "a.py::test_b")] == [2, 1]
    assert section(lines, "a.py::test_a")[0] == f"  {first.id}  error  dynamic-unspecialize  {first.summary}"
    assert lines[lines.index("the first of them:") + 2 :] == show_lines(report, first, width=130)


def test_a_cause_without_its_findings():
    report = report_of(finding())
    lines = show_lines(type(report)(run=report.run, causes=report.causes, summary=report.summary), report.causes[0])

    assert lines[-1] == f"not in this report: {report.findings[0].id}"
