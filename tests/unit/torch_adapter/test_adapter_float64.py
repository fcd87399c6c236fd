"""A region once more in float64, as the arbiter between results that differ."""

import functools

import pytest
import torch

from testmatrix.torch_adapter import float64
from testmatrix.torch_adapter.arguments import target_of
from testmatrix.torch_adapter.leaves import Budget


def run(function, *args, **kwargs):
    return float64.run(target_of(function), args, kwargs, Budget(1 << 20))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)


def test_result_is_wide():
    (leaf,) = run(lambda x: x / 3, torch.ones(2))
    assert leaf.tensor.dtype == "float64"
    assert leaf.tensor.data == (torch.ones(2, dtype=torch.float64) / 3).numpy().tobytes()


@pytest.mark.parametrize(
    ("tensor", "dtype"),
    [
        (torch.ones(2, dtype=torch.bfloat16), "float64"),
        (torch.ones(2, dtype=torch.complex64), "complex128"),
        (torch.ones(2, dtype=torch.int32), "int32"),
        (torch.nn.Parameter(torch.ones(2)), "float64"),
    ],
)
def test_floating_point_is_widened_only(tensor, dtype):
    assert run(lambda x: x * 2, tensor)[0].tensor.dtype == dtype


def test_module_is_widened_as_a_copy():
    net = Net()
    (leaf,) = run(net, torch.ones(1, 2))
    assert leaf.tensor.dtype == "float64"
    assert net.linear.weight.dtype == torch.float32


def test_partial_with_keywords():
    step = functools.partial(lambda x, by: x * by, by=torch.tensor(2.0))
    assert run(step, torch.ones(1))[0].tensor.dtype == "float64"


def test_containers():
    (_, first, second) = run(lambda pair, table: [pair[0], table["a"]], (torch.ones(1),), {"a": torch.ones(1)})
    assert {first.tensor.dtype, second.tensor.dtype} == {"float64"}


def test_arguments_are_not_touched():
    x, log = torch.zeros(2), []
    run(lambda x, log: log.append(x.add_(1)), x, log)
    assert x.sum() == 0
    assert log == []


def test_random_state_is_as_before():
    before = torch.get_rng_state()
    run(lambda x: x + torch.rand(2), torch.ones(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_code_that_cannot_be_run_so_gives_nothing():
    weight = torch.ones(2, 2)
    assert run(lambda x: x @ weight, torch.ones(2)) == ()
    assert run(torch.sin, torch.ones(2)) == ()


def test_recorded_beside_the_result(record):
    with record(oracle=True, float64=True) as recording:
        torch.compile(lambda x: x / 3, backend="eager")(torch.ones(2))
    (call,) = recording.regions
    assert call.result[0].tensor.dtype == "float32"
    assert call.float64[0].tensor.dtype == "float64"


def test_regions_inside_are_no_calls_of_the_suites(record):
    with record(oracle=True, float64=True) as recording:
        inner = torch.compile(lambda x: x + 1, backend="eager")
        torch.compile(lambda x: inner(x) * 2, backend="eager")(torch.ones(2))
    assert [call.depth for call in recording.regions] == [0, 1]


TICK = 0


def test_rebound_globals_and_closures_are_as_before():
    count = 0

    def tick(x):
        global TICK
        nonlocal count
        TICK += 1
        count += 1
        return x * TICK * count

    assert run(tick, torch.ones(2))[0].tensor is not None
    assert (TICK, count) == (0, 0)


def test_code_is_told_that_it_is_being_compiled():
    def f(x):
        return 2 if torch.compiler.is_compiling() else 3

    (leaf,) = float64.as_compiling(target_of(f), (torch.ones(2),), {}, Budget(100))
    assert leaf.value == "2"
    assert f(torch.ones(2)) == 3


LOG = []


def test_what_globals_hold_is_as_before():
    def logged(x):
        LOG.append(1)
        return x * len(LOG)

    assert run(logged, torch.ones(2))
    assert LOG == []


def test_code_that_does_not_ask_is_not_told():
    def f(x):
        LOG.append(1)
        return x * len(LOG)

    assert float64.as_compiling(target_of(f), (torch.ones(2),), {}, Budget(100)) == ()
