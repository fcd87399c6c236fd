"""What a region call left in its arguments, attributes, buffers and globals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from testmatrix.compare.difference import Difference
from testmatrix.compare.leaves import by_path, compare_trees, type_name
from testmatrix.compare.lineup import CallKey
from testmatrix.compare.outputs import of_leaf
from testmatrix.compare.values import Judgement
from testmatrix.observation import Leaf, RegionCall, TensorRecord

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
    for leaf in compare_trees(left, right, values=values):
        if leaf.aspect in ("stride", "alias", "device"):
            continue  # of the arguments as they came, not of what was done to them
        if leaf.judgement is not None and leaf.judgement.verdict == "unknown" and _on_one_side(leaf.path, ours, theirs):
            leaf = replace(leaf, judgement=Judgement(verdict="different", count=1, note="changed on one side only"))
        yield of_leaf(leaf, "mutation", f"{leaf.path} after the call", key, cell, reference, random=random)


def before(call: RegionCall) -> Mapping[str, Leaf]:
    """All that a call was given and could see, as it was before."""
    return by_path((*call.arguments, *call.state))


def is_dynamos(path: str) -> bool:
    """Whether an attribute is Dynamo's own mark."""
    return _DYNAMO.search(path) is not None


def _comparable(ours: RegionCall, theirs: RegionCall) -> tuple[list[Leaf], list[Leaf]]:
    """Nodes that a call of both sides found alike, if at all, and that one of them changed.

    Of those that one side alone has, only what the call made: under a node of both.
    """
    left, right = by_path(ours.after), by_path(theirs.after)
    ours_before, theirs_before = before(ours), before(theirs)

    def kept(path: str) -> bool:
        one, other = ours_before.get(path), theirs_before.get(path)
        if is_dynamos(path) or not _alike(one, other):
            return False
        if path in left and path in right:
            return not (_unchanged(one, left[path]) and _unchanged(other, right[path]))
        parent = _PARENT.sub("", path)
        return parent != path and parent in left and parent in right

    return [leaf for leaf in ours.after if kept(leaf.path)], [leaf for leaf in theirs.after if kept(leaf.path)]


def _alike(left: Leaf | None, right: Leaf | None) -> bool:
    """Whether a node was the same on both sides before the call, as far as it is recorded."""
    if left is None or right is None:
        return left is right
    if left.tensor is None or right.tensor is None:
        return left.tensor is right.tensor and (type_name(left), left.value) == (type_name(right), right.value)
    if left.tensor.digest and right.tensor.digest and left.tensor.digest != right.tensor.digest:
        return False
    return _metadata(left.tensor) == _metadata(right.tensor)


def _unchanged(old: Leaf | None, new: Leaf) -> bool:
    """Whether a node is known to be as it was before the call."""
    if old is None or old.type != new.type or (old.tensor is None) != (new.tensor is None):
        return False
    if old.tensor is None or new.tensor is None:
        return old.value == new.value
    return _metadata(old.tensor) == _metadata(new.tensor) and old.tensor.digest == new.tensor.digest != ""


def _on_one_side(path: str, ours: RegionCall, theirs: RegionCall) -> bool:
    """Whether one side left a node as it was and the other did not."""
    left, right = by_path(ours.after)[path], by_path(theirs.after)[path]
    return _unchanged(before(ours).get(path), left) != _unchanged(before(theirs).get(path), right)


def _metadata(tensor: TensorRecord) -> tuple[object, ...]:
    return tensor.dtype, tensor.shape, tensor.requires_grad, tensor.subclass, tensor.layout
