"""The axis rule: which differences the axes explain, and what witness there is for those that they do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from builders import compiled, constant, int_symbol, shape_guard, tensor_match, type_match

from testmatrix.compare.algebra.evaluate import holds
from testmatrix.compare.guards.accept import accept_set
from testmatrix.compare.guards.rule import (
    GuardComparison,
    compare_guards,
    governed_kinds,
    kind_of,
    projected,
    shared_constants,
    specialised,
)
from testmatrix.observation import Compile, Guard, Symbol

NOTHING: frozenset[str] = frozenset()
INTS = frozenset({"ints"})
FLOATS = frozenset({"floats"})
SHAPES = frozenset({"ints", "sizes", "strides"})
BACKEND = frozenset({"backend"})

N, M, X0, X1, V = "L['n']", "L['m']", "L['x'].size()[0]", "L['x'].size()[1]", "L['v']"
STRIDE = "L['x'].stride()[0]"


def compared(reference: Compile, other: Compile, governed: frozenset[str]) -> GuardComparison:
    """The comparison, whose witnesses were checked against both sides, and the mirrored one, too."""
    comparison = compare_guards(reference, other, governed, ask_z3=False)
    mirrored = compare_guards(other, reference, governed, ask_z3=False)
    kinds = {"wider": "narrower", "narrower": "wider"}
    assert mirrored.relation == kinds.get(comparison.relation, comparison.relation)
    for difference in comparison.differences:
        having, lacking = (reference, other) if difference.kind == "guard.missing" else (other, reference)
        if difference.guard in ("SHAPE", "range", "CONSTANT_MATCH", "TENSOR_MATCH") and _is_number(difference.witness):
            values = {source: Fraction(value) for source, value in difference.witness}
            ints = {source: int(value) if value.denominator == 1 else value for source, value in values.items()}
            assert all(holds(one, ints) for one in accept_set(lacking).numeric.conditions)
            assert not all(holds(one, ints) for one in accept_set(having).numeric.conditions)
    return comparison


def _is_number(witness: tuple[tuple[str, str], ...]) -> bool:
    return all(value.lstrip("-").replace(".", "").isdigit() for _, value in witness)


def kinds(comparison: GuardComparison) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in comparison.differences]


def carried(*guards: Guard, source: str = N, **fields: object) -> Compile:
    """A compile that carries a number as a symbol."""
    return compiled(*guards, symbols=[replace(int_symbol("s0", source), **fields)])  # type: ignore[arg-type]


def sized(*guards: Guard, **fields: object) -> Compile:
    fields = {"kind": "size", "lower": "2", "hint": "4"} | fields
    return compiled(*guards, symbols=[replace(int_symbol("s0", X0), **fields)])  # type: ignore[arg-type]


# What is explained.


@pytest.mark.parametrize(
    ("reference", "other", "governed"),
    [
        (compiled(constant(N, 5)), carried(), INTS),
        (compiled(constant(N, 5)), carried(shape_guard("s0 > 2")), INTS),
        (compiled(constant(N, 5)), compiled(), INTS),
        (compiled(constant(N, 5)), carried(shape_guard("Eq(Mod(s0, 5), 0)"), lower="2", upper="30"), INTS),
        (compiled(tensor_match("L['x']", "[4]")), compiled(tensor_match("L['x']", "[None]")), SHAPES),
        (compiled(tensor_match("L['x']", "[4]")), sized(tensor_match("L['x']", "[None]")), SHAPES),
        (compiled(constant(V, 0.5)), compiled(type_match(V, "float")), FLOATS),
        (compiled(constant(V, 0.5)), compiled(type_match(V, "float")), SHAPES),
        (compiled(constant(N, 5), constant(V, 0.5)), compiled(), BACKEND),
        (carried(shape_guard("s0 > 3")), compiled(), INTS),
        (compiled(constant(V, float("nan"))), compiled(), FLOATS),
    ],
)
def test_what_the_axes_explain(reference: Compile, other: Compile, governed: frozenset[str]) -> None:
    comparison = compared(reference, other, governed)
    assert comparison.relation == "equal"
    assert comparison.differences == ()


# What is not.


@pytest.mark.parametrize(
    ("reference", "other", "governed", "expected"),
    [
        (compiled(constant(N, 5)), compiled(), NOTHING, [("guard.missing", f"{N} == 5")]),
        (compiled(constant(N, 5)), compiled(), FLOATS, [("guard.missing", f"{N} == 5")]),
        (compiled(), compiled(constant(N, 5)), FLOATS, [("guard.extra", f"{N} == 5")]),
        (compiled(constant(V, 0.5)), compiled(), INTS, [("guard.missing", f"{V} == 0.5")]),
        (
            compiled(constant(N, 5)),
            compiled(constant(N, 6)),
            INTS,
            [("guard.missing", f"{N} == 5"), ("guard.extra", f"{N} == 6")],
        ),
        (
            compiled(tensor_match("L['x']", "[4]")),
            sized(tensor_match("L['x']", "[None]")),
            INTS,
            [("guard.missing", f"{X0} == 4")],
        ),
        (sized(shape_guard("s0 > 3")), sized(), INTS, [("guard.missing", f"{X0} >= 4")]),
        (sized(shape_guard("s0 > 3")), sized(), SHAPES, [("guard.missing", f"{X0} >= 4")]),
        (sized(), sized(shape_guard("Eq(Mod(s0, 2), 0)")), SHAPES, [("guard.extra", f"{X0} % 2 == 0")]),
        (sized(upper="9"), sized(), SHAPES, [("guard.missing", f"{X0} <= 9")]),
        (
            carried(shape_guard("s0 < 9")),
            carried(shape_guard("s0 > 2")),
            INTS,
            [("guard.missing", f"{N} <= 8"), ("guard.extra", f"{N} >= 3")],
        ),
        (compiled(constant(N, 5)), carried(shape_guard("s0 > 7")), INTS, [("guard.extra", f"{N} >= 8")]),
        (compiled(constant("L['f']", True)), compiled(), SHAPES | FLOATS, [("guard.missing", "L['f'] == True")]),
        (compiled(type_match("L['d']", "dict")), compiled(), BACKEND, [("guard.missing", "dict")]),
    ],
)
def test_what_they_do_not(reference: Compile, other: Compile, governed: frozenset[str], expected: list[tuple[str, str]]) -> None:
    comparison = compared(reference, other, governed)
    assert kinds(comparison) == expected
    found = {kind for kind, _ in expected}
    assert comparison.relation == ("neither" if len(found) == 2 else "wider" if "guard.missing" in found else "narrower")
    assert all(one.witness for one in comparison.differences)


def test_constants_are_put_in_on_both_sides_and_named() -> None:
    """With ``n`` at its constant, a condition on two numbers is one on the size alone."""
    static = sized(constant(N, 5))
    symbols = [replace(int_symbol("s0", X0), kind="size", lower="2", hint="4"), int_symbol("s1", N)]
    dynamic = compiled(shape_guard("s0 + s1 > 9"), symbols=symbols)
    comparison = compared(static, dynamic, INTS)
    assert comparison.constants == {N: 5}
    assert [one.kind for one in comparison.differences] == ["guard.extra"]
    witness = dict(comparison.differences[0].witness)
    assert witness[N] == "5"
    assert int(witness[X0]) <= 4
    within = compiled(shape_guard("s0 + s1 > 6"), symbols=symbols)
    assert compared(static, within, INTS).differences == ()


def test_a_condition_that_only_the_constant_makes_true_is_explained() -> None:
    static = compiled(constant(N, 5))
    assert compared(static, carried(shape_guard("Eq(FloorDiv(s0, 2), 2)")), INTS).differences == ()
    assert kinds(compared(static, carried(shape_guard("Eq(FloorDiv(s0, 2), 3)")), INTS))


def test_the_origin_and_its_line_are_kept() -> None:
    (one,) = compared(sized(shape_guard("s0 > 3", line="mod.py:77")), sized(), SHAPES).differences
    assert one.line == "mod.py:77"
    assert isinstance(one.origin, Guard)
    (other,) = compared(sized(upper="9", line="mod.py:78"), sized(), SHAPES).differences
    assert (other.guard, other.line) == ("range", "mod.py:78")
    assert isinstance(other.origin, Symbol)


def test_a_witness_stays_near_to_the_inputs_of_the_test() -> None:
    def made(*guards: Guard) -> Compile:
        sizes = [replace(int_symbol(name, source), kind="size", hint=hint) for name, source, hint in SIZES]
        return compiled(*guards, symbols=sizes)

    (one,) = compared(made(shape_guard("s0 < 40")), made(), SHAPES).differences
    witness = dict(one.witness)
    assert witness[X1] == "12"
    assert int(witness[X0]) >= 40


SIZES = (("s0", X0, "7"), ("s1", X1, "12"))


# Undecided.


def test_what_was_not_understood_on_one_side_is_undecided_and_said() -> None:
    odd = shape_guard("f(s0) > 3")
    comparison = compared(carried(odd, shape_guard("s0 > 2")), carried(shape_guard("s0 > 2")), INTS)
    assert comparison.relation == "undecided"
    assert comparison.undecided == (f"f({N}) > 3",)
    assert comparison.differences == ()
    assert compared(carried(odd, shape_guard("s0 > 2")), carried(odd, shape_guard("2*s0 > 5")), INTS).relation == "equal"


def test_what_is_left_undecided_does_not_hide_what_is_missing_besides() -> None:
    odd = shape_guard("f(s0) > 3")
    comparison = compared(carried(odd, constant("L['flag']", True)), carried(), INTS)
    assert comparison.relation == "undecided"
    assert [one.source for one in comparison.differences] == ["L['flag']"]


# Versions of torch.


def test_kinds_that_one_version_does_not_know_are_set_aside_between_versions_only() -> None:
    new = Guard(kind="NEW_KIND", source="L['q']", text="g(L['q'])")
    one, other = compiled(new, constant("L['flag']", True)), compiled()
    within = compare_guards(one, other, SHAPES, versions=("2.13", "2.13"))
    assert sorted(one.guard for one in within.differences) == ["CONSTANT_MATCH", "NEW_KIND"]
    assert within.set_aside == ()
    between = compare_guards(one, other, SHAPES, versions=("2.13", "2.14"))
    assert [one.guard for one in between.differences] == ["CONSTANT_MATCH"]
    assert between.set_aside == ("guards of kind NEW_KIND are not known here and were not compared between torch 2.13 and 2.14",)


def test_conditions_that_cannot_be_read_are_set_aside_between_versions() -> None:
    one, other = carried(shape_guard("f(s0) > 3")), carried(shape_guard("s0 > 2"))
    assert compare_guards(one, other, INTS).relation == "undecided"
    between = compare_guards(one, other, INTS, versions=("2.13", ""))
    assert between.relation == "narrower"
    assert between.set_aside == (f"a condition that was not understood was not compared between torch 2.13 and ?: f({N}) > 3",)


# The parts.


@pytest.mark.parametrize(
    ("governed", "expected"),
    [
        (NOTHING, NOTHING),
        (INTS, INTS),
        (frozenset({"sizes"}), frozenset({"sizes", "floats"})),
        (BACKEND, frozenset({"backend", "ints", "sizes", "strides", "floats"})),
        (frozenset({"whatever a project calls its own"}), frozenset({"whatever a project calls its own"})),
    ],
)
def test_kinds_of_numbers_that_are_governed(governed: frozenset[str], expected: frozenset[str]) -> None:
    assert governed_kinds(governed) == expected


def test_an_axis_of_a_project_that_governs_nothing_explains_nothing() -> None:
    comparison = compared(compiled(constant(N, 5)), carried(), frozenset({"whatever a project calls its own"}))
    assert kinds(comparison) == [("guard.missing", f"{N} == 5")]


@pytest.mark.parametrize(
    ("source", "kind"), [(X0, "sizes"), (STRIDE, "strides"), (N, "ints"), (V, "floats"), ("L['b']", "bools")]
)
def test_kinds_of_sources(source: str, kind: str) -> None:
    of = {X0: "size", STRIDE: "stride", N: "int", V: "float", "L['b']": "bool"}
    symbols = [replace(int_symbol(f"s{place}", one), kind=is_a) for place, (one, is_a) in enumerate(of.items())]
    assert kind_of(source, accept_set(compiled(symbols=symbols))) == kind


def test_constants_that_both_sides_have_and_that_differ_are_not_put_in() -> None:
    one, other = accept_set(compiled(constant(N, 5), constant(M, 7))), accept_set(compiled(constant(N, 6), constant(M, 7)))
    assert shared_constants(one, other, INTS) == {M: 7}
    assert shared_constants(one, other, NOTHING) == {}


def test_a_number_that_one_side_does_not_look_at_is_taken_out() -> None:
    one = accept_set(carried(shape_guard("s0 > 3"), hint="11"))
    nothing = accept_set(compiled())
    assert projected(one, nothing, INTS).numeric.conditions == frozenset()
    assert projected(one, nothing, NOTHING) is one
    assert projected(one, nothing, NOTHING, every=True).numeric.conditions == frozenset()


def test_what_is_asked_of_others_through_such_a_number_stays() -> None:
    symbols = [int_symbol("s0", N), int_symbol("s1", M)]
    one = accept_set(compiled(shape_guard("Eq(s0, s1 + 2)"), shape_guard("s0 > 6"), symbols=symbols))
    other = accept_set(compiled(shape_guard("s1 > 4"), symbols=symbols[1:]))
    assert projected(one, other, INTS).numeric.conditions == other.numeric.conditions


def test_a_source_that_is_a_size_to_one_side_only_is_the_same_source() -> None:
    """Whether a number is known as a size depends on how it was reached."""
    source = "L['s'].shape_of_old[0]"
    one = compiled(shape_guard("s0 > 3"), symbols=[replace(int_symbol("s0", source), kind="size")])
    other = compiled(shape_guard("s0 > 3"), symbols=[int_symbol("s0", source)])
    assert compared(one, other, NOTHING).relation == "equal"


def test_constants_are_added_as_equations() -> None:
    accepting = accept_set(carried(shape_guard("s0 > 3")))
    put_in = specialised(accepting, {N: 5}, {N: "int"})
    assert len(put_in.conditions) == 2
    assert all(holds(one, {N: 5}) for one in put_in.conditions)


def test_conditions_that_would_grow_are_left_undecided() -> None:
    """Taking a number out of them puts what it equals into the others."""
    symbols = [replace(int_symbol("s0", N), hint=""), replace(int_symbol("s1", M), hint="")]
    large = compiled(shape_guard("Eq(s1, s0**60)"), shape_guard("s1**60 > 3"), symbols=symbols)
    assert compared(large, carried(shape_guard("s0 > 3")), INTS).relation == "undecided"
    huge = [replace(one, hint=str(10**18)) for one in symbols]
    powers = compiled(shape_guard("s0**55*s1**50 + (s0*s1)**40 > 3"), symbols=huge)
    assert compare_guards(powers, compiled(), INTS).relation in ("equal", "undecided")


def test_a_source_that_is_a_float_to_one_side_only_is_compared_the_same_from_both_sides() -> None:
    float_one, int_one = compiled(constant(N, 2.5)), carried(shape_guard("s0 > 3"))
    assert kinds(compared(float_one, int_one, NOTHING)) == [("guard.missing", f"{N} == 2.5"), ("guard.extra", f"{N} >= 4")]


def test_compiles_for_other_inputs_are_compared_in_the_numbers_that_both_look_at() -> None:
    flag = Guard(kind="CONSTANT_MATCH", source="L['f']", text="== True", value="True", value_type="bool")
    symbols = [int_symbol("s0", N), int_symbol("s1", M)]
    one = compiled(flag, shape_guard("s0 > 3"), shape_guard("s1 > 3"), symbols=symbols)
    other = compiled(shape_guard("s0 > 2"), symbols=symbols[:1])
    found = compare_guards(one, other, NOTHING, same_inputs=False).differences
    assert [(each.kind, each.text) for each in found] == [("guard.missing", f"{N} >= 4")]
    assert len(compare_guards(one, other, NOTHING).differences) == 2
