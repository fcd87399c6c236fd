from __future__ import annotations

from dataclasses import replace

import pytest
from builders import CELLS, GRID, STATIC, UNSPEC, observe, raised

from testmatrix.compare.finding import Finding
from testmatrix.compare.outcomes import compare_outcomes
from testmatrix.compare.whole import compare_test
from testmatrix.observation import ORACLE, ExceptionRecord, Observation


def ended(**outcomes: str) -> dict[str, Observation]:
    """Outcomes by cell, ``-`` written ``_``; the other cells pass."""
    made = dict.fromkeys((ORACLE, *CELLS), "passed") | {name.replace("_", "-"): outcome for name, outcome in outcomes.items()}
    return {name: _observe(name, outcome) for name, outcome in made.items()}


def _observe(name: str, outcome: str, exception: ExceptionRecord | None = None) -> Observation:
    failed = outcome in ("failed", "error")
    return observe(name, outcome=outcome, exception=exception or (raised() if failed else None))


def compare(made: dict[str, Observation]) -> list[Finding]:
    return compare_outcomes(made, [cell for cell in CELLS if cell in made])


def everywhere(outcome: str) -> dict[str, str]:
    return {cell.replace("-", "_"): outcome for cell in CELLS}


def test_all_pass() -> None:
    assert compare(ended()) == []


@pytest.mark.parametrize(
    ("outcome", "kind", "severity"),
    [
        ("failed", "outcome", "error"),
        ("error", "outcome", "error"),
        ("crashed", "crash", "error"),
        ("timeout", "timeout", "error"),
        ("skipped", "outcome", "warning"),
        ("xfailed", "outcome", "warning"),
    ],
)
def test_one_cell_ends_otherwise(outcome: str, kind: str, severity: str) -> None:
    (finding,) = compare(ended(dynamic_unspecialize=outcome))
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == (kind, severity, (UNSPEC,), ORACLE)


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped"])
def test_a_test_of_compilation_fails_in_the_oracle_alone(outcome: str) -> None:
    assert compare(ended(eager=outcome)) == []


def test_every_cell_fails_where_the_oracle_passes() -> None:
    (finding,) = compare(ended(**everywhere("failed")))
    assert (finding.severity, finding.cells) == ("error", CELLS)


@pytest.mark.parametrize("outcome", ["failed", "skipped", "xfailed"])
def test_plain_failures_are_none_of_ours(outcome: str) -> None:
    assert compare(ended(eager=outcome, **everywhere(outcome))) == []


def test_cells_differ_while_the_oracle_fails() -> None:
    (finding,) = compare(ended(eager="failed", static_specialize="failed", static_unspecialize="failed"))
    assert (finding.severity, finding.cells, finding.reference) == ("error", STATIC, CELLS[2])


def test_all_fail_but_not_alike() -> None:
    made = ended(eager="failed", **everywhere("failed"))
    made[UNSPEC] = _observe(UNSPEC, "failed", raised("KeyError"))
    (finding,) = compare(made)
    assert (finding.severity, finding.cells) == ("error", (UNSPEC,))


def test_only_the_message_differs() -> None:
    made = ended(eager="failed", **everywhere("failed"))
    made[UNSPEC] = _observe(UNSPEC, "failed", raised(message="index 7 of 9"))
    made[ORACLE] = _observe(ORACLE, "failed", raised(message="index 4 of 5"))
    severities = {finding.severity for finding in compare(made)}
    assert severities == {"warning"}
    numbers = {cell: _observe(cell, "failed", raised(message=f"index {n} of 9")) for n, cell in enumerate((ORACLE, *CELLS))}
    assert compare(numbers) == []
    asserted = {
        cell: _observe(cell, "failed", ExceptionRecord(type="AssertionError", message=cell, assertion=True))
        for cell in (ORACLE, *CELLS)
    }
    assert compare(asserted) == []


def test_assertions_on_counts_are_one_note() -> None:
    made = ended()
    for cell in CELLS[2:]:
        made[cell] = replace(made[cell], count_assertions=("mod.py:12: assert c.frame_count == 3",), counted_outcome="failed")
    made[ORACLE] = replace(made[ORACLE], count_assertions=("mod.py:12: assert c.frame_count == 3",), counted_outcome="failed")
    (finding,) = compare(made)
    assert (finding.kind, finding.severity, finding.cells) == ("outcome.count", "info", CELLS[2:])


def test_only_the_oracle_counts_otherwise() -> None:
    made = ended()
    made[ORACLE] = replace(made[ORACLE], count_assertions=("mod.py:12: assert c.frame_count == 3",))
    assert compare(made) == []


def test_without_an_oracle() -> None:
    made = ended(static_specialize="failed")
    del made[ORACLE]
    (finding,) = compare(made)
    assert (finding.cells, finding.reference) == (CELLS[:1], CELLS[1])


def test_signatures_leave_out_lines_and_numbers() -> None:
    def signature(message: str, frame: str) -> str:
        made = ended()
        made[UNSPEC] = _observe(UNSPEC, "failed", raised(message=message, frame=frame))
        return compare(made)[0].signature

    assert signature("index 3", "mod.py:12 in tag") == signature("index 14", "mod.py:40 in tag")
    assert signature("index 3", "mod.py:12 in tag") != signature("index 3", "mod.py:12 in other")
    # The test's own function would make every test a cause of its own.
    assert "test_it" not in signature("index 3", "mod.py:12 in test_it")


def test_a_single_cell_grid_compares_with_the_oracle() -> None:
    made = {name: one for name, one in ended(dynamic_unspecialize="failed").items() if name in (ORACLE, UNSPEC)}
    assert [finding.cells for finding in compare_test(made, GRID)] == [(UNSPEC,)]
