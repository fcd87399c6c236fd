"""What a region call was given and what it may have changed, as named roots.

Names are Dynamo's sources where a root is a parameter (``L['x']``), a global that the code rebinds (``G['TICK']``) or a
closure variable that it rebinds (``C['count']``), so that they line up with guards.
"""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, cast

import torch


@dataclass(frozen=True, slots=True)
class Target:
    """The Python function that a region runs, as far as it can be found."""

    function: types.FunctionType | None
    bound: object | None  #: what its first parameter is bound to
    name: str  #: ``module.qualname``
    leading: tuple[object, ...] = ()  #: positional arguments that a partial fixed
    keywords: Mapping[str, object] = field(default_factory=dict)  #: keyword arguments that a partial fixed

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the function itself gets where the region is called with these."""
        bound = () if self.bound is None else (self.bound,)
        return (*bound, *self.leading, *args), {**self.keywords, **kwargs}


def target_of(callable_: Any) -> Target:
    """Unwrap methods, partials, modules and torch's own inline wrappers to the function whose frame Dynamo compiles."""
    bound: object | None = None
    leading: tuple[object, ...] = ()
    keywords: dict[str, object] = {}
    current = callable_
    for _ in range(16):
        kind = type(current)
        if issubclass(kind, partial):
            leading, keywords = (*current.args, *leading), {**current.keywords, **keywords}
            current = current.func
        elif issubclass(kind, types.MethodType):
            bound, current = current.__self__, current.__func__
            if issubclass(type(bound), torch.nn.Module) and _is_module_call(current):
                current = _forward_of(cast("torch.nn.Module", bound))
        elif issubclass(kind, torch.nn.Module):
            bound, current = current, _forward_of(current)
        elif issubclass(kind, types.FunctionType) and "_torchdynamo_orig_callable" in vars(current):
            current = current._torchdynamo_orig_callable
        elif issubclass(kind, types.FunctionType) and "__wrapped__" in vars(current):
            current = current.__wrapped__
        elif isinstance(vars(kind).get("__call__"), types.FunctionType):
            bound, current = current, vars(kind)["__call__"]
        else:
            break
    function = current if isinstance(current, types.FunctionType) else None
    return Target(function, bound, _name_of(current, bound), leading, keywords)


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
    """(source, value) of every argument, named after the parameter that takes it."""
    positional, named = target.given(args, kwargs)
    names, more, known, others = _parameters(target.function)
    found = [(f"L['{names[i]}']" if i < len(names) else f"L['{more}'][{i - len(names)}]", v) for i, v in enumerate(positional)]
    found.extend((f"L['{name}']" if name in known or not others else f"L['{others}']['{name}']", v) for name, v in named.items())
    return found


def _parameters(function: types.FunctionType | None) -> tuple[tuple[str, ...], str, frozenset[str], str]:
    """(positional ones, name of ``*args``, all that can be given by name, name of ``**kwargs`` or nothing)."""
    if function is None:
        return (), "args", frozenset(), ""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    rest = list(code.co_varnames[count:])
    more = rest.pop(0) if code.co_flags & inspect.CO_VARARGS else "args"
    others = rest[0] if code.co_flags & inspect.CO_VARKEYWORDS else ""
    return code.co_varnames[: code.co_argcount], more, frozenset(code.co_varnames[:count]), others


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


def rebinder(target: Target) -> Callable[[], None]:
    """What puts globals and closure variables that the region's code rebinds back to their present values."""
    function, present = target.function, rebindable(target)

    def rebind() -> None:
        if function is None:
            return
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        for source, value in present:
            name = source[3:-2]  # G['name'] and C['name']
            if source.startswith("G"):
                function.__globals__[name] = value
            else:
                cells[name].cell_contents = value

    return rebind


def is_library(function: Callable[..., Any] | None) -> bool:
    """Whether a callable is torch's own, which compiles functions for itself that no suite handed to the compiler."""
    module = getattr(function, "__module__", "") or ""
    code = getattr(inspect.unwrap(function) if function is not None else None, "__code__", None)
    return module.split(".")[0] == "torch" and code is not None and "/torch/_higher_order_ops/" in code.co_filename
