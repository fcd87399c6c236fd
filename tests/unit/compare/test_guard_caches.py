"""A frame's compiles as a whole: which inputs some entry takes, and how that compares with another cell's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import compiled, constant, int_symbol, shape_guard, tensor_match

from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.cache import accepts, relate_caches
from testmatrix.observation import Compile, Guard

N, X0 = "L['n']", "L['x'].size()[0]"


def burned_in(value: int) -> AcceptSet:
    return accept_set(compiled(constant(N, value)))


def carried(*texts: str, hint: str = "5") -> AcceptSet:
    return accept_set(compiled(*map(shape_guard, texts), symbols=[replace(int_symbol(), hint=hint)]))


@pytest.mark.parametrize(
    ("reference", "other", "relation"),
    [
        ([burned_in(5)], [burned_in(5)], "equal"),
        ([burned_in(5), burned_in(6)], [burned_in(6), burned_in(5)], "equal"),
        ([burned_in(5), burned_in(6)], [carried("s0 >= 5", "s0 <= 6")], "equal"),
        ([burned_in(5), burned_in(6)], [burned_in(5)], "narrower"),
        ([burned_in(5)], [burned_in(5), burned_in(6)], "wider"),
        ([burned_in(5)], [burned_in(6)], "neither"),
        ([burned_in(5), burned_in(7)], [carried("s0 >= 5", "s0 <= 7")], "wider"),
        ([burned_in(5), carried("Ne(s0, 5)")], [carried()], "equal"),
        ([carried("s0 <= 4"), carried("s0 >= 4")], [carried()], "equal"),
        ([carried("s0 <= 4"), carried("s0 >= 6")], [carried()], "wider"),
        ([carried("Eq(Mod(s0, 2), 0)"), carried("Eq(Mod(s0, 2), 1)")], [carried()], "equal"),
        ([carried("f(s0) > 3")], [carried("s0 > 3")], "undecided"),
        ([carried("f(s0) > 3"), carried("s0 > 3")], [carried("s0 > 3"), carried("f(s0) > 3")], "equal"),
        ([], [], "equal"),
        ([], [burned_in(5)], "wider"),
        ([burned_in(5)], [], "narrower"),
    ],
)
def test_a_union_of_entries_compared_with_another(reference: list[AcceptSet], other: list[AcceptSet], relation: str) -> None:
    assert relate_caches(reference, other) == relation
    mirrored = {"narrower": "wider", "wider": "narrower"}
    assert relate_caches(other, reference) == mirrored.get(relation, relation)


def test_no_time_is_no_answer() -> None:
    assert relate_caches([carried(f"Eq(s0*s0, {12345**2})")], [burned_in(7)], limit=0.0) == "undecided"


def test_an_entry_takes_the_inputs_that_its_numeric_guards_let_through() -> None:
    assert accepts(carried("s0 > 3"), burned_in(5))
    assert not accepts(carried("s0 > 7"), burned_in(5))
    assert accepts(burned_in(5), carried(hint="5"))
    assert not accepts(burned_in(5), carried(hint="6"))


def test_what_is_not_known_of_the_inputs_is_not_held_against_them() -> None:
    sized = accept_set(compiled(tensor_match("L['x']", "[4]"), constant(N, 5)))
    assert accepts(sized, burned_in(5))
    assert not accepts(sized, burned_in(6))


def test_a_condition_without_a_value_lets_nothing_through() -> None:
    assert not accepts(carried("FloorDiv(7, s0) > 1"), burned_in(0))


def test_atoms_do_not_count() -> None:
    flag: Compile = compiled(Guard(kind="CONSTANT_MATCH", source="L['f']", text="", value="True", value_type="bool"))
    assert relate_caches([accept_set(flag)], [accept_set(compiled())]) == "equal"
