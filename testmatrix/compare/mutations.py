"""What a region call left in its arguments, attributes, buffers and globals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from testmatrix.compare.difference import Difference
from testmatrix.compare.leaves import by_path, compare_trees
from testmatrix.compare.lineup import CallKey
from testmatrix.compare.outputs import of_leaf
from testmatrix.observation import Leaf, RegionCall

_PARENT = re.compile(r"(\.\w+|\[[^\[\]]*\])$")
#: Dynamo marks tensors and modules that it has seen with attributes of its own.
_DYNAMO = re.compile(r"_dynamo|__\w+__")


def mutation_differences(
    key: CallKey, ours: RegionCall, theirs: RegionCall, cell: str, reference: str, *, values: bool
) -> Iterator[Difference]:
    """Arguments and what hangs off them that ended up different although the call was given the same."""
    if not (ours.concrete and theirs.concrete):
        return
    left, right = _comparable(ours, theirs)
    random = ours.random or theirs.random
    before = by_path(ours.arguments), by_path(theirs.arguments)
    for leaf in compare_trees(left, right, values=values):
        if leaf.aspect in ("stride", "alias", "device"):
            continue  # of the arguments as they came, not of what was done to them
        if leaf.aspect in ("grad", "dtype") and _differed(leaf.path, *before):
            continue
        yield of_leaf(leaf, "mutation", f"{leaf.path} after the call", key, cell, reference, random=random)


def _comparable(ours: RegionCall, theirs: RegionCall) -> tuple[list[Leaf], list[Leaf]]:
    """Nodes of both sides, and those of one side that the call made: under a node of both, and on none before the call."""
    left, right = by_path(ours.after), by_path(theirs.after)
    before = {leaf.path for leaf in (*ours.arguments, *theirs.arguments)}

    def kept(path: str) -> bool:
        if _DYNAMO.search(path):
            return False
        if path in left and path in right:
            return True
        parent = _PARENT.sub("", path)
        return parent != path and parent in left and parent in right and path not in before

    return [leaf for leaf in ours.after if kept(leaf.path)], [leaf for leaf in theirs.after if kept(leaf.path)]


def _differed(path: str, ours: Mapping[str, Leaf], theirs: Mapping[str, Leaf]) -> bool:
    left, right = ours.get(path), theirs.get(path)
    if left is None or right is None or left.tensor is None or right.tensor is None:
        return False
    return (left.tensor.requires_grad, left.tensor.dtype) != (right.tensor.requires_grad, right.tensor.dtype)
