"""Two recorded structures, node by node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from testmatrix.compare.values import Judgement, judge_scalars, judge_tensors
from testmatrix.observation import Leaf, TensorRecord

Aspect = Literal["type", "dtype", "shape", "stride", "device", "alias", "grad", "value"]

#: Python's ``int`` and the symbol that stands for one inside a compile are the same to whoever gets the result.
_SAME_TYPE = {"torch.SymInt": "int", "torch.SymFloat": "float", "torch.SymBool": "bool"}
_SCALARS = frozenset({"int", "bool", "float", "complex", "str", "bytes", "NoneType"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafDifference:
    """One aspect of one node in which two structures differ."""

    aspect: Aspect
    path: str
    left: str
    right: str
    judgement: Judgement | None = None  #: for values
    minor: bool = False  #: seen by nobody who doesn't look for it: the storage offset of a tensor that nothing else shares
    rounded: bool = False  #: an exact value that depends on the last bits of floats
    wanted: bool = False  #: eager does the same where it is told that it is being compiled: the code asks for it


def type_name(leaf: Leaf) -> str:
    return _SAME_TYPE.get(leaf.type, leaf.type)


def compare_trees(
    left: Sequence[Leaf],
    right: Sequence[Leaf],
    *,
    values: bool = True,
    float64: Sequence[Leaf] = (),
    left_names: frozenset[str] = frozenset(),
    right_names: frozenset[str] = frozenset(),
) -> list[LeafDifference]:
    """All differences, in the order of the right side; below a node of another type or length nothing is compared.

    ``left_names`` and ``right_names`` are the sources known on each side: aliasing with anything else can't be compared.
    """
    ours = {leaf.path: leaf for leaf in left}
    theirs = {leaf.path: leaf for leaf in right}
    truth = {leaf.path: leaf.tensor for leaf in float64}
    known = left_names & right_names
    differing: list[str] = []
    found: list[LeafDifference] = []
    for path in [*theirs, *(path for path in ours if path not in theirs)]:
        if any(_below(path, parent) for parent in differing):
            continue
        ours_here, theirs_here = ours.get(path), theirs.get(path)
        if ours_here is None or theirs_here is None:
            here = _one_sided(path, ours_here, theirs_here)
        else:
            here = compare_leaf(ours_here, theirs_here, values=values, float64=truth.get(path), known=known)
        if any(difference.aspect == "type" for difference in here):
            differing.append(path)
        found.extend(here)
    return found


def _below(path: str, parent: str) -> bool:
    return path.startswith(parent) and path != parent and path[len(parent)] in "[.{"


def _one_sided(path: str, left: Leaf | None, right: Leaf | None) -> list[LeafDifference]:
    return [
        LeafDifference(
            aspect="type",
            path=path,
            left=describe(left) if left else "absent",
            right=describe(right) if right else "absent",
        )
    ]


def describe(leaf: Leaf) -> str:
    """A node in a few words: ``Tensor[3, 4]``, ``int 5``, ``list len=3``."""
    if leaf.tensor is not None:
        return f"{leaf.tensor.subclass.rsplit('.', 1)[-1]}{list(leaf.tensor.shape)}"
    return f"{leaf.type} {leaf.value}".strip()


def compare_leaf(
    left: Leaf, right: Leaf, *, values: bool = True, float64: TensorRecord | None = None, known: frozenset[str] = frozenset()
) -> list[LeafDifference]:
    """Differences of one node that both structures have."""
    if type_name(left) != type_name(right) or (left.tensor is None) != (right.tensor is None):
        return [LeafDifference(aspect="type", path=left.path, left=describe(left), right=describe(right))]
    if left.tensor is not None and right.tensor is not None:
        return _compare_tensors(left.path, left.tensor, right.tensor, values=values, float64=float64, known=known)
    if left.value == right.value:
        return []
    if left.value.startswith("len=") and right.value.startswith("len="):
        return [LeafDifference(aspect="type", path=left.path, left=describe(left), right=describe(right))]
    if not values:
        return []
    judgement = judge_scalars(type_name(left), left.value, right.value)
    if judgement.verdict in ("equal", "close"):
        return []
    return [LeafDifference(aspect="value", path=left.path, left=left.value, right=right.value, judgement=judgement)]


def _compare_tensors(
    path: str, left: TensorRecord, right: TensorRecord, *, values: bool, float64: TensorRecord | None, known: frozenset[str]
) -> list[LeafDifference]:
    found: list[LeafDifference] = []

    def add(aspect: Aspect, ours: object, theirs: object, *, minor: bool = False) -> None:
        found.append(LeafDifference(aspect=aspect, path=path, left=_text(ours), right=_text(theirs), minor=minor))

    if (left.subclass, left.layout) != (right.subclass, right.layout):
        add("type", f"{left.subclass} ({left.layout})", f"{right.subclass} ({right.layout})")
        return found
    if left.dtype != right.dtype:
        add("dtype", left.dtype, right.dtype)
    if left.device != right.device:
        add("device", left.device, right.device)
    if left.requires_grad != right.requires_grad:
        add("grad", f"requires_grad={left.requires_grad}", f"requires_grad={right.requires_grad}")
    if left.shape != right.shape:
        add("shape", left.shape, right.shape)
        return found
    if 0 in left.shape:
        return found
    if _strides(left) != _strides(right):
        add("stride", left.stride, right.stride)
    found.extend(_aliasing(path, left, right, known))
    if values and left.dtype == right.dtype:
        judgement = judge_tensors(left, right, float64)
        if judgement.verdict not in ("equal", "close"):
            found.append(
                LeafDifference(aspect="value", path=path, left=judgement.left, right=judgement.right, judgement=judgement)
            )
    return found


def _text(value: object) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _strides(tensor: TensorRecord) -> tuple[int, ...]:
    """Strides that matter: those of dimensions longer than one."""
    return tuple(stride for size, stride in zip(tensor.shape, tensor.stride, strict=False) if size > 1)


def _aliasing(path: str, left: TensorRecord, right: TensorRecord, known: frozenset[str]) -> list[LeafDifference]:
    ours, theirs = set(left.aliases) & known, set(right.aliases) & known
    if ours != theirs:
        return [LeafDifference(aspect="alias", path=path, left=_shares(ours), right=_shares(theirs))]
    if left.storage_offset != right.storage_offset:
        offsets = f"storage offset {left.storage_offset}", f"storage offset {right.storage_offset}"
        return [LeafDifference(aspect="alias", path=path, left=offsets[0], right=offsets[1], minor=not theirs)]
    return []


def _shares(names: Iterable[str]) -> str:
    return f"sharing memory with {', '.join(sorted(names))}" if names else "sharing no memory"


def by_path(leaves: Iterable[Leaf]) -> Mapping[str, Leaf]:
    return {leaf.path: leaf for leaf in leaves}


def is_scalar(leaf: Leaf) -> bool:
    return leaf.tensor is None and type_name(leaf) in _SCALARS
