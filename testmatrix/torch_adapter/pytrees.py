"""Containers that a library registered with torch's pytree: what they hold, by the library's own account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils import _pytree as pytree


def is_registered(node: object) -> bool:
    return type(node) in pytree.SUPPORTED_NODES


def children(node: object) -> list[tuple[str, Any]] | None:
    """(path suffix, child) of each; the last is what else makes the container. None where it is none, or flattening fails."""
    definition = pytree.SUPPORTED_NODES.get(type(node))
    if definition is None:
        return None
    try:
        if definition.flatten_with_keys_fn is not None:
            entries, context = definition.flatten_with_keys_fn(node)
            found = [(str(key), child) for key, child in entries]
        else:
            values, context = definition.flatten_fn(node)
            found = [(f"[{i}]", child) for i, child in enumerate(values)]
    except Exception:  # the library's own code
        return None
    return [*found, (".context", context)]


def mapped(function: Callable[[Any], Any], node: Any) -> Any:
    """The container again with what it holds exchanged.

    Raises:
        Exception: whatever the library's own code raises.
    """
    definition = pytree.SUPPORTED_NODES[type(node)]
    values, context = definition.flatten_fn(node)
    return definition.unflatten_fn([function(value) for value in values], context)
