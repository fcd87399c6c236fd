"""Functions that are compiled in pieces: breaks, disabled functions, nesting, recursion and generators."""

import contextlib
import unittest

import torch
from parameterized import parameterized

from .support import agree, same

X = torch.arange(4, dtype=torch.float32)


@torch._dynamo.disable
def plain_double(x, n):
    return x * 2 + n


@torch._dynamo.disable
def plain_number(n):
    return n * 2 + 1


@contextlib.contextmanager
def appended(log, n):
    log.append(n)
    try:
        yield n + 1
    finally:
        log.append(-n)


class Countdown:
    def __init__(self, start):
        self.start = start

    def __iter__(self):
        n = self.start
        while n > 0:
            yield n
            n -= 1


class TestBreaks(unittest.TestCase):
    def test_number_lives_across_a_break(self):
        def step(x, n):
            m = n * 2
            torch._dynamo.graph_break()
            return x * m + n

        agree(step, *((X, n) for n in (2, 3, 4)))

    def test_size_lives_across_a_break(self):
        def step(x):
            size = x.shape[0]
            y = x + 1
            torch._dynamo.graph_break()
            return y * size

        agree(step, *(torch.ones(size) for size in (2, 3, 4)), backend="aot_eager")

    def test_break_in_a_branch(self):
        def step(x, n):
            if n > 3:
                torch._dynamo.graph_break()
                return x - n
            return x + n

        agree(step, *((X, n) for n in (2, 4, 3, 5)))

    def test_break_in_a_loop(self):
        def step(x, n):
            for i in range(3):
                x = x + i * n
                torch._dynamo.graph_break()
            return x

        agree(step, *((X, n) for n in (2, 3, 4)))

    def test_break_in_a_called_function(self):
        def inner(x, n):
            y = x * n
            torch._dynamo.graph_break()
            return y + n

        agree(lambda x, n: inner(x, n) - inner(x, n + 1) * 2, *((X, n) for n in (2, 3, 4)))

    def test_break_inside_a_context_manager(self):
        def step(x, n):
            with torch.no_grad():
                y = x * n
                torch._dynamo.graph_break()
                return y + x

        agree(step, *((X.clone().requires_grad_(), n) for n in (2, 3, 4)))

    def test_break_inside_try(self):
        def step(x, n):
            try:
                y = x * n
                torch._dynamo.graph_break()
                return y + 10 // (n - 3)
            except ZeroDivisionError:
                return x

        agree(step, *((X, n) for n in (2, 3, 4, 5)))

    @parameterized.expand(["eager", "aot_eager"])
    def test_item_decides(self, backend):
        def step(x, n):
            if x.sum().item() > n:
                return x - n
            return x + n

        agree(step, *((X, n) for n in (2, 6, 5, 7)), backend=backend)

    def test_item_becomes_a_size(self):
        def step(x, n):
            length = int(x.max().item()) + n
            return torch.ones(length) * n

        agree(step, *((X, n) for n in (2, 3, 4)))

    def test_nonzero_then_size(self):
        agree(lambda x, n: x[x > n] * (x > n).sum().item(), *((X, n) for n in (0, 1, 2)))


class TestDisabled(unittest.TestCase):
    def test_tensor_result(self):
        agree(lambda x, n: plain_double(x * n, n) + 1, *((X, n) for n in (2, 3, 4)))

    def test_number_result(self):
        agree(lambda x, n: x * plain_number(n), *((X, n) for n in (2, 3, 4)))

    def test_disabled_method(self):
        class Scaler:
            @torch._dynamo.disable
            def prepare(self, n):
                return n + 1

            def run(self, x, n):
                return x * self.prepare(n)

        scaler = Scaler()
        fast = torch.compile(scaler.run, backend="eager")
        for n in (2, 3, 4):
            same(fast(X, n), scaler.run(X, n))

    def test_whole_function_disabled_later(self):
        fast = torch.compile(lambda x, n: x * n, backend="eager")
        for n in (2, 3, 4):
            same(torch.compiler.disable(fast)(X, n), fast(X, n))

    def test_allowed_in_graph(self):
        def step(x, n):
            return torch.compiler.allow_in_graph(torch.mul)(x, n)

        agree(step, *((X, n) for n in (2, 3, 4)))


