"""Which compile of one cell is which of another's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from builders import REGION, call, compiled, constant, int_symbol, observe, shape_guard, tensor_match, type_match

from testmatrix.compare.pairing import Pair, entries_of, paired_compiles
from testmatrix.observation import Compile, Guard, Observation, RegionCall

N = "L['n']"


def burned_in(value: int, region_call: int = 0, **fields: object) -> Compile:
    return compiled(constant(N, value), region_call=region_call, **fields)


def carried(hint: int, region_call: int = 0, *texts: str, **fields: object) -> Compile:
    symbols = [replace(int_symbol(), hint=str(hint))]
    return compiled(*map(shape_guard, texts), symbols=symbols, region_call=region_call, **fields)


def calls(count: int, **fields: object) -> list[RegionCall]:
    return [call(1, index=index, **fields) for index in range(count)]


def made(cell: str, compiles: Sequence[Compile], regions: Sequence[RegionCall]) -> Observation:
    return observe(cell, *regions, compiles=tuple(compiles))


def paired(
    reference: Sequence[Compile],
    other: Sequence[Compile],
    regions: Sequence[RegionCall] | None = None,
    others: Sequence[RegionCall] | None = None,
) -> list[tuple[int, int, int]]:
    """(place in the reference, place in the other, number of the call) of each pair."""
    regions = calls(4) if regions is None else regions
    pairs: list[Pair] = paired_compiles(made("a", reference, regions), made("b", other, regions if others is None else others))
    return [
        (
            next(place for place, one in enumerate(reference) if one is pair.reference),
            next(place for place, one in enumerate(other) if one is pair.other),
            pair.call.number,
        )
        for pair in pairs
    ]


def test_the_same_call_is_the_same_inputs() -> None:
    assert paired([burned_in(5, 0), burned_in(6, 1)], [carried(5, 0), carried(6, 1, "s0 > 5")]) == [(0, 0, 1), (1, 1, 2)]


def test_calls_and_not_positions_count() -> None:
    assert paired([burned_in(6, 1), burned_in(5, 0)], [burned_in(5, 0), burned_in(6, 1)]) == [(1, 0, 1), (0, 1, 2)]


def test_a_compile_that_one_cell_did_without_belongs_to_the_entry_that_took_its_inputs() -> None:
    reference = [burned_in(5, 0), burned_in(6, 1), burned_in(7, 2)]
    assert paired(reference, [carried(5, 0)]) == [(0, 0, 1), (1, 0, 2), (2, 0, 3)]
    assert paired([carried(5, 0)], reference) == [(0, 0, 1), (0, 1, 2), (0, 2, 3)]


def test_an_entry_that_lets_the_inputs_not_through_took_none() -> None:
    assert paired([burned_in(5, 0), burned_in(6, 1)], [carried(5, 0, "s0 < 6")]) == [(0, 0, 1)]


def test_an_entry_that_was_made_later_took_nothing_earlier() -> None:
    """The cell failed to compile the first call's frame, or ran it eager."""
    assert paired([burned_in(5, 0)], [carried(6, 1)]) == []


def test_of_entries_that_took_the_inputs_the_one_that_differs_least() -> None:
    flag = Guard(kind="CONSTANT_MATCH", source="L['flag']", text="", value="True", value_type="bool")
    with_flag = compiled(flag, symbols=[replace(int_symbol(), hint="5")], region_call=0)
    without = carried(6, 1)
    later = compiled(flag, constant(N, 9), region_call=2)
    assert paired([with_flag, without, later], [with_flag, without]) == [(0, 0, 1), (1, 1, 2), (2, 0, 3)]


def test_several_compiles_of_one_frame_in_one_call_are_lined_up_by_their_numbers() -> None:
    """A function that is called twice after a graph break, with one value and then with another."""
    reference = [burned_in(5, 0), burned_in(6, 0)]
    assert paired(reference, [burned_in(6, 0), burned_in(5, 0)]) == [(1, 0, 1), (0, 1, 1)]
    assert paired(reference, [carried(6, 0, "s0 > 5"), carried(5, 0, "s0 < 6")]) == [(1, 0, 1), (0, 1, 1)]


