"""What was in mutable things at some point, and putting it back in place.

In place, and never by giving out copies: what is the same object stays the same object, and a view stays a view of it.
"""

from __future__ import annotations

import collections
import copy
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import is_
from typing import Any

#: Exact types: a subclass may do anything when it is filled.
_SEQUENCES = frozenset({list, collections.deque, bytearray})
_MAPPINGS = frozenset({dict, collections.OrderedDict, collections.defaultdict, collections.Counter})
_MOST_NODES = 20_000
_MOST_BYTES = 64 * 2**20  # of tensors and arrays

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing's content: whether it is another one now, and how to make it the same again."""

    differs: Callable[[], bool]
    restore: Callable[[], None]


def put_back(kept: Iterable[Kept]) -> None:
    """Make everything that differs as it was. Never raises: what a test froze or exported stays as it left it."""
    for each in kept:
        try:
            if each.differs():
                each.restore()
        except Exception:
            continue


def differing(kept: Iterable[Kept]) -> list[Kept]:
    found = []
    for each in kept:
        try:
            if each.differs():
                found.append(each)
        except Exception:
            continue
    return found


@dataclass
class Contents:
    """Snapshots of everything mutable that some roots lead to. Taking them never raises."""

    modules: frozenset[str] = frozenset()  #: whose functions and classes' instances are data of the suite
    kept: list[Kept] = field(default_factory=list)
    beside: Contents | None = None  #: what is in there is left out
    _seen: dict[int, object] = field(default_factory=dict)  #: keeps what it names alive, so that no id is used twice
    _bytes: int = 0

    def add(self, roots: Iterable[object]) -> None:
        """Remember what is in these now; what is known already keeps its first content."""
        pending = list(roots)
        while pending and len(self._seen) < _MOST_NODES:
            value = pending.pop()
            if id(value) in self._seen or (self.beside is not None and id(value) in self.beside._seen):
                continue
            try:
                inner = self._keep(value)
            except Exception:  # not everything can be read or copied: it stays as the test leaves it
                continue
            if inner is not None:
                self._seen[id(value)] = value
                pending.extend(inner)

    def still_holds(self) -> bool:
        """Whether all is as it was, so that taking it again would find the same. False where that cannot be told."""
        try:
            return not any(each.differs() for each in self.kept)
        except Exception:
            return False

    def _keep(self, value: Any) -> Iterable[object] | None:
        """Keep one thing's content; returns what is in it, None where it is nothing that changes."""
        kind = type(value)
        if kind in _SEQUENCES:
            self.kept.append(_sequence(value))
            return list(value) if kind is not bytearray else ()
        if kind in _MAPPINGS:
            self.kept.append(_mapping(value))
            return list(value.values())
        if kind is set:
            self.kept.append(_set(value))
            return ()
        if isinstance(value, tuple):
            return value
        if kind is types.FunctionType:
            return self._keep_function(value) if value.__module__ in self.modules else None
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and isinstance(value, torch.Tensor):
            return self._keep_tensor(value, torch)
        if numpy is not None and kind is numpy.ndarray and not value.dtype.hasobject:
            if self._afford(value.nbytes):
                self.kept.append(_array(value))
            return ()
        if kind.__module__ in self.modules or (torch is not None and isinstance(value, torch.nn.Module)):
            self.kept.append(_attributes(value))
            return list(vars(value).values())
        return None

    def _keep_function(self, function: types.FunctionType) -> Iterable[object]:
        """What calls of it share: attributes, defaults and closed-over variables."""
        self.kept.extend((_attributes(function), _defaults(function)))
        inner: list[object] = [
            *vars(function).values(),
            *(function.__defaults__ or ()),
            *(function.__kwdefaults__ or {}).values(),
        ]
        for cell in function.__closure__ or ():
            try:
                inner.append(cell.cell_contents)
            except ValueError:  # not bound yet
                continue
            self.kept.append(_cell(cell))
        return inner

    def _keep_tensor(self, tensor: Any, torch: Any) -> Iterable[object]:
        if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return ()
        # Its storage, so that the tensors that share it do, too.
        if self._afford(tensor.untyped_storage().nbytes()):
            self.kept.append(_tensor(tensor, torch))
        return [tensor.grad] if tensor.is_leaf and tensor.grad is not None else []

    def _afford(self, size: int) -> bool:
        self._bytes += size
        return self._bytes <= _MOST_BYTES


