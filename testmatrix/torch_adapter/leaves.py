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
from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch

from testmatrix.observation import Leaf, TensorRecord
from testmatrix.torch_adapter import pytrees
from testmatrix.torch_adapter.exceptions import qualified

_NUMBERS_AND_TEXT = (bool, int, float, complex, str, bytes)
_SCALARS = (*_NUMBERS_AND_TEXT, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout)
_MODULE_DATA = (bool, int, float, str, type(None), torch.Tensor, list, tuple, dict, set)
_MODULE_INTERNALS = frozenset(torch.nn.Module().__dict__) - {"training"}
_LIMIT_DEPTH = 8
_LIMIT_LEAVES = 2000
_LIMIT_INNER = 4  #: subclasses inside subclasses
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


def is_a(value: object, *kinds: type) -> bool:
    """``isinstance`` by the type alone: the other looks at ``__class__``, which may be the suite's code."""
    return issubclass(type(value), kinds)


class LeafReader:
    """Reads roots into leaves, keeping track of which tensors share storage.

    One reader serves one region call: roots read by it (the arguments first, then the result) are what ``aliases`` can name.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._storages: dict[tuple[str, int], list[str]] = {}
        self._called = ""

    def read(
        self, root: object, name: str, *, values: bool = True, attributes: bool = False, called: str = ""
    ) -> tuple[Leaf, ...]:
        """All leaves below ``root``; ``name`` starts every path.

        Args:
            values: hash and keep tensor values, else metadata only.
            attributes: follow attributes of plain objects two levels, for what a call may have changed.
            called: what ``aliases`` calls the root where it has no name.
        """
        leaves: list[Leaf] = []
        self._called = called
        with torch._C.DisableTorchFunction():
            self._walk(root, name, leaves, values, 2 if attributes else 0, 0, set())
        return tuple(leaves)

    def _walk(self, node: Any, path: str, out: list[Leaf], values: bool, attributes: int, depth: int, seen: set[int]) -> None:
        if len(out) >= _LIMIT_LEAVES or depth > _LIMIT_DEPTH:
            return
        if is_a(node, torch.Tensor):
            self._tensor(node, path, out, values)
            return
        leaf = _single(node, path, self._budget, values)
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
            out.append(Leaf(path=path, type=name, value=f"len={length}"))
            for key, child in shown:
                self._walk(child, path + key, out, values, attributes, depth + 1, seen)
            return
        out.append(Leaf(path=path, type=name))
        if attributes > 0:
            for key, child in _attributes(node):
                self._walk(child, f"{path}.{key}", out, values, attributes - 1, depth + 1, seen)

    def _tensor(self, tensor: torch.Tensor, path: str, out: list[Leaf], values: bool, inner: int = 0) -> None:
        name = qualified(type(tensor))
        try:
            record = self._record(tensor, path, values)
        except Exception:  # a subclass or wrapper that does not even tell its shape
            record = None
        out.append(Leaf(path=path, type=name, tensor=record))
        if values and inner < _LIMIT_INNER and hasattr(type(tensor), "__tensor_flatten__"):
            self._inner_tensors(tensor, path, out, inner + 1)

    def _inner_tensors(self, tensor: Any, path: str, out: list[Leaf], inner: int) -> None:
        try:
            names = tensor.__tensor_flatten__()[0]
            found = [(name, getattr(tensor, name)) for name in names]
        except Exception:  # flattening is the subclass's own code
            return
        for name, child in found:
            if is_a(child, torch.Tensor) and child is not tensor:
                self._tensor(child, f"{path}.{name}", out, True, inner)

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
        name = self._called + path
        others = tuple(sorted(set(sharing) - {name}))
        sharing.append(name)
        return others


def _sizes(sizes: Any) -> tuple[int, ...]:
    return tuple(_size(size) for size in sizes)


def _size(size: Any) -> int:
    """A plain int; -1 for a symbolic size, which reading must not specialise."""
    return size if type(size) is int else -1


def scalar_text(value: object) -> str:
    """``repr`` of a scalar, shortened; strings whose length says enough keep their hash."""
    if is_a(value, enum.Enum):
        return f"{type(value).__name__}.{_stored(value, '_name_')}"
    text = _plain_repr(value)
    if len(text) <= _LIMIT_REPR:
        return text
    return f"{text[:80]}… len={len(text)} sha={hashlib.sha1(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def _plain_repr(value: object) -> str:
    """``repr`` as the builtin base class has it: a subclass's own is the suite's code."""
    for base in _NUMBERS_AND_TEXT:
        if is_a(value, base):
            try:
                return base.__repr__(value)
            except ValueError:  # Python refuses to write ints of many digits in decimal
                return int.__format__(value, "#x")  # type: ignore[arg-type]
    return repr(value)


def _single(node: Any, path: str, budget: Budget, values: bool) -> Leaf | None:
    """The leaf of what has no children; None for anything else."""
    name = qualified(type(node))
    array = _numpy_leaf(node, path, name, budget, values)
    if array is not None:
        return array
    if is_a(node, *_SCALARS, enum.Enum):
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
        return len(names), [(f".{name}", _stored(node, name)) for name in names]
    registered = pytrees.children(node)
    return None if registered is None else (len(registered), registered[:_LIMIT_LEAVES])


def _first(items: Iterable[Any]) -> Iterable[Any]:
    return islice(items, _LIMIT_LEAVES)


def _key_text(key: object, place: str = "") -> str:
    """A dictionary key or set member in words; opaque ones have nothing but their type, and ``place`` to tell them apart."""
    if is_a(key, *_SCALARS, enum.Enum):
        return scalar_text(key)
    bases: tuple[Any, ...] = (tuple, frozenset)
    for base in bases:
        if is_a(key, base):
            members = [_key_text(member) for member in _first(base.__iter__(key))]
            return f"({', '.join(members if base is tuple else sorted(members))})"
    return qualified(type(key)) + place


def _stored(node: object, name: str) -> object:
    """An attribute as it is stored in the instance, in a slot or as the class's default, without running any code."""
    found = _instance_dict(node)
    if name in found:
        return found[name]
    for cls in type(node).__mro__:
        if name in vars(cls):
            member = vars(cls)[name]
            if not isinstance(member, types.MemberDescriptorType):
                return None if hasattr(type(member), "__get__") else member
            try:
                return member.__get__(node)
            except AttributeError:  # never set
                return None
    return None


