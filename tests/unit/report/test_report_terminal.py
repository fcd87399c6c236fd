import re

import pytest
from report_results import CELLS, LAST, finding, int_row, result, run

from testmatrix.report.build import build_report
from testmatrix.report.markdown import markdown
from testmatrix.report.terminal import int_line, summary_lines
from testmatrix.store.records import NoteEntry

ROWS = [int_row(), int_row(), int_row("constant")]


def lines_of(findings=(), tests=None, width=200, **changes):
    report = build_report(run(), tests or [result()], findings=findings, ints=ROWS, wall=2.04, **changes)
    return summary_lines(report, width=width)


def test_a_clean_run_has_two_lines():
    assert lines_of() == [
        "1 test × 4 cells + eager: 4 run, 2.0 s, no findings",
        "ints: 2 of 3 symbolic in dynamic-unspecialize (66 %)",
    ]


def test_an_error_says_what_where_and_how_to_see_it_again():
    lines = lines_of([finding(frame="a.py:3 in f"), finding(test="a.py::test_b")])
    text = "\n".join(lines)

    assert re.search(r"^error  output\.dtype  dynamic-unspecialize  1 test  cause \w+$", text, re.MULTILINE)
    assert "    result: float32 in eager, int64 in dynamic-unspecialize\n    at a.py:3 in f\n    pytest --testmatrix" in text
    assert lines[-2:] == ["2 findings of 2 causes: 2 error", "ints: 2 of 3 symbolic in dynamic-unspecialize (66 %)"]


def test_a_warning_names_its_cause_too():
    (head,) = [line for line in lines_of([finding(severity="warning")]) if line.startswith("warning")]

    assert re.fullmatch(r"warning  output\.dtype  dynamic-unspecialize  1 test  cause \w+", head)


def test_where_there_is_a_file_the_last_but_one_line_says_how_to_see_more():
    report = build_report(run(), [result()], findings=[finding(severity="warning"), finding(kind="output.value")])
    last = summary_lines(report, file="my report.json")[-2]

    assert last == f"everything about one: testmatrix show {report.causes[0].cause} 'my report.json'"
    assert report.causes[0].kind == "output.value"
    assert not any("testmatrix show" in line for line in summary_lines(report))
    assert not any("testmatrix show" in line for line in summary_lines(build_report(run(), [result()]), file="r.json"))


def test_one_cause_is_said_once_with_all_of_its_cells():
    lines = lines_of([finding(test=f"a.py::test_{n}", cells=(CELLS[n % 4],)) for n in range(8)])

    heads = [line for line in lines if line.startswith("error")]
    assert len(heads) == 1
    assert "all 4 cells  8 tests" in heads[0]
    assert sum(line.startswith("    pytest") for line in lines) == 1


def test_errors_come_first_then_warnings_then_unstable_then_numbers_of_info():
    lines = lines_of(
        [
            finding(severity="info", kind="outcome.count", signature="i"),
            finding(unstable=True, kind="output.value"),
            finding(severity="warning", kind="guard.specialized"),
            finding(),
        ]
    )
    firsts = [line.split()[0] for line in lines[1:] if line and not line.startswith(" ")]

    assert firsts == ["error", "warning", "unstable", "info:", "4", "ints:"]
    assert "info: 1 outcome.count" in lines


def test_many_warnings_do_not_bury_the_rest():
    findings = [finding(severity="warning", signature=str(n)) for n in range(30)]
    report = build_report(run(), [result()], findings=findings)

    assert "and 20 more causes, all in the JSON report: 20 output.dtype" in summary_lines(report)
    assert sum(line.startswith("warning") for line in summary_lines(report, warnings_shown=None)) == 30


def test_descriptions_are_cut_and_commands_are_not():
    long = finding(test="a.py::test_" + "x" * 300, summary="y" * 300)
    lines = lines_of([long], width=200)

    assert "    " + "y" * 195 + "…" in lines
    assert any(line.endswith("x" * 300) for line in lines)


def test_a_narrow_terminal_does_not_cut_what_differs_to_nothing():
    assert "    " + "y" * 155 + "…" in lines_of([finding(summary="y" * 300)], width=20)


def test_colour_changes_nothing_but_colour():
    report = build_report(run(), [result()], findings=[finding(), finding(severity="warning", signature="w")])
    coloured = "\n".join(summary_lines(report, color=True))

    assert "\x1b[31;1merror\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == "\n".join(summary_lines(report))


def test_notes_are_grouped():
    notes = [NoteEntry(kind="recorder", text="no guards", test=f"a.py::test_{n}") for n in range(3)]
    notes += [NoteEntry(kind="leak", text=f"thread {n}", test="a.py::test_0") for n in range(9)]
    tests = [result(), result("b", pinned=("shapes",)), result("c", pinned=("shapes",))]
    lines = lines_of(tests=tests, notes=notes)

    assert "note: shapes pinned by 2 tests and not compared there" in lines
    assert "note: recorder: no guards (3 tests)" in lines
    assert sum(line.startswith("note: leak") for line in lines) == 6
    assert "note: leak: and 4 more, all in the JSON report" in lines


def test_a_suite_that_compiles_nothing_is_told_so():
    lines = lines_of(tests=[result(compiles=0, regions=0)])

    assert any(line.startswith("note: nothing was compiled") for line in lines)


def test_no_test_at_all():
    lines = summary_lines(build_report(run(), []))

    assert lines == [
        "0 tests × 4 cells + eager: 0 run, 0.0 s, no findings",
        "note: no test was run, so there was nothing to compare",
        "ints: none reached a compiled region in dynamic-unspecialize, so there is no rate",
    ]


@pytest.mark.parametrize(
    ("symbolic", "constant", "expected"),
    [(0, 3, "(0 %)"), (1, 299, "(<1 %)"), (299, 1, "(99 %)"), (5, 0, "(100 %)")],
)
def test_the_rate_never_rounds_something_to_nothing_or_to_everything(symbolic, constant, expected):
    rows = [int_row()] * symbolic + [int_row("constant")] * constant

    assert int_line(build_report(run(), [], ints=rows)).endswith(expected)


def test_no_rate_without_the_cell():
    report = build_report(run(cells=CELLS[:3]), [], ints=ROWS)

    assert int_line(report) == "ints: no rate, since no cell of this run has dynamic shapes and unspecialized ints"


def test_markdown_has_a_row_and_a_command_for_each_cause():
    odd = "result `a|b` <x>"
    report = build_report(run(), [result()], findings=[finding(summary=odd), finding(kind="outcome")], ints=ROWS)
    text = markdown(report)

    assert text.startswith("### testmatrix: 2 causes, 2 new\n")
    assert "| error | `output.dtype` | dynamic-unspecialize | 1 | result \\`a\\|b\\` \\<x> |" in text
    assert text.count(f"pytest --testmatrix --testmatrix-cells={LAST} a.py::test_a") == 2
    assert text.endswith(f"**{int_line(report)}**\n")


def test_markdown_says_what_it_leaves_out():
    findings = [finding(signature=str(n)) for n in range(25)]

    assert "5 more causes are in the JSON report." in markdown(build_report(run(), [], findings=findings))


def test_markdown_of_a_clean_run():
    text = markdown(build_report(run(), [result()]))

    assert text.startswith("### testmatrix: no findings\n")
    assert "|" not in text
