"""The graph that autograd keeps behind a tensor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

_LIMIT_NODES = 200
_NEXT: Any = torch._C._FunctionBase.next_functions


def leaves_of_graph(tensors: Iterable[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Tensors at which backward passes from these end, the nearest first, without those that are leaves themselves."""
    pending = [tensor.grad_fn for tensor in tensors if tensor.requires_grad and not tensor.is_leaf]
    seen: set[int] = set()  # a node of the suite's may compare by code of its own
    for node in pending:  # grows, and keeps nodes alive, so that ids are unique
        if node is None or id(node) in seen:
            continue
        if len(seen) >= _LIMIT_NODES:
            return
        seen.add(id(node))
        if type(node).__name__ == "AccumulateGrad":
            yield node.variable  # type: ignore[attr-defined]
        else:
            pending.extend(following for following, _ in _next(node))


def _next(node: Any) -> Any:
    """Nodes after one; a function of the suite's may have attributes of its own."""
    return _NEXT.__get__(node) if issubclass(type(node), torch._C._FunctionBase) else node.next_functions
