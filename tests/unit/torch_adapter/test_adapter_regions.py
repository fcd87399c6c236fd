"""Calls of compiled regions as they are recorded."""

import functools
import threading

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter

COUNT = 0


def call_of(recording, index=0):
    return recording.regions[index]


def values(leaves):
    return {leaf.path: leaf.value for leaf in leaves}


def test_arguments_and_result(record):
    with record() as recording:
        torch.compile(lambda x, n: (x * n, n), backend="eager")(torch.ones(2), 3)
    call = call_of(recording)
    assert values(call.arguments) == {"L['x']": "", "L['n']": "3"}
    assert [leaf.path for leaf in call.result] == ["", "[0]", "[1]"]
    assert call.result[1].tensor.data == (torch.ones(2) * 3).numpy().tobytes()
    assert call.exception is None
    assert recording.notes == []


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))
        self.calls = 0

    def forward(self, x):
        self.seen += 1
        self.calls += 1
        return x + self.seen


def decorated_method():
    class Tool:
        @torch.compile(backend="eager")
        def use(self, x):
            return x + 1

    return Tool().use


def decorated_class():
    @torch.compile(backend="eager")
    class Adder:
        def __call__(self, x):
            return x + 2

    return Adder()


def compiled_in_place():
    net = Net()
    net.compile(backend="eager")
    return net


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: torch.compile(Net(), backend="eager"), "Net.forward"),
        (compiled_in_place, "Net.forward"),
        (decorated_method, "use"),
        (decorated_class, "__call__"),
        (lambda: torch.compile(functools.partial(torch.add, 1), backend="eager"), "add"),
        (lambda: torch._dynamo.optimize("eager")(lambda x: x + 1), "<lambda>"),
        (lambda: torch._dynamo.optimize_assert("eager")(lambda x: x + 1), "<lambda>"),
        (lambda: torch.compile(backend="eager")(lambda x: x + 1), "<lambda>"),
        (lambda: torch.compile(Net().forward, backend="eager"), "Net.forward"),
    ],
    ids=["module", "in-place", "method", "class", "partial", "optimize", "optimize_assert", "decorator", "bound"],
)
def test_every_form_is_a_region(record, make, name):
    with record() as recording:
        make()(torch.ones(2))
    assert len(recording.regions) == 1
    assert call_of(recording).region.rpartition(">.")[2].endswith(name)
    assert recording.notes == []


def test_module_state_after_the_call(record):
    with record() as recording:
        torch.compile(Net(), backend="eager")(torch.ones(1))
    after = {leaf.path: leaf for leaf in call_of(recording).after}
    assert after["L['self'].calls"].value == "1"
    assert after["L['self'].seen"].tensor.data == torch.ones(1).numpy().tobytes()


def test_mutated_argument(record):
    with record() as recording:
        torch.compile(lambda x, log: log.append(x.add_(1)), backend="eager")(torch.zeros(2), [])
    call = call_of(recording)
    after = {leaf.path: leaf for leaf in call.after}
    assert after["L['x']"].tensor.data == torch.ones(2).numpy().tobytes()
    assert values(call.arguments)["L['log']"] == "len=0"
    assert after["L['log']"].value == "len=1"


def test_rebound_global_and_closure(record):
    total = 0

    def step(x):
        global COUNT
        nonlocal total
        COUNT, total = COUNT + 1, total + 2
        return x + total

    with record() as recording:
        torch.compile(step, backend="eager")(torch.ones(1))
    assert values(call_of(recording).after) == {"L['x']": "", "G['COUNT']": str(COUNT), "C['total']": "2"}


def test_results_that_share_memory(record):
    with record() as recording:
        torch.compile(lambda x: (x[0], x[1]), backend="eager")(torch.ones(2, 2))
    aliases = [leaf.tensor.aliases for leaf in call_of(recording).result[1:]]
    assert aliases == [("L['x']",), ("L['x']", "result[0]")]


