"""Nested Python values as flat leaves, whatever the suite's own classes do."""

import collections
import dataclasses
import enum
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.torch_adapter.leaves import Budget, LeafReader, scalar_text


def read(root, name="r", **options):
    return {leaf.path: leaf for leaf in LeafReader(Budget(1 << 20)).read(root, name, **options)}


def texts(root, **options):
    return {path: leaf.value for path, leaf in read(root, **options).items()}


class Pair(NamedTuple):
    left: int
    right: str


@dataclasses.dataclass
class Record:
    number: int
    more: list


@dataclasses.dataclass(slots=True)
class Slotted:
    number: int = 3


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 5


class Text(str):
    pass


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ([1, "a"], {"r": "len=2", "r[0]": "1", "r[1]": "'a'"}),
        ((1.5,), {"r": "len=1", "r[0]": "1.5"}),
        ({"a": None, 2: True}, {"r": "len=2 ['a', 2]", "r['a']": "None", "r[2]": "True"}),
        (collections.OrderedDict(b=1, a=2), {"r": "len=2 ['b', 'a']", "r['b']": "1", "r['a']": "2"}),
        (collections.defaultdict(int, x=1), {"r": "len=1", "r['x']": "1"}),
        (types.MappingProxyType({"k": 1}), {"r": "len=1", "r['k']": "1"}),
        (collections.deque([7]), {"r": "len=1", "r[0]": "7"}),
        ({3, 1}, {"r": "len=2", "r{0}": "'1'", "r{1}": "'3'"}),
        (Pair(1, "x"), {"r": "len=2", "r.left": "1", "r.right": "'x'"}),
        (Record(1, [2]), {"r": "len=2", "r.number": "1", "r.more": "len=1", "r.more[0]": "2"}),
        (Slotted(), {"r": "len=1", "r.number": "3"}),
        (torch.Size([2, 3]), {"r": "len=2", "r[0]": "2", "r[1]": "3"}),
        (range(1, 9, 2), {"r": "len=3", "r.start": "1", "r.stop": "9", "r.step": "2"}),
        (slice(None, 4), {"r": "len=3", "r.start": "None", "r.stop": "4", "r.step": "None"}),
        (torch.float32, {"r": "torch.float32"}),
        (Colour.RED, {"r": "Colour.RED"}),
        (Level.LOW, {"r": "Level.LOW"}),
        (1 + 2j, {"r": "(1+2j)"}),
        (..., {"r": "Ellipsis"}),
    ],
)
def test_containers_and_scalars(root, expected):
    assert texts(root) == expected


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        (True, "bool"),
        (1, "int"),
        (np.float64(1.5), "numpy.float64"),
        (np.int64(3), "numpy.int64"),
        (torch.Size([]), "torch.Size"),
        (Pair(1, ""), "test_adapter_leaves.Pair"),
        (Text("a"), "test_adapter_leaves.Text"),
        (object(), "object"),
        (len, "builtin_function_or_method"),
    ],
)
def test_types_are_kept_apart(root, kind):
    assert read(root)["r"].type.endswith(kind)


def test_numpy_scalars_read_like_python_ones():
    assert texts([np.float64(1.5), np.int8(3), np.bool_(True)]) == {"r": "len=3", "r[0]": "1.5", "r[1]": "3", "r[2]": "True"}


def test_numpy_array():
    leaf = read(np.arange(6, dtype=np.int16).reshape(2, 3).T)["r"]
    assert leaf.tensor.dtype == "int16"
    assert (leaf.tensor.shape, leaf.tensor.stride) == ((3, 2), (1, 3))
    assert leaf.tensor.data == np.arange(6, dtype=np.int16).reshape(2, 3).T.tobytes()


class Array(np.ndarray):
    def tobytes(self, *args):
        raise AssertionError("the suite's code was run")


def test_array_of_a_subclass_is_read_as_one():
    assert read(np.arange(3).view(Array))["r"].tensor.shape == (3,)


def test_object_array_has_its_shape_only():
    assert texts(np.array([object(), "a"], dtype=object)) == {"r": "object[2]"}


def test_recursion_ends():
    loop: list[Any] = [1]
    loop.append(loop)
    assert texts(loop)["r[1]"] == "(recursive)"


def test_what_is_met_twice_is_no_recursion():
    shared = [1]
    assert texts([shared, shared])["r[1][0]"] == "1"


def test_depth_is_limited():
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    assert len(read(nested)) < 12


