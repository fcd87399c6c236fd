from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import CELLS, GRID, STATIC, UNSPEC, call, container, leaf, observations, observe, raised, tensor

from testmatrix.compare.finding import Finding
from testmatrix.compare.whole import compare_test
from testmatrix.observation import ORACLE, Gradients, Observation


def compare(made: dict[str, Observation]) -> tuple[Finding, ...]:
    return compare_test(made, GRID)


def one(made: dict[str, Observation]) -> Finding:
    (finding,) = compare(made)
    return finding


def test_equal_results_are_quiet() -> None:
    assert compare(observations(tensor([1.0, 2.0]))) == ()


def test_last_bits_are_quiet() -> None:
    assert compare(observations(tensor([1.0]), tensor([1.0000001]))) == ()


@pytest.mark.parametrize(
    ("eager", "odd", "kind", "words"),
    [
        (tensor([1.0]), tensor([2.0]), "output.value", "result is 2.0 at [0]"),
        (tensor([1], "int64"), tensor([1.0]), "output.dtype", "result is float32 in dynamic-unspecialize, int64 in eager"),
        (tensor([1.0]), tensor([1.0], shape=(1, 1)), "output.shape", "[1, 1]"),
        (tensor([1.0] * 4, shape=(2, 2)), tensor([1.0] * 4, shape=(2, 2), stride=(1, 2)), "output.stride", "[1, 2]"),
        (tensor([1.0]), tensor([1.0], device="cuda:0"), "output.device", "cuda:0"),
        (tensor([1.0]), tensor([1.0], requires_grad=True), "output.grad", "requires_grad=True"),
        (tensor([1.0]), tensor([1.0], subclass="mod.Mine"), "output.type", "mod.Mine"),
        (3, 3.0, "output.type", "float 3.0"),
        (True, 1, "output.type", "int 1"),
        (3, 4, "output.value", "result is 4 in dynamic-unspecialize, 3 in eager (mymod.tag, call 1)"),
        ("a", "b", "output.value", "'b'"),
    ],
)
def test_each_aspect_has_its_kind(eager: Any, odd: Any, kind: str, words: str) -> None:
    finding = one(observations(eager, odd=(UNSPEC,), odd_value=odd))
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == (kind, "error", (UNSPEC,), ORACLE)
    assert words in finding.summary


def test_the_same_difference_in_every_cell_is_one_finding() -> None:
    finding = one(observations(3, odd=CELLS, odd_value=4))
    assert finding.cells == CELLS
    assert "in every cell" in finding.summary


def test_other_wrong_values_are_other_findings() -> None:
    made = observations(3, odd=STATIC, odd_value=4)
    made[UNSPEC] = observe(UNSPEC, call(5))
    assert [finding.cells for finding in compare(made)] == [(UNSPEC,), STATIC]


def test_wrong_tensors_need_not_be_bit_for_bit_the_same_to_be_one_finding() -> None:
    made = observations(tensor([1.0]), odd=STATIC, odd_value=tensor([2.0]))
    made[STATIC[1]] = observe(STATIC[1], call(tensor([2.0000002])))
    assert one(made).cells == STATIC


def test_the_sign_of_zero_alone_is_a_warning() -> None:
    assert one(observations(tensor([0.0]), odd=STATIC, odd_value=tensor([-0.0]))).severity == "warning"
    assert one(observations(0.0, odd=STATIC, odd_value=-0.0)).severity == "warning"


def test_values_of_a_random_region_are_information() -> None:
    finding = one(observations(tensor([1.0]), odd=CELLS, odd_value=tensor([2.0]), random=True))
    assert finding.severity == "info"


def test_the_dtype_of_a_random_region_counts() -> None:
    assert one(observations(tensor([1.0]), odd=CELLS, odd_value=tensor([1.0], "float64"), random=True)).severity == "error"


def test_what_follows_from_a_random_result_is_no_finding_of_its_own() -> None:
    def made(cell: str, drawn: float) -> Observation:
        first = call(tensor([drawn]), random=True)
        return observe(cell, first, call(tensor([drawn]), 1, {"L['x']": tensor([drawn])}, region="mymod.next"))

    found = compare({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 2.0)})
    assert [(finding.region, finding.severity) for finding in found] == [("mymod.tag", "info")]


