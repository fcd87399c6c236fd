"""What a region call was given and what it may have changed, as named roots.

Names are Dynamo's sources where a root is a parameter (``L['x']``), a global that the code rebinds or may change in place
(``G['TICK']``) or such a closure variable (``C['count']``), so that they line up with guards.
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

from testmatrix.torch_adapter.attributes import is_data
from testmatrix.torch_adapter.origins import origin

_LIMIT_FUNCTIONS = 20  #: functions of the suite's that are followed from a region


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


@dataclass(frozen=True, slots=True)
class _Names:
    """What the code of a function, or of functions inside it, refers to outside of itself."""

    stored_globals: tuple[str, ...]
    stored_cells: tuple[str, ...]
    loaded_globals: tuple[str, ...]
    attributes: frozenset[str]
    stored_attributes: frozenset[str]


@lru_cache(maxsize=4096)
def _names(code: types.CodeType) -> _Names:
    stored: set[str] = set()
    cells: set[str] = set()
    loaded: set[str] = set()
    attributes: set[str] = set()
    stored_attributes: set[str] = set()
    pending = [code]
    while pending:
        current = pending.pop()
        attributes.update(current.co_names)
        for instruction in dis.get_instructions(current):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                stored.add(str(instruction.argval))
            elif instruction.opname == "STORE_DEREF":
                cells.add(str(instruction.argval))
            elif instruction.opname == "LOAD_GLOBAL":
                loaded.add(str(instruction.argval))
            elif instruction.opname == "STORE_ATTR":
                stored_attributes.add(str(instruction.argval))
        pending.extend(constant for constant in current.co_consts if isinstance(constant, types.CodeType))
    return _Names(
        stored_globals=tuple(sorted(stored)),
        stored_cells=tuple(sorted(cells & set(code.co_freevars))),
        loaded_globals=tuple(sorted(loaded)),
        attributes=frozenset(attributes),
        stored_attributes=frozenset(stored_attributes),
    )


def rebindable(target: Target) -> list[tuple[str, Any]]:
    """(source, present value) of globals and closure variables that the region's own code rebinds."""
    return [] if target.function is None else _rebindable(target.function)


def _rebindable(function: types.FunctionType) -> list[tuple[str, Any]]:
    names = _names(function.__code__)
    cells = _cells(function)
    found = [(f"G['{name}']", function.__globals__[name]) for name in names.stored_globals if name in function.__globals__]
    return [*found, *((f"C['{name}']", cells[name]) for name in names.stored_cells if name in cells)]


def _cells(function: types.FunctionType) -> dict[str, Any]:
    """Present values of closure variables."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def loaded_globals(function: types.FunctionType) -> list[Any]:
    """Present values of the globals that a function's code names."""
    scope = function.__globals__
    return [scope[name] for name in _names(function.__code__).loaded_globals if name in scope]


def changeable(target: Target) -> list[tuple[str, Any]]:
    """(source, present value) of what a call can change without being given it.

    Globals and closure variables that are rebound, and those that hold data which can be changed in place, by the region's
    code or by functions of the suite's that it names.
    """
    if target.function is None:
        return []
    found = dict(_rebindable(target.function))
    functions = [target.function]
    for function in functions:
        prefix = _prefix(function, target.function)
        for source, value in _named(function):
            called = _function_of(value)
            if called is None:
                found.setdefault(prefix + source if source.startswith("C") else source, value)
            elif called not in functions and len(functions) < _LIMIT_FUNCTIONS:
                functions.append(called)
    return list(found.items())


def _prefix(function: types.FunctionType, region: types.FunctionType) -> str:
    """What tells the closure variables of a function that the region calls from the region's own."""
    return "" if function is region else f"{function.__name__}."


def _named(function: types.FunctionType) -> list[tuple[str, Any]]:
    """What a function's code rebinds or may change in place, and functions of the suite's that it names."""
    names, scope = _names(function.__code__), function.__globals__
    found = _rebindable(function)
    for name in names.loaded_globals:
        value = scope.get(name)
        if type(value) is types.ModuleType and origin(value.__name__) == "suite":
            found.extend(_module_data(f"G['{name}']", value, names))
        else:
            found.append((f"G['{name}']", value))
    found.extend((f"C['{name}']", value) for name, value in _cells(function).items())
    rebound = {f"G['{name}']" for name in names.stored_globals} | {f"C['{name}']" for name in names.stored_cells}
    return [(source, value) for source, value in found if source in rebound or _is_kept(value) or "]." in source]


def _module_data(source: str, module: types.ModuleType, names: _Names) -> list[tuple[str, Any]]:
    """Attributes of a module of the suite's that code sets, or whose values it may change."""
    held = vars(module)
    used = sorted(name for name in names.attributes if name in held)
    return [(f"{source}.{name}", held[name]) for name in used if name in names.stored_attributes or _is_kept(held[name])]


def _is_kept(value: object) -> bool:
    return is_data(value) or _function_of(value) is not None


def _function_of(value: object) -> types.FunctionType | None:
    """The function of the suite's that something is, decorated or not."""
    for _ in range(16):
        if type(value) is not types.FunctionType:
            return None
        inner = vars(value).get("__wrapped__")
        if inner is None:
            return value if origin(value.__module__ or "") == "suite" and not _is_recorders(value) else None
        value = inner
    return None


def _is_recorders(function: types.FunctionType) -> bool:
    """A function that torch or the recorder made, whatever module its name says."""
    return origin(str(function.__globals__.get("__name__"))) == "system"


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
