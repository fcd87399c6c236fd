"""What a test changed in place is put back in place."""

import collections

import numpy as np
import pytest
import torch

from testmatrix.torch_adapter import contents
from testmatrix.torch_adapter.contents import Contents


def kept(*roots):
    found = Contents(frozenset({__name__}))
    found.add(roots)
    return found.kept


class Thing:
    def __init__(self):
        self.number, self.items = 1, [1, 2]


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (lambda: [1, 2], lambda value: value.append(3)),
        (lambda: {"a": 1}, lambda value: value.update(b=2)),
        (lambda: {1, 2}, lambda value: value.discard(1)),
        (lambda: collections.deque([1]), lambda value: value.append(2)),
        (lambda: collections.Counter("ab"), lambda value: value.update("b")),
        (lambda: bytearray(b"ab"), lambda value: value.extend(b"c")),
        (lambda: [[1], (2, [3])], lambda value: value[1][1].append(4)),
    ],
)
def test_containers(make, change):
    value = make()
    before = kept(value)
    change(value)
    assert value != make()
    assert contents.differing(before)
    contents.put_back(before)
    assert value == make()
    assert contents.differing(before) == []


@pytest.mark.parametrize(
    "change",
    [lambda x: x.add_(1), lambda x: x.data.mul_(3), lambda x: x.requires_grad_(), lambda x: x.t_(), lambda x: x.resize_(1)],
    ids=["add", "data", "grad", "transpose", "resize"],
)
def test_tensors(change):
    x = torch.arange(6.0).reshape(2, 3)
    before = kept(x)
    change(x)
    contents.put_back(before)
    assert torch.equal(x, torch.arange(6.0).reshape(2, 3))
    assert not x.requires_grad


def test_view_stays_a_view():
    base = torch.zeros(4)
    view = base[1:3]
    before = kept({"base": base, "view": view})
    view.fill_(5)
    contents.put_back(before)
    assert base.sum() == 0
    base[1] = 7
    assert view[0] == 7


def test_gradient_is_put_back():
    x = torch.ones(2, requires_grad=True)
    before = kept(x)
    (x * 2).sum().backward()
    contents.put_back(before)
    assert x.grad is None


def test_array():
    array = np.arange(3)
    before = kept(array)
    array[0] = 9
    contents.put_back(before)
    assert array.tolist() == [0, 1, 2]


def test_objects_of_the_suite_and_what_they_hold():
    thing = Thing()
    before = kept(thing)
    thing.number = 2
    thing.items.append(3)
    thing.more = True
    contents.put_back(before)
    assert vars(thing) == {"number": 1, "items": [1, 2]}


def test_objects_of_others_are_left_alone():
    namespace = collections.UserDict(a=1)
    assert kept(namespace) == []


def test_closure_and_function_attributes():
    count = 0

    def step():
        nonlocal count
        count += 1
        step.calls = count

    before = kept(step)
    step()
    contents.put_back(before)
    assert count == 0
    assert not hasattr(step, "calls")


def test_module_buffers_and_parameters():
    net = torch.nn.BatchNorm1d(2)
    before = kept(net)
    net(torch.randn(4, 2))
    net.eval()
    contents.put_back(before)
    assert net.num_batches_tracked == 0
    assert net.training


def test_same_object_stays_the_same_object():
    inner = [1]
    outer = [inner]
    before = kept(outer)
    outer[0] = [2]
    contents.put_back(before)
    assert outer[0] is inner


def test_recursion_ends():
    loop = []
    loop.append(loop)
    assert len(kept(loop)) == 1


def test_what_cannot_be_put_back_does_no_harm():
    array = np.arange(3)
    before = kept(array)
    array[0] = 9
    array.flags.writeable = False
    contents.put_back(before)
    assert array[0] == 9


def test_new_and_rebound_names():
    class Owner:
        number, gone = 1, 2

    before = [contents.names(Owner)]
    Owner.number, Owner.added = 5, 6
    del Owner.gone
    contents.put_back(before)
    assert (Owner.number, Owner.gone, hasattr(Owner, "added")) == (1, 2, False)


def function(values=(), *, flag=False):
    return values, flag


def test_defaults_and_exchanged_attributes():
    thing, inner = Thing(), vars(Thing())
    before = kept(thing, function)
    thing.__dict__ = inner
    function.__defaults__, function.__kwdefaults__ = ((1,),), {"flag": True}
    contents.put_back(before)
    assert vars(thing) is not inner
    assert function() == ((), False)


def test_one_name_that_cannot_be_put_back_does_not_keep_the_others_from_it():
    class Refusing(type):
        def __setattr__(cls, name, value):
            if name == "first":
                raise AttributeError(name)
            super().__setattr__(name, value)

    class Owner(metaclass=Refusing):
        first, second = 1, 2

    before = [contents.names(Owner)]
    type.__setattr__(Owner, "first", 3)
    Owner.second = Owner.third = 4
    contents.put_back(before)
    assert (Owner.first, Owner.second, hasattr(Owner, "third")) == (3, 2, False)


@pytest.mark.parametrize(
    "change",
    [
        lambda thing, array, tensor: thing.items.append(3),
        lambda thing, array, tensor: setattr(thing, "number", 2),
        lambda thing, array, tensor: setattr(thing, "__dict__", dict(vars(thing))),
        lambda thing, array, tensor: array.fill(2),
        lambda thing, array, tensor: array.resize((1,), refcheck=False),
        lambda thing, array, tensor: tensor.data.fill_(2),
        lambda thing, array, tensor: tensor.requires_grad_(),
    ],
    ids=["list", "attribute", "attributes", "array", "size", "tensor", "grad"],
)
def test_whether_all_still_holds(change):
    values = Thing(), np.zeros(2), torch.zeros(2)
    found = Contents(frozenset({__name__}))
    found.add(values)
    assert found.still_holds()
    change(*values)
    assert not found.still_holds()


def test_what_cannot_be_compared_is_not_taken_to_hold():
    found = Contents()
    found.kept.append(contents.Kept(lambda: bool(1 // 0), lambda: None))
    assert not found.still_holds()


def test_what_is_in_one_is_left_out_of_the_other():
    inner, outer = [1], [2]
    one = Contents()
    one.add([inner])
    other = Contents(beside=one)
    other.add([inner, outer])
    assert len(one.kept) == len(other.kept) == 1