def test_a_call_with_other_numbers_is_not_compared() -> None:
    made = {cell: observe(cell, call(n, arguments={"L['n']": n})) for cell, n in ((ORACLE, 1), (UNSPEC, 2))}
    assert compare(made) == ()


def test_unseeded_tensor_inputs_leave_metadata_to_compare() -> None:
    def made(cell: str, value: float, dtype: str = "float32") -> Observation:
        return observe(cell, call(tensor([value], dtype), arguments={"L['x']": tensor([value])}))

    assert compare({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 2.0)}) == ()
    assert one({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 2.0, "float64")}).kind == "output.dtype"


def test_from_inputs_that_drifted_by_rounding_only_metadata_is_compared() -> None:
    def made(cell: str, drift: float, last: float, dtype: str = "float32") -> Observation:
        first = call(tensor([1.0 + drift]))
        return observe(cell, first, call(tensor([last], dtype), 1, {"L['x']": tensor([1.0 + drift])}, region="mymod.next"))

    assert compare({ORACLE: made(ORACLE, 0, 5.0), UNSPEC: made(UNSPEC, 1e-6, 6.0)}) == ()
    found = one({ORACLE: made(ORACLE, 0, 5.0), UNSPEC: made(UNSPEC, 1e-6, 6.0, "float64")})
    assert (found.kind, found.region) == ("output.dtype", "mymod.next")


def test_strides_of_empty_tensors_and_of_length_one_are_quiet() -> None:
    assert compare(observations(tensor([], shape=(0, 3)), tensor([], shape=(0, 3), stride=(1, 1)))) == ()
    assert compare(observations(tensor([1.0, 2.0], shape=(1, 2)), tensor([1.0, 2.0], shape=(1, 2), stride=(9, 1)))) == ()


def test_fake_tensors_count_by_metadata() -> None:
    assert compare(observations(tensor([1.0]), odd=CELLS, odd_value=tensor([2.0]), concrete=False)) == ()
    found = one(observations(tensor([1.0]), odd=CELLS, odd_value=tensor([2], "int64"), concrete=False))
    assert found.kind == "output.dtype"


def test_values_not_kept_are_said() -> None:
    made = observations(tensor([1.0], keep=False), odd=CELLS, odd_value=tensor([2.0], keep=False))
    assert (one(made).severity, one(made).kind) == ("info", "output.value")


def test_float64_arbitrates() -> None:
    made = observations(tensor([1.1]), tensor([1.0]))
    truth = (leaf(tensor([1.0], "float64")),)
    made[ORACLE] = observe(ORACLE, replace(made[ORACLE].regions[0], float64=truth))
    assert compare(made) == ()


def test_nested_results_are_told_by_path() -> None:
    def result(value: object) -> tuple[Any, ...]:
        return (container(2), leaf(1, "[0]"), leaf(value, "[1]"))

    finding = one(observations(result(tensor([1.0])), odd=(UNSPEC,), odd_value=result(tensor([1], "int64"))))
    assert finding.summary == "result[1] is int64 in dynamic-unspecialize, float32 in eager (mymod.tag, call 1)"


def test_below_a_container_of_another_length_nothing_is_said() -> None:
    longer = (container(2), leaf(1, "[0]"), leaf(2, "[1]"))
    shorter = (container(1), leaf(5, "[0]"))
    finding = one(observations(longer, odd=(UNSPEC,), odd_value=shorter))
    assert (finding.kind, "len=1" in finding.summary) == ("output.type", True)


def test_missing_keys_are_a_difference_of_type() -> None:
    def result(key: str) -> tuple[Any, ...]:
        return (container(1, type_="dict"), leaf(1, f"[{key!r}]"))

    found = compare(observations(result("a"), odd=(UNSPEC,), odd_value=result("b")))
    assert {finding.kind for finding in found} == {"output.type"}


def test_aliasing_is_compared_among_what_both_sides_know() -> None:
    arguments = {"L['x']": tensor([1.0])}
    shared = tensor([1.0], aliases=("L['x']",))
    assert one(observations(shared, odd=(UNSPEC,), odd_value=tensor([1.0]), arguments=arguments)).kind == "output.alias"
    assert compare(observations(tensor([1.0], aliases=("L['self'].cache",)), tensor([1.0]), arguments=arguments)) == ()


