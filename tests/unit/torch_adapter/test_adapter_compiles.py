"""Compiles, graph breaks, failures and backends."""

import pytest
import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounter


def test_one_compile(record):
    with record() as recording:
        torch.compile(lambda x, n: x.sin() * n, backend="eager")(torch.ones(3), 4)
    (found,) = recording.compiles
    assert found.frame.endswith("test_one_compile.<locals>.<lambda>")
    assert (found.region_call, found.resume, found.breaks) == (0, 0, ())
    assert [op.rpartition(".")[2] for op in found.ops] == ["sin", "mul"]
    assert found.tensor_ops == 2
    assert sorted(found.inputs) == ["SymInt", "SymInt", "Tensor"]


def test_fullgraph_counts_once(record):
    with record() as recording:
        torch.compile(lambda x: x + 1, backend="eager", fullgraph=True)(torch.ones(3))
    assert len(recording.compiles) == 1
    assert recording.failed_compiles == []


def test_recompiles_are_one_each(record):
    with record("static") as recording:
        fast = torch.compile(lambda x: x + 1, backend="eager")
        for n in (3, 4, 5, 4):
            fast(torch.ones(n))
    assert [found.region_call for found in recording.compiles] == [0, 1, 2]


def test_graph_break(record):
    def step(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    with record() as recording:
        torch.compile(step, backend="eager")(torch.ones(3))
    first, second = sorted(recording.compiles, key=lambda found: found.resume)
    (found,) = first.breaks
    line = step.__code__.co_firstlineno + 2
    assert found.line == f"test_adapter_compiles.py:{line}"
    assert found.reason
    assert second.frame == first.frame
    assert second.resume > 0


def test_break_inside_a_called_function(record):
    def inner(x):
        torch._dynamo.graph_break()
        return x + 1

    with record() as recording:
        torch.compile(lambda x: inner(x) * 2, backend="eager")(torch.ones(3))
    lines = {found.line for one in recording.compiles for found in one.breaks}
    assert f"test_adapter_compiles.py:{inner.__code__.co_firstlineno + 1}" in lines


def many_values(fast):
    for n in range(12):
        fast(torch.ones(2), n)


def test_recompile_limit(record):
    with record("static") as recording:
        many_values(torch.compile(lambda x, n: x * n, backend="eager"))
    assert len(recording.compiles) == torch._dynamo.config.recompile_limit
    assert {found.limit for found in recording.failed_compiles} == {True}


def test_recompile_limit_with_fullgraph(record):
    with record("static") as recording, pytest.raises(Exception, match="fullgraph=True"):
        many_values(torch.compile(lambda x, n: x * n, backend="eager", fullgraph=True))
    assert [found.limit for found in recording.failed_compiles] == [True]
    assert recording.regions[-1].exception is not None


def test_backend_that_fails(record):
    def failing(gm, inputs):
        raise ZeroDivisionError("in the backend")

    with record() as recording, pytest.raises(Exception, match="in the backend"):
        torch.compile(lambda x: x + 1, backend=failing)(torch.ones(2))
    (found,) = recording.failed_compiles
    assert (found.exception.type, found.limit) == ("ZeroDivisionError", False)
    assert recording.compiles == []
    assert recording.compile_stack == []


def test_failure_that_is_suppressed(record):
    def failing(gm, inputs):
        raise ZeroDivisionError("in the backend")

    with record() as recording, torch._dynamo.config.patch(suppress_errors=True):
        assert torch.compile(lambda x: x + 1, backend=failing)(torch.ones(1)) == 2
    assert [found.exception.type for found in recording.failed_compiles] == ["ZeroDivisionError"]
    assert recording.regions[0].exception is None


def test_nothing_is_recorded_of_the_oracle(record):
    counter = CompileCounter()
    with record(oracle=True) as recording:
        torch.compile(lambda x: x + 1, backend=counter)(torch.ones(2))
    assert (recording.compiles, counter.frame_count, len(recording.regions)) == ([], 0, 1)


@pytest.fixture
def calls(monkeypatch):
    """Calls of a backend that is registered by name for the test."""
    from torch._dynamo.backends import registry

    made = []

    def planted(gm, inputs):
        made.append(gm)
        return gm

    registry.register_backend(planted, name="planted")
    yield made
    registry._BACKENDS.pop("planted", None)
    registry._COMPILER_FNS.pop("planted", None)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor", None])
def test_named_backend_is_exchanged(record, calls, backend):
    options = {} if backend is None else {"backend": backend}
    with record(backend="planted") as recording:
        assert torch.compile(lambda x: x + 1, **options)(torch.ones(1)) == 2
    assert len(calls) == 1
    assert recording.notes == []


def test_callable_backend_stays(record, calls):
    counter = CompileCounter()
    with record(backend="planted"):
        torch.compile(lambda x: x + 1, backend=counter)(torch.ones(2))
        torch._dynamo.optimize(counter)(lambda x: x + 2)(torch.ones(2))
    assert counter.frame_count == 2
    assert calls == []


def test_no_backend_is_exchanged_where_the_grid_has_none(record, calls):
    with record():
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert calls == []


def test_hook_that_was_there_before_still_runs(record):
    from torch._dynamo import guards

    from testmatrix.torch_adapter import hooks

    seen = []
    hooks.uninstall()
    guards.guard_manager_testing_hook_fn = lambda *args: seen.append(args)
    try:
        hooks.install()
        with record() as recording:
            torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    finally:
        hooks.uninstall()
        guards.guard_manager_testing_hook_fn = None
    assert len(seen) == len(recording.compiles) == 1


def test_fault_while_guards_are_read_is_a_note(record, monkeypatch):
    from testmatrix.torch_adapter import guards

    def broken(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(guards, "read", broken)
    with record() as recording:
        assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)) == 2
    assert [note.kind for note in recording.notes] == ["recorder"]
    assert len(recording.compiles) == 1


def test_a_guard_hook_of_the_suites_own_hides_guards_and_not_the_compile(record, monkeypatch):
    seen = []
    with record() as recording:
        monkeypatch.setattr(torch._dynamo.guards, "guard_manager_testing_hook_fn", lambda *args: seen.append(args))
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    assert len(seen) == 1
    assert [len(each.guards) for each in recording.compiles] == [0]
