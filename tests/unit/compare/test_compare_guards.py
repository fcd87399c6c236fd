from __future__ import annotations

from dataclasses import replace

import pytest
from builders import (
    CELLS,
    GRID,
    REGION,
    UNSPEC,
    call,
    compiled,
    constant,
    int_symbol,
    observe,
    shape_guard,
    tensor_match,
    type_match,
)
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.compare.finding import Finding
from testmatrix.compare.guards.accept import accept_set
from testmatrix.compare.guards.rule import GuardDifference, compare_guards
from testmatrix.compare.whole import compare_test
from testmatrix.observation import ORACLE, Compile, GraphBreak, Guard, Observation, Symbol

INTS = frozenset({"ints"})
SHAPES = frozenset({"ints", "sizes", "strides"})
GUARDS = (
    constant("L['flag']", True),
    constant("L['n']", 5),
    type_match("L['d']", "dict"),
    tensor_match("L['x']", "[4, None]"),
    Guard(kind="DICT_CONTAINS", source="L['d']", text="___dict_contains('a', L['d'])"),
    shape_guard("s0 + 2*s1 < 20"),
)


def differences(reference: Compile, other: Compile, governed: frozenset[str]) -> tuple[GuardDifference, ...]:
    return compare_guards(reference, other, governed).differences


SYMBOLS = (int_symbol("s0", "L['m']"), int_symbol("s1", "L['x'].size()[1]", kind="size"))


@given(st.permutations(GUARDS), st.permutations(SYMBOLS))
def test_order_is_irrelevant(guards: list[Guard], symbols: list[Symbol]) -> None:
    one, other = compiled(*GUARDS, symbols=SYMBOLS), compiled(*guards, symbols=symbols)
    assert accept_set(one).is_same(accept_set(other))
    assert differences(one, other, frozenset()) == ()


EXPRESSIONS = ["{a} + 2*{b} < 20", "Eq(Mod({a}, 8), 0)", "FloorDiv({b}, {a}) > 3", "Max({a}, {b}) <= 9", "Ne({a}*{b}, 4)"]


@given(st.permutations(["s7", "s12", "s3"]), st.sampled_from(EXPRESSIONS))
def test_names_of_symbols_are_irrelevant(names: list[str], template: str) -> None:
    def made(a: str, b: str) -> object:
        symbols = (int_symbol(a, "L['m']"), int_symbol(b, "L['x'].size()[1]", kind="size"))
        return accept_set(compiled(shape_guard(template.format(a=a, b=b)), symbols=symbols)).numeric

    assert made(names[0], names[1]) == made("s0", "s1")


def test_operands_in_another_order_are_the_same_condition() -> None:
    one = compiled(shape_guard("s0 + s1 < 9"), symbols=SYMBOLS)
    swapped = (replace(SYMBOLS[0], name="s1"), replace(SYMBOLS[1], name="s0"))
    assert differences(one, compiled(shape_guard("s0 + s1 < 9"), symbols=swapped), frozenset()) == ()


def test_a_constant_int_against_a_symbol_is_explained_by_ints() -> None:
    static = compiled(constant("L['n']", 5))
    carried = compiled(type_match("L['n']", "int"), shape_guard("s0 > 3"), symbols=[int_symbol()])
    assert differences(static, carried, INTS) == ()
    assert differences(static, compiled(), INTS) == ()
    assert [one.kind for one in differences(static, compiled(), frozenset())] == ["guard.missing"]


def test_static_sizes_against_symbols_are_explained_by_shapes_and_not_by_ints() -> None:
    static = compiled(tensor_match("L['x']", "[4]"))
    dynamic = compiled(tensor_match("L['x']", "[None]"), symbols=[int_symbol("s0", "L['x'].size()[0]", kind="size")])
    assert differences(static, dynamic, SHAPES) == ()
    (one,) = differences(static, dynamic, INTS)
    assert (one.kind, one.text) == ("guard.missing", "L['x'].size()[0] == 4")
    assert dict(one.witness)["L['x'].size()[0]"] != "4"


def test_floats_follow_shapes() -> None:
    assert differences(compiled(constant("L['v']", 0.5)), compiled(type_match("L['v']", "float")), SHAPES) == ()


def test_a_bool_that_is_no_longer_checked_is_missing() -> None:
    (one,) = differences(compiled(constant("L['flag']", True)), compiled(), SHAPES)
    assert (one.kind, one.source, one.line) == ("guard.missing", "L['flag']", "mod.py:12")
    (one,) = differences(compiled(), compiled(constant("L['flag']", True)), SHAPES)
    assert one.kind == "guard.extra"


def test_the_tensor_guard_itself_is_governed_by_nothing() -> None:
    double = replace(tensor_match("L['x']", "[4]"), text=tensor_match("L['x']", "[None]").text.replace("float32", "float64"))
    found = differences(compiled(tensor_match("L['x']", "[4]")), compiled(double), SHAPES)
    assert [one.kind for one in found] == ["guard.missing", "guard.extra"]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([type_match("L['x']", "torch.Tensor"), tensor_match("L['x']", "[4]")], [tensor_match("L['x']", "[4]")]),
        ([type_match("L['s']", "mod.M")], [Guard(kind="ID_MATCH", source="L['s']", text="x")]),
    ],
)
def test_a_type_guard_beside_a_stronger_one_adds_nothing(left: list[Guard], right: list[Guard]) -> None:
    assert [one for one in differences(compiled(*left), compiled(*right), SHAPES) if one.kind == "guard.missing"] == []


