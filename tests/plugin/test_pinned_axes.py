"""What the test itself pins beats the cell; it is said, and not compared across."""

from __future__ import annotations

import pytest

PINS = {
    "dynamic=True": ("region = compiled(lambda x: x + 1, dynamic=True)", {"shapes"}),
    "dynamic=False": ("region = compiled(lambda x: x + 1, dynamic=False)", {"shapes"}),
    "marked": ("region = compiled(lambda x: x + 1); torch._dynamo.mark_dynamic(x, 0)", {"shapes"}),
    "marked static": ("region = compiled(lambda x: x + 1); torch._dynamo.mark_static(x, 0)", {"shapes"}),
    "set": ("region = compiled(lambda x: x + 1); torch._dynamo.config.specialize_int = True", {"ints"}),
    "both": (
        "region = compiled(lambda x: x + 1, dynamic=True); torch._dynamo.config.specialize_int = False",
        {"ints", "shapes"},
    ),
    "nothing": ("region = compiled(lambda x: x + 1)", set()),
    "another setting": ("region = compiled(lambda x: x + 1); torch._dynamo.config.verbose = True", set()),
}


@pytest.mark.parametrize(("make", "axes"), PINS.values(), ids=PINS)
def test_it_is_recorded_and_said(matrix, cells, make, axes):
    run = matrix(f"""
def test_it():
    x = torch.ones(4)
    {make}
    region(x)
    region(x[:3])
""")
    assert run.exit == 0
    assert {axis for cell in cells for axis in run.tests["test_it"][cell].pinned} == axes
    said = [line for line in run.result.outlines if "pinned by 1 test" in line]
    assert len(said) == (1 if axes else 0), run.text
    assert not run.findings, run.text


@pytest.mark.parametrize(
    "patch",
    [
        "with torch._dynamo.config.patch(specialize_int=False, assume_static_by_default=False):\n        region(2); region(3)",
        "torch._dynamo.config.patch(specialize_int=False, assume_static_by_default=False)(lambda: (region(2), region(3)))()",
    ],
    ids=["with", "decorator"],
)
def test_a_patch_of_the_suites_own(matrix, cells, patch):
    run = matrix(f"""
def test_it():
    f = compiled(lambda x, n: x + n)
    region = lambda n: f(torch.ones(2), n)
    {patch}
""")
    assert {result.compiles for cell, result in run.tests["test_it"].items() if cell in cells} == {1}
    assert all(set(run.tests["test_it"][cell].pinned) == {"shapes", "ints"} for cell in cells)
    assert not run.findings
    assert run.exit == 0
