"""Tests that vary what the grid varies, and must not be reported."""

import functools

import pytest
import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounter


def agree(function, *calls, backend="eager", **options):
    fast = torch.compile(function, backend=backend, **options)
    for call in calls:
        torch.testing.assert_close(fast(*call), function(*call))


def test_changing_float_bound():
    def gate(x, limit):
        left, right = x.chunk(2, dim=-1)
        return F.relu(left).clamp(max=limit) + right.clamp(-limit, limit)

    x = torch.linspace(-4, 4, 24).reshape(3, 8)
    agree(gate, (x, 0.5), (x, 1.5), (x, 3.0))


def test_write_into_an_expanded_value():
    def last(x, n):
        row = x[0].expand(n).clone()
        row[-1] = 9
        return row

    agree(last, (torch.arange(3), 3), (torch.arange(3), 4), backend="aot_eager")


def test_gradient_through_a_norm():
    def slope(x):
        return torch.func.grad(lambda t: (F.layer_norm(t, t.shape[-1:]) ** 3).sum())(x)

    torch.manual_seed(3)
    agree(slope, (torch.randn(3, 5),), (torch.randn(3, 6),), backend="aot_eager")


def test_split_and_stacked():
    def stack(x, weight):
        return torch.stack([part.squeeze() for part in x.split(1)][:2]) * weight

    weight = torch.tensor(2.0, requires_grad=True)
    agree(stack, (torch.arange(3.0), weight), (torch.arange(4.0), weight), backend="aot_eager", fullgraph=True)


def test_dictionary_that_grows():
    def remember(memory, name, x):
        memory[name] = x + 1
        return memory[name] * 2

    fast = torch.compile(remember, backend="eager")
    memory = {}
    for number in range(4):
        torch.testing.assert_close(fast(memory, f"step {number}", torch.ones(3)), torch.full((3,), 4.0))
    assert list(memory) == [f"step {number}" for number in range(4)]


class Board(torch.nn.Module):
    def __init__(self, cells):
        super().__init__()
        self.cells = cells

    def forward(self, x):
        side = int(self.cells**0.5)
        return x * 2 if x.shape[-1] == side else x[..., :side] - 1


def test_root_of_a_table_length():
    board = Board(49)
    fast = torch.compile(board, backend="eager")
    for n in (7, 8, 9):
        torch.testing.assert_close(fast(torch.ones(2, n)), board(torch.ones(2, n)))


@functools.lru_cache(16)
def plan(rows, columns):
    return (columns, rows)


def test_cached_by_sizes():
    agree(lambda x: x.reshape(plan(*x.shape)) + 1, (torch.ones(2, 3),), (torch.ones(3, 5),), (torch.ones(4, 4),))


def test_ints_and_floats_in_a_list():
    def weigh(x, factors):
        return x * factors[0] - x * factors[1]

    agree(weigh, *((torch.ones(3), factors) for factors in ([3, 0.5], [4, 0.25], [5, 0.125])))


def test_scaled_second_operand():
    x = torch.arange(5, dtype=torch.int32)
    agree(lambda x, a: torch.sub(x, 3, alpha=a), (x, 2), (x, 5), backend="aot_eager")


def test_differences_of_neighbours():
    agree(lambda x: torch.diff(x).abs(), (torch.ones(2, 5),), (torch.ones(3, 5),), (torch.ones(3, 8),), backend="aot_eager")


def test_tensors_made_from_an_int():
    agree(lambda n: (torch.zeros(2) - n, torch.full((2,), n), torch.ones(n, 3)), (4,), (6,), backend="aot_eager")


class Cursor:
    def __init__(self):
        self.place = 0
        self.items = torch.linspace(0, 1, 8)

    def advance(self, gain):
        self.place += 1
        return self.items[self.place] * gain


def test_place_that_moves():
    one, other = Cursor(), Cursor()
    fast = torch.compile(one.advance, backend="eager")
    for _ in range(4):
        torch.testing.assert_close(fast(3), other.advance(3))


