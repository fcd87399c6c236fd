"""Hashes of what a call is given, and of what it can see besides."""

import pytest
import torch

from testmatrix.torch_adapter import tensors
from testmatrix.torch_adapter.leaves import Budget, LeafReader
from testmatrix.torch_adapter.tensors import Digests

MIDDLING = 64 * 1024  #: elements of a tensor that is hashed once and then sampled
BIG = 2 * 2**20  #: elements of one that is only ever sampled


def tensor_of(leaves, path):
    return next(leaf.tensor for leaf in leaves if leaf.path == path)


def test_arguments_have_hashes_but_no_data(record):
    with record() as recording:
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
    argument = tensor_of(recording.regions[0].arguments, "L['x']")
    assert argument.data is None
    assert argument.digest == tensor_of(recording.regions[0].after, "L['x']").digest != ""


def test_state_of_a_module_before_the_call(record):
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with record() as recording:
        torch.compile(net, backend="eager")(torch.randn(4, 2))
    call = recording.regions[0]
    weight, mean = "L['self'].0.weight", "L['self'].1.running_mean"
    assert tensor_of(call.state, weight).digest == tensor_of(call.after, weight).digest != ""
    assert tensor_of(call.state, mean).digest != tensor_of(call.after, mean).digest
    assert not {leaf.path for leaf in call.state} & {leaf.path for leaf in call.arguments}


def test_a_gradient_that_the_call_leaves(record):
    def step(x):
        (x * 2).sum().backward()

    x = torch.ones(2, requires_grad=True)
    with record() as recording:
        torch.compile(step, backend="eager")(x)
        torch.compile(step, backend="eager")(x)
    assert tensor_of(recording.regions[0].after, "L['x'].grad").data == (torch.ones(2) * 2).numpy().tobytes()
    assert not [leaf for leaf in recording.regions[0].state if leaf.path == "L['x'].grad"]
    assert tensor_of(recording.regions[1].state, "L['x'].grad").digest
    assert recording.notes == []


@pytest.mark.parametrize("count", [3, MIDDLING, BIG])
def test_same_values_same_hash(count):
    one = torch.arange(count, dtype=torch.float32)
    assert Digests().of(one) == Digests().of(one.clone()) != ""
    assert Digests().of(one) != Digests().of(one + 1)


@pytest.mark.parametrize("count", [3, MIDDLING, BIG])
def test_the_hash_is_of_the_logical_order(count):
    square = torch.arange(2 * count, dtype=torch.float32).reshape(2, count)
    assert Digests().of(square.t().contiguous()) == Digests().of(square.t())


def test_changes_are_noticed():
    digests, x = Digests(), torch.zeros(MIDDLING)
    first = digests.of(x)
    x[17] = 1
    second = digests.of(x)
    x.data.add_(1)
    assert len({first, second, digests.of(x)}) == 3


def test_a_new_tensor_under_an_old_id():
    digests = Digests()
    seen = {digests.of(torch.full((MIDDLING,), float(value))) for value in range(5)}
    assert len(seen) == 5


def test_an_expanded_tensor_is_sampled():
    assert Digests().of(torch.ones(1).expand(10**12)).startswith("~")
    (leaf,) = LeafReader(Budget(2**40)).read(torch.ones(1).expand(10**12), "r")
    assert leaf.tensor.data is None
    assert leaf.tensor.digest.startswith("~")


@pytest.mark.parametrize("name", ["sparse", "quantized", "complex", "inference", "empty"])
def test_unusual_tensors(name):
    with torch.inference_mode(name == "inference"):
        dense = torch.randn(200, 200)
        made = {
            "sparse": lambda: dense.to_sparse(),
            "quantized": lambda: torch.quantize_per_tensor(dense, 0.1, 0, torch.qint8),
            "complex": lambda: torch.complex(dense, dense).conj(),
            "inference": lambda: dense,
            "empty": lambda: dense[:0],
        }[name]()
    assert Digests().of(made) == Digests().of(made) != ""


def test_large_parameters_are_kept_where_they_changed_only():
    weight = torch.nn.Parameter(torch.zeros(MIDDLING))
    before = {"r": Digests().of(weight)}
    (same,) = LeafReader(Budget(2**30), before=before).read(weight, "r")
    assert (same.tensor.digest, same.tensor.data) == (before["r"], None)
    with torch.no_grad():
        weight.add_(1)
    (changed,) = LeafReader(Budget(2**30), before=before).read(weight, "r")
    assert changed.tensor.data is not None


def test_unchanged_tensors_are_hashed_once(monkeypatch):
    sizes = []
    hash_of = tensors.hash_of
    monkeypatch.setattr(tensors, "hash_of", lambda raw: sizes.append(raw.size) or hash_of(raw))
    digests, x = Digests(), torch.zeros(MIDDLING)
    assert digests.of(x) == digests.of(x)
    assert sizes == [4096, 4 * MIDDLING, 4096]
