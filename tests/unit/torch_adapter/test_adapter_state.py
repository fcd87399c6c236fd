"""What a cell starts from, and how it is put back."""

import os
import random
import sys

import numpy as np
import pytest
import torch

from testmatrix.torch_adapter import dynamo, state


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
    dynamo.reset()
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
        assert dynamo.recover_from_stuck_compile()
        dynamo.reset()
    finally:
        dynamo.recover_from_stuck_compile()
        handler.clear()
    assert not dynamo.recover_from_stuck_compile()


def test_compilation_off():
    counter = torch._dynamo.testing.CompileCounter()
    fast = torch.compile(lambda x: x + 3, backend=counter)
    with dynamo.compilation_off():
        fast(torch.ones(2))
    assert counter.frame_count == 0
    fast(torch.ones(2))
    assert counter.frame_count == 1


def test_random_state_without_numpy(monkeypatch):
    monkeypatch.delitem(sys.modules, "numpy")
    taken = state.random_state()
    state.restore_random_state(taken)
    assert taken.numpy is None


def normal_drawn_ahead():
    np.random.randn()  # draws two, and keeps one


def another_generator():
    np.random.set_bit_generator(np.random.MT19937(1))


def one_of_another_kind():
    np.random.set_bit_generator(np.random.PCG64(1))


@pytest.mark.parametrize("prepare", [lambda: None, normal_drawn_ahead, another_generator, one_of_another_kind])
@pytest.mark.parametrize(
    "draw",
    [
        np.random.rand,
        np.random.randn,
        np.random.random,
        lambda: np.random.permutation(3),
        lambda: np.random.set_bit_generator(np.random.MT19937(2)),
    ],
    ids=["rand", "randn", "random", "permutation", "exchange"],
)
def test_what_numpy_drew_comes_back(prepare, draw):
    own = np.random.get_bit_generator()
    try:
        np.random.seed(5)
        prepare()
        before = state.random_state()
        assert state.random_state() == before
        expected = np.random.randn(3).tolist()
        state.restore_random_state(before)
        draw()
        assert state.random_state() != before
        state.restore_random_state(before)
        assert state.random_state() == before
        assert np.random.randn(3).tolist() == expected
    finally:
        np.random.set_bit_generator(own)


def test_a_generator_of_which_nothing_is_known_is_asked(monkeypatch):
    monkeypatch.delattr(np.random, "get_bit_generator")
    before = state.random_state()
    first = np.random.rand()
    state.restore_random_state(before)
    assert np.random.rand() == first


def test_variables_and_the_directory_come_back(monkeypatch, tmp_path):
    monkeypatch.setenv("SUITE_CHANGED", "before")
    monkeypatch.setenv("SUITE_REMOVED", "ä")
    monkeypatch.delenv("SUITE_ADDED", raising=False)
    before, directory = state.save(), os.getcwd()
    os.environ["SUITE_CHANGED"] = "after"
    os.environ["SUITE_ADDED"] = "new"
    del os.environ["SUITE_REMOVED"]
    os.chdir(tmp_path)
    told = {change.name: (change.before, change.left) for change in state.restore(before)}
    assert (os.environ["SUITE_CHANGED"], os.environ["SUITE_REMOVED"], os.environ.get("SUITE_ADDED")) == ("before", "ä", None)
    assert os.getcwd() == directory
    assert told == {
        "environment variable SUITE_ADDED": (None, "new"),
        "environment variable SUITE_CHANGED": ("before", "after"),
        "environment variable SUITE_REMOVED": ("ä", None),
        "working directory": (directory, str(tmp_path)),
    }


def test_the_runners_own_variable_is_none_of_the_suites():
    assert os.environ["PYTEST_CURRENT_TEST"]
    assert not [name for name in state.variables() if name.startswith(b"PYTEST_CURRENT")]


def test_variables_of_another_kind_of_environment(monkeypatch):
    monkeypatch.setattr(os, "environ", {"SUITE_VARIABLE": "ä"})
    assert state.variables() == {b"SUITE_VARIABLE": "ä".encode()}