def test_storage_offsets_count_where_memory_is_shared() -> None:
    arguments = {"L['x']": tensor([1.0])}
    shared = [tensor([1.0], aliases=("L['x']",), storage_offset=offset) for offset in (0, 6)]
    assert one(observations(shared[0], odd=CELLS, odd_value=shared[1], arguments=arguments)).severity == "error"
    own = [tensor([1.0], storage_offset=offset) for offset in (0, 6)]
    assert one(observations(own[0], odd=CELLS, odd_value=own[1])).severity == "info"


def test_calls_of_a_region_fold_into_one_finding() -> None:
    def made(cell: str, *values: int) -> Observation:
        return observe(cell, *(call(value, index) for index, value in enumerate(values)))

    finding = one({ORACLE: made(ORACLE, 1, 2, 3), UNSPEC: made(UNSPEC, 1, 7, 8)})
    assert "calls 2 and 3" in finding.summary
    assert finding.evidence["calls"] == [2, 3]


def test_inner_calls_of_the_oracle_do_not_shift_those_of_the_test() -> None:
    outer = [call(1, 0, region="mymod.outer"), call(2, 1, region="mymod.inner"), call(3, 2, region="mymod.outer")]
    outer[1] = replace(outer[1], depth=1)
    eager = observe(ORACLE, *outer)
    cell = observe(UNSPEC, call(1, 0, region="mymod.outer"), call(3, 1, region="mymod.outer"))
    assert compare({ORACLE: eager, UNSPEC: cell}) == ()


def test_a_region_called_more_often_is_information() -> None:
    made = {ORACLE: observe(ORACLE, call(1), call(1, 1)), UNSPEC: observe(UNSPEC, call(1))}
    assert (one(made).severity, "called 1 time" in one(made).summary) == ("info", True)


def test_a_mutated_argument() -> None:
    arguments = {"L['x']": tensor([0.0])}
    made = observations(1, arguments=arguments, after={"L['x']": tensor([1.0])})
    made[UNSPEC] = observe(UNSPEC, call(1, arguments=arguments, after={"L['x']": tensor([2.0])}))
    assert (one(made).kind, one(made).severity, one(made).cells) == ("mutation", "error", (UNSPEC,))
    made[UNSPEC] = observe(UNSPEC, call(1, arguments=arguments, after={"L['x']": tensor([1.0], stride=(7,))}))
    assert compare(made) == ()


def test_a_global_that_lags_behind() -> None:
    made = observations(1, arguments={"G['TICK']": 0}, after={"G['TICK']": 1})
    made[UNSPEC] = observe(UNSPEC, call(1, arguments={"G['TICK']": 0}, after={"G['TICK']": 0}))
    assert "G['TICK'] after the call is 0" in one(made).summary


def test_gradients_are_compared_where_results_agree() -> None:
    def made(cell: str, gradient: float, result: float = 1.0, index: int = 0) -> Observation:
        leaves = (leaf(tensor([gradient]), f"region[{index}] L['x'].grad"),)
        return observe(cell, call(tensor([result]), index), gradients=(Gradients(index=0, leaves=leaves),))

    assert one({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 2.0, index=1)}).kind == "output.grad"
    assert compare({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 1.0, index=1)}) == ()
    assert one({ORACLE: made(ORACLE, 1.0), UNSPEC: made(UNSPEC, 2.0, 3.0)}).kind == "output.value"


def test_raising_where_the_oracle_returns_is_an_error() -> None:
    made = observations(1)
    made[UNSPEC] = observe(UNSPEC, call(raised()))
    assert (one(made).kind, one(made).severity, one(made).cells) == ("outcome", "error", (UNSPEC,))


def test_a_test_that_asks_for_the_exception_is_information() -> None:
    made = observations(1, odd=CELLS, odd_value=raised("torch._dynamo.exc.Unsupported"))
    assert (one(made).severity, one(made).cells) == ("info", CELLS)


def test_returning_where_the_oracle_raises_is_an_error() -> None:
    finding = one(observations(raised("RuntimeError"), odd=CELLS, odd_value=1))
    assert (finding.severity, "returns normally in every cell" in finding.summary) == ("error", True)


def test_other_exceptions_are_a_warning_and_torchs_own_information() -> None:
    assert compare(observations(raised(message="a"), raised(message="b"))) == ()
    assert one(observations(raised("IndexError"), odd=CELLS, odd_value=raised("KeyError"))).severity == "warning"
    internal = raised("torch._dynamo.exc.Unsupported")
    assert one(observations(raised("IndexError"), odd=CELLS, odd_value=internal)).severity == "info"


