"""The table of ints, floats and sizes."""

import pytest
from report_results import CELLS, LAST, result, run

from testmatrix.compare.finding import IntRow, IntState
from testmatrix.report.build import build_report
from testmatrix.report.ints import groups_of, int_table, int_table_markdown, meant_cells

SETTING = "by design: setting of the cell"


def constant(compiles=(1, 2, 3), reason=SETTING, value="5", line="mod.py:12"):
    return IntState(state="constant", value=value, reason=reason, line=line, compiles=compiles)


def symbolic(compiles=(1, 1, 1), reason=""):
    return IntState(state="symbolic", reason=reason, compiles=compiles)


def row(last, source="L['n']", kind="argument", number="int", usual=None, test="a.py::test_a"):
    """The same in every cell but the last."""
    cells = {cell: last if cell == LAST else usual or constant() for cell in CELLS}
    return IntRow(test=test, region="a.f", source=source, cells=cells, kind=kind, number=number)


def report(*rows, tests=("a.py::test_a",), **changes):
    return build_report(run(**changes), [result(test) for test in tests], ints=rows)


def table_of(text, title):
    """Rows of one of the page's tables, by their label."""
    lines = text.partition(f"## {title}\n\n")[2].partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {label: rest for label, *rest in cells[2:]}


def test_one_row_a_kind_of_source_with_states_and_patterns():
    text = int_table_markdown(report(row(symbolic()), row(constant(reason="by design: global"), "G['N']", "global")))

    assert table_of(text, "Ints") == {
        "argument": ["1", *["constant · 123"] * 3, "symbolic · 111"],
        "global": ["1", *["constant · 123"] * 4],
    }


def test_counts_where_sources_of_a_kind_differ():
    rows = [row(symbolic(), f"L['n{n}']") for n in range(3)]
    odd = row(IntState(state="unused", compiles=(1, 1)), "L['k']")
    text = int_table_markdown(report(*rows, odd))

    assert table_of(text, "Ints")["argument"][-1] == "symbolic 3, unused 1 · 111 ×3, 11 ×1"


def test_the_rarest_of_many_patterns_are_left_out():
    rows = [row(symbolic(tuple(range(1, n + 2))), f"L['n{n}']") for n in range(1, 3)]
    rows += [row(symbolic((1, 1, n)), f"L['m{n}']") for n in range(1, 4)]
    text = int_table_markdown(report(*rows))

    assert table_of(text, "Ints")["argument"][-1] == "symbolic · 111 ×1, 112 ×1, 113 ×1, …"


def test_one_value_says_nothing_of_compiling_again():
    text = int_table_markdown(report(row(symbolic((1,)), usual=constant((1,)))))

    assert table_of(text, "Ints")["argument"] == ["1", "constant", "constant", "constant", "symbolic"]


@pytest.mark.parametrize(
    ("state", "label"),
    [
        (constant(reason="forced: =="), "argument, forced by =="),
        (symbolic(reason="forced: =="), "argument, forced by =="),
        (constant(reason="forced: passing it to a function (f())"), "argument, forced by passing it to a function"),
        (constant(reason="by design: kept constant by Dynamo"), "argument, kept constant by Dynamo"),
        (constant(reason="by design: argument"), "argument"),
        (symbolic(), "argument"),
    ],
)
def test_what_is_forced_is_a_row_of_its_own(state, label):
    assert list(table_of(int_table_markdown(report(row(state))), "Ints")) == [label]


def test_what_nothing_uses_is_a_row_of_its_own():
    unused = IntState(state="unused", compiles=(1, 1, 1))
    text = int_table_markdown(report(row(unused, usual=unused)))

    assert table_of(text, "Ints") == {"argument, unused": ["1", *["unused · 111"] * 4]}


def test_floats_and_sizes_have_tables_of_their_own():
    text = int_table_markdown(
        report(
            row(symbolic(), "L['p']", number="float"),
            row(constant(reason="by design: 0 or 1", value="1"), "L['x'].size()[0]", "size of a tensor", "size"),
        )
    )

    assert "## Ints" not in text
    assert list(table_of(text, "Floats")) == ["argument"]
    assert list(table_of(text, "Sizes")) == ["size of a tensor, 0 or 1"]
    assert text.index("## Floats") < text.index("## Sizes")