def _sequence(target: Any) -> Kept:
    content = copy.copy(target)

    def differs() -> bool:
        return len(target) != len(content) or not all(map(is_, target, content))

    def restore() -> None:
        target.clear()
        target.extend(content)

    return Kept(differs, restore)


def _same_items(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    """Whether both have the same objects in the same order."""
    return len(one) == len(other) and all(map(is_, one, other)) and all(map(is_, one.values(), other.values()))


def _mapping(target: dict[Any, Any]) -> Kept:
    content = dict(target)

    def differs() -> bool:
        return not _same_items(target, content)

    def restore() -> None:
        target.clear()
        target.update(content)

    return Kept(differs, restore)


def _attributes(owner: Any) -> Kept:
    """What an object's attributes are bound to, the dictionary itself included."""
    target = vars(owner)
    inner = _mapping(target)

    def restore() -> None:
        inner.restore()
        if vars(owner) is not target:
            owner.__dict__ = target

    return Kept(lambda: vars(owner) is not target or inner.differs(), restore)


def _defaults(function: types.FunctionType) -> Kept:
    positional, named = function.__defaults__, function.__kwdefaults__

    def restore() -> None:
        function.__defaults__, function.__kwdefaults__ = positional, named

    return Kept(lambda: function.__defaults__ is not positional or function.__kwdefaults__ is not named, restore)


def _set(target: set[Any]) -> Kept:
    content = set(target)

    def restore() -> None:
        target.clear()
        target.update(content)

    return Kept(lambda: target != content, restore)


def _cell(target: types.CellType) -> Kept:
    content = target.cell_contents

    def restore() -> None:
        target.cell_contents = content

    return Kept(lambda: target.cell_contents is not content, restore)


def _array(target: Any) -> Kept:
    content = target.copy()

    def restore() -> None:
        if target.shape == content.shape:
            target[...] = content

    return Kept(lambda: target.shape != content.shape or target.tobytes() != content.tobytes(), restore)


def _tensor(target: Any, torch: Any) -> Kept:
    data = target.data  # shares the storage, and keeps it where the test exchanges or resizes it
    content, version = data.clone(), target._version
    attributes = _attributes(target)
    requires_grad, gradient = target.requires_grad, target.grad if target.is_leaf else None

    def moved() -> bool:
        return bool(target.data_ptr() != data.data_ptr() or target.shape != content.shape or target.stride() != data.stride())

    def written() -> bool:
        return target._version != version or not torch.equal(data, content)

    def graded() -> bool:
        return target.is_leaf and (target.grad is not gradient or target.requires_grad != requires_grad)

    def restore() -> None:
        attributes.restore()
        if moved():
            target.data = data
        if written():
            with torch.no_grad():
                data.copy_(content)
        if graded():
            target.grad = gradient
            target.requires_grad_(requires_grad)

    return Kept(lambda: attributes.differs() or moved() or written() or graded(), restore)


def names(owner: Any) -> Kept:
    """What the names of a module or class are bound to."""
    content = dict(vars(owner))

    def differs() -> bool:
        return not _same_items(vars(owner), content)

    def restore() -> None:
        before, now = bound(content), bound(vars(owner))
        for name in before.keys() | now.keys():
            with suppress(Exception):  # such as one that a metaclass keeps from being set
                if name not in before:
                    delattr(owner, name)
                elif now.get(name, _MISSING) is not before[name]:
                    setattr(owner, name, before[name])

    return Kept(differs, restore)


def bound(namespace: Mapping[str, object]) -> dict[str, object]:
    """The names that a suite binds: without Python's own, and what abstract classes keep for themselves."""
    return {name: value for name, value in namespace.items() if not name.startswith(("__", "_abc_"))}
