"""What a cell starts from, and how it is put back."""

import random
import sys

import numpy as np
import pytest
import torch

from testmatrix.torch_adapter import state


@pytest.fixture(autouse=True)
def _put_back():
    before = state.save()
    yield
    state.restore(before)


def drawn():
    return random.random(), float(np.random.rand()), float(torch.rand(()))


def test_random_generators_come_back():
    before = state.random_state()
    first = drawn()
    state.restore_random_state(before)
    assert drawn() == first


@pytest.mark.parametrize(
    ("change", "read"),
    [
        (lambda: torch.set_default_dtype(torch.float64), torch.get_default_dtype),
        (lambda: torch.set_grad_enabled(False), torch.is_grad_enabled),
        (lambda: torch.use_deterministic_algorithms(True), torch.are_deterministic_algorithms_enabled),
        (lambda: torch.set_float32_matmul_precision("medium"), torch.get_float32_matmul_precision),
        (lambda: torch.set_num_threads(torch.get_num_threads() + 1), torch.get_num_threads),
    ],
    ids=["dtype", "grad", "deterministic", "matmul", "threads"],
)
def test_switches_come_back(change, read):
    before, value = state.save(), read()
    change()
    assert read() != value
    state.restore(before)
    assert read() == value


def test_settings_come_back():
    before, value = state.save(), torch._dynamo.config.verbose
    torch._dynamo.config.verbose = not value
    state.restore(before)
    assert torch._dynamo.config.verbose is value


def test_reset_forgets_compiles_and_counters():
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    compiled(torch.ones(2))
    assert torch._dynamo.utils.counters
    state.reset_compiler()
    assert not torch._dynamo.utils.counters


def test_stuck_compile_is_recovered_from():
    def raising(*args):
        raise RuntimeError("in a callback")

    handler = torch._dynamo.callback.callback_handler
    handler.register_end_callback(raising)
    try:
        with pytest.raises(Exception, match="in a callback"):
            torch.compile(lambda x: x + 2, backend="eager")(torch.ones(2))
        with pytest.raises(AssertionError, match="pending"):
            torch._dynamo.reset()
        assert state.recover_from_stuck_compile()
        state.reset_compiler()
    finally:
        state.recover_from_stuck_compile()
        handler.clear()
    assert not state.recover_from_stuck_compile()


def test_compilation_off():
    counter = torch._dynamo.testing.CompileCounter()
    fast = torch.compile(lambda x: x + 3, backend=counter)
    with state.compilation_off():
        fast(torch.ones(2))
    assert counter.frame_count == 0
    fast(torch.ones(2))
    assert counter.frame_count == 1


def test_random_state_without_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy")
    taken = state.random_state()
    state.restore_random_state(taken)
    assert taken.numpy is None