@pytest.mark.parametrize("huge", [[0] * 300_000, dict.fromkeys(range(300_000)), set(range(3000)), (0,) * 300_000])
def test_huge_container_has_its_length_and_a_start(huge):
    leaves = read(huge)
    assert len(leaves) <= 2002
    assert leaves["r"].value.split(" ")[0] == f"len={len(huge)}"


def test_opaque_keys_do_not_hide_each_other():
    assert len(texts({object(): 1, object(): 2})) == 3


def test_long_text_is_told_apart():
    one, other = scalar_text("a" * 5000 + "b"), scalar_text("a" * 5000 + "c")
    assert one != other
    assert len(one) < 200


def test_int_with_too_many_digits_for_decimal():
    assert scalar_text(10**6000) != scalar_text(10**6000 + 1)


class Plain:
    def __init__(self):
        self.number, self._items = 1, [2]


class Slots:
    __slots__ = ("never", "number")

    def __init__(self):
        self.number = 7


def test_attributes_are_followed_where_asked():
    assert texts(Plain(), objects=False) == {"r": ""}
    assert texts(Plain(), attributes=True) == {"r": "", "r._items": "len=1", "r._items[0]": "2", "r.number": "1"}


def test_slots_are_attributes():
    assert texts(Slots(), attributes=True) == {"r": "", "r.never": "None", "r.number": "7"}


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.BatchNorm1d(2)
        self.calls, self.history = 3, [1]


def test_module_state_is_parameters_buffers_and_plain_attributes():
    paths = set(read(Counting(), attributes=True))
    assert {"r.layer.running_mean", "r.calls", "r.history[0]", "r.training", "r.layer.eps", "r.layer.weight"} <= paths


class Hostile:
    """Whatever is asked of it, it takes note and raises."""

    asked: list[str] = []  # noqa: RUF012 - shared on purpose

    def __getattribute__(self, name):
        Hostile.asked.append(name)
        raise RuntimeError(name)

    def __repr__(self):
        Hostile.asked.append("repr")
        raise RuntimeError("repr")

    def __eq__(self, other):
        Hostile.asked.append("eq")
        raise RuntimeError("eq")

    def __hash__(self):
        return 1

    def __len__(self):
        Hostile.asked.append("len")
        raise RuntimeError("len")

    __iter__ = __bool__ = __len__


class HostileList(Hostile, list):
    pass


class HostileDict(Hostile, dict):
    items = keys = values = Hostile.__len__


class HostileInt(Hostile, int):
    pass


class HostileText(Hostile, str):
    __hash__ = str.__hash__


class HostileTuple(Hostile, tuple):
    pass


class HostileSet(Hostile, set):
    pass


@pytest.mark.parametrize(
    ("root", "value"),
    [
        (Hostile(), ""),
        (HostileList([1]), "len=1"),
        (HostileDict(a=1), "len=1"),
        (HostileInt(5), "5"),
        (HostileText("a"), "'a'"),
        (HostileTuple((1, 2)), "len=2"),
        (HostileSet((1,)), "len=1"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("wrap", [lambda root: root, lambda root: [root], lambda root: types.SimpleNamespace(x=root)])
def test_no_code_of_the_suites_is_run(root, value, wrap):
    Hostile.asked.clear()
    leaves = LeafReader(Budget(100)).read(wrap(root), "r", attributes=True)
    assert value in [leaf.value for leaf in leaves]
    assert Hostile.asked == []


@dataclasses.dataclass
class Lazy:
    number: int

    @property
    def computed(self):
        raise RuntimeError("run")

    def __getattr__(self, name):
        raise RuntimeError(name)


def test_dataclass_is_read_as_stored():
    broken = Lazy(3)
    del broken.number
    assert texts([Lazy(3), broken]) == {"r": "len=2", "r[0]": "len=1", "r[0].number": "3", "r[1]": "len=1", "r[1].number": "None"}


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=30,
)


@given(nested)
def test_reading_is_deterministic(root):
    assert LeafReader(Budget(100)).read(root, "r") == LeafReader(Budget(100)).read(root, "r")


@given(nested)
def test_paths_are_unique_and_parents_come_first(root):
    paths = [leaf.path for leaf in LeafReader(Budget(100)).read(root, "r")]
    assert len(set(paths)) == len(paths)
    assert paths[0] == "r"


@given(st.lists(st.integers() | st.text(), unique=True), st.randoms())
def test_order_of_a_set_does_not_matter(members, random):
    shuffled = list(members)
    random.shuffle(shuffled)
    assert texts(set(members)) == texts(set(shuffled))
