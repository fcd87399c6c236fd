"""Nested Python values and tensors as flat, comparable leaves.

Everything here runs between the suite's own calls, so it must not run the suite's code, draw random numbers, make a graph or
raise: what cannot be read is recorded by its type alone.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import types
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Any

import torch

from testmatrix.observation import Leaf, TensorRecord
from testmatrix.torch_adapter.exceptions import qualified

_SCALARS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout)
_LIMIT_DEPTH = 8
_LIMIT_LEAVES = 2000
_LIMIT_REPR = 500


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

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._storages: dict[tuple[str, int], list[str]] = {}
        self._read: list[tuple[str, str, str, torch.Tensor | None]] = []

    def read(self, root: object, name: str, *, values: bool = True, attributes: bool = False) -> tuple[Leaf, ...]:
        """All leaves below ``root``; ``name`` starts every path.

        Args:
            values: hash and keep tensor values, else metadata only.
            attributes: follow attributes of plain objects one level, for what a call may have changed.
        """
        leaves: list[Leaf] = []
        self._walk(root, name, leaves, values, 2 if attributes else 0, 0, set())
        return tuple(leaves)

    def _walk(self, node: Any, path: str, out: list[Leaf], values: bool, attributes: int, depth: int, seen: set[int]) -> None:
        if len(out) >= _LIMIT_LEAVES or depth > _LIMIT_DEPTH:
            return
        if isinstance(node, torch.Tensor):
            self._tensor(node, path, out, values)
            return
        name = qualified(type(node))
        if isinstance(node, (*_SCALARS, enum.Enum)):
            out.append(Leaf(path=path, type=name, value=scalar_text(node)))
            return
        if isinstance(node, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            out.append(Leaf(path=path, type=name))
            return
        if id(node) in seen:
            out.append(Leaf(path=path, type=name, value="(recursive)"))
            return
        seen = seen | {id(node)}
        children = _children(node)
        if children is not None:
            out.append(Leaf(path=path, type=name, value=f"len={len(children)}"))
            for key, child in children:
                self._walk(child, path + key, out, values, attributes, depth + 1, seen)
            return
        array = _numpy_leaf(node, path, name, self._budget, values)
        if array is not None:
            out.append(array)
            return
        out.append(Leaf(path=path, type=name))
        if attributes > 0:
            for key, child in _attributes(node):
                self._walk(child, f"{path}.{key}", out, values, attributes - 1, depth + 1, seen)

    def _tensor(self, tensor: torch.Tensor, path: str, out: list[Leaf], values: bool) -> None:
        name = qualified(type(tensor))
        try:
            with torch._C.DisableTorchFunction():
                record = self._record(tensor, path, values)
        except Exception:  # a subclass or wrapper that does not even tell its shape
            record = None
        out.append(Leaf(path=path, type=name, tensor=record))
        if values and type(tensor) is not torch.Tensor and hasattr(type(tensor), "__tensor_flatten__"):
            self._inner_tensors(tensor, path, out)

    def _inner_tensors(self, tensor: Any, path: str, out: list[Leaf]) -> None:
        try:
            names = tensor.__tensor_flatten__()[0]
            inner = [(name, getattr(tensor, name)) for name in names]
        except Exception:  # flattening is the subclass's own code
            return
        for name, child in inner:
            if isinstance(child, torch.Tensor) and child is not tensor:
                self._tensor(child, f"{path}.{name}", out, True)

    def _record(self, tensor: torch.Tensor, path: str, values: bool) -> TensorRecord:
        strided = tensor.layout == torch.strided and not tensor.is_nested
        digest, data = _values(tensor, self._budget) if values else ("", None)
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
        others = tuple(sorted(set(sharing) - {path}))
        sharing.append(path)
        return others


def _sizes(sizes: Any) -> tuple[int, ...]:
    return tuple(_size(size) for size in sizes)


def _size(size: Any) -> int:
    """A plain int; -1 for a symbolic size, which reading must not specialise."""
    return size if type(size) is int else -1


def scalar_text(value: object) -> str:
    """``repr`` of a scalar, shortened; strings whose length says enough keep their hash."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    if len(text) <= _LIMIT_REPR:
        return text
    return f"{text[:80]}… len={len(text)} sha={hashlib.sha1(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _children(node: Any) -> list[tuple[str, Any]] | None:
    """Children of a container as (path suffix, child); None for anything else."""
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return [(f".{field}", getattr(node, field)) for field in node._fields]
    if isinstance(node, (list, tuple, deque)):
        return [(f"[{i}]", child) for i, child in enumerate(list(node))]
    if isinstance(node, (dict, OrderedDict, types.MappingProxyType)):
        return [(f"[{_key_text(key)}]", child) for key, child in list(node.items())]
    if isinstance(node, (set, frozenset)):
        return [(f"{{{i}}}", text) for i, text in enumerate(sorted(_key_text(key) for key in node))]
    if isinstance(node, range):
        return [(".start", node.start), (".stop", node.stop), (".step", node.step)]
    if isinstance(node, slice):
        return [(".start", node.start), (".stop", node.stop), (".step", node.step)]
    if dataclasses.is_dataclass(node) and not isinstance(node, type):
        return [(f".{f.name}", getattr(node, f.name, None)) for f in dataclasses.fields(node)]
    return None