class Shift(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.amount = 0

    def forward(self, x):
        return x - self.amount


def test_attribute_between_calls():
    module = Shift()
    fast = torch.compile(module, backend="eager")
    for amount in (5, 7, 9):
        module.amount = amount
        torch.testing.assert_close(fast(torch.ones(2)), torch.ones(2) - amount)


def halve(x):
    return x / 2


def test_function_that_is_exchanged(monkeypatch):
    def shrink(x):
        return halve(x) - 1

    fast = torch.compile(shrink, backend="eager")
    torch.testing.assert_close(fast(torch.ones(2)), torch.full((2,), -0.5))
    monkeypatch.setitem(globals(), "halve", torch.sin)
    torch.testing.assert_close(fast(torch.ones(2)), torch.ones(2).sin() - 1)


class Meter:
    def __init__(self):
        self.total = 0


def test_total_of_sizes():
    def measure(meter, x):
        meter.total += x.shape[0]
        return x * meter.total

    one, other = Meter(), Meter()
    fast = torch.compile(measure, backend="eager")
    for n in (4, 5, 1, 6):
        torch.testing.assert_close(fast(one, torch.ones(n)), measure(other, torch.ones(n)))
    assert one.total == other.total


def test_cut_to_the_whole_length():
    def cut(table, x):
        return table.narrow(0, 0, x.shape[0]).clone()

    table = torch.arange(12.0).reshape(6, 2)
    calls = [(table, torch.zeros(n)) for n in (6, 5, 3)]
    agree(cut, *calls, backend="aot_eager", fullgraph=True)


class Switch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.on = True

    def forward(self, x):
        return x * 3 if self.on else x


def test_switch_between_calls():
    module = Switch()
    fast = torch.compile(module, backend="eager")
    for on in (True, False, 1, 0):
        module.on = on
        torch.testing.assert_close(fast(torch.ones(2)), module(torch.ones(2)))


def test_last_bits():
    def spread(x):
        return x.log_softmax(-1).exp()

    agree(spread, (torch.arange(24.0).reshape(4, 6),), backend="inductor")


class Levels(torch.nn.Module):
    def __init__(self, wanted):
        super().__init__()
        self.wanted = wanted

    def forward(self, x):
        return [x * level for level in range(8) if level in self.wanted or level == self.wanted[0]]


def test_member_of_a_list_of_ints():
    module = Levels([2, 5, 7])
    agree(module, (torch.ones(2),), (torch.ones(3),))


def test_random_numbers():
    def jitter(x, n):
        return x - torch.rand(n)

    fast = torch.compile(jitter)
    torch.manual_seed(1)
    out = fast(torch.ones(1), 33)
    assert out.shape == (33,)
    assert bool(((out > 0) & (out <= 1)).all())


def test_counted_compiles():
    counter = CompileCounter()
    fast = torch.compile(lambda x: x - 2, backend=counter)
    for n in (4, 5, 6):
        torch.testing.assert_close(fast(torch.ones(n)), torch.ones(n) - 2)
    assert counter.frame_count == 3


def test_pinned_to_static():
    agree(lambda x, n: x - n, *((torch.ones(n), n) for n in (4, 5, 6)), dynamic=False)


def test_row_that_does_not_exist():
    def row(x, k):
        return x[k] + 1

    fast = torch.compile(row, backend="eager")
    x = torch.arange(6.0).reshape(2, 3)
    for k in (0, 1):
        torch.testing.assert_close(fast(x, k), row(x, k))
    with pytest.raises(IndexError):
        fast(x, 5)


def test_zero_one_and_negative():
    def affine(x, n):
        return x - n * x.shape[0]

    agree(affine, *((torch.ones(size), n) for size, n in ((3, 4), (1, 1), (0, 0), (2, -2))), backend="aot_eager")
