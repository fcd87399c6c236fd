"""The region once more, eager, on copies: what tells whether a result that differs is wrong.

In float64, for which of two differing results is nearer to the exact one; and told that it is being compiled, for code that
returns something else then because its author wanted that.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Mapping
from typing import Any

import torch

from testmatrix.observation import Leaf
from testmatrix.torch_adapter import pytrees, recording, state
from testmatrix.torch_adapter.arguments import Target, changeable, loaded_globals, rebinder
from testmatrix.torch_adapter.contents import Contents, put_back
from testmatrix.torch_adapter.leaves import Budget, LeafReader


def run(target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any], budget: Budget) -> tuple[Leaf, ...]:
    """The leaves of the region's result on float64 copies of its arguments; empty where it cannot be run so.

    Code that names a dtype, or captures float32 tensors that do not promote, has no float64 form: then nothing arbitrates.
    """
    return _aside(target, args, kwargs, budget, _widened)


def as_compiling(target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any], budget: Budget) -> tuple[Leaf, ...]:
    """The leaves of the region's result where it is told that it is being compiled; empty where that makes no difference."""
    session = getattr(torch.compiler, "_compile_session_context", None)
    if session is None:
        return ()
    plain = _aside(target, args, kwargs, budget, lambda given: given)
    with session():
        told = _aside(target, args, kwargs, budget, lambda given: given)
    return told if told != plain else ()


def _aside(
    target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any], budget: Budget, convert: Callable[[Any], Any]
) -> tuple[Leaf, ...]:
    """Call the region's function on converted copies, leaving no trace: no recording, no random numbers, nothing changed."""
    if target.function is None:
        return ()
    before, suspended = state.random_state(), recording.active()
    rebind, contents = rebinder(target), _reachable(target, target.function)
    recording.activate(None)  # regions called inside are no calls of the suite's
    try:
        positional, named = convert(copy.deepcopy(target.given(args, kwargs)))
        with torch.no_grad() if not torch.is_grad_enabled() else torch.enable_grad():
            result = target.function(*positional, **named)
        return LeafReader(budget).read(result, "")
    except Exception:  # the region's own code on arguments it was never meant for
        return ()
    finally:
        recording.activate(suspended)
        rebind()
        put_back(contents.kept)
        state.restore_random_state(before)


def _reachable(target: Target, function: types.FunctionType) -> Contents:
    """What the function may change beside its arguments: what it closes over, and what the globals that it names hold."""
    contents = Contents(modules=frozenset({function.__module__}))
    contents.add([function, *loaded_globals(function), *(value for _, value in changeable(target))])
    return contents


def _widened(node: Any) -> Any:
    """Copies with every floating tensor in float64 and every complex one in complex128; modules with their parameters."""
    if isinstance(node, torch.Tensor):
        wide = torch.complex128 if node.is_complex() else torch.float64
        if not (node.is_floating_point() or node.is_complex()) or node.dtype == wide:
            return node
        return node.detach().to(wide).requires_grad_(node.requires_grad)
    if isinstance(node, torch.nn.Module):
        return node.double()
    if isinstance(node, tuple) and hasattr(node, "_fields"):
        return type(node)(*(_widened(child) for child in node))
    if isinstance(node, (list, tuple)):
        return type(node)(_widened(child) for child in node)
    if type(node) is dict:
        return {key: _widened(child) for key, child in node.items()}
    return pytrees.mapped(_widened, node) if pytrees.is_registered(node) else node
