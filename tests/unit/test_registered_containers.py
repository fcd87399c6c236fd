"""Containers that a library registered with torch's pytree are read and widened like torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from testmatrix.torch_adapter import float64, pytrees
from testmatrix.torch_adapter.arguments import Target
from testmatrix.torch_adapter.leaves import Budget, LeafReader


class Batch:
    def __init__(self, fields: dict[str, Any], size: int) -> None:
        self._fields, self.size = fields, size


class Broken:
    pass


def fail(node: object) -> Any:
    raise RuntimeError("cannot be flattened")


@pytest.fixture(scope="module", autouse=True)
def registered():
    pytree.register_pytree_node(
        Batch,
        lambda batch: (list(batch._fields.values()), (list(batch._fields), batch.size)),
        lambda values, context: Batch(dict(zip(context[0], values, strict=True)), context[1]),
        flatten_with_keys_fn=lambda batch: (
            [(pytree.MappingKey(key), value) for key, value in batch._fields.items()],
            (list(batch._fields), batch.size),
        ),
    )
    pytree.register_pytree_node(Broken, fail, fail)


def read(root: object) -> dict[str, Any]:
    return {leaf.path: leaf for leaf in LeafReader(Budget(1000)).read(root, "result")}


def test_what_it_holds_and_what_else_makes_it_become_leaves():
    leaves = read(Batch({"a": torch.ones(3), "b": Batch({"c": torch.zeros(2)}, 2)}, 3))
    assert leaves["result['a']"].tensor.shape == (3,)
    assert leaves["result['b']['c']"].tensor.digest
    assert leaves["result.context[1]"].value == "3"


def test_one_that_cannot_be_flattened_is_a_leaf_itself():
    assert read(Broken())["result"].type.endswith("Broken")
    assert pytrees.children(Broken()) is None


def test_it_is_run_in_float64():
    def region(batch):
        return batch._fields["a"] + 1

    target = Target(region, None, "region", ())
    (leaf,) = float64.run(target, (Batch({"a": torch.ones(3)}, 3),), {}, Budget(1000))
    assert leaf.tensor is not None
    assert leaf.tensor.dtype == "float64"
