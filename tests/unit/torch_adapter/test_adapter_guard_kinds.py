"""Guards of every kind are recorded: the table is torch's, and nothing is dropped."""

import json
from types import SimpleNamespace

import pytest
import torch
from torch._dynamo.guards import GuardBuilder
from torch.overrides import TorchFunctionMode

from testmatrix.guard_kinds import KINDS, NOT_BUILT, category
from testmatrix.torch_adapter import process_state

BUILT = {name for name in dir(GuardBuilder) if name.isupper() and callable(getattr(GuardBuilder, name))}


def test_the_table_has_every_kind_of_torchs_and_no_other():
    assert KINDS.keys() - NOT_BUILT == BUILT


def guards_of(recording, kind):
    return [guard for one in recording.compiles for guard in one.guards if guard.kind == kind]


def recorded(record, function=lambda x: x + 1, *args, backend="eager", cell="static"):
    with record(cell) as recording:
        torch.compile(function, backend=backend)(*(args or (torch.ones(2),)))
    return recording


@pytest.mark.parametrize("kind", sorted(name for name, one in KINDS.items() if one.category == "process"))
def test_process_guards_have_no_source_and_differ_by_no_process(record, kind):
    for guard in guards_of(recorded(record), kind):
        assert guard.source == ""
        assert guard.text
        assert "threads" not in guard.text
        assert "0x" not in guard.text


def test_process_guards_of_any_compile(record):
    found = {guard.kind for guard in recorded(record).compiles[0].guards if category(guard.kind) == "process"}
    assert found == {
        *("GLOBAL_STATE", "GRAD_MODE", "DETERMINISTIC_ALGORITHMS", "DEFAULT_DEVICE"),
        *("TORCH_FUNCTION_STATE", "AUTOGRAD_SAVED_TENSORS_HOOKS"),
    }


def only(recording, kind):
    (guard,) = guards_of(recording, kind)
    return guard.text


def test_grad_mode(record):
    assert only(recorded(record), "GRAD_MODE") == "grad_mode=True"
    with torch.no_grad():
        recording = recorded(record)
    assert only(recording, "GRAD_MODE") == "grad_mode=False"
    assert "grad_mode=False" in only(recording, "GLOBAL_STATE")


def test_grad_mode_is_the_one_that_is_checked_not_the_one_at_the_end(record):
    def switches(x):
        torch.set_grad_enabled(False)
        return x + 1

    try:
        recording = recorded(record, switches)
    finally:
        torch.set_grad_enabled(True)
    assert guards_of(recording, "GRAD_MODE")[0].text == "grad_mode=True"


def test_autocast_and_default_dtype(record):
    assert "autocast=off, default_dtype=float32" in only(recorded(record), "GLOBAL_STATE")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert "autocast=(cpu:bfloat16)" in only(recorded(record), "GLOBAL_STATE")
    with torch.autocast("cpu", dtype=torch.float16, cache_enabled=False):
        assert "autocast=(cpu:float16) without cache" in only(recorded(record), "GLOBAL_STATE")
    torch.set_default_dtype(torch.float64)
    try:
        assert "default_dtype=float64" in only(recorded(record), "GLOBAL_STATE")
    finally:
        torch.set_default_dtype(torch.float32)


def test_deterministic_algorithms(record):
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        text = only(recorded(record), "DETERMINISTIC_ALGORITHMS")
    finally:
        torch.use_deterministic_algorithms(False)
    assert text == "deterministic_algorithms=True, deterministic_algorithms_warn_only=True"


def test_default_device_and_modes(record):
    assert only(recorded(record), "DEFAULT_DEVICE") == "device=None"
    assert only(recorded(record), "TORCH_FUNCTION_STATE") == "modes=[]"
    with torch.device("cpu"):
        recording = recorded(record)
    assert only(recording, "TORCH_FUNCTION_STATE") == "modes=[torch.utils._device.DeviceContext]"
    there = SimpleNamespace(current_device=torch.device("cuda:1"))
    assert process_state.payload("DEFAULT_DEVICE", there) == "device=cuda:1"


