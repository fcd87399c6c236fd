"""What is too deep, too long or not a container is not passed over in silence."""

import enum
import pathlib

import pytest
import torch

from testmatrix.torch_adapter.leaves import Budget, LeafReader


def read(root, **options):
    return {leaf.path: leaf for leaf in LeafReader(Budget(1 << 20)).read(root, "r", **options)}


def rest(root):
    return read(root)["r.…"].value


def nested(inner, depth=12):
    for _ in range(depth):
        inner = [inner]
    return inner


def test_long_lists():
    one, other = list(range(5000)), [i + (i == 4321) for i in range(5000)]
    assert rest(one) == rest(list(range(5000)))
    assert rest(one) != rest(other)
    assert rest(one).startswith("3001 more, sha=")


def test_endless_lists_end():
    assert rest([0] * 1_000_000).startswith("8001 more")


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 2), (True, 1), ("a", "b"), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (torch.tensor([1]), torch.tensor([2])), (1, 1.0)],
)
def test_deep_structures(one, other):
    assert rest(nested(one)) != rest(nested(other))


@pytest.mark.parametrize(("one", "other"), [(1.0, 1.0000001), (torch.ones(2), torch.ones(2) + 1e-7)])
def test_rounding_is_no_part_of_the_rest(one, other):
    assert rest(nested(one)) == rest(nested(other))


def test_recursive_structures_end():
    loop = []
    loop.append(loop)
    assert "r.…" not in read(loop)
    assert rest(nested(loop))


def test_nothing_is_left_out_of_what_is_small():
    assert set(read([1, [2]])) == {"r", "r[0]", "r[1]", "r[1][0]"}


def test_order_of_keys():
    assert read({"a": 1, "b": 2})["r"].value == "len=2 ['a', 'b']"
    assert read({"b": 2, "a": 1})["r"].value == "len=2 ['b', 'a']"
    assert len(read(dict.fromkeys(range(2000)))["r"].value) < 200


class Point:
    shared = [1]  # noqa: RUF012 - data of the class

    def __init__(self, x):
        self.x = x

    def method(self):
        raise AssertionError("called")

    @property
    def computed(self):
        raise AssertionError("asked")


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x


class Colour(enum.Enum):
    RED = 1


def test_plain_objects_of_the_suite():
    assert read(Point(3))["r.x"].value == "3"
    assert read([Slotted(torch.ones(2))])["r[0].x"].tensor.data is not None
    assert read(Point(Slotted(4)))["r.x.x"].value == "4"
    assert {"r.computed", "r.method"}.isdisjoint(read(Point(3)))


@pytest.mark.parametrize(
    "other", [pathlib.Path(), torch.nn.Linear(1, 1), Point, Colour, Colour.RED, test_order_of_keys, object()]
)
def test_other_objects_are_opaque(other):
    assert set(read(other)) == {"r"}


def test_gradients_are_no_part_of_a_result():
    x = torch.ones(1, requires_grad=True)
    x.grad = torch.ones(1)
    assert set(read(x)) == {"r"}
    assert set(read(x, attributes=True)) == {"r", "r.grad"}
