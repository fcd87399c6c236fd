"""Recording changes nothing that the suite could see."""

import functools
import inspect

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounterWithBackend
from torch.overrides import TorchFunctionMode

from testmatrix.torch_adapter import hooks


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        torch._dynamo.graph_break()
        return self.linear(x).relu()


def straight(x, n=3):
    return (x * n).sin() + x.shape[0]


def broken(x, n=3):
    y = x * n
    torch._dynamo.graph_break()
    return y + 1


def nested(x, n=3):
    return torch.compile(straight, backend="eager")(x, n) + 1


def calling_twice(x, n=3):
    inner = functools.partial(straight, n=n)
    return inner(x) + inner(x + 1)


def counts(function, backend):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    counter = CompileCounterWithBackend(backend)
    fast = torch.compile(function, backend=counter)
    for size in (3, 4, 5):
        fast(torch.ones(size, 3) if isinstance(function, torch.nn.Module) else torch.ones(size))
    breaks = sum(torch._dynamo.utils.counters["graph_break"].values())
    stats = dict(torch._dynamo.utils.counters["frames"])
    return counter.frame_count, counter.op_count, breaks, stats


@pytest.mark.parametrize("make", [lambda: straight, lambda: broken, lambda: nested, lambda: calling_twice, Net])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_no_graph_break_and_no_frame_is_added(record, make, backend):
    hooks.uninstall()
    settings = {"assume_static_by_default": False, "specialize_int": False}
    with torch._dynamo.config.patch(**settings):
        bare = counts(make(), backend)
    hooks.install()
    with record() as recording:
        assert counts(make(), backend) == bare
    assert len(recording.regions) >= 3
    assert recording.notes == []


def test_compiled_function_keeps_its_face(record):
    hooks.uninstall()
    bare = torch.compile(straight, backend="eager")
    hooks.install()
    with record():
        fast = torch.compile(straight, backend="eager")
    assert inspect.signature(fast) == inspect.signature(bare)
    assert (fast.__name__, fast.__doc__, fast.__module__) == (bare.__name__, bare.__doc__, bare.__module__)
    assert fast.__wrapped__ is straight
    assert fast._torchdynamo_orig_callable is straight
    assert set(vars(bare)) <= set(vars(fast))


def test_module_stays_an_optimised_module(record):
    with record():
        net = Net()
        fast = torch.compile(net, backend="eager")
        fast(torch.ones(2, 3))
        assert isinstance(fast, torch._dynamo.OptimizedModule)
        assert fast.linear is net.linear
        assert list(fast.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]


def test_compiling_what_is_compiled_already(record):
    with record() as recording:
        fast = torch.compile(torch.compile(straight, backend="eager"), backend="eager")
        torch.testing.assert_close(fast(torch.ones(2)), straight(torch.ones(2)))
    assert {call.region.rpartition(".")[2] for call in recording.regions} == {"straight"}
    assert sum(call.depth == 0 for call in recording.regions) == 1


class Functions(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.seen.append(getattr(function, "__name__", str(function)))
        return function(*args, **(kwargs or {}))


def test_function_mode_sees_no_call_of_ours(record):
    def seen():
        torch._dynamo.reset()
        with Functions() as mode:
            torch.compile(straight, backend="eager")(torch.ones(3))
        return mode.seen

    hooks.uninstall()
    with torch._dynamo.config.patch(assume_static_by_default=False):
        bare = seen()
    hooks.install()
    with record() as recording:
        assert seen() == bare
    assert len(recording.regions) == 1


class Watched(torch.Tensor):
    seen: list[str] = []  # noqa: RUF012 - shared on purpose

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        Watched.seen.append(getattr(function, "__name__", str(function)))
        return super().__torch_function__(function, types, args, kwargs or {})


def test_tensor_subclass_sees_no_call_of_ours(record):
    def seen():
        x = torch.ones(3).as_subclass(Watched)
        Watched.seen.clear()
        torch.compile(lambda x: x + 1, backend="eager")(x)
        return list(Watched.seen)

    hooks.uninstall()
    with torch.compiler.set_stance("force_eager"):
        bare = seen()
    hooks.install()
    with record(oracle=True) as recording:
        assert seen() == bare
    assert len(recording.regions) == 1


def test_random_numbers_are_the_same(record):
    def draw():
        torch.manual_seed(5)
        return torch.compile(lambda x: x + torch.rand(3), backend="eager")(torch.ones(3)), torch.rand(2)

    hooks.uninstall()
    bare = draw()
    hooks.install()
    with record():
        recorded = draw()
    assert all(map(torch.equal, bare, recorded))


def test_profiler_sees_no_operation_of_ours(record):
    with record():
        fast = torch.compile(lambda x: x + 1, backend="eager")
        fast(torch.ones(2))
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            fast(torch.ones(2))
    names = {event.key for event in profile.key_averages()}
    assert "aten::add" in names
    assert not names & {"aten::detach", "aten::reshape", "aten::equal"}


def test_what_a_region_was_given_is_let_go(record):
    import gc
    import weakref

    with record():
        x = torch.ones(3)
        reference = weakref.ref(x)
        torch.compile(lambda x: x + 1, backend="eager")(x)
        del x
        gc.collect()
        assert reference() is None


def test_uninstalling_puts_torch_back():
    from torch._dynamo import convert_frame, eval_frame, guards

    hooks.uninstall()
    before = (convert_frame._compile, eval_frame.OptimizeContext.__call__, guards.guard_manager_testing_hook_fn)
    hooks.install()
    hooks.install()
    assert convert_frame._compile is not before[0]
    hooks.uninstall()
    assert (convert_frame._compile, eval_frame.OptimizeContext.__call__, guards.guard_manager_testing_hook_fn) == before