def test_an_exception_that_fails_the_test_is_told_once_with_its_region() -> None:
    made = observations(1)
    made[UNSPEC] = observe(UNSPEC, call(raised()), outcome="failed", exception=raised())
    finding = one(made)
    assert (finding.kind, finding.region, finding.frame) == ("outcome", "mymod.tag", "mod.py:12 in tag")
    assert finding.summary == "fails in dynamic-unspecialize, passes in eager: IndexError: out of range (mymod.tag, call 1)"


def test_without_an_oracle_the_first_cell_is_the_reference() -> None:
    made = observations(3, odd=(UNSPEC,), odd_value=4)
    del made[ORACLE]
    assert (one(made).reference, one(made).cells) == (CELLS[0], (UNSPEC,))


def test_calls_that_the_oracle_never_made_are_compared_among_cells() -> None:
    made = observations(3, odd=(UNSPEC,), odd_value=4)
    made[ORACLE] = observe(ORACLE, outcome="skipped")
    assert [finding.reference for finding in compare(made) if finding.kind == "output.value"] == [CELLS[0]]


def test_cells_that_were_not_run_say_nothing() -> None:
    made = observations(3)
    made[UNSPEC] = observe(UNSPEC, same_as=CELLS[0], outcome="failed")
    assert compare(made) == ()


def test_the_order_of_observations_does_not_matter() -> None:
    made = observations((container(2), leaf(1, "[0]"), leaf(2, "[1]")), odd=STATIC, odd_value=(container(1), leaf(3, "[0]")))
    made[UNSPEC] = observe(UNSPEC, call(raised()))
    assert compare(made) == compare(dict(reversed(made.items())))


def test_signatures_survive_values() -> None:
    first = one(observations(3, odd=STATIC, odd_value=4))
    second = one(observations(5, odd=STATIC, odd_value=9))
    assert first.signature == second.signature


def test_types_that_say_what_went_wrong_survive_names_of_tests() -> None:
    first = one(observations(3, odd=STATIC, odd_value=4.0, region="mod.test_a.<locals>.f"))
    second = one(observations(5, odd=STATIC, odd_value=9.0, region="mod.test_b.<locals>.f"))
    assert first.signature == second.signature


def test_wrong_values_of_different_functions_are_different_causes() -> None:
    first = one(observations(3, odd=STATIC, odd_value=4, region="mod.test_a.<locals>.<lambda>"))
    second = one(observations(3, odd=STATIC, odd_value=4, region="mod.test_b.<locals>.<lambda>"))
    assert first.signature != second.signature


@pytest.mark.parametrize(("told", "severity"), [(4, "warning"), (5, "error"), (3, "error")])
def test_what_the_code_wants_when_it_is_compiled_is_a_warning(told: int, severity: str) -> None:
    made = observations(3, odd=CELLS, odd_value=4)
    made[ORACLE] = replace(made[ORACLE], regions=(replace(made[ORACLE].regions[0], as_compiling=(leaf(told),)),))
    assert one(made).severity == severity


def test_aliasing_is_not_excused_by_what_copies_share() -> None:
    mine, eager = tensor([1.0]), tensor([1.0], aliases=("L['x']",))
    made = observations(eager, odd=CELLS, odd_value=mine, arguments={"L['x']": tensor([1.0])})
    made[ORACLE] = replace(made[ORACLE], regions=(replace(made[ORACLE].regions[0], as_compiling=(leaf(mine),)),))
    finding = one(made)
    assert (finding.kind, finding.severity) == ("output.alias", "error")
    assert "result is sharing no memory in every cell, sharing memory with L['x'] in eager" in finding.summary


@pytest.mark.parametrize(("eager", "wide", "severity"), [(966, 960, "warning"), (966, 966, "error")])
def test_counts_that_hang_on_rounding_are_a_warning(eager: int, wide: int, severity: str) -> None:
    made = observations(tensor([eager], "int64"), odd=CELLS, odd_value=tensor([964], "int64"))
    wider = (leaf(tensor([wide], "int64")),)
    made[ORACLE] = replace(made[ORACLE], regions=(replace(made[ORACLE].regions[0], float64=wider),))
    assert one(made).severity == severity
