"""How often a function is compiled over three values of a number, by where the number comes from and by cell.

The suite knows nothing of cells: the table comes out of running it over the grid, and the page in the documentation out of that.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from testmatrix.report.ints import meant_cells
from testmatrix.report.model import decode

ROOT = Path(__file__).parents[2]
SUITE = "suites/test_source_table.py"
PAGE = "docs/int-semantics.md"
GRID = "shapes=static,auto,dynamic ints=specialize,unspecialize"
#: ``auto-unspecialize`` is torch's default.
CELLS = ("static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize", "auto-unspecialize")

SYMBOL_OR_CONSTANT = ("123", "123", "123", "111", "122")
ALWAYS_CONSTANT = ("123", "123", "123", "123", "123")
NEVER_COMPILED_AGAIN = ("111", "111", "111", "111", "111")
WHATEVER_INTS_ARE = ("123", "123", "111", "111", "122")

TABLES = {
    "Ints": {
        "argument": SYMBOL_OR_CONSTANT,
        "argument, forced by ==": ("123", "123", "123", "122", "122"),
        "argument, forced by dim=": ALWAYS_CONSTANT,
        "argument, forced by index": ALWAYS_CONSTANT,
        "argument, forced by range()": ALWAYS_CONSTANT,
        "argument, unused": NEVER_COMPILED_AGAIN,
        "list value": SYMBOL_OR_CONSTANT,
        "tuple value": SYMBOL_OR_CONSTANT,
        "dict value": SYMBOL_OR_CONSTANT,
        "closure": SYMBOL_OR_CONSTANT,
        "object field": SYMBOL_OR_CONSTANT,
        "dataclass field": SYMBOL_OR_CONSTANT,
        "partial": SYMBOL_OR_CONSTANT,
        "torch.Size": SYMBOL_OR_CONSTANT,
        "numpy scalar": NEVER_COMPILED_AGAIN,
        "DynamicInt": NEVER_COMPILED_AGAIN,
        "global": ALWAYS_CONSTANT,
        "default argument": ALWAYS_CONSTANT,
        "module attribute": ALWAYS_CONSTANT,
        "dict key": ALWAYS_CONSTANT,
        "enum member": ALWAYS_CONSTANT,
    },
    "Floats": {"argument": WHATEVER_INTS_ARE},
    "Sizes": {
        "size of a tensor": WHATEVER_INTS_ARE,
        "size of a tensor, 0 or 1": ALWAYS_CONSTANT,
        "size of a Parameter": ALWAYS_CONSTANT,
    },
}
ROWS = [(title, label) for title, rows in TABLES.items() for label in rows]
#: Sources that more than one test has, with how many: the values of an argument, and what is unused or only returned.
SEVERAL = {"argument": 3, "argument, unused": 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder in which the page's own commands were run: the report, and the page."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "docs").mkdir()
    options = ["--testmatrix", f"--testmatrix-grid={GRID}", f"--testmatrix-json={folder / 'report.json'}"]
    done = run("-m", "pytest", *options, "-p", "no:cacheprovider", "-q", SUITE, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    program = "from testmatrix.cli.main import main; main()"
    done = run("-c", program, "report", "report.json", "--ints", "--format", "markdown", "-o", PAGE, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def run(*arguments, cwd):
    return subprocess.run([sys.executable, *arguments], cwd=cwd, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def tables(made):
    """The page's tables by title, label and cell."""
    return {title: table_of((made / PAGE).read_text(encoding="utf-8"), title) for title in TABLES}


def table_of(page, title):
    lines = page.partition(f"## {title}\n\n")[2].partition("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {label: dict(zip(head[1:], rest, strict=True)) for label, *rest in rows}


@pytest.mark.parametrize(("title", "label"), ROWS)
def test_compiles_after_three_values(tables, title, label):
    row = tables[title][label]

    assert tuple(row[cell].partition(" · ")[2] for cell in CELLS) == TABLES[title][label]


def test_nothing_else_is_in_the_page(tables):
    assert {title: sorted(rows) for title, rows in tables.items()} == {title: sorted(rows) for title, rows in TABLES.items()}


def test_every_test_has_its_int(tables):
    assert {label: int(row["rows"]) for label, row in tables["Ints"].items()} == {**dict.fromkeys(TABLES["Ints"], 1), **SEVERAL}


def test_what_a_symbol_is_in_the_page_is_what_the_report_says(made, tables):
    report = decode((made / "report.json").read_bytes())
    (cell,) = meant_cells(report, "int")
    symbolic = sum(entry.cells[cell].state == "symbolic" for entry in report.ints)

    assert symbolic == report.summary.ints.symbolic
    assert symbolic == sum(int(row["rows"]) for row in tables["Ints"].values() if row[cell].startswith("symbolic"))


def test_the_page_in_the_documentation_is_what_its_commands_make(made):
    kept = (ROOT / PAGE).read_text(encoding="utf-8")
    version = torch.__version__.partition("+")[0]
    if not kept.startswith(f"# Ints, floats and sizes in torch {version}\n"):
        pytest.skip(f"the page is of another torch than {version}")

    assert (made / PAGE).read_text(encoding="utf-8") == kept


def test_oracle_compiles_nothing(made):
    report = decode((made / "report.json").read_bytes())

    assert {test.cells["eager"].compiles for test in report.tests} == {0}
