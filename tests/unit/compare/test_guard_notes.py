"""What is said of guards that were not understood, not decided, or set aside: once, with the text."""

from __future__ import annotations

from dataclasses import replace

from builders import CELLS, GRID, UNSPEC, call, compiled, int_symbol, observe, shape_guard

from testmatrix.compare.compiles import compared_compiles, guard_differences, guard_notes
from testmatrix.observation import Compile, Guard, Note, Observation

N = "L['n']"
ODD = shape_guard("f(s0) > 3")
PLAIN = shape_guard("s0 > 2")


def carried(*guards: Guard) -> Compile:
    return compiled(*guards, symbols=[int_symbol()])


def notes_of(by_cell: dict[str, Observation]) -> dict[str, list[Note]]:
    return guard_notes(compared_compiles(by_cell, GRID, CELLS), by_cell, CELLS)


def in_all_cells(compiles: Compile, **others: Compile) -> dict[str, Observation]:
    return {
        cell: observe(cell, call(1), compiles=(others.get(cell.replace("-", "_"), compiles),), torch="2.13") for cell in CELLS
    }


def test_nothing_is_said_of_what_is_understood() -> None:
    assert notes_of(in_all_cells(carried(PLAIN))) == {}


def test_a_condition_that_was_not_understood_is_said_once_a_cell_with_its_text_and_why() -> None:
    made = in_all_cells(carried(PLAIN, ODD))
    twice = {
        cell: replace(one, regions=(call(1), call(1, index=1)), compiles=(*one.compiles, replace(one.compiles[0], region_call=1)))
        for cell, one in made.items()
    }
    text = f"a condition is compared as text, since it was not understood (unknown function f): f({N}) > 3"
    assert notes_of(twice) == {cell: [Note(kind="guards", text=text)] for cell in CELLS}


def test_a_long_condition_is_cut() -> None:
    notes = notes_of(in_all_cells(carried(shape_guard("f(" + " + ".join(["s0"] * 900) + ") > 3"))))
    assert all(len(note.text) < 400 for said in notes.values() for note in said)
    assert set(notes) == set(CELLS)


def test_what_was_not_decided_is_said_of_the_cell_and_is_no_finding() -> None:
    made = in_all_cells(carried(PLAIN), dynamic_unspecialize=carried(PLAIN, ODD))
    notes = notes_of(made)
    assert list(notes) == [UNSPEC]
    assert [note.kind for note in notes[UNSPEC]] == ["undecided", "undecided", "guards"]  # against two cells
    assert f"f({N}) > #" in notes[UNSPEC][0].text  # the same for all values of a parametrised test
    assert guard_differences(compared_compiles(made, GRID, CELLS)) == []


def test_what_is_set_aside_between_versions_is_said() -> None:
    new = Guard(kind="NEW_KIND", source="L['q']", text="g(L['q'])")
    made = in_all_cells(carried(PLAIN), dynamic_unspecialize=carried(PLAIN, new))
    assert [one.kind for one in guard_differences(compared_compiles(made, GRID, CELLS))] == ["guard.extra"]
    made[UNSPEC] = replace(made[UNSPEC], torch="2.14")
    assert guard_differences(compared_compiles(made, GRID, CELLS)) == []
    (note,) = notes_of(made)[UNSPEC]
    assert note.kind == "guards"
    assert "NEW_KIND" in note.text
    assert note.text.endswith("between torch 2.13 and 2.14")