def test_exception(record):
    def fail(x):
        raise KeyError("no")

    with record() as recording, pytest.raises(KeyError):
        torch.compile(fail, backend="eager")(torch.ones(1))
    assert call_of(recording).exception.type == "KeyError"
    assert call_of(recording).result == ()
    assert recording.region_stack == []


@pytest.mark.parametrize(("function", "random"), [(torch.rand_like, True), (torch.sin, False)])
def test_random_flag(record, function, random):
    with record() as recording:
        torch.compile(lambda x: function(x), backend="eager")(torch.ones(2))
    assert call_of(recording).random is random


@pytest.mark.parametrize(
    ("options", "mark", "pinned"),
    [
        ({}, None, ()),
        ({"dynamic": True}, None, ("shapes",)),
        ({"dynamic": False}, None, ("shapes",)),
        ({}, torch._dynamo.mark_dynamic, ("shapes",)),
        ({}, torch._dynamo.mark_static, ("shapes",)),
        ({}, torch._dynamo.maybe_mark_dynamic, ("shapes",)),
    ],
)
def test_pinned_axes(record, options, mark, pinned):
    x = torch.ones(4)
    if mark is not None:
        mark(x, 0)
    with record() as recording:
        torch.compile(lambda x: x + 1, backend="eager", **options)(x)
    assert call_of(recording).pinned == pinned


def test_regions_inside_regions(record):
    inner = torch.compile(lambda x: x + 1, backend="eager")

    with record(oracle=True) as recording:
        inner = torch.compile(lambda x: x + 1, backend="eager")
        torch.compile(lambda x: inner(x) * 2, backend="eager")(torch.ones(1))
    assert [call.depth for call in recording.regions] == [0, 1]


def test_region_inside_a_compiled_one_is_inlined(record):
    counter = CompileCounter()
    with record() as recording:
        inner = torch.compile(lambda x: x + 1, backend="eager")
        result = torch.compile(lambda x: inner(x) * 2, backend=counter, fullgraph=True)(torch.ones(1))
    assert (counter.frame_count, counter.op_count) == (1, 2)
    assert len(recording.regions) == 1
    assert result == 4


def test_threads_keep_their_calls_apart(record):
    barrier = threading.Barrier(4)

    def work(n):
        barrier.wait()
        for _ in range(5):
            fast(torch.ones(2), n)

    with record() as recording:
        fast = torch.compile(lambda x, n: x * n, backend="eager")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [call.index for call in recording.regions] == list(range(20))
    assert {call.depth for call in recording.regions} == {0}
    for call in recording.regions:
        n = int(values(call.arguments)["L['n']"])
        assert call.result[0].tensor.data == (torch.ones(2) * n).numpy().tobytes()


def test_region_made_before_and_called_in_a_recording(record):
    fast = torch.compile(lambda x: x + 1, backend="eager")
    with record() as recording:
        fast(torch.ones(1))
    fast(torch.ones(1))
    assert len(recording.regions) == 1


@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())])
def test_inside_of_a_transform_only_metadata_counts(record, transform):
    with record() as recording:
        fast = torch.compile(lambda x: x * 2, backend="eager")
        transform(fast)(torch.ones(3))
    assert not call_of(recording).concrete
    assert {leaf.tensor.digest for leaf in call_of(recording).result if leaf.tensor} == {""}


class Rude:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError("repr")


def test_rude_arguments_do_no_harm(record):
    with record() as recording:
        assert torch.compile(lambda x, rude: x + 1, backend="eager")(torch.ones(1), Rude()) == 2
    assert len(recording.regions) == 1
    assert recording.notes == []


def test_fault_of_the_recorder_is_a_note(record, monkeypatch):
    from testmatrix.torch_adapter import regions

    def broken(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(regions, "named_arguments", broken)
    with record() as recording:
        assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)) == 2
    assert [note.kind for note in recording.notes] == ["recorder"]
    assert "ours" in recording.notes[0].text
