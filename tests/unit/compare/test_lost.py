"""Cells that were lost: their end is one finding, and they have no part in any other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import (
    CELLS,
    GRID,
    REGION,
    STATIC,
    TEST,
    UNSPEC,
    call,
    compiled,
    constant,
    int_symbol,
    observations,
    observe,
    raised,
    tensor,
)

from testmatrix.compare.control import mark_unstable
from testmatrix.compare.finding import Finding
from testmatrix.compare.numbers.rows import number_rows
from testmatrix.compare.whole import compare_observations, compare_test, run_cells
from testmatrix.observation import ORACLE, ExceptionRecord, GraphBreak, Observation

KILLED = "the process was killed by signal 11 (SIGSEGV)"
FRAME = "mod.py:12 in tag"


def crashed(cell: str, message: str = KILLED, type_: str = "SIGSEGV", frame: str = FRAME) -> Observation:
    return observe(cell, outcome="crashed", exception=ExceptionRecord(type=type_, message=message, frame=frame))


def hung(cell: str) -> Observation:
    return observe(cell, outcome="timeout", exception=ExceptionRecord(type="timeout", message="no end after 60 s", frame=FRAME))


def with_lost(*lost: Observation, **fields: object) -> dict[str, Observation]:
    """One region that compiles once in every cell and is right everywhere, but for cells that were lost."""
    made = observations(3, arguments={"L['n']": 5})
    made = {
        cell: one if cell == ORACLE else replace(one, compiles=(compiled(constant("L['n']", 5)),)) for cell, one in made.items()
    }
    return {**made, **{one.cell: one for one in lost}, **fields}  # type: ignore[dict-item]


def only(made: dict[str, Observation]) -> Finding:
    (finding,) = [finding for finding in compare_test(made, GRID) if finding.kind != "guard.specialized"]
    return finding


def test_one_cell_is_lost() -> None:
    finding = only(with_lost(crashed(UNSPEC)))
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == ("crash", "error", (UNSPEC,), ORACLE)
    assert finding.summary == f"takes the process down in {UNSPEC}, passes in eager: {KILLED} at {FRAME}"
    assert finding.frame == FRAME
    assert finding.evidence["cells"] == {
        UNSPEC: {"outcome": "crashed", "exception": "SIGSEGV", "message": KILLED, "frame": FRAME}
    }
    assert finding.evidence["reference"] == {"outcome": "passed"}


def test_one_cell_does_not_end() -> None:
    finding = only(with_lost(hung(UNSPEC)))
    assert (finding.kind, finding.severity, finding.cells) == ("timeout", "error", (UNSPEC,))
    assert finding.summary == f"does not end in time in {UNSPEC}, passes in eager: no end after 60 s at {FRAME}"


def test_every_cell_is_lost_where_eager_is_not() -> None:
    finding = only(with_lost(*map(crashed, CELLS)))
    assert (finding.cells, finding.reference) == (CELLS, ORACLE)
    assert finding.summary.startswith("takes the process down in every cell, passes in eager: ")


def test_the_oracle_alone_is_lost() -> None:
    finding = only(with_lost(crashed(ORACLE)))
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == ("crash", "error", (ORACLE,), CELLS[0])
    assert finding.summary.startswith(f"takes the process down in eager, passes in {CELLS[0]}: ")


def test_all_are_lost_alike() -> None:
    finding = only(with_lost(*map(crashed, (*CELLS, ORACLE))))
    assert (finding.cells, finding.reference) == ((*CELLS, ORACLE), ORACLE)
    assert finding.summary == f"takes the process down in every cell and in eager: {KILLED} at {FRAME}"
    assert "reference" not in finding.evidence


def test_all_are_lost_without_an_oracle() -> None:
    made = with_lost(*map(crashed, CELLS))
    del made[ORACLE]
    finding = only(made)
    assert (finding.cells, finding.reference) == (CELLS, ORACLE)
    assert finding.summary == f"takes the process down in every cell: {KILLED} at {FRAME}"


def test_some_crash_and_others_do_not_end() -> None:
    crash, timeout = compare_test(with_lost(*map(crashed, STATIC), *map(hung, (*CELLS[2:], ORACLE))), GRID)
    assert (crash.kind, crash.cells, crash.reference) == ("crash", STATIC, ORACLE)
    assert (timeout.kind, timeout.cells, timeout.reference) == ("timeout", (*CELLS[2:], ORACLE), CELLS[0])
    assert "does not end in time in eager" in crash.summary
    assert timeout.summary.startswith(f"does not end in time in {CELLS[2]} and {CELLS[3]} and in eager, takes the process down")


def test_other_ways_to_go_down_are_other_findings() -> None:
    left = crashed(CELLS[0], "the process ended with os._exit(3)", "os._exit")
    found = [one for one in compare_test(with_lost(left, crashed(CELLS[1])), GRID) if one.kind != "guard.specialized"]
    assert {(one.kind, one.cells) for one in found} == {("crash", CELLS[:1]), ("crash", CELLS[1:2])}
    assert len({one.signature for one in found}) == 2


def test_exit_statuses_alone_make_no_other_way() -> None:
    left, right = (crashed(cell, f"the process ended with os._exit({n})", "os._exit") for n, cell in enumerate(STATIC))
    assert only(with_lost(left, right)).cells == STATIC


def test_nothing_is_told_of_how_it_went_down() -> None:
    finding = only(with_lost(observe(UNSPEC, outcome="crashed")))
    assert finding.summary == f"takes the process down in {UNSPEC}, passes in eager"


def test_crashes_in_other_files_are_other_causes() -> None:
    first, second, moved = (
        only(with_lost(crashed(UNSPEC, frame=frame))).signature
        for frame in ("a.py:12 in test_it", "b.py:12 in test_it", "a.py:40 in test_it")
    )
    assert first == moved != second


@pytest.mark.parametrize("lost", [(UNSPEC,), CELLS[:1], CELLS[1:], (ORACLE,), (ORACLE, *STATIC)], ids="-".join)
def test_emptiness_is_no_difference(lost: tuple[str, ...]) -> None:
    """Compiles, breaks, gradients and outputs that the others have and a lost cell lacks."""
    made = observations(tensor([1.0, 2.0]), arguments={"L['x']": tensor([1.0])})
    made[ORACLE] = replace(made[ORACLE], regions=(*made[ORACLE].regions, call(3, index=1)))
    for cell in CELLS:
        compiles = (compiled(breaks=(GraphBreak(reason="print", line="mod.py:13"),)), compiled(resume=1))
        made[cell] = replace(made[cell], regions=(*made[cell].regions, call(3, index=1)), compiles=compiles)
    assert compare_test(made, GRID) == ()
    made |= {cell: crashed(cell) for cell in lost}
    assert [(one.kind, set(one.cells)) for one in compare_test(made, GRID)] == [("crash", set(lost))]


def test_a_lost_oracle_is_as_none() -> None:
    made = observations(3, odd=(UNSPEC,), odd_value=4)
    made[ORACLE] = crashed(ORACLE)
    (difference,) = [one for one in compare_test(made, GRID) if one.kind != "crash"]
    del made[ORACLE]
    assert compare_test(made, GRID) == (difference,)
    assert (difference.kind, difference.cells, difference.reference) == ("output.value", (UNSPEC,), CELLS[0])


def test_what_the_rest_shows_names_its_cells() -> None:
    """A difference in all cells that are left is not one "in every cell"."""
    made = observations(3, odd=CELLS, odd_value=4)
    made[UNSPEC] = crashed(UNSPEC)
    (value,) = [one for one in compare_test(made, GRID) if one.kind == "output.value"]
    assert value.cells == CELLS[:3]
    assert "every cell" not in value.summary


def test_no_lost_cell_is_the_reference_of_an_outcome() -> None:
    made = {cell: observe(cell, outcome="failed", exception=raised()) for cell in (*CELLS, ORACLE)}
    made[CELLS[0]], made[ORACLE] = crashed(CELLS[0]), hung(ORACLE)
    made[UNSPEC] = observe(UNSPEC, outcome="failed", exception=raised("KeyError"))
    found = {one.kind: one for one in compare_test(made, GRID)}
    assert set(found) == {"crash", "timeout", "outcome"}
    assert (found["outcome"].cells, found["outcome"].reference) == ((UNSPEC,), CELLS[1])
    assert found["crash"].reference == CELLS[1]  # one that failed says more than one that was lost as well


def test_no_lost_cell_is_where_a_count_holds() -> None:
    made = with_lost(crashed(CELLS[0]))
    for cell in CELLS[1:]:
        made[cell] = replace(made[cell], count_assertions=("mod.py:12: assert c.frame_count == 1",))
    (counted,) = [one for one in compare_test(made, GRID) if one.kind == "outcome.count"]
    assert (counted.cells, counted.reference) == (CELLS[1:], ORACLE)


def test_a_lost_cell_says_nothing_of_numbers() -> None:
    made = with_lost(crashed(CELLS[0]), crashed(UNSPEC))
    made[CELLS[2]] = replace(made[CELLS[2]], compiles=(compiled(symbols=(int_symbol(),)),))
    (row,) = number_rows(made, GRID)
    assert (row.test, row.region, row.source, list(row.cells)) == (TEST, REGION, "L['n']", list(CELLS[1:3]))
    assert number_rows({cell: crashed(cell) for cell in CELLS}, GRID) == ()


def test_cells_that_were_run() -> None:
    made = with_lost(crashed(CELLS[0]), hung(UNSPEC))
    assert run_cells(made, GRID) == list(CELLS[1:3])
    assert run_cells({cell: crashed(cell) for cell in CELLS}, GRID) == []
    assert set(compare_observations(made, GRID).notes) <= set(CELLS[1:3])


def controlled(first: dict[str, Observation], again: dict[str, Observation]) -> tuple[Finding, ...]:
    found = [one for one in compare_test(first, GRID) if one.kind != "guard.specialized"]
    return mark_unstable(found, first, again, GRID)


def test_a_crash_that_repeats_is_stable() -> None:
    first = with_lost(crashed(UNSPEC))
    (finding,) = controlled(first, {UNSPEC: crashed(UNSPEC, "the process was killed by signal 6"), ORACLE: first[ORACLE]})
    assert (finding.kind, finding.unstable, finding.cells) == ("crash", False, (UNSPEC,))


def test_a_crash_that_does_not_repeat_is_unstable() -> None:
    first = with_lost(crashed(UNSPEC))
    (finding,) = controlled(first, {UNSPEC: with_lost()[UNSPEC], ORACLE: first[ORACLE]})
    assert (finding.kind, finding.unstable) == ("crash", True)


def test_a_crash_keeps_the_cells_in_which_it_repeats() -> None:
    first = with_lost(*map(crashed, STATIC))
    (finding,) = controlled(first, {STATIC[0]: first[STATIC[0]], STATIC[1]: with_lost()[STATIC[1]], ORACLE: first[ORACLE]})
    assert (finding.kind, finding.unstable, finding.cells) == ("crash", False, STATIC[:1])
    assert STATIC[1] not in finding.summary


def test_a_crash_of_the_oracle_alone_is_checked_like_any_other() -> None:
    first = with_lost(crashed(ORACLE))
    cell = CELLS[0]
    (stable,) = controlled(first, {ORACLE: crashed(ORACLE), cell: first[cell]})
    (unstable,) = controlled(first, {ORACLE: with_lost()[ORACLE], cell: first[cell]})
    assert (stable.unstable, unstable.unstable) == (False, True)


def test_all_that_are_lost_again_are_lost_for_good() -> None:
    first = with_lost(*map(crashed, (*CELLS, ORACLE)))
    (finding,) = controlled(first, dict(first))
    assert (finding.unstable, finding.cells) == (False, (*CELLS, ORACLE))


def test_a_timeout_in_place_of_a_crash() -> None:
    first = with_lost(crashed(UNSPEC))
    (finding,) = controlled(first, {UNSPEC: hung(UNSPEC), ORACLE: first[ORACLE]})
    assert (finding.kind, finding.unstable) == ("crash", True)


def test_lost_in_the_rerun_alone() -> None:
    """What the cell had shown is not shown again, and that it went down then is said beside it."""
    first = observations(3, odd=(UNSPEC,), odd_value=4)
    crash, value = controlled(first, {UNSPEC: crashed(UNSPEC), ORACLE: first[ORACLE]})
    assert (value.kind, value.unstable) == ("output.value", True)
    assert (crash.kind, crash.unstable, crash.cells, crash.reference) == ("crash", True, (UNSPEC,), ORACLE)
    assert crash.summary == f"takes the process down in {UNSPEC}, passes in eager: {KILLED} at {FRAME} (only when run once more)"


def test_the_reference_is_lost_in_the_rerun_alone() -> None:
    first = observations(3, odd=(UNSPEC,), odd_value=4)
    found = {one.kind: one for one in controlled(first, {UNSPEC: first[UNSPEC], ORACLE: crashed(ORACLE)})}
    assert {kind: (one.unstable, one.cells) for kind, one in found.items()} == {
        "crash": (True, (ORACLE,)),
        "output.value": (False, (UNSPEC,)),
    }
