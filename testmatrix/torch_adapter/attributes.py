"""What objects are and what they hold, told without running any code of theirs."""

from __future__ import annotations

import enum
import sys
import types
import unittest
from collections import deque
from typing import Any

import torch

from testmatrix.torch_adapter.origins import is_opaque, origin_of

NUMBERS_AND_TEXT = (bool, int, float, complex, str, bytes)
SCALARS = (*NUMBERS_AND_TEXT, type(None), type(Ellipsis), torch.dtype, torch.device, torch.layout)
_MODULE_DATA = (bool, int, float, str, type(None), torch.Tensor, list, tuple, dict, set, deque)
_MUTABLE = (list, dict, set, deque, bytearray, torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
_CODE = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_MODULE_INTERNALS = frozenset(torch.nn.Module().__dict__) - {"training"}
GRADIENT: Any = torch.Tensor.grad  #: the descriptor: a subclass may have code of its own there


def is_a(value: object, *kinds: type) -> bool:
    """``isinstance`` by the type alone: the other looks at ``__class__``, which may be the suite's code."""
    return issubclass(type(value), kinds)


def has_state(value: object) -> bool:
    """Whether reading attributes, too, may tell more of a value: not of scalars and of tensors without a gradient."""
    if is_a(value, torch.Tensor):
        return value.is_leaf and GRADIENT.__get__(value) is not None  # type: ignore[attr-defined]
    return not is_a(value, *SCALARS)


def stored(node: object, name: str) -> object:
    """An attribute as it is stored in the instance, in a slot or as the class's default, without running any code."""
    found = _instance_dict(node)
    if name in found:
        return found[name]
    for cls in type(node).__mro__:
        if name in vars(cls):
            member = vars(cls)[name]
            if not isinstance(member, types.MemberDescriptorType):
                return None if hasattr(type(member), "__get__") else member
            try:
                return member.__get__(node)
            except AttributeError:  # never set
                return None
    return None


def _instance_dict(node: object) -> dict[str, Any]:
    try:
        found = object.__getattribute__(node, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


def _slots(node: object) -> dict[str, Any]:
    names = (
        name
        for cls in type(node).__mro__
        for name, member in vars(cls).items()
        if isinstance(member, types.MemberDescriptorType) and cls.__module__ != "builtins"
    )
    return {name: stored(node, name) for name in names}


def is_data(value: object) -> bool:
    """Whether something that code names is data that it can change in place, and no library's."""
    if is_a(value, *_MUTABLE):
        return True
    if is_a(value, type):
        return not issubclass(value, (enum.Enum, unittest.TestCase)) and origin_of(value) == "suite"  # type: ignore[arg-type]
    if is_a(value, *_CODE, *SCALARS, enum.Enum, tuple, frozenset, unittest.TestCase):
        return False
    return type(value).__module__ in ("types", "argparse") or origin_of(type(value)) == "suite" or _is_array(value)


def _is_array(value: object) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and is_a(value, numpy.ndarray)


def attributes_of(node: Any) -> list[tuple[str, Any]]:
    """Attributes that are data: what a call may have changed in an object it was given, or in a class of the suite's."""
    if is_a(node, type):
        return sorted(_class_data(node).items())
    if is_a(node, *_CODE):
        return []
    if is_a(node, torch.nn.Module):
        return _module_state(node)
    if is_a(node, torch.optim.Optimizer):
        return [(name, _instance_dict(node)[name]) for name in ("param_groups", "state") if name in _instance_dict(node)]
    if is_opaque(type(node)):
        return []
    found = {**_class_data(type(node)), **_slots(node), **_instance_dict(node)}
    hidden = "_" if is_a(node, unittest.TestCase) else "__"
    return [(name, found[name]) for name in sorted(filter(_is_text, found)) if not name.startswith(hidden)]


def object_attributes(node: Any) -> list[tuple[str, Any]]:
    """Attributes of a plain object of the suite's."""
    if is_a(node, *_CODE, torch.nn.Module, torch.optim.Optimizer, unittest.TestCase) or origin_of(type(node)) != "suite":
        return []
    return attributes_of(node)


def _class_data(cls: type) -> dict[str, Any]:
    """Data among the attributes of a class of the suite's and of those that it inherits from."""
    if issubclass(cls, enum.Enum):
        return {}
    own = (vars(one) for one in reversed(cls.__mro__) if origin_of(one) == "suite")
    return {
        name: value for found in own for name, value in found.items() if not name.startswith("__") and is_a(value, *_MODULE_DATA)
    }


def _is_text(name: object) -> bool:
    return type(name) is str


def _module_state(module: torch.nn.Module) -> list[tuple[str, Any]]:
    """Parameters and buffers of the whole tree, and plain attributes of its modules."""
    state: list[tuple[str, Any]] = [*torch.nn.Module.named_parameters(module), *torch.nn.Module.named_buffers(module)]
    for prefix, child in torch.nn.Module.named_modules(module):
        for name, value in _instance_dict(child).items():
            if name not in _MODULE_INTERNALS and is_a(value, *_MODULE_DATA):
                state.append((f"{prefix}.{name}" if prefix else name, value))
    return sorted(state, key=lambda item: item[0])
