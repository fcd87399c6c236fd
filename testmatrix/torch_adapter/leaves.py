"""Nested Python values and tensors as flat, comparable leaves.

Everything here runs between the suite's own calls, so it must not run the suite's code, draw random numbers, make a graph or
raise: what cannot be read is recorded by its type alone.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Literal

import torch

from testmatrix.observation import Leaf, TensorRecord
from testmatrix.torch_adapter import pytrees
from testmatrix.torch_adapter.attributes import (
    GRADIENT,
    NUMBERS_AND_TEXT,
    SCALARS,
    attributes_of,
    is_a,
    object_attributes,
    stored,
)
from testmatrix.torch_adapter.exceptions import qualified
from testmatrix.torch_adapter.tensors import Digests, hash_of, size_of, values_of

#: How much of values is recorded.
Kept = Literal["nothing", "digest", "data"]

_LIMIT_DEPTH = 8
_LIMIT_LEAVES = 2000
_LIMIT_REST = 10_000  #: nodes past the others that are hashed
_LIMIT_INNER = 4  #: subclasses inside subclasses
_LIMIT_REPR = 500
_LIMIT_UNCHANGED = 64 * 1024  #: bytes past which parameters and gradients are kept only where they changed


class Budget:
    """How many bytes of tensor values one observation may still keep; past that only hashes are."""

    __slots__ = ("left",)

    def __init__(self, limit: int) -> None:
        self.left = limit

    def take(self, size: int) -> bool:
        if size > self.left:
            return False
        self.left -= size
        return True


class LeafReader:
    """Reads roots into leaves, keeping track of which tensors share storage.

    One reader serves one region call: roots read by it (the arguments first, then the result) are what ``aliases`` can name.
    """

    def __init__(self, budget: Budget, digests: Digests | None = None, before: Mapping[str, str] | None = None) -> None:
        """``before`` are the hashes that tensors had before the call, by path."""
        self._budget = budget
        self._digests = digests or Digests()
        self._before = before or {}
        self._storages: dict[tuple[str, int], list[str]] = {}
        self._called = ""
        self._follow: Callable[[Any], list[tuple[str, Any]]] = attributes_of
        self._left: list[Any] = []  #: nodes past a limit
        self.differentiable: list[
            tuple[str, torch.Tensor]
        ] = []  #: (path, tensor) of leaves of autograd's graph among what was read

    def read(
        self,
        root: object,
        name: str,
        *,
        values: bool = True,
        digests: bool = False,
        attributes: bool = False,
        objects: bool = True,
        called: str = "",
    ) -> tuple[Leaf, ...]:
        """All leaves below ``root``; ``name`` starts every path.

        Args:
            values: hash and keep tensor values, else metadata only,
            digests: and the hash.
            attributes: follow attributes two levels, for what a call may have changed,
            objects: or only those of the suite's own plain objects, for what a call may have made.
            called: what ``aliases`` calls the root where it has no name.
        """
        leaves: list[Leaf] = []
        self._called, self._follow, self._left = called, attributes_of if attributes else object_attributes, []
        kept: Kept = "data" if values else "digest" if digests else "nothing"
        with torch._C.DisableTorchFunction():
            self._walk(root, name, leaves, kept, 2 if attributes or objects else 0, 0, set())
            if self._left:
                leaves.append(self._rest(name, kept))
                self._left = []
        return tuple(leaves)

    def _walk(self, node: Any, path: str, out: list[Leaf], kept: Kept, attributes: int, depth: int, seen: set[int]) -> None:
        if len(out) >= _LIMIT_LEAVES or depth > _LIMIT_DEPTH:
            self._left.append(node)
            return
        if is_a(node, torch.Tensor):
            self._tensor(node, path, out, kept)
            if attributes > 0 and self._follow is attributes_of:
                self._gradient(node, f"{path}.grad", out, kept)
            return
        leaf = _single(node, path, self._budget, kept)
        if leaf is not None:
            out.append(leaf)
            return
        name = qualified(type(node))
        if id(node) in seen:
            out.append(Leaf(path=path, type=name, value="(recursive)"))
            return
        seen = seen | {id(node)}
        children = _children(node)
        if children is not None:
            length, shown = children
            order = _order(node)
            out.append(Leaf(path=path, type=name, value=f"len={length} {order}" if order else f"len={length}"))
            for key, child in shown:
                self._walk(child, path + key, out, kept, attributes, depth + 1, seen)
            return
        out.append(Leaf(path=path, type=name))
        if attributes > 0:
            for key, child in self._follow(node):
                self._walk(child, f"{path}.{key}", out, kept, attributes - 1, depth + 1, seen)

    def _rest(self, name: str, kept: Kept) -> Leaf:
        """What lies past the limits, as one hash. Numbers that may be rounded otherwise elsewhere are no part of it."""
        hasher, count, seen = hashlib.blake2b(digest_size=12), 0, set()
        pending = deque(self._left)
        while pending and count < _LIMIT_REST:
            node, count = pending.popleft(), count + 1
            children = None if is_a(node, torch.Tensor) or id(node) in seen else _children(node)
            hasher.update(f"{qualified(type(node))} {self._exact(node, kept)};".encode("utf-8", "replace"))
            if children is not None:
                seen.add(id(node))
                hasher.update(f"{children[0]} {''.join(key for key, _ in children[1])};".encode("utf-8", "replace"))
                pending.extend(child for _, child in children[1])
        more = "more than " if pending else ""
        return Leaf(path=f"{name}.…", type="more", value=f"{more}{count} more, sha={hasher.hexdigest()}")

    def _exact(self, node: Any, kept: Kept) -> str:
        """A scalar or tensor in words, as far as it is the same wherever it is computed."""
        if is_a(node, torch.Tensor):
            rounded = node.is_floating_point() or node.is_complex()
            digest = self._digests.of(node) if kept != "nothing" and not rounded else ""
            return f"{node.dtype} {_sizes(node.shape)} {digest}"
        return scalar_text(node) if is_a(node, *SCALARS, enum.Enum) and not is_a(node, float, complex) else ""

    def _tensor(self, tensor: torch.Tensor, path: str, out: list[Leaf], kept: Kept, inner: int = 0) -> None:
        name = qualified(type(tensor))
        try:
            record = self._record(tensor, path, kept)
        except Exception:  # a subclass or wrapper that does not even tell its shape
            record = None
        out.append(Leaf(path=path, type=name, tensor=record))
        if record is not None and record.requires_grad and tensor.is_leaf:
            self.differentiable.append((path, tensor))
        if kept != "nothing" and inner < _LIMIT_INNER and hasattr(type(tensor), "__tensor_flatten__"):
            self._inner_tensors(tensor, path, out, kept, inner + 1)

    def _inner_tensors(self, tensor: Any, path: str, out: list[Leaf], kept: Kept, inner: int) -> None:
        try:
            names = tensor.__tensor_flatten__()[0]
            found = [(name, getattr(tensor, name)) for name in names]
        except Exception:  # flattening is the subclass's own code
            return
        for name, child in found:
            if is_a(child, torch.Tensor) and child is not tensor:
                self._tensor(child, f"{path}.{name}", out, kept, inner)

    def _gradient(self, tensor: torch.Tensor, path: str, out: list[Leaf], kept: Kept) -> None:
        if not tensor.is_leaf:  # asking others for their gradient warns
            return
        gradient = GRADIENT.__get__(tensor)
        if gradient is not None:
            self._tensor(gradient, path, out, kept)

    def _values(self, tensor: torch.Tensor, path: str, kept: Kept) -> tuple[str, bytes | None]:
        if kept == "nothing":
            return "", None
        if kept == "digest":
            return self._digests.of(tensor), None
        if path in self._before and size_of(tensor) > _LIMIT_UNCHANGED and _is_weight(tensor, path):
            digest = self._digests.of(tensor)
            if digest == self._before[path]:
                return digest, None
        return values_of(tensor, self._budget.take)

    def _record(self, tensor: torch.Tensor, path: str, kept: Kept) -> TensorRecord:
        strided = tensor.layout == torch.strided and not tensor.is_nested
        digest, data = self._values(tensor, path, kept)
        return TensorRecord(
            dtype=str(tensor.dtype).removeprefix("torch."),
            shape=_sizes(tensor.shape) if not tensor.is_nested else (),
            stride=_sizes(tensor.stride()) if strided else (),
            storage_offset=_size(tensor.storage_offset()) if strided else 0,
            device=str(tensor.device),
            requires_grad=tensor.requires_grad,
            subclass="Tensor" if type(tensor) is torch.Tensor else qualified(type(tensor)),
            layout=str(tensor.layout).removeprefix("torch."),
            aliases=self._aliases(tensor, path) if strided else (),
            digest=digest,
            data=data,
        )

    def _aliases(self, tensor: torch.Tensor, path: str) -> tuple[str, ...]:
        try:
            storage = tensor.untyped_storage()
            if storage.nbytes() == 0:
                return ()
            key = (str(tensor.device), storage._cdata)
        except Exception:
            return ()
        sharing = self._storages.setdefault(key, [])
        name = self._called + path
        others = tuple(sorted(set(sharing) - {name}))
        sharing.append(name)
        return others


def _is_weight(tensor: torch.Tensor, path: str) -> bool:
    return is_a(tensor, torch.nn.Parameter) or path.endswith(".grad")


def _sizes(sizes: Any) -> tuple[int, ...]:
    return tuple(_size(size) for size in sizes)


def _size(size: Any) -> int:
    """A plain int; -1 for a symbolic size, which reading must not specialise."""
    return size if type(size) is int else -1


def scalar_text(value: object) -> str:
    """``repr`` of a scalar, shortened; strings whose length says enough keep their hash."""
    if is_a(value, enum.Enum):
        return f"{type(value).__name__}.{stored(value, '_name_')}"
    return _shortened(_plain_repr(value))


def _shortened(text: str) -> str:
    if len(text) <= _LIMIT_REPR:
        return text
    return f"{text[:80]}… len={len(text)} sha={hashlib.sha1(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _plain_repr(value: object) -> str:
    """``repr`` as the builtin base class has it: a subclass's own is the suite's code."""
    for base in NUMBERS_AND_TEXT:
        if is_a(value, base):
            try:
                return base.__repr__(value)
            except ValueError:  # Python refuses to write ints of many digits in decimal
                return int.__format__(value, "#x")  # type: ignore[arg-type]
    return repr(value)


def _single(node: Any, path: str, budget: Budget, kept: Kept) -> Leaf | None:
    """The leaf of what has no children; None for anything else."""
    name = qualified(type(node))
    array = _numpy_leaf(node, path, name, budget, kept)
    if array is not None:
        return array
    if is_a(node, *SCALARS, enum.Enum):
        return Leaf(path=path, type=name, value=scalar_text(node))
    if is_a(node, torch.SymInt, torch.SymFloat, torch.SymBool):
        return Leaf(path=path, type=name)
    return None


def _children(node: Any) -> tuple[int, list[tuple[str, Any]]] | None:
    """Length of a container and its first children as (path suffix, child); None for anything else.

    Containers are read through the methods of the builtin classes: those of a subclass are the suite's code.
    """
    fields = getattr(type(node), "_fields", None)
    if is_a(node, tuple) and fields is not None:
        return tuple.__len__(node), [(f".{name}", child) for name, child in zip(fields, tuple.__iter__(node), strict=False)]
    bases: tuple[Any, ...] = (list, tuple, deque)
    for base in bases:
        if is_a(node, base):
            return base.__len__(node), [(f"[{i}]", child) for i, child in enumerate(_first(base.__iter__(node)))]
    for mapping in (OrderedDict, dict, types.MappingProxyType):
        if is_a(node, mapping):
            items = enumerate(_first(mapping.items(node)))
            return mapping.__len__(node), [(f"[{_key_text(key, f' {i}')}]", child) for i, (key, child) in items]
    bases = (set, frozenset)
    for base in bases:
        if is_a(node, base):
            texts = sorted(map(_key_text, base.__iter__(node)))
            return base.__len__(node), [(f"{{{i}}}", text) for i, text in enumerate(_first(texts))]
    if is_a(node, range, slice):
        return 3, [(".start", node.start), (".stop", node.stop), (".step", node.step)]
    if dataclasses.is_dataclass(type(node)):
        names = [field.name for field in dataclasses.fields(node)]
        return len(names), [(f".{name}", stored(node, name)) for name in names]
    registered = pytrees.children(node)
    return None if registered is None else (len(registered), registered[:_LIMIT_REST])


def _first(items: Iterable[Any]) -> Iterable[Any]:
    return islice(items, _LIMIT_REST)


def _order(node: Any) -> str:
    """The keys of a dictionary in their order; nothing for what has none, or but one."""
    for mapping in (OrderedDict, dict):
        if is_a(node, mapping) and mapping.__len__(node) > 1:
            keys = [_key_text(key, f" {i}") for i, key in enumerate(_first(mapping.__iter__(node)))]
            return _shortened(f"[{', '.join(keys)}]")
    return ""


def _key_text(key: object, place: str = "") -> str:
    """A dictionary key or set member in words; opaque ones have nothing but their type, and ``place`` to tell them apart."""
    if is_a(key, *SCALARS, enum.Enum):
        return scalar_text(key)
    bases: tuple[Any, ...] = (tuple, frozenset)
    for base in bases:
        if is_a(key, base):
            members = [_key_text(member) for member in _first(base.__iter__(key))]
            return f"({', '.join(members if base is tuple else sorted(members))})"
    return qualified(type(key)) + place


def _numpy_leaf(node: Any, path: str, name: str, budget: Budget, kept: Kept) -> Leaf | None:
    """NumPy arrays and scalars, which compiled code may turn into each other."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if is_a(node, numpy.generic):
        return Leaf(path=path, type=name, value=repr(numpy.generic.item(node)))
    if not is_a(node, numpy.ndarray):
        return None
    if node.dtype.hasobject:
        return Leaf(path=path, type=name, value=f"object{list(node.shape)}")
    raw = numpy.ndarray.tobytes(node) if kept != "nothing" else b""
    record = TensorRecord(
        dtype=str(node.dtype),
        shape=tuple(node.shape),
        stride=tuple(step // (node.itemsize or 1) for step in node.strides),
        storage_offset=0,
        device="cpu",
        requires_grad=False,
        subclass=name,
        digest=hash_of(raw) if kept != "nothing" else "",
        data=raw if kept == "data" and budget.take(len(raw)) else None,
    )
    return Leaf(path=path, type=name, tensor=record)
