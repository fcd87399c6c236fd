"""What a region can change without being given it: globals, closures, attributes of classes and modules."""

import enum
import logging
import sys
import types
import unittest
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import torch

from testmatrix.torch_adapter.arguments import changeable, target_of

NUMBERS = []
TABLE = {}
QUEUE = deque()
MEMBERS = set()
ARRAY = np.zeros(2)
TENSOR = torch.zeros(2)
NORM = torch.nn.BatchNorm1d(2)
CONSTANT = 3
PAIR = (1, 2)
LOGGER = logging.getLogger("nobody")
PATH = Path()
COUNT = 0


class Colour(enum.Enum):
    RED = 1


class Inner:
    value = 0


class Holder:
    calls = 0

    def __init__(self):
        self.inner = Inner()


class Case(unittest.TestCase):
    pass


HOLDER = Holder()
CASE = Case()


def helper():
    global COUNT
    COUNT += 1
    NUMBERS.append(1)


def names(function):
    return {name for name, _ in changeable(target_of(function))}


def test_globals_that_hold_mutable_data():
    def region():
        return NUMBERS, TABLE, QUEUE, MEMBERS, ARRAY, TENSOR, NORM, HOLDER, Holder

    expected = ("NUMBERS", "TABLE", "QUEUE", "MEMBERS", "ARRAY", "TENSOR", "NORM", "HOLDER", "Holder")
    assert names(region) == {f"G['{name}']" for name in expected}


def test_what_is_no_data_of_the_suite():
    def region():
        return CONSTANT, PAIR, LOGGER, PATH, Colour, Colour.RED, CASE, Case, torch, np, Path, len, pytest

    assert names(region) == set()


def test_closures():
    numbers, constant, optimizer = [], 3, torch.optim.SGD([TENSOR])

    def region():
        def inside():
            return numbers, constant, optimizer

        return inside

    assert names(region) == {"C['numbers']", "C['optimizer']"}


def test_functions_of_the_suite_are_followed():
    def region():
        helper()

    assert names(region) == {"G['COUNT']", "G['NUMBERS']"}


def test_a_helper_s_own_closure_has_its_name():
    numbers = []

    def help_out():
        numbers.append(1)

    def region():
        help_out()

    def recursive():
        return recursive()

    assert names(region) == {"help_out.C['numbers']"}
    assert names(recursive) == set()


def test_decorated_functions_are_followed(record):
    with record():
        compiled = torch.compile(helper, backend="eager")

    def region():
        compiled()

    assert names(region) == {"G['COUNT']", "G['NUMBERS']"}


def test_modules_of_the_suite(monkeypatch):
    module = types.ModuleType("somebodys_module")
    module.numbers, module.count, module.constant = [], 0, 3
    monkeypatch.setitem(sys.modules, "somebodys_module", module)
    monkeypatch.setitem(globals(), "somebodys", module)

    def region():
        somebodys.count += 1  # noqa: F821
        return somebodys.numbers, somebodys.constant  # noqa: F821

    assert names(region) == {"G['somebodys'].count", "G['somebodys'].numbers"}


def change_list():
    NUMBERS.append(1)


def change_class():
    Holder.calls += 1


def change_object():
    HOLDER.inner.value = HOLDER.inner.value + 1


def change_array():
    ARRAY[0] += 1


def change_tensor():
    TENSOR.add_(1)


def change_module():
    NORM(torch.ones(2, 2))


CHANGES = {
    change_list: "G['NUMBERS']",
    change_class: "G['Holder'].calls",
    change_object: "G['HOLDER'].inner.value",
    change_array: "G['ARRAY']",
    change_tensor: "G['TENSOR']",
    change_module: "G['NORM'].running_mean",
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_are_recorded(record, change):
    with record() as recording:
        torch.compile(change, backend="eager")()
    (call,) = recording.regions
    before, after = ({leaf.path: leaf for leaf in leaves} for leaves in (call.state, call.after))
    path = CHANGES[change]
    assert before[path] != after[path]
    assert recording.notes == []


def test_steps_of_an_optimizer(record):
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.ones(2)
    optimizer = torch.optim.Adam([weight])

    def step():
        optimizer.step()

    with record() as recording:
        torch.compile(step, backend="eager")()
    (call,) = recording.regions
    before, after = ({leaf.path: leaf for leaf in leaves} for leaves in (call.state, call.after))
    path = "C['optimizer'].param_groups[0]['params'][0]"
    assert before[path].tensor.digest != after[path].tensor.digest
    assert any(path.endswith("['exp_avg']") for path in after.keys() - before.keys())
    assert recording.notes == []
