"""Forty small tests, one of which does what the variable FAULT names, in one cell of the four.

The others are of every kind that a run treats differently: some compile, some never do, some differ between cells, some share
a fixture of wider scope. None of them fails a run.
"""

import unittest

import planted
import pytest
import torch


@pytest.fixture(scope="module")
def numbers():
    """Set up once for the whole file, on both sides of the fault."""
    kept = [3, 5, 7]
    yield kept
    assert kept == [3, 5, 7]


@pytest.fixture(autouse=True)
def as_it_was(request):
    planted.assert_nothing_is_left()
    if request.node.name != "test_faulted":  # a thread ends with the process, and that is given up once the test is through
        planted.assert_no_thread_is_left()


def compiled(function):
    return torch.compile(function, backend="eager")


# What the first compile of a process imports is to be no part of the test that happens to be the first.
compiled(lambda x: x + 1)(torch.ones(1))


@pytest.mark.parametrize("n", range(2))
def test_int_argument(n):
    scale = compiled(lambda x, n: x * n)
    for each in (n + 2, n + 3, n + 4):
        assert scale(torch.ones(3), each).sum() == 3 * each


@pytest.mark.parametrize("size", range(2))
def test_size(size):
    double = compiled(lambda x: x * 2)
    for each in (size + 3, size + 4):
        assert double(torch.ones(each)).sum() == 2 * each


@pytest.mark.parametrize("n", range(2))
def test_int_that_is_compared(n):
    @compiled
    def chosen(x, n):
        return x + 1 if n == 4 else x - 1

    assert chosen(torch.ones(2), n + 3)[0] == (2 if n == 1 else 0)


def test_graph_break():
    @compiled
    def broken(x, n):
        x = x + n
        torch._dynamo.graph_break()
        return x * 2

    assert broken(torch.ones(2), 2)[0] == 6


@pytest.mark.parametrize("n", range(12))
def test_nothing_is_compiled(n):
    assert torch.ones(n).sum() == n


@pytest.mark.parametrize("index", range(3))
def test_shared_fixture(numbers, index):
    n = numbers[index]
    assert compiled(lambda x, n: x + n)(torch.zeros(2), n)[0] == n


def test_faulted():
    assert compiled(lambda x, n: x + n)(torch.zeros(2), 5)[0] == 5
    planted.act()


@pytest.mark.parametrize("index", range(2))
def test_shared_fixture_again(numbers, index):
    n = numbers[index]
    assert compiled(lambda x, n: x - n)(torch.zeros(2), n)[0] == -n


@pytest.mark.parametrize("n", range(6))
def test_nothing_is_compiled_again(n):
    assert torch.zeros(n).sum() == 0


def test_draws_at_random():
    assert compiled(lambda x: x + torch.rand(()))(torch.ones(3)).min() >= 1


def test_backward():
    x = torch.ones(4, requires_grad=True)
    compiled(lambda x, n: (x * n).sum())(x, 3).backward()
    assert x.grad.sum() == 12


def test_module():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.by = 3

        def forward(self, x):
            return x * self.by

    assert compiled(Scaled())(torch.ones(2)).sum() == 6


def test_many_compiles():
    grown = compiled(lambda x, n: x.reshape(-1)[:n])
    assert [grown(torch.ones(6), n).numel() for n in range(2, 6)] == [2, 3, 4, 5]


@pytest.mark.skip(reason="for no reason")
def test_skipped():
    raise AssertionError


@pytest.mark.xfail(reason="on purpose")
def test_fails_as_expected():
    assert compiled(lambda x: x + 1)(torch.ones(1))[0] == 1


class TestOfUnittest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.n = 4

    def test_int(self):
        assert compiled(lambda x, n: x + n)(torch.ones(1), self.n).item() == 5

    def test_plain(self):
        assert self.n == 4

    def test_size(self):
        assert compiled(lambda x: x + x.size(0))(torch.ones(self.n))[0].item() == 5
