"""Whether what an assertion looked at was one of the compiler's counters, seen in the frame where it failed.

Nothing of the suite's runs meanwhile: only variables, instances' own attributes and items of plain containers are read.
"""

from __future__ import annotations

import ast
import inspect
import sys
import types
from collections.abc import Sequence
from typing import Any

from testmatrix.plugin.count_sources import BACKEND_PARAMETERS, COUNTING_ATTRIBUTES, Claim, dotted

_MISSING = object()
_COMPILER = ("torch._dynamo", "torch._inductor")


def holds(claim: Claim, frames: Sequence[types.FrameType], collected: frozenset[str]) -> bool:
    """Whether a claim is true in the innermost of some frames; ``collected`` are attributes that backends of its file set."""
    if claim.owner is None:
        return True
    owner = _value_in(claim.owner, frames)
    if owner is _MISSING:
        return False
    if not claim.attribute:
        return owner is _torchs_counters()
    return _is_counting(owner, claim, collected)


def _torchs_counters() -> object:
    return vars(sys.modules.get("torch._dynamo.utils", ast)).get("counters", _torchs_counters)


def _is_counting(owner: Any, claim: Claim, collected: frozenset[str]) -> bool:
    kind, attribute = type(owner), claim.attribute
    if kind is types.ModuleType:
        return attribute in COUNTING_ATTRIBUTES and owner.__name__.startswith(_COMPILER)
    if kind in (types.FunctionType, types.MethodType):
        return attribute in collected and _is_backend(owner)
    if attribute in COUNTING_ATTRIBUTES and kind.__module__.startswith(_COMPILER):
        return True
    methods = _functions_of(kind)
    if "__call__" in methods and _is_backend(methods["__call__"], whatever_named=claim.used):
        return attribute in COUNTING_ATTRIBUTES or attribute in collected
    return attribute in collected and any(_is_backend(method) for method in methods.values())


def _functions_of(kind: type) -> dict[str, types.FunctionType]:
    """The functions of a class, inherited ones included."""
    found: dict[str, types.FunctionType] = {}
    for each in reversed(kind.__mro__):
        found.update({name: value for name, value in vars(each).items() if isinstance(value, types.FunctionType)})
    return found


def _is_backend(function: types.FunctionType | types.MethodType, *, whatever_named: bool = False) -> bool:
    """Whether a function has a backend's parameters: a graph module and its inputs."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    if names[:1] in (("self",), ("cls",)):
        names = names[1:]
    return len(names) >= 2 and (whatever_named or names[0] in BACKEND_PARAMETERS or names[1] == "example_inputs")


def _value_in(expression: ast.expr, frames: Sequence[types.FrameType]) -> Any:
    """What an expression means in the first frame that knows its first name."""
    name = dotted(_root(expression))
    for frame in frames:
        if name in frame.f_locals or (frame is frames[0] and name in frame.f_globals):
            return _value(expression, {**frame.f_globals, **frame.f_locals})
    return _MISSING


def _root(expression: ast.expr) -> ast.expr:
    while isinstance(expression, (ast.Attribute, ast.Subscript)):
        expression = expression.value
    return expression


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    if isinstance(expression, ast.Name):
        return names.get(expression.id, _MISSING)
    if isinstance(expression, ast.Attribute):
        return _attribute(_value(expression.value, names), expression.attr)
    if isinstance(expression, ast.Subscript) and isinstance(expression.slice, ast.Constant):
        return _item(_value(expression.value, names), expression.slice.value)
    return _MISSING


def _attribute(owner: Any, name: str) -> Any:
    """An attribute that reading computes nothing for."""
    try:
        own = object.__getattribute__(owner, "__dict__")
        if type(own) is dict and name in own:
            return own[name]
        found = inspect.getattr_static(owner, name)
    except Exception:
        return _MISSING
    return _MISSING if hasattr(type(found), "__get__") else found


def _item(owner: Any, key: Any) -> Any:
    if type(owner) not in (list, tuple, dict):
        return _MISSING
    try:
        return owner[key]
    except (LookupError, TypeError):
        return _MISSING
