"""What a region runs, what it was given, and what it may rebind."""

import functools

import pytest
import torch

from testmatrix.torch_adapter.arguments import is_library, named_arguments, rebindable, target_of

TICK = 0


def plain(x, n=1, *rest, flag=False, **options):
    return x


class Owner:
    def method(self, x):
        return x

    @classmethod
    def made(cls, x):
        return x

    @staticmethod
    def loose(x):
        return x

    def __call__(self, x):
        return x


class Net(torch.nn.Module):
    def forward(self, x, scale=1):
        return x * scale


def named(callable_, *args, **kwargs):
    return dict(named_arguments(target_of(callable_), args, kwargs))


def test_parameters_are_named_as_dynamo_does():
    found = named(plain, 1, 2, 3, 4, flag=True, more=5)
    assert found == {"L['x']": 1, "L['n']": 2, "L['rest'][0]": 3, "L['rest'][1]": 4, "L['flag']": True, "L['options']['more']": 5}


def test_positional_arguments_given_by_name():
    assert named(plain, n=2, x=1) == {"L['n']": 2, "L['x']": 1}


def test_method():
    owner = Owner()
    assert named(owner.method, 1) == {"L['self']": owner, "L['x']": 1}


def test_class_method():
    assert named(Owner.made, 1) == {"L['cls']": Owner, "L['x']": 1}
    assert named(Owner().made, 1) == {"L['cls']": Owner, "L['x']": 1}


def test_static_method():
    assert named(Owner.loose, 1) == {"L['x']": 1}


def test_object_that_is_called():
    owner = Owner()
    assert named(owner, 1) == {"L['self']": owner, "L['x']": 1}
    assert target_of(owner).function is Owner.__call__


@pytest.mark.parametrize("call", [lambda net: net, lambda net: net.forward, lambda net: net.__call__])
def test_module(call):
    net = Net()
    assert named(call(net), 1, scale=3) == {"L['self']": net, "L['x']": 1, "L['scale']": 3}
    assert target_of(call(net)).name.endswith("Net.forward")


def test_partial():
    step = functools.partial(functools.partial(plain, 1, flag=True), 2, flag=False)
    assert named(step, 3, y=4) == {
        "L['x']": 1,
        "L['n']": 2,
        "L['rest'][0]": 3,
        "L['flag']": False,
        "L['options']['y']": 4,
    }


def test_partial_of_a_method():
    owner = Owner()
    assert named(functools.partial(owner.method, 5)) == {"L['self']": owner, "L['x']": 5}


def test_decorated_function_is_unwrapped():
    @functools.wraps(plain)
    def outer(*args, **kwargs):
        return plain(*args, **kwargs)

    assert target_of(outer).function is plain


def test_builtin_has_no_function():
    target = target_of(torch.sin)
    assert target.function is None
    assert dict(named_arguments(target, (1,), {"out": 2})) == {"L['args'][0]": 1, "L['out']": 2}
    assert rebindable(target) == []


def test_lambda_and_local_names():
    assert target_of(lambda x: x).name.endswith("test_lambda_and_local_names.<locals>.<lambda>")


def test_what_the_function_itself_gets():
    owner = Owner()
    assert target_of(functools.partial(owner.method, y=1)).given((2,), {"z": 3}) == ((owner, 2), {"y": 1, "z": 3})


def test_rebound_global():
    def tick(x):
        global TICK
        TICK += 1
        return x + TICK

    assert rebindable(target_of(tick)) == [("G['TICK']", TICK)]


def test_global_that_is_only_read():
    assert rebindable(target_of(lambda x: x + TICK)) == []


def test_rebound_closure_variable():
    count = 3

    def step(x):
        nonlocal count
        count += 1
        return x

    assert rebindable(target_of(step)) == [("C['count']", 3)]


def test_rebound_inside_of_a_function_inside():
    count = 3

    def step(x):
        def inner():
            nonlocal count
            count += 1

        inner()
        return x

    assert rebindable(target_of(step)) == [("C['count']", 3)]


def test_closure_variable_without_a_value():
    def step(x):
        nonlocal later
        later = x
        return x

    assert rebindable(target_of(step)) == []
    later = 1
    assert rebindable(target_of(step)) == [("C['later']", later)]


class Jumpy:
    def __getattr__(self, name):
        raise RuntimeError(name)

    def __call__(self, x):
        return x


def test_attributes_are_not_asked_for():
    jumpy = Jumpy()
    assert named(jumpy, 1) == {"L['self']": jumpy, "L['x']": 1}


def test_library_functions():
    assert not is_library(plain)
    assert not is_library(None)
    assert not is_library(torch.nn.functional.relu)