def _key_text(key: object) -> str:
    return scalar_text(key) if isinstance(key, (*_SCALARS, enum.Enum, tuple)) else qualified(type(key))


def _attributes(node: Any) -> list[tuple[str, Any]]:
    """Instance attributes that are data: what a call may have changed in an object it was given."""
    if isinstance(node, (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
        return []
    if isinstance(node, torch.nn.Module):
        return _module_state(node)
    found = getattr(node, "__dict__", None)
    if not isinstance(found, Mapping):
        return []
    return [(name, value) for name, value in sorted(found.items()) if not name.startswith("__")]


def _module_state(module: torch.nn.Module) -> list[tuple[str, Any]]:
    """Buffers of the whole tree and plain attributes of its modules; parameters change through optimisers, not calls."""
    state: list[tuple[str, Any]] = list(module.named_buffers())
    skipped = set(torch.nn.Module().__dict__)
    for prefix, child in module.named_modules():
        for name, value in child.__dict__.items():
            if name not in skipped and isinstance(value, (bool, int, float, str, torch.Tensor, type(None))):
                state.append((f"{prefix}.{name}" if prefix else name, value))
    return sorted(state, key=lambda item: item[0])


def is_concrete(tensor: torch.Tensor) -> bool:
    """Whether a tensor has real values: not fake, not meta, not wrapped by a functional transform."""
    if tensor.device.type == "meta" or torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return False
    return type(tensor).__name__ not in ("FakeTensor", "FunctionalTensor", "ProxyTensor")


def _values(tensor: torch.Tensor, budget: Budget) -> tuple[str, bytes | None]:
    """(hash, bytes) of the values in logical order; empty and None where they cannot be read."""
    try:
        if not is_concrete(tensor):
            return "", None
        plain = tensor.detach()
        if plain.is_nested or plain.layout != torch.strided:
            plain = plain.to_padded_tensor(0.0) if plain.is_nested else plain.to_dense()
        if plain.is_quantized:
            plain = plain.int_repr()
        if plain.is_conj() or plain.is_neg():
            plain = plain.resolve_conj().resolve_neg()
        raw = plain.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    except Exception:  # a subclass that does not allow one of these, or a device that is gone
        return "", None
    digest = hashlib.blake2b(raw, digest_size=12).hexdigest()
    return digest, raw if budget.take(len(raw)) else None


def _numpy_leaf(node: Any, path: str, name: str, budget: Budget, values: bool) -> Leaf | None:
    """NumPy arrays and scalars, which compiled code may turn into each other."""
    if not type(node).__module__.startswith("numpy"):
        return None
    import numpy

    if isinstance(node, numpy.generic):
        return Leaf(path=path, type=name, value=repr(node.item()))
    if not isinstance(node, numpy.ndarray) or node.dtype.hasobject:
        return None
    raw = node.tobytes() if values else b""
    record = TensorRecord(
        dtype=str(node.dtype),
        shape=tuple(node.shape),
        stride=tuple(step // (node.itemsize or 1) for step in node.strides),
        storage_offset=0,
        device="cpu",
        requires_grad=False,
        subclass=name,
        digest=hashlib.blake2b(raw, digest_size=12).hexdigest() if values else "",
        data=raw if values and budget.take(len(raw)) else None,
    )
    return Leaf(path=path, type=name, tensor=record)
