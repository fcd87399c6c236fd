"""Leaves of autograd's graph that regions were given by way of something else."""

import torch

from testmatrix.torch_adapter.graph import leaves_of_graph

WEIGHT = torch.ones(2, requires_grad=True)


def names(recording):
    return {leaf.path.partition("] ")[2] for leaf in recording.gradients[-1].leaves}


def compiled(function):
    return torch.compile(function, backend="aot_eager")


def test_argument_that_was_made_from_leaves(record):
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with record() as recording:
        compiled(lambda x: x * 2)(w * 1 + v).sum().backward()
    assert names(recording) == {"L['x'] leaf 0.grad", "L['x'] leaf 1.grad"}


def test_closures_and_globals(record):
    w = torch.ones(2, requires_grad=True)
    with record() as recording:
        compiled(lambda x: x * w + WEIGHT)(torch.ones(2)).sum().backward()
    WEIGHT.grad = None
    assert names(recording) == {"C['w'].grad", "G['WEIGHT'].grad"}


class Holder:
    """Something that is not looked into as deep as this."""

    def __init__(self, inner):
        self.inner = inner


def test_leaves_without_a_name_go_by_their_shape(record):
    w, v = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    deep = Holder(Holder(Holder((w, v))))
    with record() as recording:
        compiled(lambda x: x * deep.inner.inner.inner[0] + deep.inner.inner.inner[1])(torch.ones(2)).sum().backward()
    assert names(recording) == {"leaf [2].grad", "leaf [1].grad"}


def test_leaves_of_one_shape_are_not_told_apart(record):
    w, v = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    deep = Holder(Holder(Holder((w, v))))
    with record() as recording:
        compiled(lambda x: x * deep.inner.inner.inner[0] + deep.inner.inner.inner[1])(torch.ones(2)).sum().backward()
    assert names(recording) == set()


def test_a_leaf_has_one_name(record):
    w = torch.ones(2, requires_grad=True)
    with record() as recording:
        f = compiled(lambda x: x * w)
        f(f(w * 1)).sum().backward()
    assert names(recording) == {"C['w'].grad"}


def test_functions_of_the_suite_are_not_asked():
    class Odd(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

        def __eq__(self, other):
            raise AssertionError("asked")

        def __hash__(self):
            raise AssertionError("asked")

    x = torch.ones(1, requires_grad=True)
    assert next(leaves_of_graph([Odd.apply(x)])) is x


def test_long_graphs_end():
    y = torch.ones(1, requires_grad=True)
    for _ in range(1000):
        y = y + 1
    assert list(leaves_of_graph([y])) == []
