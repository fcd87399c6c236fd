"""How often a function is compiled over three values of a number, by where the number comes from and by cell.

The suite knows nothing of cells: the table comes out of running it over the grid.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = "suites/test_source_table.py"
GRID = "shapes=static,auto,dynamic ints=specialize,unspecialize"
#: ``auto-unspecialize`` is torch's default.
CELLS = ("static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize", "auto-unspecialize")

SYMBOL_OR_CONSTANT = (3, 3, 3, 1, 2)
ALWAYS_CONSTANT = (3, 3, 3, 3, 3)
NEVER_COMPILED_AGAIN = (1, 1, 1, 1, 1)
WHATEVER_INTS_ARE = (3, 3, 1, 1, 2)

TABLE = {
    "test_argument[5,6,7]": SYMBOL_OR_CONSTANT,
    "test_argument[0,1,2]": SYMBOL_OR_CONSTANT,
    "test_argument[negatives]": SYMBOL_OR_CONSTANT,
    "test_list_value": SYMBOL_OR_CONSTANT,
    "test_tuple_value": SYMBOL_OR_CONSTANT,
    "test_dict_value": SYMBOL_OR_CONSTANT,
    "test_closure": SYMBOL_OR_CONSTANT,
    "test_object_field": SYMBOL_OR_CONSTANT,
    "test_dataclass_field": SYMBOL_OR_CONSTANT,
    "test_partial": SYMBOL_OR_CONSTANT,
    "test_torch_size": SYMBOL_OR_CONSTANT,
    "test_global": ALWAYS_CONSTANT,
    "test_default_argument": ALWAYS_CONSTANT,
    "test_module_attribute": ALWAYS_CONSTANT,
    "test_dict_key": ALWAYS_CONSTANT,
    "test_int_enum": ALWAYS_CONSTANT,
    "test_equality_branch": (3, 3, 3, 2, 2),
    "test_range": ALWAYS_CONSTANT,
    "test_list_index": ALWAYS_CONSTANT,
    "test_dim": ALWAYS_CONSTANT,
    "test_unused": NEVER_COMPILED_AGAIN,
    "test_only_returned": NEVER_COMPILED_AGAIN,
    "test_numpy_scalar": NEVER_COMPILED_AGAIN,
    "test_dynamic_int": NEVER_COMPILED_AGAIN,
    "test_float_argument": WHATEVER_INTS_ARE,
    "test_tensor_size[5,6,7]": WHATEVER_INTS_ARE,
    "test_tensor_size[0,1,2]": ALWAYS_CONSTANT,
    "test_parameter_size": ALWAYS_CONSTANT,
}


@pytest.fixture(scope="module")
def compiles(tmp_path_factory):
    """Compiles in each cell, by test."""
    report = tmp_path_factory.mktemp("table") / "report.json"
    options = ["--testmatrix", f"--testmatrix-grid={GRID}", f"--testmatrix-json={report}", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, SUITE], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert report.exists(), done.stdout + done.stderr
    tests = json.loads(report.read_text(encoding="utf-8"))["tests"]
    return {
        test["test"].rpartition("::")[2]: {cell: result["compiles"] for cell, result in test["cells"].items()} for test in tests
    }


@pytest.mark.parametrize("name", TABLE)
def test_compiles_after_three_values(compiles, name):
    assert tuple(compiles[name][cell] for cell in CELLS) == TABLE[name]


def test_every_row_is_in_the_table(compiles):
    assert set(compiles) == set(TABLE)


def test_oracle_compiles_nothing(compiles):
    assert {cells["eager"] for cells in compiles.values()} == {0}
