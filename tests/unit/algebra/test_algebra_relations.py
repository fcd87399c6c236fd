"""Relations in the corners: sorts of sources, opaque conditions, empty sets, several sets against one, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from random_conditions import SORTS, conditions, conjunction, grid, let_through

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.relation import Relation, Witness, beyond, relate
from testmatrix.compare.algebra.solver import installed
from testmatrix.compare.algebra.variables import LARGEST, Sort, is_valid, variable

ALL = settings.get_profile("algebra")
SOME = settings(ALL, max_examples=150)
NAMES = sorted(SORTS)
SORTED: dict[str, Sort] = {"n": "int", "m": "int", "a": "extent", "b": "bool", "z": "float", "y": "float"}


def accepting(*texts: str, opaque: Sequence[str] = (), sorts: Mapping[str, Sort] = SORTED) -> Conjunction:
    read = [parse(text, lambda name: variable(name, sorts[name])) for text in texts]
    return Conjunction(sorts=sorts, opaque=frozenset(opaque)).and_also(read)


def related(left: Conjunction, right: Conjunction, **options: Any) -> Relation:
    relation = relate(left, right, ask_z3=False, **options)
    for witness, one, other in ((relation.left_only, left, right), (relation.right_only, right, left)):
        if witness is not None:
            values = dict(witness.values)
            assert list(values) == sorted(values)
            assert values.keys() >= {symbol.name for part in one.conditions | other.conditions for symbol in part.free_symbols}
            assert all(is_valid(value, {**left.sorts, **right.sorts}[name]) for name, value in values.items())
            assert all(holds(part, values) for part in one.conditions)
            assert witness.rejected_by in other.conditions
            assert holds(witness.rejected_by, values) is False
    return relation


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (["z > 1"], ["z >= 1"], "narrower"),
        (["z >= 1", "Ne(z, 1)"], ["z > 1"], "equal"),
        (["2.0*z <= 3"], ["z <= 1.5"], "equal"),
        (["z < y", "y < n"], ["z < n", "z < y", "y < n"], "equal"),
        (["TruncToInt(z) >= 1"], ["z >= 1"], "equal"),
        (["TruncToInt(z) >= 0"], ["z >= 0"], "wider"),
        (["FloorDiv(z, 2) <= 3"], ["z <= 7"], "wider"),
        (["FloorDiv(z, 2) <= 3"], ["z < 8"], "equal"),
        (["ToFloat(n) > 2.5"], ["n >= 3"], "equal"),
        (["Eq(b, 1)"], ["b > 0"], "equal"),
        (["Ne(b, 0)"], ["Eq(b, 1)"], "equal"),
        (["b >= 0", "b <= 1"], [], "equal"),
        (["b"], [], "narrower"),
        (["a >= 1"], ["Ne(a, 0)"], "equal"),
        (["n >= 1"], ["Ne(n, 0)"], "narrower"),
        (["n < m"], ["m < n"], "neither"),
        (["Eq(Where(n > 2, 1, 0), 1)"], ["n >= 3"], "equal"),
        (["Eq(a, n)"], ["Eq(a, n)", "n >= 0"], "equal"),
        (["Eq(a, n - 3)", "n < 9"], ["Eq(a, n - 3)", "n < 9", "n > 2", "a <= 5"], "equal"),
        (["Eq(2*n, 3*m)", "n > 0"], ["Eq(2*n, 3*m)", "n > 2"], "equal"),
        (["Mod(n, 4) >= 0"], [], "equal"),
        (["z**2*a >= 1", "a >= 5", "a <= 10", "2*z**2 <= 1"], ["False"], "wider"),
    ],
)
def test_relations(left: list[str], right: list[str], kind: str) -> None:
    relation = related(accepting(*left), accepting(*right))
    assert relation.kind == kind
    assert related(accepting(*right), accepting(*left)).kind == relation.mirrored().kind


def test_a_mirrored_relation_has_its_witnesses_on_the_other_side() -> None:
    relation = related(accepting("n > 2"), accepting("n > 5"))
    assert relation.kind == "wider"
    assert relation.left_only is not None
    mirrored = relation.mirrored()
    assert (mirrored.kind, mirrored.left_only, mirrored.right_only) == ("narrower", None, relation.left_only)
    assert mirrored.mirrored() == relation


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        (accepting("n > 2", opaque=["f(n)"]), accepting("n > 2", opaque=["f(n)"]), "equal"),
        (accepting("n > 2", opaque=["f(n)"]), accepting("2*n > 5", opaque=["f(n)"]), "equal"),
        (accepting("n > 2", opaque=["f(n)"]), accepting("n > 3", opaque=["f(n)"]), "undecided"),
        (accepting("n > 2", opaque=["f(n)"]), accepting("n > 2"), "undecided"),
        (accepting("n > 2"), accepting("n > 2", opaque=["f(n)"]), "undecided"),
        (accepting(opaque=["f(n)"]), accepting(opaque=["g(n)"]), "undecided"),
        (accepting("n > 2", "n < 2", opaque=["f(n)"]), accepting("False"), "equal"),
    ],
)
def test_what_was_not_understood_is_never_decided_on(left: Conjunction, right: Conjunction, kind: str) -> None:
    assert related(left, right).kind == kind


@pytest.mark.parametrize("empty", [["False"], ["n > 2", "n < 2"], ["z > 1", "z < 1"], ["Eq(a, n)", "n < 0"], ["b > 1"]])
def test_an_empty_set_is_narrower_than_all_others(empty: list[str]) -> None:
    assert related(accepting(*empty), accepting("m > 2")).kind == "narrower"
    assert related(accepting(*empty), accepting()).kind == "narrower"
    assert related(accepting(*empty), accepting("False")).kind == "equal"


def test_a_witness_stays_near_to_what_was_recorded() -> None:
    recorded = {"n": 7, "m": 11, "a": 5}
    relation = related(accepting("n > 2", "a >= 1"), accepting("n > 2", "a >= 1", "a < 5"), recorded=recorded)
    assert relation.left_only is not None
    assert {name: value for name, value in relation.left_only.values if name in recorded} == recorded


def test_numbers_that_no_int_reaches_make_no_witness() -> None:
    assert related(accepting(f"n <= {LARGEST}"), accepting()).kind in ("equal", "undecided")
    assert related(accepting(f"n < {LARGEST}"), accepting()).kind == "narrower"
    assert related(accepting(f"n >= {2**80}"), accepting("False")).kind in ("equal", "undecided")


def test_numbers_that_are_no_doubles_make_no_witness() -> None:
    assert related(accepting("Eq(3.0*z, 1)"), accepting("False")).kind in ("equal", "undecided")
    assert related(accepting("Eq(z*z, 2)"), accepting("False")).kind in ("equal", "undecided")
    relation = related(accepting("3.0*z >= 1"), accepting("3.0*z > 1.5"))
    assert relation.left_only is not None


def test_a_division_by_zero_is_accepted_by_nobody() -> None:
    relation = related(accepting("FloorDiv(12, n) >= 3", "n >= 0"), accepting("n >= 1", "n <= 4"))
    assert relation.kind in ("equal", "undecided")


def test_nothing_rejects_where_there_are_no_others() -> None:
    found = beyond(accepting("n > 2"), [], ask_z3=False)
    assert isinstance(found, Witness)
    assert dict(found.values)["n"] > 2
    assert found.rejected_by == sympy.false
    assert beyond(accepting("n > 2", "n < 2"), [], ask_z3=False) == "none"


def test_a_set_within_a_union_and_within_none_of_its_parts() -> None:
    parts = [accepting("n <= 4"), accepting("n >= 4")]
    assert beyond(accepting("m > 2"), parts, ask_z3=False) == "none"
    found = beyond(accepting("m > 2"), [accepting("n <= 4"), accepting("n >= 6")], ask_z3=False)
    assert isinstance(found, Witness)
    assert dict(found.values)["n"] == 5
    assert beyond(accepting("m > 2"), [*parts, accepting("n > 2", opaque=["f(n)"])], ask_z3=False) in ("none", "unknown")


@SOME
@given(
    st.lists(conditions(NAMES[:3]), max_size=2),
    st.lists(st.lists(conditions(NAMES[:3]), min_size=1, max_size=2), min_size=1, max_size=3),
)
def test_what_is_beyond_a_union_agrees_with_brute_force(texts: list[str], others: list[list[str]]) -> None:
    found = beyond(conjunction(texts), [conjunction(other) for other in others], ask_z3=False)
    values = grid([*texts, *(text for other in others for text in other)])
    outside = let_through(texts, values)
    for other in others:
        outside = outside & ~let_through(other, values)
    if found == "none":
        assert not outside.any()
    if isinstance(found, Witness):
        point = {source: int(value) for source, value in found.values}
        assert let_through(texts, point)
        assert not any(let_through(other, point) for other in others)


def test_few_unions_are_undecided() -> None:
    answers: list[object] = []

    @settings(SOME, database=None, derandomize=True)
    @given(
        st.lists(conditions(NAMES[:2]), max_size=2),
        st.lists(st.lists(conditions(NAMES[:2]), min_size=1, max_size=2), min_size=2, max_size=3),
    )
    def count(texts: list[str], others: list[list[str]]) -> None:
        answers.append(beyond(conjunction(texts), [conjunction(other) for other in others], ask_z3=False))

    count()
    assert len([answer for answer in answers if answer == "unknown"]) <= 0.02 * len(answers)


@pytest.mark.skipif(not installed(), reason="no z3")
def test_with_z3_more_is_decided_and_nothing_otherwise() -> None:
    without: list[str] = []
    decided: list[str] = []

    @settings(SOME, max_examples=100, database=None, derandomize=True)
    @given(st.lists(conditions(NAMES), max_size=3), st.lists(conditions(NAMES), min_size=1, max_size=3))
    def check(left: list[str], right: list[str]) -> None:
        one, other = (relate(conjunction(left), conjunction(right), ask_z3=ask) for ask in (False, True))
        without.append(one.kind)
        decided.append(other.kind)
        assert one.kind in (other.kind, "undecided")

    check()
    assert decided.count("undecided") <= without.count("undecided")


def test_sources_of_one_side_only_are_in_the_witness() -> None:
    left = accepting("n > 2", sorts={"n": "int", "a": "extent"})
    right = accepting("z > 2", sorts={"z": "float"})
    relation = related(left, right)
    assert relation.kind == "neither"
    assert relation.left_only is not None
    assert dict(relation.left_only.values).keys() == {"n", "a", "z"}


def test_fractions_that_are_doubles_are_witnesses() -> None:
    relation = related(accepting("z > 1"), accepting("z > 1", "Ne(z, 1.5)", "z >= 2"))
    assert relation.left_only is not None
    value = dict(relation.left_only.values)["z"]
    assert 1 < value < 2
    assert Fraction(float(value)) == value
