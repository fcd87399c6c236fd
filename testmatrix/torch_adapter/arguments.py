"""What a region call was given and what it may have changed, as named roots.

Names are Dynamo's sources where a root is a parameter (``L['x']``), a global that the code rebinds (``G['TICK']``) or a
closure variable that it rebinds (``C['count']``), so that they line up with guards.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Target:
    """The Python function that a region runs, as far as it can be found."""

    function: types.FunctionType | None
    bound: object | None  #: what its first parameter is bound to
    name: str  #: ``module.qualname``
    leading: tuple[object, ...] = ()  #: arguments that a partial fixed


def target_of(callable_: Any) -> Target:
    """Unwrap methods, partials, modules and torch's own inline wrappers to the function whose frame Dynamo compiles."""
    bound: object | None = None
    leading: tuple[object, ...] = ()
    current = callable_
    for _ in range(16):
        if isinstance(current, partial):
            leading = (*current.args, *leading)
            current = current.func
        elif isinstance(current, types.MethodType):
            bound, current = current.__self__, current.__func__
            if isinstance(bound, torch.nn.Module) and _is_module_call(current):
                current = _forward_of(bound)
        elif isinstance(current, torch.nn.Module):
            bound, current = current, _forward_of(current)
        elif hasattr(current, "_torchdynamo_orig_callable"):
            current = current._torchdynamo_orig_callable
        elif isinstance(current, types.FunctionType) and hasattr(current, "__wrapped__"):
            current = current.__wrapped__
        else:
            break
    function = current if isinstance(current, types.FunctionType) else None
    return Target(function, bound, _name_of(current, bound), leading)


def _is_module_call(function: object) -> bool:
    return getattr(function, "__name__", "") in ("_wrapped_call_impl", "_call_impl", "__call__", "_lazy_forward")


def _forward_of(module: torch.nn.Module) -> Any:
    forward = module.forward
    return forward.__func__ if isinstance(forward, types.MethodType) else forward


def _name_of(found: Any, bound: object | None) -> str:
    if bound is not None and not isinstance(bound, type) and isinstance(found, types.FunctionType):
        cls = type(bound)
        if getattr(cls, found.__name__, None) is not None:
            return f"{cls.__module__}.{cls.__qualname__}.{found.__name__}"
    module = getattr(found, "__module__", None) or type(found).__module__
    return f"{module}.{getattr(found, '__qualname__', type(found).__qualname__)}"


def named_arguments(target: Target, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(source, value) of every argument; positional ones that the signature does not name are numbered."""
    values = (*target.leading, *args)
    if target.bound is not None and not isinstance(target.bound, type):
        values = (target.bound, *values)
    names: tuple[str, ...] = ()
    if target.function is not None:
        code = target.function.__code__
        names = code.co_varnames[: code.co_argcount]
    named = [(f"L['{names[i]}']" if i < len(names) else f"L['args'][{i - len(names)}]", v) for i, v in enumerate(values)]
    named.extend((f"L['{name}']", value) for name, value in kwargs.items())
    return named


@lru_cache(maxsize=4096)
def _rebound_names(code: types.CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(globals, closure variables) that the code or a function inside it assigns to."""
    stored_globals: set[str] = set()
    stored_cells: set[str] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        for instruction in dis.get_instructions(current):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                stored_globals.add(str(instruction.argval))
            elif instruction.opname == "STORE_DEREF":
                stored_cells.add(str(instruction.argval))
        pending.extend(constant for constant in current.co_consts if isinstance(constant, types.CodeType))
    return tuple(sorted(stored_globals)), tuple(sorted(stored_cells & set(code.co_freevars)))


def rebindable(target: Target) -> list[tuple[str, Any]]:
    """(source, present value) of globals and closure variables that the region's own code rebinds."""
    function = target.function
    if function is None:
        return []
    stored_globals, stored_cells = _rebound_names(function.__code__)
    found = [(f"G['{name}']", function.__globals__[name]) for name in stored_globals if name in function.__globals__]
    if stored_cells and function.__closure__:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=False))
        for name in stored_cells:
            try:
                found.append((f"C['{name}']", cells[name].cell_contents))
            except (KeyError, ValueError):  # not assigned yet
                continue
    return found


def is_library(function: Callable[..., Any] | None) -> bool:
    """Whether a callable is torch's own, which compiles functions for itself that no suite handed to the compiler."""
    module = getattr(function, "__module__", "") or ""
    code = getattr(inspect.unwrap(function) if function is not None else None, "__code__", None)
    return module.split(".")[0] == "torch" and code is not None and "/torch/_higher_order_ops/" in code.co_filename