def test_floats_and_sizes_are_apart_from_ints_in_the_report():
    told = report(row(symbolic()), row(symbolic(), "L['p']", number="float"))

    assert [entry.source for entry in told.ints] == ["L['n']"]
    assert [(entry.source, entry.number, entry.kind) for entry in told.numbers] == [("L['p']", "float", "argument")]
    assert told.ints[0].cells[LAST].compiles == (1, 1, 1)
    assert (told.summary.ints.reached, told.summary.ints.symbolic) == (1, 1)


def test_kinds_come_in_one_order_and_unknown_ones_last():
    rows = [row(symbolic(), f"L['{kind}']", kind) for kind in ("set value", "global", "closure", "argument")]
    groups = groups_of(report(*rows).ints, ())

    assert [group.label for group in groups] == ["argument", "closure", "global", "set value"]


def test_reasons_are_counted_in_the_cell_that_should_carry_them():
    text = int_table_markdown(
        report(
            row(constant(reason="forced: range()", line="a.py:9")),
            row(constant(reason="forced: range()", line="a.py:10"), "L['k']"),
            row(constant(reason="forced: operator (**)", line="a.py:11"), "L['e']"),
        )
    )

    reasons = text.partition("## Why they are constant\n\n")[2].partition("\n\n")[0].splitlines()
    assert reasons == [
        f"- ints constant in {LAST}: 2 × forced: range(), first at `a.py:9`",
        f"- ints constant in {LAST}: 1 × forced: operator (\\*\\*), first at `a.py:11`",
    ]


def test_the_page_names_torch_without_its_build_and_what_it_was_made_by():
    text = int_table_markdown(report(row(symbolic()), torch="2.13.0+cpu"), "x.json", "docs/page.md")

    assert text.startswith("# Ints, floats and sizes in torch 2.13.0\n")
    assert (
        "--testmatrix '--testmatrix-grid=shapes=static,dynamic ints=specialize,unspecialize' --testmatrix-json=x.json a.py\n"
        in text
    )
    assert "testmatrix report x.json --ints --format markdown -o docs/page.md\n" in text


def test_many_files_are_not_named():
    text = int_table_markdown(report(tests=[f"t{n}.py::test_a" for n in range(9)]))

    assert "t0.py" not in text


def test_the_text_has_each_int_and_the_int_line_last():
    lines = int_table(report(row(symbolic()), row(constant(reason="forced: range()", line="a.py:9"), "L['k']")))

    assert lines == [
        "torch 2.13.0",
        "",
        "ints                         rows  static-specialize  static-unspecialize  dynamic-specialize  dynamic-unspecialize",
        "argument                     1     constant · 123     constant · 123       constant · 123      symbolic · 111",
        "argument, forced by range()  1     constant · 123     constant · 123       constant · 123      constant · 123",
        "",
        "ints constant in dynamic-unspecialize: 1 × forced: range(), first at a.py:9",
        "",
        "test          region  source  static-specialize  static-unspecialize  dynamic-specialize  dynamic-unspecialize",
        "a.py::test_a  a.f     L['n']  constant 5         constant 5           constant 5          symbolic",
        "a.py::test_a  a.f     L['k']  constant 5         constant 5           constant 5          constant 5",
        "",
        "ints: 1 of 2 symbolic in dynamic-unspecialize (50 %)",
    ]


def test_a_run_without_numbers_has_the_int_line():
    assert int_table(report())[-1] == f"ints: none reached a compiled region in {LAST}, so there is no rate"


@pytest.mark.parametrize(
    ("grid", "number", "expected"),
    [
        ({"shapes": ("static", "dynamic"), "ints": ("specialize", "unspecialize")}, "int", ["dynamic-unspecialize"]),
        (
            {"shapes": ("static", "dynamic"), "ints": ("specialize", "unspecialize")},
            "size",
            ["dynamic-specialize", "dynamic-unspecialize"],
        ),
        ({"ints": ("specialize", "unspecialize")}, "int", []),
    ],
)
def test_cells_that_are_meant_to_carry(grid, number, expected):
    cells = CELLS if "shapes" in grid else grid["ints"]

    assert meant_cells(report(grid=grid, cells=cells), number) == expected