def test_frames_are_never_mixed() -> None:
    apart = [
        burned_in(5),
        burned_in(5, frame="mymod.other"),
        burned_in(5, line=99),
        burned_in(5, resume=1),
        burned_in(5, resume=2),
    ]
    assert paired(apart, list(reversed(apart))) == [(4, 0, 1), (3, 1, 1), (2, 2, 1), (1, 3, 1), (0, 4, 1)]


def test_a_resumed_frame_that_one_cell_did_without_is_not_paired_with_the_frame_itself() -> None:
    assert paired([burned_in(5), burned_in(5, resume=1)], [burned_in(5)]) == [(0, 0, 1)]


def test_a_frame_that_one_cell_never_compiled_has_no_pair() -> None:
    assert paired([burned_in(5, frame="mymod.other")], [burned_in(5)]) == []
    assert paired([], [burned_in(5)]) == []


def test_a_compile_outside_of_any_region_has_no_pair() -> None:
    assert paired([burned_in(5, -1)], [burned_in(5, -1)]) == []
    assert [one.compiled for one in entries_of(made("a", [burned_in(5, -1), burned_in(6, 0)], calls(1)))] == [burned_in(6, 0)]


def test_one_function_compiled_with_two_options_is_two_regions() -> None:
    """What pins the shapes is not served by what leaves them open, though both are the same frame."""
    regions = [call(1, index=0), call(1, index=1, pinned=("shapes",)), call(1, index=2), call(1, index=3, pinned=("shapes",))]
    free, pinned = carried(5, 0), burned_in(5, 1)
    assert paired([free, pinned], [free, pinned], regions) == [(0, 0, 1), (1, 1, 2)]
    reference = [burned_in(5, 0), burned_in(5, 1), burned_in(6, 2), burned_in(6, 3)]
    assert paired(reference, [free, pinned, burned_in(6, 3)], regions) == [(0, 0, 1), (1, 1, 2), (3, 2, 4), (2, 0, 3)]


def test_calls_inside_of_others_do_not_shift_the_numbers() -> None:
    """Dynamo inlines in a cell what eager and another cell call."""
    inner = [call(1, index=0), call(1, index=1, depth=1), call(1, index=2)]
    outer = [call(1, index=0), call(1, index=1)]
    assert paired([burned_in(5, 0), burned_in(6, 2)], [burned_in(5, 0), burned_in(6, 1)], inner, outer) == [(0, 0, 1), (1, 1, 2)]


def test_a_call_that_the_reference_never_made_is_served_by_nothing() -> None:
    assert paired([carried(5, 0)], [burned_in(5, 0), burned_in(6, 1)], calls(1), calls(2)) == [(0, 0, 1)]


def test_calls_of_two_regions_are_told_apart() -> None:
    regions = [call(1, index=0), call(1, index=1, region="mymod.other"), call(1, index=2, region="mymod.other")]
    reference, other = [burned_in(5, 0), burned_in(6, 1), burned_in(7, 2)], [carried(5, 0), carried(6, 1)]
    assert paired(reference, other, regions) == [(0, 0, 1), (1, 1, 1), (2, 1, 2)]


def test_what_is_not_recorded_as_a_number_does_not_keep_compiles_apart() -> None:
    assert paired([compiled(type_match("L['d']", "dict"))], [compiled(tensor_match("L['x']", "[4]"))]) == [(0, 0, 1)]


def test_entries_are_in_the_order_in_which_they_were_made_and_know_their_call() -> None:
    entries = entries_of(made("a", [burned_in(6, 1), burned_in(5, 0)], calls(2)))
    assert [(one.call.number, one.frame) for one in entries] == [(2, (REGION, 10, 0)), (1, (REGION, 10, 0))]
