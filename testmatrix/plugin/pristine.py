"""What a test's earlier run in the same process must not leave behind for the next one.

A bare run executes a test once, so suites are free to change what they were given: parameters of ``parametrize``, module-level
counters and tensors, class attributes. Each cell starts from what the first one started from.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

import pytest

_REBOUND = (bool, int, float, complex, str, bytes, type(None), tuple, frozenset)
_CONTAINERS = (list, dict, set)


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_state(value: object) -> bool:
    """Data that a test may change in place and that can be copied without changing what it is."""
    torch = sys.modules.get("torch")
    numpy = sys.modules.get("numpy")
    return (
        isinstance(value, _CONTAINERS)
        or (torch is not None and isinstance(value, (torch.Tensor, torch.nn.Module)))
        or (numpy is not None and isinstance(value, numpy.ndarray))
    )


class Parameters:
    """Parameters of a parametrised item, given to every run as fresh copies."""

    def __init__(self, item: pytest.Item) -> None:
        self._callspec: Any = getattr(item, "callspec", None)
        self._original: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}
        if self._callspec is None:
            return
        self._original = dict(self._callspec.params)
        for name, value in self._original.items():
            copied = _copied(value)
            if copied is not None:
                self._kept[name] = copied

    def renew(self) -> None:
        """Put fresh copies of what can be changed in place where pytest takes parameters from."""
        for name, value in self._kept.items():
            copied = _copied(value)
            if copied is not None:
                self._callspec.params[name] = copied

    def restore(self) -> None:
        if self._kept:
            self._callspec.params.update(self._original)


def _copied(value: Any) -> Any:
    if not _is_state(value):
        return None
    try:
        return copy.deepcopy(value)
    except Exception:  # not everything in it can be copied: then it is shared, as it was
        return None


@dataclass(frozen=True, slots=True)
class _Content:
    """A mutable object and what was in it."""

    target: Any
    content: Any
    version: int = 0


class Namespaces:
    """Names of the test's module and class, as they were right before the first run's test body."""

    def __init__(self, item: pytest.Item) -> None:
        owners = [getattr(item, "module", None), getattr(item, "cls", None)]
        self._owners = [owner for owner in owners if owner is not None]
        self._names: list[dict[str, Any]] = []
        self._contents: list[_Content] = []

    def save(self) -> None:
        """Take the present state; later calls do nothing."""
        if self._names:
            return
        for owner in self._owners:
            names = {name: value for name, value in vars(owner).items() if not name.startswith("__")}
            self._names.append(names)
            for value in names.values():
                content = _content(value)
                if content is not None:
                    self._contents.append(content)

    def restore(self) -> None:
        """Rebind names that were rebound and put back what was in containers and tensors."""
        for owner, names in zip(self._owners, self._names, strict=False):
            for name, value in names.items():
                present = vars(owner).get(name, names)
                if present is not value and (present is names or isinstance(value, _REBOUND) or callable(value)):
                    setattr(owner, name, value)
        for content in self._contents:
            _put_back(content)


def _content(value: Any) -> _Content | None:
    if type(value) in _CONTAINERS and len(value) <= 10_000:
        return _Content(value, copy.copy(value))
    if _is_tensor(value) and type(value).__name__ in ("Tensor", "Parameter") and value.numel() <= 1_000_000:
        return _Content(value, value.detach().clone(), value._version)
    return None


def _put_back(content: _Content) -> None:
    target = content.target
    if _is_tensor(target):
        if target._version != content.version and target.shape == content.content.shape:
            with sys.modules["torch"].no_grad():
                target.copy_(content.content)
    elif _changed(target, content.content):
        if isinstance(target, list):
            target[:] = content.content
        elif isinstance(target, (MutableMapping, set)):
            target.clear()
            target.update(content.content)


def _changed(target: Any, content: Any) -> bool:
    try:
        return bool(target != content)
    except Exception:  # tensors in it, which have no truth value
        return True
