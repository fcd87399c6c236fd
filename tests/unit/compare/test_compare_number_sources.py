"""What kind of source a number has."""

from __future__ import annotations

import pytest

from testmatrix.compare.numbers.sources import converted, is_users, kind_of, kind_of_size, module_of, names_in
from testmatrix.observation import Leaf

LEAVES = {
    leaf.path: leaf
    for leaf in (
        Leaf(path="L['n']", type="int", value="5"),
        Leaf(path="L['items']", type="list", value="len=1"),
        Leaf(path="L['items'][0]", type="int", value="5"),
        Leaf(path="L['pair']", type="tuple", value="len=1"),
        Leaf(path="L['table']", type="dict", value="len=1"),
        Leaf(path="L['size']", type="torch.Size", value="len=1"),
        Leaf(path="L['step']", type="functools.partial"),
        Leaf(path="L['record']", type="mymod.Record", value="len=1"),
        Leaf(path="L['holder']", type="mymod.Holder"),
        Leaf(path="L['self']", type="mymod.Net"),
        Leaf(path="L['self'].training", type="bool", value="True"),
        Leaf(path="L['scalar']", type="numpy.int64", value="5"),
        Leaf(path="L['dynamic']", type="torch.fx.experimental.sym_node.DynamicInt", value="5"),
        Leaf(path="L['derived']", type="mymod.Count", value="5"),
        Leaf(path="L['level']", type="mymod.Level", value="Level.LOW"),
    )
}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("L['n']", "argument"),
        ("L['free']", "closure"),
        ("L['f'].__closure__[0].cell_contents", "closure"),
        ("L['items'][0]", "list value"),
        ("L['pair'][0]", "tuple value"),
        ("L['table']['n']", "dict value"),
        ("L['size'][0]", "torch.Size"),
        ("L['step'].keywords['n']", "partial"),
        ("L['record'].n", "dataclass field"),
        ("L['holder'].n", "object field"),
        ("L['self'].n", "module attribute"),
        ("L['self'].stages[2]", "module attribute"),
        ("L['self']._modules['inner'].n", "module attribute"),
        ("L['other'].n", "module attribute"),
        ("G['TICK']", "global"),
        ("G['SETTINGS'].width", "global"),
        ("G['f'].__defaults__[0]", "default argument"),
        ("L['f'].__kwdefaults__['n']", "default argument"),
        ("list(dict.keys(L['table']))", "dict key"),
        ("dict(type(L['holder']).__dict__)['step']", "class attribute"),
        ("___from_numpy(L['scalar']).item()", "numpy scalar"),
        ("L['scalar']", "numpy scalar"),
        ("int(L['dynamic'])", "DynamicInt"),
        ("L['level']", "enum member"),
        ("L['derived']", "number of a subclass"),
        ("L['___stack1']", "local after a graph break"),
    ],
)
def test_kinds(source: str, kind: str) -> None:
    assert kind_of(source, LEAVES, modules={"L['other']"}) == kind


def test_an_unknown_local_of_a_resumed_frame_is_no_closure() -> None:
    assert kind_of("L['y']", LEAVES, resumed=True) == "local after a graph break"
    assert kind_of("L['n']", LEAVES, resumed=True) == "argument"


@pytest.mark.parametrize(
    ("source", "tensor_type", "kind"),
    [
        ("L['x'].size()[0]", "Tensor", "size of a tensor"),
        ("L['x'].size()[0]", "Parameter", "size of a Parameter"),
        ("L['self']._parameters['w'].size()[0]", "", "size of a Parameter"),
        ("L['self']._buffers['mean'].size()[0]", "Tensor", "size of a buffer"),
        ("G['X'].size()[0]", "Tensor", "size of a global tensor"),
    ],
)
def test_kinds_of_sizes(source: str, tensor_type: str, kind: str) -> None:
    assert kind_of_size(source, {source.partition(".size()")[0]: tensor_type}) == kind


@pytest.mark.parametrize(
    ("source", "inner"),
    [
        ("int(L['n'])", "L['n']"),
        ("___from_numpy(L['s'][1]).item()", "L['s'][1]"),
        ("L['n']", "L['n']"),
        ("list(dict.keys(L['table']))", "list(dict.keys(L['table']))"),
    ],
)
def test_what_was_converted(source: str, inner: str) -> None:
    assert converted(source) == inner


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("L['fn'].training", "L['fn']"),
        ("L['self']._modules['a']._parameters", "L['self']._modules['a']"),
        ("L['self'].__dict__['_buffers']", "L['self']"),
        ("L['d']['training']", ""),
        ("L['n']", ""),
    ],
)
def test_what_only_modules_have(source: str, module: str) -> None:
    assert module_of(source) == module


def test_names_by_which_a_line_may_call_a_source() -> None:
    assert names_in("L['self'].calls") == ("calls", "self")
    assert names_in("L['x'].size()[0]") == ("x",)
    assert names_in("L['n']") == ("n",)


@pytest.mark.parametrize(
    ("source", "users"),
    [
        ("L['n']", True),
        ("L['x'].size()[0]", True),
        ("___from_numpy(L['s']).item()", True),
        ("L['t'].item()", False),
        ("L['bn']._buffers['num_batches_tracked'].item()", False),
        ("L['x'].stride()[0]", False),
        ("G['torch'].float32", False),
    ],
)
def test_numbers_of_the_users(source: str, users: bool) -> None:
    assert is_users(source) is users
