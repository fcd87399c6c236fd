"""What was in mutable things at some point, and putting it back in place.

In place, and never by giving out copies: what is the same object stays the same object, and a view stays a view of it.
"""

from __future__ import annotations

import collections
import copy
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

#: Exact types: a subclass may do anything when it is filled.
_SEQUENCES = frozenset({list, collections.deque, bytearray})
_MAPPINGS = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})
_MOST_NODES = 20_000
_MOST_BYTES = 64 * 2**20  # of tensors and arrays

_MISSING = object()


@dataclass
class Contents:
    """Snapshots of everything mutable that some roots lead to. Taking and putting back never raises."""

    modules: frozenset[str] = frozenset()  #: whose classes' instances are data of the suite
    _put_back: list[Callable[[], None]] = field(default_factory=list)
    _seen: dict[int, object] = field(default_factory=dict)  #: keeps what it names alive, so that no id is used twice
    _bytes: int = 0

    def add(self, roots: Iterable[object]) -> None:
        """Remember what is in these now; what is known already keeps its first content."""
        pending = list(roots)
        while pending and len(self._seen) < _MOST_NODES:
            value = pending.pop()
            if id(value) in self._seen:
                continue
            try:
                inner = self._keep(value)
            except Exception:  # not everything can be read or copied: it stays as the test leaves it
                continue
            if inner is not None:
                self._seen[id(value)] = value
                pending.extend(inner)

    def put_back(self) -> None:
        for put_back in self._put_back:
            try:
                put_back()
            except Exception:  # frozen, exported or resized by the test beyond what can be undone
                continue

    def _keep(self, value: Any) -> Iterable[object] | None:
        """Keep one thing's content; returns what is in it, None where it is nothing that changes."""
        kind = type(value)
        if kind in _SEQUENCES:
            self._put_back.append(_sequence(value))
            return list(value) if kind is not bytearray else ()
        if kind in _MAPPINGS:
            self._put_back.append(_mapping(value))
            return list(value.values())
        if kind is set:
            self._put_back.append(_set(value))
            return ()
        if isinstance(value, tuple):
            return value
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._keep_tensor(value, torch)
        if numpy is not None and kind is numpy.ndarray and not value.dtype.hasobject:
            if self._afford(value.nbytes):
                self._put_back.append(_array(value))
            return ()
        if kind.__module__ in self.modules or (torch is not None and isinstance(value, torch.nn.Module)):
            self._put_back.append(_mapping(vars(value)))
            return list(vars(value).values())
        return None

    def _keep_tensor(self, tensor: Any, torch: Any) -> Iterable[object]:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return ()
        # Its storage, so that the tensors that share it do, too.
        if self._afford(tensor.untyped_storage().nbytes()):
            self._put_back.append(_tensor(tensor, torch))
        return [tensor.grad] if tensor.is_leaf and tensor.grad is not None else []

    def _afford(self, size: int) -> bool:
        self._bytes += size
        return self._bytes <= _MOST_BYTES


def _sequence(target: Any) -> Callable[[], None]:
    content = copy.copy(target)

    def put_back() -> None:
        if len(target) != len(content) or any(one is not other for one, other in zip(target, content, strict=True)):
            target.clear()
            target.extend(content)

    return put_back


def _mapping(target: dict[Any, Any]) -> Callable[[], None]:
    content = dict(target)

    def put_back() -> None:
        unchanged = len(target) == len(content) and all(
            key is other and target[key] is content[other] for key, other in zip(target, content, strict=True)
        )
        if not unchanged:
            target.clear()
            target.update(content)

    return put_back


def _set(target: set[Any]) -> Callable[[], None]:
    content = set(target)

    def put_back() -> None:
        if target != content:
            target.clear()
            target.update(content)

    return put_back


def _array(target: Any) -> Callable[[], None]:
    content = target.copy()

    def put_back() -> None:
        if target.shape == content.shape and target.tobytes() != content.tobytes():
            target[...] = content

    return put_back


def _tensor(target: Any, torch: Any) -> Callable[[], None]:
    data = target.data  # shares the storage, and keeps it where the test exchanges or resizes it
    content, version = data.clone(), target._version
    attributes = _mapping(vars(target))
    requires_grad, gradient = target.requires_grad, target.grad if target.is_leaf else None

    def put_back() -> None:
        attributes()
        if target.data_ptr() != data.data_ptr() or target.shape != content.shape or target.stride() != data.stride():
            target.data = data
        if target._version != version or not torch.equal(data, content):
            with torch.no_grad():
                data.copy_(content)
        if target.is_leaf:
            target.grad = gradient
            if target.requires_grad != requires_grad:
                target.requires_grad_(requires_grad)

    return put_back


@dataclass
class Names:
    """The names of a module or class, and what they were bound to."""

    owner: Any
    _bound: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self._bound = self._present()

    def values(self) -> Iterable[object]:
        return self._bound.values()

    def put_back(self) -> None:
        """Bind all names as before, and unbind those that are new."""
        present = self._present()
        for name in present.keys() - self._bound.keys():
            delattr(self.owner, name)
        for name, value in self._bound.items():
            if present.get(name, _MISSING) is not value:
                setattr(self.owner, name, value)

    def _present(self) -> dict[str, object]:
        # Python's own, and what classes keep for themselves.
        return {name: value for name, value in vars(self.owner).items() if not name.startswith(("__", "_abc_"))}