class TestNested(unittest.TestCase):
    def test_compiled_calls_compiled(self):
        inner = torch.compile(lambda x, n: x * n, backend="eager")
        fast = torch.compile(lambda x, n: inner(x, n) + inner(x, n + 1), backend="eager")
        for n in (2, 3, 4):
            same(fast(X, n), X * n + X * (n + 1))

    def test_compiled_between_plain(self):
        inner = torch.compile(lambda x, n: x[:n] * n, backend="aot_eager")

        def outer(x, n, run):
            return run(x + n, n) - n

        for n in (1, 2, 3):
            same(outer(X, n, inner), outer(X, n, lambda x, n: x[:n] * n))

    def test_compiled_under_disabled_under_compiled(self):
        inner = torch.compile(lambda x, n: x + n, backend="eager")

        @torch._dynamo.disable
        def middle(x, n):
            return inner(x, n * 2)

        fast = torch.compile(lambda x, n: middle(x, n) * n, backend="eager")
        for n in (2, 3, 4):
            same(fast(X, n), (X + n * 2) * n)

    def test_recursion(self):
        def power(x, n):
            if n <= 1:
                return x
            return x * power(x, n - 1)

        agree(power, *((X, n) for n in (1, 2, 4, 3)))

    def test_mutual_recursion(self):
        def even(x, n):
            return x if n == 0 else odd(x + n, n - 1)

        def odd(x, n):
            return -x if n == 0 else even(x * 2, n - 1)

        agree(even, *((X, n) for n in (2, 3, 4)))


class TestGenerators(unittest.TestCase):
    def test_generator_inside(self):
        def steps(x, n):
            for i in range(3):
                yield x * (i + n)

        agree(lambda x, n: sum(steps(x, n)), *((X, n) for n in (2, 3, 4)))

    def test_generator_delegates(self):
        def first(n):
            yield n
            yield n + 1

        def second(n):
            yield from first(n)
            yield n * 10

        agree(lambda x, n: [x * i for i in second(n)], *((X, n) for n in (2, 3, 4)))

    def test_iterable_object(self):
        def step(x, countdown):
            for n in countdown:
                x = x + n
            return x

        agree(step, *((X, Countdown(n)) for n in (2, 3, 4)))

    def test_zip_map_filter(self):
        def step(x, numbers):
            for a, b in zip(numbers, map(lambda n: n * 2, numbers)):
                x = x + a * b
            return x + sum(filter(lambda n: n > 3, numbers))

        agree(step, (X, [2, 3]), (X, [3, 4]), (X, [5, 6]), backend="aot_eager")


class TestContextManagers(unittest.TestCase):
    def test_own_context_manager(self):
        def step(x, n, log):
            with appended(log, n) as m:
                return x * m

        agree(step, *((X, n, []) for n in (2, 3, 4)))

    def test_exit_stack(self):
        def step(x, n, log):
            with contextlib.ExitStack() as stack:
                total = sum(stack.enter_context(appended(log, n + i)) for i in range(2))
            return x * total

        agree(step, *((X, n, []) for n in (2, 3, 4)))

    def test_suppressed_error(self):
        def step(x, n):
            with contextlib.suppress(ValueError):
                if n > 3:
                    raise ValueError
                return x + n
            return x - n

        agree(step, *((X, n) for n in (2, 4, 3, 5)))

    def test_default_dtype_and_autocast(self):
        def step(x, n):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (x.view(2, 2) @ x.view(2, 2)) * n

        agree(step, *((X, n) for n in (2, 3, 4)))
