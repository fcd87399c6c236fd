"""Guards and symbols read at compile time."""

import collections
import dataclasses
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest
import torch


class Owner:
    def __init__(self):
        self.number = 4


def compiled(record, function, *calls, cell="dynamic"):
    with record(cell) as recording:
        fast = torch.compile(function, backend="eager")
        for call in calls:
            fast(*call)
    assert recording.notes == []
    return recording.compiles


def guards_of(compile_, kind):
    return {guard.source: guard for guard in compile_.guards if guard.kind == kind}


def test_constant_int(record):
    (found,) = compiled(record, lambda x, n: x * n, (torch.ones(2), 5), cell="static")
    constants = {**guards_of(found, "EQUALS_MATCH"), **guards_of(found, "CONSTANT_MATCH")}
    assert (constants["L['n']"].value, constants["L['n']"].value_type) == ("5", "int")
    assert constants["L['n']"].line.startswith("test_adapter_guards.py:")


def test_symbolic_int(record):
    (found,) = compiled(record, lambda x, n: x * n, (torch.ones(2), 5))
    symbols = {source: symbol for symbol in found.symbols for source in symbol.sources}
    assert (symbols["L['n']"].kind, symbols["L['n']"].hint, symbols["L['n']"].replacement) == ("int", "5", "")
    assert symbols["L['x'].size()[0]"].kind == "size"
    assert "L['n']" not in guards_of(found, "CONSTANT_MATCH")


def test_int_burned_in_by_a_branch(record):
    def branch(x, n):
        return x + 1 if n == 5 else x * n

    (found,) = compiled(record, branch, (torch.ones(2), 5))
    (symbol,) = [symbol for symbol in found.symbols if "L['n']" in symbol.sources]
    assert symbol.replacement == "5"
    assert symbol.line.startswith("test_adapter_guards.py:")


def test_size_guard(record):
    def branch(x):
        return x + 1 if x.shape[0] % 4 == 0 else x

    (found,) = compiled(record, branch, (torch.ones(8),))
    shapes = [guard for guard in found.guards if guard.kind == "SHAPE"]
    assert any("Mod" in guard.text or "%" in guard.text for guard in shapes)
    assert any(guard.line.startswith("test_adapter_guards.py:") for guard in shapes)


def test_tensor_guard_says_dtype_and_sizes(record):
    (found,) = compiled(record, lambda x: x + 1, (torch.ones(2, 3),), cell="static")
    text = guards_of(found, "TENSOR_MATCH")["L['x']"].text
    assert "torch.float32" in text
    assert "size=[2, 3]" in text


def test_attribute_and_type_guards(record):
    (found,) = compiled(record, lambda x, owner: x * owner.number, (torch.ones(2), Owner()), cell="static")
    assert guards_of(found, "TYPE_MATCH")["L['owner']"].text.endswith("test_adapter_guards.Owner")
    assert any("number" in guard.source for guard in found.guards)


class Rude:
    def __init__(self):
        self.number = 2

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __repr__(self):
        raise RuntimeError("repr")


def test_guards_on_a_rude_object(record):
    (found,) = compiled(record, lambda x, rude: x * rude.number, (torch.ones(2), Rude()))
    assert any(guard.source.startswith("L['rude']") for guard in found.guards)


PROGRAM = """
import json, dataclasses, sys
import torch
from testmatrix.torch_adapter import cell, hooks
hooks.install()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.scale, self.table = 2, {"a": 1}
    def forward(self, x, n, items):
        if n > 3 and x.shape[0] % 2 == 0:
            x = torch.nn.functional.relu(x)
        for item in items:
            x = x + item
        return self.linear(x) * self.scale * self.table["a"] + n

def helper(x, *, by=3):
    return x * by

with cell.running(cell.CellSetup(settings=(("torch._dynamo.config", "assume_static_by_default", False),)), (), 0) as recording:
    fast = torch.compile(Net(), backend="eager")
    fast(torch.ones(4, 3), 5, (1, 2.5))
    fast(torch.ones(5, 3), 2, (1, 2.5))
    torch.compile(lambda x: helper(x) + len(sys.path[:0]), backend="eager")(torch.ones(2))
print(json.dumps([dataclasses.asdict(found) for found in recording.compiles]))
"""


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory):
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    return [
        json.loads(subprocess.run([sys.executable, program], capture_output=True, text=True, check=True).stdout) for _ in range(2)
    ]


def test_guards_are_the_same_in_two_processes(two_processes):
    one, other = two_processes
    assert len(one) >= 3
    assert one == other


def test_guards_hold_no_ids(two_processes):
    text = json.dumps(two_processes[0])
    assert "0x" not in text
    assert not [word for word in text.replace('"', " ").split() if word.isdigit() and len(word) > 8]


def test_recompile_reasons(record):
    found = compiled(record, lambda x, n: x * n, (torch.ones(2), 5), (torch.ones(2), 6), cell="static")
    assert [len(one.recompile_reasons) for one in found] == [0, 1]
    assert "n == 5" in found[1].recompile_reasons[0]


def test_records_can_be_written_as_data(record):
    (found,) = compiled(record, lambda x, n: x * n, (torch.ones(2), 5))
    assert json.loads(json.dumps(dataclasses.asdict(found)))["frame"].endswith("<lambda>")
    assert Path(__file__).name in {guard.line.partition(":")[0] for guard in found.guards}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: [x],
        lambda x: (x,),
        lambda x: {"a": x},
        lambda x: {1: {"a": x}},
        lambda x: collections.OrderedDict(a=x),
        lambda x: collections.defaultdict(list, a=x),
        lambda x: {"a": [x, {"b": x}]},
        lambda x: types.SimpleNamespace(inner={"a": x}),
    ],
)
def test_a_tensor_is_checked_whatever_it_is_reached_by(record, wrap):
    def leaves(value):
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, types.SimpleNamespace):
            yield from leaves(value.inner)
        else:
            for one in value.values() if isinstance(value, dict) else value:
                yield from leaves(one)

    def total(value):
        result = torch.zeros(())
        for leaf in leaves(value):
            result = result + leaf.sum()
        return result

    (found,) = compiled(record, total, (wrap(torch.ones(4, 3)),), cell="static")
    checks = guards_of(found, "TENSOR_MATCH")
    assert checks
    assert all("torch.float32" in check.text and "size=[4, 3]" in check.text for check in checks.values())