def a_length(source: str, length: int, cls: str) -> Guard:
    text = f"len({source}) == {length}" if length else f"not {source}"
    return Guard(kind="SEQUENCE_LENGTH", source=source, text=f"{text} and {cls}")


@pytest.mark.parametrize(
    ("value", "cls", "length"), [("torch.Size([3, 4])", "torch.Size", 2), ("(7,)", "tuple", 1), ("[]", "list", 0)]
)
def test_a_sequence_of_ints_as_a_constant_is_the_same_as_element_by_element(value: str, cls: str, length: int) -> None:
    whole = compiled(Guard(kind="CONSTANT_MATCH", source="L['s']", text=f"== {value}", value=value, value_type=cls))
    single = compiled(type_match("L['s']", cls), a_length("L['s']", length, cls))
    assert differences(whole, single, INTS) == ()
    assert differences(single, whole, INTS) == ()
    longer = compiled(a_length("L['s']", length + 1, cls))
    assert [one.guard for one in differences(whole, longer, INTS)] == ["SEQUENCE_LENGTH", "SEQUENCE_LENGTH"]


def test_a_constant_sequence_of_anything_else_is_carried_as_text() -> None:
    flags = Guard(kind="CONSTANT_MATCH", source="L['s']", text="== (True, False)", value="(True, False)", value_type="tuple")
    assert [one.guard for one in differences(compiled(flags), compiled(), INTS)] == ["CONSTANT_MATCH"]


def test_numbered_globals_and_ids_are_the_same() -> None:
    def made(number: int) -> object:
        source = f"G['__builtins_dict___{number}']['range']"
        text = f"___check_obj_id({source}, {number}), type=<class 'range'>"
        return compiled(Guard(kind="BUILTIN_MATCH", source=source, text=text))

    assert differences(made(2), made(6), frozenset()) == ()  # type: ignore[arg-type]


def test_guards_inside_torch_follow_from_how_an_operation_is_spelled() -> None:
    inside = Guard(kind="MODULE_MATCH", source="G['__import_torch_dot_nn_dot_functional']", text="x")
    assert differences(compiled(), compiled(inside), SHAPES) == ()


def test_checks_that_torch_repeats_count_once() -> None:
    def made(times: int) -> Guard:
        return Guard(kind="FUNCTORCH_STACK_MATCH", source="", text=" and ".join(["compare_functorch_state([])"] * times))

    assert differences(compiled(made(1)), compiled(made(4)), frozenset()) == ()


def test_opaque_guards_are_carried_as_text() -> None:
    odd = Guard(kind="NEW_KIND", source="L['q']", text="something(L['q'])")
    (one,) = differences(compiled(odd), compiled(), SHAPES)
    assert (one.guard, one.text) == ("NEW_KIND", "something(L['q'])")
    unparsable = shape_guard("s0 <<>> 3")
    assert differences(compiled(unparsable, symbols=SYMBOLS), compiled(unparsable, symbols=SYMBOLS), frozenset()) == ()


def test_a_missing_guard_is_one_warning_naming_the_cells() -> None:
    made = {cell: observe(cell, call(1), compiles=(compiled(constant("L['flag']", True)),)) for cell in CELLS}
    for cell in CELLS[2:]:
        made[cell] = observe(cell, call(1), compiles=(compiled(),))
    (finding,) = compare_test(made, GRID)
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == ("guard.missing", "warning", CELLS[2:], CELLS[0])
    assert finding.region == REGION


def test_cells_that_differ_in_pinned_axes_only_are_not_compared() -> None:
    pinned = ("shapes", "ints")
    made = {cell: observe(cell, call(1), pinned=pinned, compiles=(compiled(constant("L['flag']", True)),)) for cell in CELLS}
    made[UNSPEC] = observe(UNSPEC, call(1), pinned=pinned, compiles=(compiled(),))
    assert compare_test(made, GRID) == ()


def test_a_graph_that_breaks_elsewhere_is_no_difference_in_guards() -> None:
    checked, broken = compiled(constant("L['flag']", True)), compiled(breaks=(GraphBreak(reason="print", line="mod.py:12"),))
    made = {cell: observe(cell, call(1), compiles=(broken if cell == UNSPEC else checked,)) for cell in CELLS}
    kinds = {finding.kind for finding in compare_test(made, GRID)}
    assert kinds == {"compile.break"}


def test_how_sizes_are_handed_on_is_explained_by_shapes() -> None:
    length = Guard(kind="SEQUENCE_LENGTH", source="L['x'].shape", text="len(L['x'].shape) == 2")
    assert differences(compiled(), compiled(length), frozenset({"sizes"})) == ()
    assert [one.kind for one in differences(compiled(), compiled(length), frozenset({"floats"}))] == ["guard.extra"]


