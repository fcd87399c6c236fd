"""Integers that reach a compiled function by longer ways than a plain argument."""

import collections
import dataclasses
import functools
import types

import pytest
import torch

from .support import agree, same

SETTINGS = types.SimpleNamespace(width=3)
TABLE = {"near": 2, "far": 9}
Step = collections.namedtuple("Step", ["size", "count"])


@dataclasses.dataclass
class Plan:
    rows: int
    columns: int = 4
    factors: list[int] = dataclasses.field(default_factory=lambda: [1, 2])


class Counter:
    step = 2

    def __init__(self, start):
        self.total = start

    @property
    def doubled(self):
        return self.total * 2

    def advance(self, x):
        self.total += self.step
        return x * self.total


@pytest.fixture
def x():
    return torch.arange(12, dtype=torch.float32).reshape(3, 4)


def test_keyword_argument(x):
    def shift(x, *, by):
        return x + by

    fast = torch.compile(shift, backend="eager")
    for by in (3, 4, 9):
        same(fast(x, by=by), shift(x, by=by))


def test_variadic_arguments(x):
    def total(x, *numbers, **named):
        return x * sum(numbers) + named["offset"]

    fast = torch.compile(total, backend="aot_eager")
    for numbers, offset in (((1, 2), 5), ((3, 4), 6), ((5, 6), 7), ((5, 6, 7), 8)):
        same(fast(x, *numbers, offset=offset), total(x, *numbers, offset=offset))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_nested_containers(x, backend):
    def combine(x, tree):
        return x * tree["outer"][0] + tree["outer"][1]["inner"][2]

    calls = [(x, {"outer": [n, {"inner": (0, 1, n + 3)}]}) for n in (2, 5, 6)]
    agree(combine, *calls, backend=backend)


def test_nested_list_returned_with_changes(x):
    def grow(x, rows):
        return x + rows[0][1], [[value + 1 for value in row] for row in rows]

    agree(grow, (x, [[1, 2], [3]]), (x, [[4, 5], [6]]), (x, [[7, 8], [9]]))


def test_named_tuple(x):
    agree(lambda x, step: x * step.size - step.count, (x, Step(2, 3)), (x, Step(4, 5)), (x, Step(6, 5)))


def test_dataclass_with_list(x):
    def weigh(x, plan):
        return x * plan.factors[1] + plan.rows - plan.columns

    agree(weigh, (x, Plan(3)), (x, Plan(4, 5)), (x, Plan(5, 6, [7, 8])))


def test_dataclass_field_assigned_inside(x):
    def count(x, plan):
        plan.rows = plan.rows + x.shape[0]
        return x * plan.rows

    fast = torch.compile(count, backend="eager")
    ours, theirs = Plan(2), Plan(2)
    for _ in range(4):
        same(fast(x, ours), count(x, theirs))
        assert ours == theirs


def test_property_and_class_attribute(x):
    def read(x, counter):
        return x + counter.doubled - counter.step

    agree(read, (x, Counter(2)), (x, Counter(3)), (x, Counter(11)))


def test_class_attribute_rebound(x, monkeypatch):
    def read(x):
        return x * Counter.step

    fast = torch.compile(read, backend="eager")
    for step in (2, 3, 7):
        monkeypatch.setattr(Counter, "step", step)
        same(fast(x), read(x))


def test_method_updates_its_object(x):
    ours, theirs = Counter(1), Counter(1)
    fast = torch.compile(ours.advance, backend="eager")
    for _ in range(4):
        same(fast(x), theirs.advance(x))
        assert ours.total == theirs.total


def test_namespace_global(x, monkeypatch):
    def read(x):
        return x * SETTINGS.width

    fast = torch.compile(read, backend="aot_eager")
    for width in (3, 4, 8):
        monkeypatch.setattr(SETTINGS, "width", width)
        same(fast(x), read(x))


def test_global_table(x, monkeypatch):
    def read(x, name):
        return x + TABLE[name]

    fast = torch.compile(read, backend="eager")
    for near in (2, 5, 6):
        monkeypatch.setitem(TABLE, "near", near)
        for name in ("near", "far"):
            same(fast(x, name), read(x, name))


def test_integer_dict_keys(x):
    def look_up(x, table, key):
        return x * table[key]

    table = {1: 10, 5: 50, -2: 20}
    agree(look_up, *((x, table, key) for key in (1, 5, -2)))


def test_missing_dict_key(x):
    def look_up(x, table, key):
        return x + table.get(key, -1)

    agree(look_up, *((x, {2: 20, 3: 30}, key) for key in (2, 4, 3, 7)))


def test_closure_over_two_levels(x):
    def outer(a):
        def middle(b):
            def inner(x):
                return x * a + b

            return inner

        return middle

    fast = [torch.compile(outer(a)(b), backend="eager") for a, b in ((2, 3), (3, 4), (4, 4))]
    for step, (a, b) in zip(fast, ((2, 3), (3, 4), (4, 4))):
        same(step(x), x * a + b)


def test_closure_cell_counts_calls(x):
    def make():
        calls = 0

        def step(x):
            nonlocal calls
            calls += 1
            return x + calls

        return step

    plain = make()
    fast = torch.compile(make(), backend="eager")
    for _ in range(4):
        same(fast(x), plain(x))


def test_partial_of_compiled(x):
    def shift(x, by, times):
        return x + by * times

    fast = torch.compile(shift, backend="eager")
    for by, times in ((2, 3), (3, 4), (5, 4)):
        same(functools.partial(fast, by=by)(x, times=times), shift(x, by, times))


def test_own_default_argument(x):
    def shift(x, by=4):
        return x + by

    agree(shift, (x,), (x, 5), (x, 6), (x,))


def test_size_passed_on_as_argument(x):
    def fill(x, size):
        return x.new_ones(size) * size[1]

    agree(fill, *((x, torch.ones(2, n).size()) for n in (3, 4, 5)))


def test_numbers_of_an_iterator(x):
    def total(x, numbers):
        for number in numbers:
            x = x + number
        return x

    fast = torch.compile(total, backend="eager")
    for start in (2, 3, 4):
        same(fast(x, iter([start, start + 1])), total(x, iter([start, start + 1])))


def test_bool_beside_int(x):
    def scale(x, flag, n):
        return x * n if flag else x - n

    agree(scale, (x, True, 2), (x, False, 3), (x, True, 4), (x, 1, 5), (x, 0, 6))


def test_bool_then_int_then_float(x):
    agree(lambda x, n: (x * n, n), (x, True), (x, 1), (x, 1.0), (x, 2), (x, False), (x, 0.5))


def test_two_equal_arguments_then_different(x):
    agree(lambda x, a, b: x * a + b, (x, 4, 4), (x, 5, 6), (x, 7, 7))


def test_argument_equal_to_a_size():
    def scale(x, n):
        return x * n + x.shape[0]

    agree(scale, (torch.ones(4), 4), (torch.ones(5), 6), (torch.ones(7), 7))


def test_none_or_int(x):
    def crop(x, stop):
        return x[:, :stop]

    agree(crop, (x, None), (x, 2), (x, 3), (x, None))


def test_set_membership(x):
    def choose(x, n, allowed):
        return x + n if n in allowed else x - n

    agree(choose, *((x, n, {3, 5}) for n in (3, 4, 5, 6)))
