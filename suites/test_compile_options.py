"""The ways to ask for compilation: options, marks, decorators, methods, modules, backends."""

import functools

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from .support import agree, same

X = torch.arange(6, dtype=torch.float32)


class Scaler:
    def __init__(self, base):
        self.base = base

    @torch.compile(backend="eager")
    def scale(self, x, n):
        return x * n + self.base

    @staticmethod
    @torch.compile(backend="eager")
    def shift(x, n):
        return x + n

    @classmethod
    def named(cls, x, n):
        return x * n - len(cls.__name__)

    def __call__(self, x, n):
        return x[n:] + self.base


class Repeat(torch.nn.Module):
    def forward(self, x, n):
        return x.repeat(n) + n


def crop(x, n):
    return x[:n] * n


def reversed_nodes_backend(graph_module, _example_inputs):
    """A backend of one's own: it runs the graph node by node."""
    return torch.fx.Interpreter(graph_module).run


@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("fullgraph", [True, False])
def test_options(dynamic, fullgraph):
    agree(crop, *((X, n) for n in (2, 3, 4)), dynamic=dynamic, fullgraph=fullgraph)


def test_same_function_with_two_options():
    static = torch.compile(crop, backend="eager", dynamic=False)
    dynamic = torch.compile(crop, backend="eager", dynamic=True)
    for n in (2, 3, 4):
        same(static(X, n), crop(X, n))
        same(dynamic(X, n), crop(X, n))


@pytest.mark.parametrize("mark", [torch._dynamo.mark_dynamic, torch._dynamo.maybe_mark_dynamic, torch._dynamo.mark_static])
def test_marked_dimension(mark):
    def step(x, n):
        return x * n + x.shape[0]

    fast = torch.compile(step, backend="eager")
    for size, n in ((3, 2), (4, 3), (5, 4)):
        x = torch.ones(size, 2)
        mark(x, 0)
        same(fast(x, n), step(x, n))


def test_marked_static_while_the_number_varies():
    def step(x, n):
        return (x + 1) * n + x.shape[0]

    fast = torch.compile(step, backend="aot_eager")
    for n in (2, 3, 4, 5):
        x = torch.ones(4)
        torch._dynamo.mark_static(x, 0)
        same(fast(x, n), step(x, n))


def test_marked_with_bounds():
    fast = torch.compile(lambda x: x.sum() / x.shape[0], backend="eager")
    for size in (4, 6, 8):
        x = torch.ones(size)
        torch._dynamo.mark_dynamic(x, 0, min=2, max=16)
        same(fast(x), torch.tensor(1.0))


def test_decorated_method():
    for base in (2, 3):
        scaler = Scaler(base)
        for n in (2, 3, 4):
            same(scaler.scale(X, n), X * n + base)


def test_decorated_static_method():
    for n in (2, 3, 4):
        same(Scaler.shift(X, n), X + n)


def test_class_method_compiled():
    fast = torch.compile(Scaler.named, backend="eager")
    for n in (2, 3, 4):
        same(fast(X, n), Scaler.named(X, n))


def test_callable_object():
    scaler = Scaler(5)
    fast = torch.compile(scaler.__call__, backend="aot_eager")
    for n in (1, 2, 3):
        same(fast(X, n), scaler(X, n))


def test_decorated_class():
    @torch.compile(backend="eager")
    class Wrapped:
        def __init__(self, n):
            self.x = X * n

    for n in (2, 3, 4):
        same(Wrapped(n).x, X * n)


def test_wrapped_by_a_decorator():
    def twice(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * 2

        return wrapper

    agree(twice(crop), *((X, n) for n in (2, 3, 4)))


def test_module_compile_method():
    module, plain = Repeat(), Repeat()
    module.compile(backend="eager")
    for n in (2, 3, 4):
        same(module(X, n), plain(X, n))


def test_module_wrapped():
    plain = Repeat()
    fast = torch.compile(plain, backend="aot_eager")
    for n in (2, 3, 4):
        same(fast(X, n), plain(X, n))
    assert fast.training is plain.training


def test_forward_replaced():
    module, plain = Repeat(), Repeat()
    module.forward = torch.compile(module.forward, backend="eager")
    for n in (2, 3, 4):
        same(module(X, n), plain(X, n))


def test_older_entry_point():
    fast = torch._dynamo.optimize("eager")(crop)
    for n in (2, 3, 4):
        same(fast(X, n), crop(X, n))


def test_backend_function():
    agree(crop, *((X, n) for n in (2, 3, 4)), backend=reversed_nodes_backend)


def test_backend_sees_a_placeholder_for_each_tensor():
    seen = []

    def backend(graph_module, example_inputs):
        seen.append(sum(isinstance(value, torch.Tensor) for value in example_inputs))
        return graph_module.forward

    fast = torch.compile(lambda x, y, n: x * y + n, backend=backend)
    for n in (2, 3, 4):
        same(fast(X, X + 1, n), X * (X + 1) + n)
    assert set(seen) == {2}


def test_same_number_compiles_once():
    counter = CompileCounter()
    fast = torch.compile(crop, backend=counter)
    for _ in range(3):
        same(fast(X, 3), crop(X, 3))
    assert counter.frame_count == 1


def test_a_varying_number_compiles_twice():
    counter = CompileCounter()
    fast = torch.compile(lambda x, n: x * n, backend=counter)
    for n in (2, 3, 4, 5):
        same(fast(X, n), X * n)
    assert counter.frame_count == 2


def test_a_varying_float_array_compiles_once():
    counter = CompileCounter()
    fast = torch.compile(lambda x, f: x * f, backend=counter)
    for f in (2.5, 3.5, 4.5):
        same(fast(X, torch.tensor(f)), X * torch.tensor(f))
    assert counter.frame_count == 1


def test_a_break_makes_two_graphs():
    def step(x, n):
        x = x * n
        torch._dynamo.graph_break()
        return x + n

    counter = CompileCounter()
    fast = torch.compile(step, backend=counter)
    same(fast(X, 3), X * 3 + 3)
    assert counter.frame_count == 2


def test_more_values_than_the_recompile_limit():
    def step(x, n):
        return x * [1.0, 2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0][n]

    agree(step, *((X, n) for n in range(11)))


def test_patched_setting():
    with torch._dynamo.config.patch(specialize_int=True):
        agree(crop, *((X, n) for n in (2, 3, 4)))


def test_stance_without_compilation():
    fast = torch.compile(crop, backend="eager")
    with torch.compiler.set_stance("force_eager"):
        for n in (2, 3, 4):
            same(fast(X, n), crop(X, n))
            assert not torch.compiler.is_compiling()


def test_is_compiling_decides():
    fast = torch.compile(lambda x, n: x * n if torch.compiler.is_compiling() else x - n, backend="eager")
    for n in (2, 3, 4):
        same(fast(X, n), X * n)
