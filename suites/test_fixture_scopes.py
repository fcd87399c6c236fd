"""Fixtures of every scope: some build compiled functions or modules, some know nothing of torch."""

import sys

import pytest
import torch

from .support import same


@pytest.fixture(scope="session")
def numbers():
    return (2, 3, 4)


@pytest.fixture(scope="session")
def weights():
    return {n: torch.full((3,), float(n)) for n in range(2, 6)}


@pytest.fixture(scope="session")
def session_scale():
    return torch.compile(lambda x, n: x * n + 1, backend="eager")


@pytest.fixture(scope="module")
def compiled_layer():
    layer = torch.nn.Linear(3, 3).eval()
    return torch.compile(layer, backend="eager"), layer


@pytest.fixture(scope="module", params=["eager", "aot_eager"])
def module_crop(request):
    return torch.compile(lambda x, n: x[n:] * n, backend=request.param)


@pytest.fixture(scope="module")
def called_once_while_set_up():
    fast = torch.compile(lambda x, n: x - n, backend="eager")
    first = fast(torch.ones(3), 7)
    return fast, first


@pytest.fixture
def log():
    lines = []
    yield lines
    lines.clear()


@pytest.fixture
def double_by_default():
    previous = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(previous)


def test_session_function(session_scale, numbers):
    for n in numbers:
        same(session_scale(torch.ones(3), n), torch.full((3,), n + 1.0))


def test_session_function_again(session_scale, numbers, weights):
    for n in reversed(numbers):
        same(session_scale(weights[n], n), weights[n] * n + 1)


def test_session_tensors_are_unchanged(weights):
    fast = torch.compile(lambda table, n: table[n] * n, backend="eager")
    for n in (2, 3, 5):
        same(fast(weights, n), torch.full((3,), float(n * n)))
        same(weights[n], torch.full((3,), float(n)))


def test_module_scope_layer(compiled_layer):
    fast, layer = compiled_layer
    for rows in (2, 3, 4):
        same(fast(torch.ones(rows, 3)), layer(torch.ones(rows, 3)))


def test_module_scope_layer_without_gradients(compiled_layer):
    fast, layer = compiled_layer
    with torch.no_grad():
        for rows in (4, 5, 6):
            same(fast(torch.ones(rows, 3)), layer(torch.ones(rows, 3)))


@pytest.mark.parametrize("size", [5, 6])
def test_parametrised_module_scope(module_crop, numbers, size):
    for n in numbers:
        x = torch.arange(float(size))
        same(module_crop(x, n), x[n:] * n)


def test_compiled_while_set_up(called_once_while_set_up):
    fast, first = called_once_while_set_up
    same(first, torch.full((3,), -6.0))
    for n in (7, 8, 9):
        same(fast(torch.ones(3), n), torch.full((3,), 1.0 - n))


def test_default_dtype(double_by_default, numbers):
    fast = torch.compile(lambda n: torch.ones(2) * n, backend="eager")
    for n in numbers:
        same(fast(n), torch.full((2,), float(n), dtype=torch.float64))


def test_log_is_written(log):
    def step(x, n, lines):
        lines.append(n)
        return x + len(lines)

    fast = torch.compile(step, backend="eager")
    for count, n in enumerate((2, 3, 4), 1):
        same(fast(torch.zeros(2), n, log), torch.full((2,), float(count)))
    assert log == [2, 3, 4]


def test_temporary_file(tmp_path, numbers):
    fast = torch.compile(lambda x, n: x * n, backend="eager")
    for n in numbers:
        torch.save(fast(torch.ones(2), n), tmp_path / f"{n}.pt")
        same(torch.load(tmp_path / f"{n}.pt"), torch.full((2,), float(n)))


def test_environment(monkeypatch, numbers):
    fast = torch.compile(lambda x, n: x * n, backend="eager")
    for n in numbers:
        monkeypatch.setenv("SUITE_FACTOR", str(n))
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(sys, "dont_write_bytecode", True)
            same(fast(torch.ones(2), n), torch.full((2,), float(n)))


def test_without_torch(numbers, log):
    log.extend(numbers)
    assert sum(log) == 9


class TestClassScope:
    @pytest.fixture(scope="class")
    @staticmethod
    def accumulator():
        total = torch.zeros(2)
        return torch.compile(lambda n: total.add_(n), backend="eager"), total

    @pytest.fixture(autouse=True)
    def zeroed(self, accumulator):
        accumulator[1].zero_()

    @pytest.mark.parametrize("start", [2, 5, -3])
    def test_running_total(self, accumulator, start):
        fast, _total = accumulator
        expected = 0
        for n in (start, start + 1, start + 2):
            expected += n
            same(fast(n).clone(), torch.full((2,), float(expected)))


@pytest.mark.skipif(sys.platform != "win32", reason="path separators of Windows only")
def test_platform_specific():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.zeros(1)).item() == 1


@pytest.mark.skip(reason="needs an accelerator")
def test_device_specific():
    assert torch.compile(lambda x: x + 1)(torch.zeros(1, device="cuda")).item() == 1


@pytest.mark.xfail(strict=True, reason="a number that varies is a float in max() with a float (torch 2.13)")
def test_largest_of_int_and_float_keeps_integers():
    fast = torch.compile(lambda x, n: x * max(n, 2.5), backend="eager")
    for n in (4, 5, 7):
        assert fast(torch.arange(4), n).dtype == torch.int64


@pytest.mark.xfail(raises=RuntimeError, reason="a dimension marked dynamic must not be burned in")
def test_marked_dimension_is_compared():
    x = torch.ones(4)
    torch._dynamo.mark_dynamic(x, 0)
    fast = torch.compile(lambda x: x + 1 if x.shape[0] == 4 else x, backend="eager")
    same(fast(x), torch.full((4,), 2.0))
