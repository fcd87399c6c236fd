"""What becomes of each guard and of each field of a symbol: a condition, an atom, or opaque; never nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy
from builders import compiled, constant, int_symbol, shape_guard, tensor_match, type_match

from testmatrix.compare.algebra.conjunction import solved
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.variables import Sort, variable
from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.discrete import Atom
from testmatrix.guard_kinds import KINDS
from testmatrix.observation import Guard, Symbol

N, X0, X1, V = "L['n']", "L['x'].size()[0]", "L['x'].size()[1]", "L['v']"


def a_set(*guards: Guard, symbols: tuple[Symbol, ...] = ()) -> AcceptSet:
    return accept_set(compiled(*guards, symbols=symbols))


def condition(text: str, **sorts: Sort) -> Any:
    """A condition over sources, which are ints unless they are sizes or said to be something else."""

    def look_up(name: str) -> Any:
        return variable(name, "extent" if ".size()" in name or ".stride()" in name else sorts.get(name[3:-2], "int"))

    return parse(text, look_up)


def size(name: str = "s0", source: str = X0, **fields: Any) -> Symbol:
    return replace(int_symbol(name, source, kind="size"), **fields)


# Guards.


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_kind_of_guard_is_dropped(kind: str) -> None:
    found = a_set(Guard(kind=kind, source="L['q']", text="something odd that nobody understands"))
    atoms, opaque = len(found.atoms), len(found.opaque)
    assert (atoms, opaque) == ((0, 0) if kind == "SHAPE_ENV" else (0, 1) if kind == "SHAPE" else (1, 0))


def test_a_kind_of_guard_that_is_not_known_is_an_atom() -> None:
    found = a_set(Guard(kind="NEW_KIND", source="L['q']", text="f(L['q'])"))
    assert list(found.atoms) == [Atom("L['q']", "NEW_KIND", "f(L['q'])")]
    assert not found.understood().atoms
    assert found.understood().key != found.key


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, condition(f"Eq({N}, 5)")),
        (-5, condition(f"Eq({N}, -5)")),
        (0, condition(f"Eq({N}, 0)")),
        (2**70, condition(f"Eq({N}, {2**70})")),
        (0.5, condition(f"Eq({N}, 0.5)", n="float")),
        (-1e-300, condition(f"Eq({N}, -1e-300)", n="float")),
        (1e22, condition(f"Eq({N}, 1e22)", n="float")),
        (0.1, sympy.Eq(variable(N, "float"), sympy.Rational(*(0.1).as_integer_ratio()))),
    ],
)
@pytest.mark.parametrize("kind", ["CONSTANT_MATCH", "EQUALS_MATCH"])
def test_a_constant_number_is_an_equation(kind: str, value: float, expected: Any) -> None:
    found = a_set(constant(N, value, kind=kind))
    assert found.numeric.conditions == {expected}
    assert found.constants == {N: Fraction(value)} == found.recorded
    assert not found.atoms
    assert found.origins[expected].line == "mod.py:12"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), True, None, "5", b"5", 5j, (True, 2), [1.5], ()])
def test_any_other_constant_is_an_atom(value: object) -> None:
    found = a_set(constant(N, value))
    assert not found.numeric.conditions
    assert len(found.atoms) == 1
    assert not found.opaque


@pytest.mark.parametrize("value", ["", "5 + 1", "<Color.RED: 1>", "0x10", "--5", "1_0_", "²"])
def test_an_int_that_is_not_written_as_one_is_opaque(value: str) -> None:
    found = a_set(Guard(kind="CONSTANT_MATCH", source=N, text="x", value=value, value_type="int"))
    assert [one.text for one in found.opaque] == [f"{N} == {value}"]
    assert found.numeric.opaque == {f"{N} == {value}"}


@pytest.mark.parametrize(
    ("value", "cls", "items"),
    [
        ("torch.Size([3, -4])", "torch.Size", [3, -4]),
        ("(7,)", "tuple", [7]),
        ("[1, 2, 3]", "list", [1, 2, 3]),
        ("()", "tuple", []),
    ],
)
def test_a_constant_sequence_of_ints_is_its_elements_and_its_length(value: str, cls: str, items: list[int]) -> None:
    found = a_set(Guard(kind="CONSTANT_MATCH", source="L['s']", text=f"== {value}", value=value, value_type=cls))
    assert found.constants == {f"L['s'][{place}]": item for place, item in enumerate(items)}
    assert [atom.kind for atom in found.atoms] == ["SEQUENCE_LENGTH"]
    assert f"length {len(items)}" in next(iter(found.atoms)).payload


def test_static_sizes_and_strides_of_a_tensor_are_equations_and_the_rest_an_atom() -> None:
    found = a_set(tensor_match("L['x']", "[8, None, 0]", "[None, 1, 16]"))
    expected = {X0: 8, "L['x'].size()[2]": 0, "L['x'].stride()[1]": 1, "L['x'].stride()[2]": 16}
    assert found.constants == expected == found.recorded
    assert set(found.numeric.sorts.values()) == {"extent"}
    (atom,) = found.atoms
    assert "float32" in atom.payload
    assert "size" not in atom.payload
    assert "stride" not in atom.payload


@pytest.mark.parametrize("text", ["f(s0) > 2", "s0 >", "u3 > 2", "s9 > 2", "s0 > nested", "x" * 30_000, "(" * 500 + "s0"])
def test_a_condition_that_cannot_be_read_is_carried_once(text: str) -> None:
    found = a_set(shape_guard(text), shape_guard(text, line="mod.py:99"), shape_guard("s0 > 3"), symbols=(int_symbol(),))
    (one,) = found.opaque
    assert one.text == text.replace("s0", N)
    assert one.reason
    assert found.numeric.opaque == {one.text}
    assert found.numeric.conditions == {condition(f"{N} >= 4")}
    assert not found.understood().numeric.opaque


def test_conditions_name_sources_and_not_symbols() -> None:
    symbols = (int_symbol("s7"), size("s9"))
    found = a_set(shape_guard("s7 + 2*s9 < 20"), shape_guard("Eq(Mod(s9, 8), 0) & (s7 > 2)"), symbols=symbols)
    assert found.numeric.conditions == {
        condition(f"{N} + 2*{X0} < 20"),
        condition(f"Eq(Mod({X0}, 8), 0)"),
        condition(f"{N} > 2"),
    }
    assert found.origins[condition(f"{N} > 2")] == shape_guard("Eq(Mod(s9, 8), 0) & (s7 > 2)")


def test_conditions_may_name_sources_themselves() -> None:
    found = a_set(shape_guard(f"{X0} >= 2*{N}"), symbols=(int_symbol(), size()))
    assert found.numeric.conditions == {condition(f"{X0} >= 2*{N}")}
    assert found.numeric.sorts == {X0: "extent", N: "int"}


# Symbols.


def test_the_range_of_a_symbol_is_two_conditions() -> None:
    found = a_set(symbols=(size(lower="2", upper="64"),))
    assert found.numeric.conditions == {condition(f"{X0} >= 2"), condition(f"{X0} <= 64")}
    assert found.origins[condition(f"{X0} >= 2")].name == "s0"  # type: ignore[union-attr]
    assert found.symbolic == {X0}


@pytest.mark.parametrize(
    ("lower", "upper"), [("-oo", "oo"), ("", ""), ("-9223372036854775808", "9223372036854775807"), ("-int_oo", "int_oo")]
)
def test_a_range_of_everything_is_no_condition(lower: str, upper: str) -> None:
    assert not a_set(symbols=(replace(int_symbol(), lower=lower, upper=upper),)).numeric.conditions


def test_that_a_size_is_not_negative_goes_without_saying() -> None:
    assert not a_set(symbols=(size(lower="0"),)).numeric.conditions
    assert a_set(symbols=(replace(int_symbol(), lower="0"),)).numeric.conditions == {condition(f"{N} >= 0")}


def test_a_symbol_that_was_turned_into_a_number_is_a_constant() -> None:
    found = a_set(shape_guard("Eq(s0, 5)"), symbols=(replace(int_symbol(), replacement="5", lower="5", upper="5"),))
    assert found.constants == {N: 5}
    assert solved(found.numeric.conditions).conditions == set()
    assert found.symbolic == {N}


def test_a_symbol_that_was_replaced_by_others_equals_them() -> None:
    found = a_set(symbols=(size("s0", X0), size("s1", X1, replacement="2*s0 + 1")))
    assert found.numeric.conditions == {condition(f"Eq({X1}, 2*{X0} + 1)")}


def test_sources_that_share_a_symbol_are_equal() -> None:
    found = a_set(symbols=(replace(size(), sources=(X0, X1, N), hint="7"),))
    assert found.numeric.conditions == {condition(f"Eq({X0}, {X1})"), condition(f"Eq({X0}, {N})")}
    assert found.recorded == {X0: 7, X1: 7, N: 7}
    assert found.numeric.sorts == {X0: "extent", X1: "extent", N: "int"}
    assert found.symbolic == {X0, X1, N}


def test_a_size_that_follows_an_int_is_a_size() -> None:
    found = a_set(symbols=(replace(int_symbol(), sources=(N, X0)),))
    assert found.numeric.sorts == {N: "int", X0: "extent"}


def test_an_inferred_stride_has_nothing_but_a_replacement() -> None:
    stride = "L['x'].stride()[0]"
    inferred = Symbol(name="d0", sources=(stride,), kind="stride", hint="12", replacement="3*s0")
    found = a_set(symbols=(size(hint="4"), inferred))
    assert found.numeric.conditions == {condition(f"Eq({stride}, 3*{X0})")}
    assert found.recorded == {X0: 4, stride: 12}


def test_floats_are_not_rounded() -> None:
    symbol = Symbol(name="zf0", sources=(V,), kind="float", hint="0.1", lower="-oo", upper="1.5")
    found = a_set(shape_guard("Eq(zf0, zf0)"), shape_guard("zf0 > 0"), symbols=(symbol,))
    assert found.numeric.conditions == {condition(f"{V} <= 1.5", v="float"), condition(f"{V} > 0", v="float")}
    assert found.recorded == {V: Fraction(0.1)}
    assert found.numeric.sorts == {V: "float"}


def test_a_bool_is_nought_or_one() -> None:
    symbol = Symbol(name="b0", sources=("L['b']",), kind="bool", hint="True", replacement="True")
    found = a_set(shape_guard("b0"), symbols=(replace(symbol, replacement=""),))
    assert solved(found.numeric.conditions).implies(condition("L['b'] <= 1", b="bool"))
    assert a_set(symbols=(symbol,)).constants == {"L['b']": 1}


def test_what_is_unbacked_has_no_conditions_that_an_input_could_fail() -> None:
    bare = Symbol(name="u0", sources=(), kind="unbacked", lower="0", upper="9")
    fed = Symbol(name="u1", sources=(X0,), kind="unbacked", lower="0", upper="9")
    found = a_set(symbols=(bare, fed))
    assert not found.numeric.conditions
    assert not found.opaque
    assert found.symbolic == {X0}
    said = a_set(shape_guard("u1 > 3"), shape_guard("u0 > 3"), symbols=(bare, fed))
    assert {one.text for one in said.opaque} == {f"{X0} > 3", "u0 > 3"}


@pytest.mark.parametrize("field", ["lower", "upper", "replacement"])
@pytest.mark.parametrize("text", ["s0 +", "f(s0)", "u9", "8*nested", "(" * 300])
def test_a_field_that_cannot_be_read_is_opaque(field: str, text: str) -> None:
    found = a_set(symbols=(replace(size(), **{field: text}),))  # type: ignore[arg-type]
    assert len(found.opaque) == 1
    assert found.opaque[0].text.startswith(f"{X0} ")


def test_a_hint_that_is_no_number_is_not_recorded() -> None:
    assert a_set(symbols=(size(hint=""), replace(int_symbol("s1"), hint="nested"))).recorded == {}


# Sets.


def test_two_sets_are_the_same_whatever_the_symbols_are_called() -> None:
    one = a_set(shape_guard("s0 + s1 < 9"), symbols=(int_symbol("s0"), size("s1")))
    other = a_set(shape_guard("s4 + s2 < 9"), symbols=(size("s2"), int_symbol("s4")))
    assert one.is_same(other)
    assert one.key == other.key


@pytest.mark.parametrize(
    "change",
    [
        {"lower": "3"},
        {"upper": "30"},
        {"replacement": "5"},
        {"sources": (X1,)},
    ],
)
def test_sets_that_differ_in_one_field_are_not_the_same(change: dict[str, Any]) -> None:
    symbol = size(lower="2", upper="64")
    assert not a_set(symbols=(symbol,)).is_same(a_set(symbols=(replace(symbol, **change),)))


def test_a_type_guard_on_a_number_is_an_atom() -> None:
    assert list(a_set(type_match(N, "int")).atoms) == [Atom(N, "TYPE_MATCH", "int")]
