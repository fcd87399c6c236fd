"""``guard.specialized``: constants in cells that are meant to carry symbols."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import CELLS, GRID, STATIC, UNSPEC, call, compiled, constant, int_symbol, observe
from numbers_by_hand import SIZE, made, shape_guard, size_symbol, sized

from testmatrix.compare.finding import Finding
from testmatrix.compare.numbers.rows import number_rows
from testmatrix.compare.numbers.specialised import specialised_numbers
from testmatrix.observation import Guard, Observation, Symbol

RANGE = int_symbol(
    replacement="5", line="mod.py:14", code="for i in range(n):", context=("13 | x = y", "14 > for i in range(n):")
)


def specialised(observations: dict[str, Observation]) -> list[Finding]:
    return specialised_numbers(number_rows(observations, GRID), observations, GRID)


def test_forced_is_a_warning_at_the_line_that_forced_it() -> None:
    (finding,) = specialised(made(compiled(symbols=[RANGE])))
    assert (finding.severity, finding.cells, finding.reference) == ("warning", (UNSPEC,), CELLS[0])
    assert finding.frame == "mod.py:14"
    assert finding.evidence["reason"] == "forced: range()"
    assert finding.evidence["kind"] == "argument"
    assert finding.evidence["context"] == ["13 | x = y", "14 > for i in range(n):"]
    assert finding.summary == f"L['n'] is burned in as 5 in {UNSPEC}: forced: range() at mod.py:14 (mymod.tag)"


def test_by_design_is_information() -> None:
    (finding,) = specialised(made(compiled(constant("G['TICK']", 5)), source="G['TICK']"))
    assert (finding.severity, finding.cells) == ("info", (UNSPEC,))
    assert finding.evidence["reason"] == "by design: global"


def test_what_one_compile_carries_is_no_finding() -> None:
    equal = compiled(shape_guard("Eq(s0, 5)"), symbols=[int_symbol()])
    assert specialised(made(equal, compiled(shape_guard("Ne(s0, 5)"), symbols=[int_symbol()]))) == []


@pytest.mark.parametrize("pinned", ["shapes", "ints"])
def test_pinned_regions_were_not_asked_to_carry_ints(pinned: str) -> None:
    assert specialised(made(compiled(constant("L['n']", 5)), pinned=(pinned,))) == []


def test_pinned_ints_do_not_excuse_floats() -> None:
    forced = compiled(symbols=[int_symbol("zf0", "L['p']", kind="float", replacement="0.5")])
    (finding,) = specialised({UNSPEC: observe(UNSPEC, call(1), compiles=(forced,), pinned=("ints",))})
    assert (finding.severity, finding.evidence["number"]) == ("warning", "float")


def test_floats_are_to_be_symbols_wherever_shapes_are_dynamic() -> None:
    forced = compiled(symbols=[int_symbol("zf0", "L['p']", kind="float", replacement="0.5")])
    observations = {cell: observe(cell, call(1, arguments={"L['p']": 0.5}), compiles=(forced,)) for cell in CELLS}
    (finding,) = specialised(observations)
    assert finding.cells == CELLS[2:]


def test_sizes_by_design_are_one_finding_for_a_region_and_reason() -> None:
    matches = [
        Guard(kind="TENSOR_MATCH", source=f"L['x{i}']", text="Tensor, DispatchKeySet(CPU), size=[1, 1], stride=[1, 1]")
        for i in range(4)
    ]
    weight = Guard(kind="TENSOR_MATCH", source="L['w']", text="Parameter, DispatchKeySet(CPU), size=[3], stride=[1]")
    observations = {cell: observe(cell, call(1), compiles=(compiled(*matches, weight),)) for cell in CELLS}
    findings = sorted(specialised(observations), key=lambda finding: str(finding.evidence["reason"]))
    assert [(finding.severity, finding.evidence["reason"]) for finding in findings] == [
        ("info", "by design: 0 or 1"),
        ("info", "by design: size of a Parameter"),
    ]
    assert findings[0].evidence["source"] == [f"L['x{i}'].size()[{dim}]" for i in range(4) for dim in range(2)]
    assert "and 3 more are burned in as 1" in findings[0].summary


def test_sizes_that_different_lines_force_are_findings_of_their_own() -> None:
    other = "L['y'].size()[0]"
    symbols = [
        size_symbol(replacement="4", line="mod.py:14", code="return x @ w"),
        size_symbol("s8", other, replacement="4", line="mod.py:15", code="return y @ w"),
    ]
    findings = specialised(sized(compiled(symbols=symbols)))
    assert [(finding.severity, finding.evidence["source"], finding.frame) for finding in findings] == [
        ("warning", SIZE, "mod.py:14"),
        ("warning", other, "mod.py:15"),
    ]


def test_sizes_that_share_a_symbol_are_forced_together() -> None:
    other = "L['y'].size()[0]"
    symbol = replace(size_symbol(replacement="4", line="mod.py:14", code="return x @ w"), sources=(SIZE, other))
    (finding,) = specialised(sized(compiled(symbols=[symbol])))
    assert finding.evidence["source"] == [SIZE, other]


@pytest.mark.parametrize("asked_by", ["mark_dynamic", "mark_unbacked"])
def test_what_was_asked_for_and_not_given_is_an_error_though_marking_pins_the_axis(asked_by: str) -> None:
    symbol = size_symbol(replacement="4", line="mod.py:14", code="return x @ w")
    last = compiled(symbols=[symbol], asked=((SIZE, asked_by),))
    (finding,) = specialised(sized(last, size="[4]", pinned=("shapes",)))
    assert (finding.severity, finding.cells, finding.evidence["asked"]) == ("error", CELLS[2:], asked_by)
    assert f"although {asked_by} asked for a symbol" in finding.summary


def test_maybe_asking_is_as_not_asking() -> None:
    last = compiled(symbols=[size_symbol(replacement="4")], asked=((SIZE, "maybe_mark_dynamic"),))
    (finding,) = specialised(sized(last, size="[4]"))
    assert finding.severity == "warning"


@pytest.mark.parametrize("asked", ["L['n']", "L['x']"])
def test_what_was_named_is_to_be_a_symbol_in_every_cell(asked: str) -> None:
    if asked == "L['n']":
        one = compiled(constant("L['n']", 5), asked=((asked, "dynamic_sources"),))
        observations = {cell: observe(cell, call(1, arguments={"L['n']": 5}), compiles=(one,)) for cell in CELLS}
    else:
        observations = {
            cell: replace(run, compiles=tuple(replace(one, asked=((asked, "dynamic_sources"),)) for one in run.compiles))
            for cell, run in sized(compiled(), size="[4]").items()
        }
    (finding,) = specialised(observations)
    assert (finding.severity, finding.cells) == ("error", CELLS)


def test_what_was_asked_for_and_given_is_no_finding() -> None:
    last = compiled(symbols=[size_symbol()], asked=((SIZE, "mark_dynamic"),))
    assert specialised(sized(last)) == []


def test_a_collapsed_cell_is_reported_for_the_one_that_stood_for_it() -> None:
    observations = made(compiled(symbols=[RANGE]))
    observations[STATIC[0]] = observe(STATIC[0], same_as=UNSPEC)
    (finding,) = specialised(observations)
    assert finding.cells == (UNSPEC,)


def test_sizes_that_the_same_line_forces_share_a_cause_whatever_the_region() -> None:
    def forced(region: str, source: str) -> Finding:
        symbol = size_symbol(source=source, replacement="4", line="layer.py:14", code="return F.linear(input, weight)")
        run = observe(UNSPEC, call(1, region=region), compiles=(compiled(symbols=[symbol]),))
        (finding,) = specialised({UNSPEC: run})
        return finding

    one, other = forced("mymod.small", "L['x'].size()[1]"), forced("mymod.large", "L['args'][0].size()[2]")
    assert one.signature == other.signature
    assert one.region != other.region


def test_ints_that_the_same_line_forces_have_causes_of_their_own() -> None:
    first, last = (int_symbol(f"s{n}", f"L['{n}']", replacement="5", line="mod.py:14", code="range(a, b)") for n in "ab")
    findings = specialised({UNSPEC: observe(UNSPEC, call(1), compiles=(compiled(symbols=[first, last]),))})
    assert len({finding.signature for finding in findings}) == 2


@pytest.mark.parametrize(("size", "reason"), [("[1]", "by design: 0 or 1"), ("[4]", "not carried although asked for")])
def test_what_was_asked_for_is_never_constant_by_the_setting_of_a_cell(size: str, reason: str) -> None:
    guard = Guard(kind="TENSOR_MATCH", source="L['x']", text=f"Tensor, DispatchKeySet(CPU), size={size}, stride=[1]")
    marked = compiled(guard, asked=((SIZE, "mark_dynamic"),))
    observations = {cell: observe(cell, call(1), compiles=(marked,), pinned=("shapes",)) for cell in CELLS}
    (row,) = number_rows(observations, GRID)
    assert {state.reason for state in row.cells.values()} == {reason}
    (finding,) = specialised(observations)
    assert (finding.severity, finding.cells, finding.evidence["reason"]) == ("error", CELLS, reason)


def test_what_was_asked_for_and_not_given_without_a_reason_is_said_once() -> None:
    named = compiled(constant("L['n']", 5), asked=(("L['n']", "dynamic_sources"),))
    (finding,) = specialised({STATIC[0]: observe(STATIC[0], call(1, arguments={"L['n']": 5}), compiles=(named,))})
    assert finding.summary == (
        f"L['n'] is burned in as 5 in {STATIC[0]}, although dynamic_sources asked for a symbol at mod.py:12 (mymod.tag)"
    )


def test_a_refused_mark_is_told_of_by_a_cell_that_tells_the_line() -> None:
    asked = ((SIZE, "mark_dynamic"),)
    forced = compiled(symbols=[size_symbol(replacement="4", line="mod.py:14", code="return x @ w")], asked=asked)
    observations = {
        cell: replace(run, compiles=tuple(replace(one, asked=asked) for one in run.compiles))
        for cell, run in sized(forced, size="[4]").items()
    }
    (finding,) = specialised(observations)
    assert (finding.cells, finding.evidence["reason"], finding.frame) == (CELLS, "forced: shape equality (@)", "mod.py:14")


def test_an_unbacked_symbol_that_became_a_constant_was_forced_at_its_line() -> None:
    lost = Symbol(name="u0", sources=(), kind="unbacked", replacement="4", line="mod.py:14", code="return w @ x")
    guard = Guard(kind="TENSOR_MATCH", source="L['x']", text="Tensor, DispatchKeySet(CPU), size=[4, 3], stride=[3, 1]")
    marked = compiled(guard, symbols=[lost], asked=((SIZE, "mark_unbacked"),))
    (finding,) = specialised({STATIC[0]: observe(STATIC[0], call(1), compiles=(marked,), pinned=("shapes",))})
    assert (finding.severity, finding.evidence["source"], finding.frame) == ("error", SIZE, "mod.py:14")
    assert finding.evidence["reason"] == "forced: shape equality (@)"


def test_a_float_that_was_named_is_to_be_a_symbol_in_every_cell() -> None:
    named = compiled(constant("L['p']", 0.5), asked=(("L['p']", "dynamic_sources"),))
    observations = {cell: observe(cell, call(1, arguments={"L['p']": 0.5}), compiles=(named,)) for cell in CELLS}
    (finding,) = specialised(observations)
    assert (finding.severity, finding.cells, finding.evidence["number"]) == ("error", CELLS, "float")
    assert finding.evidence["reason"] == "not carried although asked for"


def test_sizes_of_several_values_are_constant() -> None:
    other = "L['x'].size()[1]"
    guard = Guard(kind="TENSOR_MATCH", source="L['x']", text="Parameter, DispatchKeySet(CPU), size=[3, 4], stride=[4, 1]")
    (finding,) = specialised({UNSPEC: observe(UNSPEC, call(1), compiles=(compiled(guard),))})
    assert finding.summary == f"{SIZE} and {other} are constant in {UNSPEC}: by design: size of a Parameter (mymod.tag)"