def _instance_dict(node: object) -> dict[str, Any]:
    try:
        found = object.__getattribute__(node, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _slots(node: object) -> dict[str, Any]:
    names = (
        name
        for cls in type(node).__mro__
        for name, member in vars(cls).items()
        if isinstance(member, types.MemberDescriptorType) and cls.__module__ != "builtins"
    )
    return {name: _stored(node, name) for name in names}


def _attributes(node: Any) -> list[tuple[str, Any]]:
    """Instance attributes that are data: what a call may have changed in an object it was given."""
    if is_a(node, type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType):
        return []
    if is_a(node, torch.nn.Module):
        return _module_state(node)
    found = {**_slots(node), **_instance_dict(node)}
    return [(name, found[name]) for name in sorted(filter(_is_text, found)) if not name.startswith("__")]


def _is_text(name: object) -> bool:
    return type(name) is str


def _module_state(module: torch.nn.Module) -> list[tuple[str, Any]]:
    """Buffers of the whole tree and plain attributes of its modules; parameters change through optimisers, not calls."""
    state: list[tuple[str, Any]] = list(torch.nn.Module.named_buffers(module))
    for prefix, child in torch.nn.Module.named_modules(module):
        for name, value in _instance_dict(child).items():
            if name not in _MODULE_INTERNALS and is_a(value, *_MODULE_DATA):
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
        if not is_concrete(tensor) or not _can_be_read(tensor):
            return "", None
        with torch._C._DisableTorchDispatch():
            raw = _bytes(tensor.detach())
    except Exception:  # a subclass that does not allow one of these, or a device that is gone
        return "", None
    digest = hashlib.blake2b(raw, digest_size=12).hexdigest()
    return digest, raw if budget.take(len(raw)) else None


def _can_be_read(tensor: torch.Tensor) -> bool:
    """Whether reading runs no code of the suite's: a subclass with operations of its own must have memory of its own."""
    if type(tensor).__torch_dispatch__ is torch.Tensor.__torch_dispatch__:
        return True
    return tensor.layout == torch.strided and tensor.untyped_storage().data_ptr() != 0  # raises for wrappers


def _bytes(plain: torch.Tensor) -> bytes:
    if plain.is_nested or plain.layout != torch.strided:
        plain = plain.to_padded_tensor(0.0) if plain.is_nested else plain.to_dense()
    if plain.is_quantized:
        plain = plain.int_repr()
    if plain.is_conj() or plain.is_neg():
        plain = plain.resolve_conj().resolve_neg()
    return bytes(plain.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def _numpy_leaf(node: Any, path: str, name: str, budget: Budget, values: bool) -> Leaf | None:
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
    raw = numpy.ndarray.tobytes(node) if values else b""
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