class Passive(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_torch_function_modes_by_their_classes(record):
    with Passive():
        recording = recorded(record)
    assert {guard.text for guard in guards_of(recording, "TORCH_FUNCTION_STATE")} == {f"modes=[{__name__}.Passive]"}


def test_the_number_of_threads_is_the_machines(record):
    before = torch.get_num_threads()
    texts = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        texts.append(only(recorded(record), "GLOBAL_STATE"))
    torch.set_num_threads(before)
    assert texts[0] == texts[1]


def test_a_dtype_that_is_not_known_is_still_told():
    state = {"autocast_state": {"enabled": [True], "dtype": [99]}, "default_dtype": 98}
    guard = SimpleNamespace(__getstate__=lambda: json.dumps(state))
    text = process_state.payload("GLOBAL_STATE", SimpleNamespace(global_state_guard=guard))
    assert text == "autocast=(cpu:type 99), default_dtype=type 98"


def test_tensors_that_are_not_each_other(record):
    recording = recorded(record, lambda x, y: x + y, torch.ones(2), torch.ones(2))
    assert [guard.source for guard in guards_of(recording, "NO_TENSOR_ALIASING")] == ["L['x']", "L['y']"]
    assert guards_of(recorded(record), "NO_TENSOR_ALIASING") == []  # one tensor alone is checked against none


def test_memory_that_overlaps(record):
    def mutate(x, y):
        x.add_(1)
        return y + 1

    base = torch.ones(20)
    recording = recorded(record, mutate, base[:8], base[4:12], backend="aot_eager", cell="dynamic")
    assert only(recording, "STORAGE_OVERLAPPING") == "overlapping=[L['x'], L['y']], non_overlapping=[]"


def test_what_a_guard_says_by_its_arguments_alone(record):
    module = torch.nn.Linear(2, 2)
    recording = recorded(record, module, torch.ones(1, 2))
    texts = {guard.text for guard in guards_of(recording, "NOT_PRESENT_IN_GENERIC_DICT")}
    assert texts == {f"not ___dict_contains('forward', {guards_of(recording, 'NOT_PRESENT_IN_GENERIC_DICT')[0].source}.__dict__)"}


def test_hooks_that_torch_does_not_check(record):
    module = torch.nn.Linear(2, 2)
    assert {guard.text for guard in guards_of(recorded(record, module, torch.ones(1, 2)), "EMPTY_NN_MODULE_HOOKS_DICT")} == {
        "not checked"
    }
    with torch._dynamo.config.patch(skip_nnmodule_hook_guards=False):
        checked = guards_of(recorded(record, module, torch.ones(1, 2)), "EMPTY_NN_MODULE_HOOKS_DICT")
    assert checked
    assert all(guard.text.startswith("not L[") for guard in checked)


class Number(int):
    def __repr__(self):
        raise RuntimeError("not to be called")


def test_a_number_of_a_derived_class(record):
    (guard,) = guards_of(recorded(record, lambda x, n: x * n, torch.ones(2), Number(7)), "CONSTANT_SUBCLASS_MATCH")
    assert (guard.source, guard.value, guard.value_type) == ("L['n']", "7", f"{__name__}.Number")


def test_constants_are_told_apart_past_what_is_kept_of_them(record):
    def use(x, text):
        return x + 1 if text else x

    values = [only_constant(recorded(record, use, torch.ones(2), "a" * 300 + end)) for end in "bc"]
    assert len(set(values)) == 2
    assert all(len(value) < 250 for value in values)


def only_constant(recording):
    return next(guard.value for guard in recording.compiles[0].guards if guard.source == "L['text']" and guard.value)


def test_an_object_is_told_without_its_address(record):
    def outer():
        def inner(x):
            return x + 1

        return inner

    recording = recorded(record, lambda x, f: f(x) * f.__code__.co_argcount, torch.ones(2), outer())
    texts = [f"{guard.kind} {guard.text} {guard.value}" for guard in recording.compiles[0].guards]
    assert not [text for text in texts if "0x" in text]
    assert [text for text in texts if "outer.<locals>.inner" in text]


def test_a_comment_in_the_users_line_is_no_part_of_a_tensors_guard(record):
    def commented(x):
        return x + 1  # (with) parentheses) in it

    (guard,) = guards_of(recorded(record, commented), "TENSOR_MATCH")
    assert guard.text.endswith("size=[2], stride=[1]")


def test_metadata_of_a_subclass(record):
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
    text = only(recorded(record, lambda x: x * 2, nested), "TENSOR_SUBCLASS_METADATA_MATCH")
    assert "NestedTensor" in text
    assert "'ragged_idx': 1" in text


def test_a_kind_that_is_not_known_is_carried_and_said_once(record, monkeypatch):
    class Holder:
        value = 2

    def add_guard(x, holder):
        return x * holder.value

    original = torch._guards.Guard.create_fn_name

    def renamed(guard):
        name = original(guard)
        return "OF_A_NEWER_TORCH" if name == "TYPE_MATCH" else name

    monkeypatch.setattr(torch._guards.Guard, "create_fn_name", renamed)
    with record("static") as recording:
        fast = torch.compile(add_guard, backend="eager")
        fast(torch.ones(2), Holder())
        fast(torch.ones(3), Holder())
    assert len(guards_of(recording, "OF_A_NEWER_TORCH")) >= 2
    assert [(note.kind, note.text) for note in recording.notes] == [
        ("guards", "guard kind OF_A_NEWER_TORCH is not known to this version: carried as text")
    ]


def test_guards_that_the_suite_filters_out_are_not_recorded(record):
    def keep(entries):
        return [entry.guard_type == "TENSOR_MATCH" for entry in entries]

    with record("static") as recording:
        fast = torch.compile(lambda x, n: x * n, backend="eager", options={"guard_filter_fn": keep})
        fast(torch.ones(2), 3)
        assert fast(torch.ones(2), 4)[0] == 3  # stale, as nothing checks the int
    (found,) = recording.compiles
    assert [guard.kind for guard in found.guards] == ["TENSOR_MATCH"]
    (note,) = recording.notes
    assert note.kind == "guards"
    assert "guard_filter_fn leaves out guards" in note.text


def test_nothing_is_said_where_no_guard_is_filtered(record):
    recording = recorded(record)
    assert recording.notes == []
    kinds = {guard.kind for guard in recording.compiles[0].guards}
    assert {"TENSOR_MATCH", "GLOBAL_STATE"} <= kinds
