"""Guard sets of real runs: witnesses are tried on the compiled code that they are about."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch._dynamo.testing

#: A function that is assumed to be constant hangs on a setting: a trace checks less where that is off.
MISSING = """
@torch._dynamo.assume_constant_result
def careful():
    return torch._dynamo.config.specialize_int

def scaled(x, n, mode):
    if careful() and {checked}:
        return x + n
    return x + n

def test_missing():
    compiled(scaled)(torch.ones(8, 4), 5, "add")
"""
HEALTHY = """
def arithmetic(x, n, v):
    if n * n + 3 * n % 7 > 5 and v * 3.0 < 10.0 and int(v) + n > 2 and abs(n) < 100 and max(n, 3) < 50:
        x = x * n
    if n ** 3 > 2 and (n << 1) > 3 and (n & 3) != 2 and n / 3 > 0.5 and round(v) < 100 and -n // 4 < 0 and min(n, v) < 60:
        x = x + v
    return x

def test_arithmetic():
    function = compiled(arithmetic)
    function(torch.ones(3, 4), 9, 2.5)
    function(torch.ones(3, 5), 5, 2.75)

def viewed(x):
    if x.size(0) % 2 == 0 and x.numel() > 8:
        return x.transpose(0, 1).contiguous().view(-1, x.size(1) // 2, 2)
    return x

def test_views():
    function = compiled(viewed)
    for rows, columns in ((4, 6), (8, 6), (8, 10), (5, 6)):
        function(torch.ones(rows, columns))

def test_nested_tensors():
    parts = [torch.ones(2, 4), torch.ones(3, 4)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    compiled(lambda x, y: x * 2 if x.size(1) == y.size(1) else x)(nested, nested)

def test_unbacked_sizes():
    x = torch.ones(5, 4)
    torch._dynamo.decorators.mark_unbacked(x, 0)
    compiled(lambda x: x * 2)(x)

def test_unbacked_values():
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled(lambda x: torch.ones(3) * x.max().item())(torch.tensor([3, 4]))
"""
#: More than is read of one condition.
LONG = """
def summed(x, n):
    total = n
    for divisor in range(2, 260):
        total = total + n // divisor
    return x + 1 if total > 5 else x - 1

def test_long():
    compiled(summed)(torch.ones(2, 3), 50)
"""
DYNAMIC = "--testmatrix-grid=shapes=dynamic ints=specialize,unspecialize"
#: Of the cells of that grid.
SETTINGS: dict[str, dict[str, bool]] = {
    f"dynamic-{value}": {"assume_static_by_default": False, "specialize_int": value == "specialize"}
    for value in ("specialize", "unspecialize")
}


@pytest.fixture
def compiles(pytester: pytest.Pytester) -> Callable[..., list[int]]:
    """How many graphs a function of the suite has had compiled after each of some calls, under the settings of a cell."""

    def count(name: str, cell: str, *calls: tuple[Any, ...]) -> list[int]:
        spec = importlib.util.spec_from_file_location("suite_of_witnesses", pytester.path / "test_suite.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        torch._dynamo.reset()
        counter = torch._dynamo.testing.CompileCounter()
        function = torch.compile(getattr(module, name), backend=counter)
        counts = []
        with torch._dynamo.config.patch(**SETTINGS[cell]):
            for arguments in calls:
                function(*arguments)
                counts.append(counter.frame_count)
        return counts

    return count


def arguments(witness: Mapping[str, str], rows: int = 8, columns: int = 4, n: int = 5, mode: str = "add") -> tuple[Any, ...]:
    """The arguments of ``scaled`` that a witness describes; what it does not name is as in the test."""
    values = {source: ast.literal_eval(value) for source, value in witness.items()}
    sizes = (values.pop("L['x'].size()[0]", rows), values.pop("L['x'].size()[1]", columns))
    number, text = values.pop("L['n']", n), values.pop("L['mode']", mode)
    assert all(re.fullmatch(r"L\['x'\]\.(stride\(\)\[\d\]|storage_offset\(\))", source) for source in values)
    return torch.ones(sizes), number, text


TRIGGER = (torch.ones(8, 4), 5, "add")


@pytest.mark.parametrize(
    ("checked", "source", "condition"),
    [
        ("x.size(0) > 3", "L['x'].size()[0]", "L['x'].size()[0] >= 4"),
        ("x.size(1) % 2 == 0", "L['x'].size()[1]", "L['x'].size()[1] % 2 == 0"),
        ("x.size(0) * x.size(1) < 40", "L['x'].size()[1]", "L['x'].size()[0]*L['x'].size()[1] <= 39"),
        ("x.size(0) != 7", "L['x'].size()[0]", "L['x'].size()[0] != 7"),
        ("mode == 'add'", "L['mode']", "== 'add'"),
    ],
)
def test_a_witness_is_accepted_by_the_graph_that_it_is_about_and_by_no_other(
    matrix: Any, compiles: Callable[..., list[int]], checked: str, source: str, condition: str
) -> None:
    run = matrix(MISSING.replace("{checked}", checked), DYNAMIC)
    finding = run.finding("guard.missing")

    assert finding.evidence["text"] == condition
    assert (finding.reference, finding.cells) == ("dynamic-specialize", ("dynamic-unspecialize",))
    assert finding.evidence["accepted_by"] == "dynamic-unspecialize"
    witness = finding.evidence["witness"]
    assert source in witness
    called = arguments(witness)
    assert compiles("scaled", "dynamic-unspecialize", TRIGGER, called) == [1, 1]
    assert compiles("scaled", "dynamic-specialize", TRIGGER, called) == [1, 2]


def test_the_evidence_has_both_sets_and_the_caches(matrix: Any) -> None:
    run = matrix(MISSING.replace("{checked}", "x.size(1) % 2 == 0"), DYNAMIC)
    finding = run.finding("guard.missing")

    assert finding.evidence["relation"] == "wider"
    assert finding.evidence["constants"] == {"L['n']": "5"}
    assert finding.evidence["cache"] == {"reference": 1, "cell": 1, "relation": "wider"}
    assert "L['x'].size()[1] % 2 == 0" in finding.evidence["guards"]["reference"]
    assert "L['x'].size()[1] % 2 == 0" not in finding.evidence["guards"]["common"]
    assert finding.evidence["line"].startswith("test_suite.py:")


def test_what_the_axes_explain_is_no_finding_and_nothing_is_left_undecided(matrix: Any) -> None:
    run = matrix(HEALTHY)

    assert set(run.outcomes_of("test_arithmetic").values()) == {"passed"}
    assert [one.kind for one in run.findings if one.kind in ("guard.missing", "guard.extra")] == []
    assert [note for note in run.read.notes if note.kind in ("undecided", "guards", "recorder")] == []


def test_a_condition_that_is_not_understood_is_said_once_with_its_text(matrix: Any) -> None:
    run = matrix(LONG, "--testmatrix-grid=shapes=dynamic ints=unspecialize", "--testmatrix-oracle=off")

    notes = [note.text for note in run.read.notes if note.kind == "guards"]
    assert len(notes) == 1
    assert "a condition is compared as text, since it was not understood (more than" in notes[0]
    assert "FloorDiv(L['n'], 2)" in notes[0]
    assert [one.kind for one in run.findings if one.kind.startswith("guard.")] == []