def test_a_graph_that_was_used_for_other_inputs_with_a_wrong_result_lacks_a_guard() -> None:
    """Each static cell makes two graphs that differ; the cell with symbols makes one, which is wrong for the second call."""

    def run(cell: str, results: tuple[int, int], *compiles: Compile) -> Observation:
        calls = [call(value, index, arguments={"L['n']": 5 + index}) for index, value in enumerate(results)]
        return observe(cell, *calls, compiles=compiles)

    first = compiled(constant("L['n']", 5))
    second = replace(first, guards=(constant("L['n']", 6),), ops=("torch.add",), region_call=1)
    carried = compiled(type_match("L['n']", "int"), symbols=[int_symbol()])
    made = {ORACLE: run(ORACLE, (1, 2)), **{cell: run(cell, (1, 2), first, second) for cell in CELLS}}
    made[UNSPEC] = run(UNSPEC, (1, 2), carried)
    assert compare_test(made, GRID) == ()  # a graph that does for both needs no guard
    made[UNSPEC] = run(UNSPEC, (1, 1), carried)
    missing = [one for one in compare_test(made, GRID) if one.kind == "guard.missing"]
    assert [(one.cells, one.evidence["text"], one.evidence["witness"]) for one in missing] == [
        ((UNSPEC,), "L['n'] == 5", {"L['n']": "6"})
    ]
    same = replace(second, ops=first.ops)
    made |= {cell: run(cell, (1, 2), first, same) for cell in CELLS if cell != UNSPEC}
    assert [one.kind for one in compare_test(made, GRID)] == ["output.value"]  # wrong, but no other graph


def sized(*texts: str, guards: tuple[Guard, ...] = (), **fields: object) -> Compile:
    size = int_symbol("s1", "L['x'].size()[0]", kind="size")
    return compiled(*map(shape_guard, texts), *guards, symbols=[replace(size, hint=fields.pop("hint", "8"), lower="2")], **fields)


def test_a_witness_that_another_compile_takes_is_said_to_be() -> None:
    """The reference has a graph for either side of the branch, the cell one for both."""
    both = [sized("s1 > 6"), sized("s1 <= 6", hint="4", region_call=1)]
    calls = (call(1), call(1, 1))
    made = {cell: observe(cell, *calls, compiles=tuple(both)) for cell in CELLS}
    made[UNSPEC] = observe(UNSPEC, *calls, compiles=(sized(),))
    missing = [one for one in compare_test(made, GRID) if one.kind == "guard.missing"]
    assert len(missing) == 2
    assert all("rejected by this compile, taken by another in static-specialize" in one.summary for one in missing)
    made = {cell: observe(cell, call(1), compiles=(both[0],)) for cell in CELLS}
    made[UNSPEC] = observe(UNSPEC, call(1), compiles=(sized(),))
    (alone,) = (one for one in compare_test(made, GRID) if one.kind == "guard.missing")
    assert "=6 is accepted in dynamic-unspecialize, rejected in static-specialize" in alone.summary
    assert "taken_by_another" not in alone.evidence


def without(*guards: Guard) -> list[Finding]:
    made = {cell: observe(cell, call(1), compiles=(compiled(*guards),)) for cell in CELLS}
    made[UNSPEC] = observe(UNSPEC, call(1), compiles=(compiled(),))
    return [one for one in compare_test(made, GRID) if one.kind == "guard.missing"]


def test_what_only_mentions_torch_is_the_suites_own() -> None:
    found = without(constant("L['mode']", "add"), constant("L['opts']['torch']", "yes"), constant("L['dt']", "torch.float32"))
    assert {one.evidence["source"] for one in found} == {"L['mode']", "L['opts']['torch']", "L['dt']"}


def test_what_a_trace_looks_at_inside_torch_goes_with_the_suites_own() -> None:
    inside = Guard(kind="CLOSURE_MATCH", source="G['torch'].nn.functional.pad", text="torch.nn.functional.pad")
    (found,) = without(inside, constant("L['mode']", "add"))
    assert (found.evidence["source"], len(found.evidence["others"])) == ("L['mode']", 1)  # type: ignore[arg-type]
    (found,) = without(inside)
    assert found.evidence["source"] == inside.source


def test_a_tensor_that_is_not_checked_at_all_is_said_first() -> None:
    (found,) = without(tensor_match("L['y']", "[None]", "[1]"))
    assert (found.evidence["guard"], found.evidence["source"]) == ("TENSOR_MATCH", "L['y']")
    assert "L['y']=a tensor of another class, dtype, device or layout is accepted" in found.summary


def test_who_shares_memory_with_whom_is_one_matter() -> None:
    def apart(source: str) -> Guard:
        return Guard(kind="NO_TENSOR_ALIASING", source=source, text="none of the other tensors")

    (found,) = without(apart("L['x']"), apart("L['y']"), apart("L['z']"))
    assert "L['x']=the same tensor as another argument is accepted" in found.summary
