"""What a region returned, or left in gradients, against what its reference did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from testmatrix.compare.difference import Difference
from testmatrix.compare.finding import Evidence, Severity
from testmatrix.compare.leaves import LeafDifference, by_path, compare_leaf, compare_trees
from testmatrix.compare.lineup import CallKey, key_of_index, stable_gradient_path
from testmatrix.compare.values import Judgement
from testmatrix.compare.wording import signature, stable_region
from testmatrix.observation import Leaf, Observation, RegionCall

#: Aspects whose two sides say nothing of the cause: findings of different functions stay apart, local ones of tests, too.
_OF_VALUES = frozenset({"value", "shape", "stride", "alias"})


def result_differences(
    key: CallKey, ours: RegionCall, theirs: RegionCall, cell: str, reference: str, *, values: bool
) -> Iterator[Difference]:
    """Differences between the results of one call; ``values`` is False where the inputs may not have been the same."""
    leaves = compare_trees(
        ours.result,
        theirs.result,
        values=values and ours.concrete and theirs.concrete,
        float64=theirs.float64,
        left_names=_names(ours),
        right_names=_names(theirs),
    )
    random = ours.random or theirs.random
    for leaf in leaves:
        if leaf.aspect == "alias" and not (ours.concrete and theirs.concrete):
            continue  # fake tensors share no memory in earnest
        leaf = replace(leaf, wanted=_wanted_when_compiling(leaf, ours, theirs), rounded=_decided_by_rounding(leaf, theirs))
        yield of_leaf(leaf, f"output.{leaf.aspect}", f"result{leaf.path}", key, cell, reference, random=random)


def gradient_differences(ours: Observation, theirs: Observation) -> Iterator[Difference]:
    """Differences between what the backward passes left, pass by pass."""
    random = any(call.random for call in (*ours.regions, *theirs.regions))
    our_keys, their_keys = key_of_index(ours), key_of_index(theirs)
    for left, right in zip(ours.gradients, theirs.gradients, strict=False):
        ours_leaves = [_renamed(leaf, stable_gradient_path(leaf.path, our_keys)) for leaf in left.leaves]
        theirs_leaves = [_renamed(leaf, stable_gradient_path(leaf.path, their_keys)) for leaf in right.leaves]
        shared = {leaf.path for leaf in ours_leaves} & {leaf.path for leaf in theirs_leaves}
        key = CallKey(region="", depth=0, number=left.index + 1)
        for leaf in compare_trees(_only(ours_leaves, shared), _only(theirs_leaves, shared)):
            if leaf.aspect in ("alias", "stride"):
                continue  # a gradient's layout is the engine's to choose
            if leaf.judgement is not None and leaf.judgement.verdict == "unknown":
                continue  # inside functional transforms values can't be read, and last bits differ anyway
            yield of_leaf(leaf, "output.grad", leaf.path, key, ours.cell, theirs.cell, random=random)


def of_leaf(
    leaf: LeafDifference, kind: str, subject: str, key: CallKey, cell: str, reference: str, *, random: bool
) -> Difference:
    """The difference of a cell that a difference of one node makes."""
    judgement = leaf.judgement
    left, right = _sides(leaf)
    tensor = judgement is not None and judgement.verdict != "unknown" and bool(judgement.index or not leaf.left)
    return Difference(
        kind=kind,
        severity=_severity(leaf, random=random),
        cell=cell,
        reference=reference,
        left=f"{left}{_excuse(leaf)}",
        right=right,
        region=key.region,
        path=subject,
        subject=subject,
        call=key.number,
        signature=signature(
            kind, key.region if leaf.aspect in _OF_VALUES else stable_region(key.region), subject, *_stable_sides(leaf)
        ),
        # Values of tensors vary in the last bits between cells that are wrong in the same way.
        same=f"{leaf.aspect}|{'' if tensor else leaf.left}",
        detail={"aspect": leaf.aspect, **(_judged(judgement) if judgement else {})},
    )


def _excuse(leaf: LeafDifference) -> str:
    if leaf.wanted:
        return " (as eager is when told that it is being compiled)"
    return " (float64 gives yet another: rounding decides)" if leaf.rounded else ""


def _severity(leaf: LeafDifference, *, random: bool) -> Severity:
    verdict = leaf.judgement.verdict if leaf.judgement else ""
    if leaf.minor or verdict == "unknown" or (random and leaf.aspect in ("value", "shape", "stride")):
        return "info"
    return "warning" if verdict == "sign_of_zero" or leaf.wanted or leaf.rounded else "error"


def _sides(leaf: LeafDifference) -> tuple[str, str]:
    judgement = leaf.judgement
    if judgement is None:
        return leaf.left, leaf.right
    if judgement.verdict == "unknown":
        return "not bit for bit the same (values not kept)", "the reference"
    if not leaf.left and not leaf.right:
        return f"different ({judgement.note})", "as expected"
    if not judgement.index:
        return leaf.left, leaf.right
    several = f" ({judgement.count} elements differ)" if judgement.count > 1 else ""
    return f"{leaf.left} at {list(judgement.index)}{several}", leaf.right


def _stable_sides(leaf: LeafDifference) -> tuple[str, ...]:
    """What of the two sides is no matter of values: dtypes and types are, numbers are not."""
    if leaf.aspect in ("dtype", "device", "grad"):
        return (leaf.aspect, leaf.left, leaf.right)
    if leaf.aspect == "type":
        return (leaf.aspect, leaf.left.split(" ")[0], leaf.right.split(" ")[0])
    if leaf.judgement is not None and leaf.judgement.verdict != "different":
        return (leaf.aspect, leaf.judgement.verdict)
    return (leaf.aspect,)


def _wanted_when_compiling(leaf: LeafDifference, ours: RegionCall, theirs: RegionCall) -> bool:
    """Whether eager returns the same as the cell where it is told that it is being compiled, and only there.

    Copies were run for that, so that what shares memory cannot be told.
    """
    told, here = by_path(theirs.as_compiling).get(leaf.path), by_path(ours.result).get(leaf.path)
    plain = by_path(theirs.result).get(leaf.path)
    if told is None or here is None or plain is None or leaf.aspect == "alias":
        return False
    explained = {one.aspect for one in compare_leaf(told, plain)}
    return leaf.aspect in explained and not {one.aspect for one in compare_leaf(here, told)} - {"alias"}


def _decided_by_rounding(leaf: LeafDifference, theirs: RegionCall) -> bool:
    """Whether a count, an index or a truth value hangs on the last bits of floats: in float64, eager has another one, too."""
    plain, wide = by_path(theirs.result).get(leaf.path), by_path(theirs.float64).get(leaf.path)
    if leaf.aspect != "value" or plain is None or wide is None:
        return False
    if plain.tensor is None or wide.tensor is None:
        return plain.type in ("int", "bool") and plain.type == wide.type and plain.value != wide.value
    exact = plain.tensor.dtype == wide.tensor.dtype and plain.tensor.dtype.startswith(("int", "uint", "bool"))
    return exact and plain.tensor.digest != wide.tensor.digest


def _judged(judgement: Judgement) -> dict[str, Evidence]:
    return {
        "verdict": judgement.verdict,
        "max_abs": repr(judgement.max_abs),
        "max_rel": repr(judgement.max_rel),
        "index": list(judgement.index),
        "count": judgement.count,
        "note": judgement.note,
    }


def _names(call: RegionCall) -> frozenset[str]:
    return frozenset(leaf.path for leaf in call.arguments) | {f"result{leaf.path}" for leaf in call.result}


def _renamed(leaf: Leaf, path: str) -> Leaf:
    return Leaf(path=path, type=leaf.type, value=leaf.value, tensor=leaf.tensor)


def _only(leaves: Sequence[Leaf], paths: set[str]) -> list[Leaf]:
    return [leaf for leaf in leaves if leaf.path in paths]
