"""Guards and symbols of one compile, read while Dynamo still has them, free of ids, addresses and symbol numbers.

Nothing is left out: a kind that this version does not know is carried as it is. Only ``SHAPE_ENV``, which stands for all
conditions on numbers, is replaced by those, one by one.
"""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from testmatrix.guard_kinds import category
from testmatrix.observation import Guard, Symbol
from testmatrix.torch_adapter import asked, places, process_state, shapes
from testmatrix.torch_adapter.attributes import is_a
from testmatrix.torch_adapter.exceptions import qualified
from testmatrix.torch_adapter.guard_text import plain, shortened, without_addresses, without_comment

_CONSTANT = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
#: Kinds of which torch makes one guard for each condition and drops the rest, which then have no code.
_ONCE = frozenset({"HASATTR", "DICT_CONTAINS", "DICT_NOT_CONTAINS", "SET_CONTAINS", "SET_NOT_CONTAINS"})
_BASES = (int, float, complex, str, bytes)
_CHECK_TENSOR = re.compile(r"^check_tensor\((?P<source>.*?), (?P<rest>[^,]+, DispatchKeySet\(.*\), .*)\)$", re.S)
_MOST_TEXT, _MOST_VALUE = 2000, 200
_MOST_FRAMES = 8  #: between torch's frame that installs guards and here


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of one compile."""

    guards: tuple[Guard, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    asked: tuple[asked.Asked, ...] = ()
    left_out: int = 0  #: guards that a filter of the suite's has left out

    @property
    def unknown(self) -> tuple[str, ...]:
        """Kinds that the table of kinds does not have."""
        return tuple(dict.fromkeys(guard.kind for guard in self.guards if category(guard.kind) == "unknown"))


def read(guard_manager: Any, builder: Any) -> Read:
    """All guards and symbols of the compile that these were made for."""
    output_graph = builder.check_fn_manager.output_graph
    scope = _Scope(builder, output_graph, dict(_tensor_checks(guard_manager.root)))
    installed = _installed(output_graph)
    conditions = shapes.conditions(output_graph.shape_env) if any(map(_is_shape_env, installed)) else ()
    guards = (*_discrete(installed, scope), *_aliasing(builder), *conditions)
    return Read(
        guards=tuple(dict.fromkeys(guards)),  # each once
        symbols=tuple(shapes.symbols(output_graph.shape_env, scope.tensor_checks)),
        asked=asked.of(*_numbers(output_graph, scope)),
        left_out=len(output_graph.guards) - len(installed),
    )


def _installed(output_graph: Any) -> list[Any]:
    """The guards that are checked. Torch keeps no list of those that ``guard_filter_fn`` lets through but in its own frame."""
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if "sorted_guards" in frame.f_code.co_varnames:
            return list(frame.f_locals.get("sorted_guards") or ())
        if frame.f_back is None:
            break
        frame = frame.f_back
    return list(output_graph.guards)


def _is_shape_env(guard: Any) -> bool:
    return bool(guard.create_fn_name() == "SHAPE_ENV")


@dataclass(frozen=True, slots=True)
class _Scope:
    """What guards are on: values of sources, for the types and names that stand in for ids."""

    builder: Any
    output_graph: Any
    tensor_checks: dict[str, str]

    def value(self, guard: Any) -> Any:
        """The guarded object; None where it is gone."""
        try:
            return self.builder.get(guard)
        except Exception:
            return None


def _discrete(guards: Iterable[Any], scope: _Scope) -> Iterator[Guard]:
    for guard in sorted(guards, key=lambda g: (g.name, g.create_fn_name())):
        kind = guard.create_fn_name()
        if _is_shape_env(guard) or (kind in _ONCE and not guard.code_list):
            continue
        value = value_type = ""
        if kind in _CONSTANT:
            value, value_type = _constant(scope.value(guard))
            text = f"== {value}"
        elif kind == "CONSTANT_SUBCLASS_MATCH":
            value, value_type = _base_constant(scope.value(guard))
            text = f"== {value} as {value_type}"
        else:
            text = _payload(kind, guard, scope)
        place = places.of_stack(guard.user_stack)
        yield Guard(
            kind=kind,
            source=plain(guard.name),
            text=shortened(text, _MOST_TEXT),
            value=value,
            value_type=value_type,
            line=place.line,
            code=place.code,
            context=place.context,
        )


def _constant(value: object) -> tuple[str, str]:
    """(repr, type) of a constant that a guard compares with; empty where it cannot be read."""
    if isinstance(value, types.CodeType):
        return f"code of {getattr(value, 'co_qualname', value.co_name)}", "code"
    try:
        return shortened(without_addresses(repr(value)), _MOST_VALUE), qualified(type(value))
    except Exception:
        return "", ""


def _base_constant(value: object) -> tuple[str, str]:
    """The same of a value whose class is derived from a constant's, without running that class's code."""
    base = next((base for base in _BASES if is_a(value, base)), None)
    return ("", "") if base is None else (shortened(base.__repr__(value), _MOST_VALUE), qualified(type(value)))


def _payload(kind: str, guard: Any, scope: _Scope) -> str:
    """What a guard checks of its source, free of ids."""
    told = process_state.payload(kind, scope.output_graph) if category(kind) == "process" else None
    if told is not None:
        return told
    if kind == "TENSOR_MATCH" and guard.name in scope.tensor_checks:
        return scope.tensor_checks[guard.name] + _marks(scope.value(guard))
    code = list(dict.fromkeys(guard.code_list or ()))
    if kind == "EMPTY_NN_MODULE_HOOKS_DICT" and not code:
        return "not checked"
    parts = [plain(part) for part in code if "___check" not in part]
    if len(parts) < len(code) or not parts:
        parts.append(_description(kind, guard, scope.value(guard)))  # in place of what is checked by id, or told by no code
    return " and ".join(filter(None, parts))


def _marks(tensor: object) -> str:
    """Dimensions that the suite marked: a tensor with other marks is rejected."""
    return "".join(f", {name}={list(dimensions)}" for name, dimensions in asked.marks(tensor).items())


def _description(kind: str, guard: Any, value: object) -> str:
    if kind in ("TYPE_MATCH", "FAKE_SCRIPT_TYPE_MATCH"):
        return qualified(type(value))
    if kind == "NOT_PRESENT_IN_GENERIC_DICT" and isinstance(guard.create_fn, functools.partial):
        return f"not ___dict_contains({guard.create_fn.keywords.get('attr')!r}, {plain(guard.name)}.__dict__)"
    if kind == "DISPATCH_KEY_SET_MATCH":
        return str(value)
    if kind in ("TENSOR_SUBCLASS_METADATA_MATCH", "DTENSOR_SPEC_MATCH"):
        return f"{qualified(type(value))}, {_metadata(value)}"
    return _name(value)


def _metadata(value: Any) -> str:
    """Metadata as torch compares it; only its types where it has no text of its own."""
    try:
        metadata = value.__tensor_flatten__()[1] if is_a(value, torch.Tensor) else value
        return without_addresses(str(metadata))
    except Exception:
        return ""


def _name(value: object) -> str:
    """Qualified name of a class, function or module, else the type."""
    try:
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        module = getattr(value, "__module__", None)
    except Exception:  # the suite's own code
        name = module = None
    if isinstance(name, str):
        return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name
    return qualified(type(value))


def _aliasing(builder: Any) -> Iterator[Guard]:
    """Guards on several tensors together, which are none of the output graph's."""
    names = getattr(builder, "no_tensor_aliasing_names", ())
    if len(names) > 1:
        for name in names:
            yield Guard(kind="NO_TENSOR_ALIASING", source=plain(name), text="none of the other tensors")
    for guard in getattr(builder.check_fn_manager.output_graph, "aotautograd_guards", ()):
        if hasattr(guard, "overlapping_sources"):
            overlapping, others = (
                ", ".join(sorted(plain(source.name) for source in sources))
                for sources in (guard.overlapping_sources, guard.non_overlapping_sources)
            )
            yield Guard(kind="STORAGE_OVERLAPPING", source="", text=f"overlapping=[{overlapping}], non_overlapping=[{others}]")
        elif hasattr(guard, "input_source_a"):
            one, other = sorted(plain(source.name) for source in (guard.input_source_a, guard.input_source_b))
            yield Guard(kind="DUPLICATE_INPUT", source=one, text=f"{other} is {one}")
        else:
            yield Guard(kind=type(guard).__name__, source="", text=plain(str(guard)))


def _tensor_checks(manager: Any) -> Iterator[tuple[str, str]]:
    """(source, payload) of the tensor checks in a guard tree: type, dispatch keys, dtype, device, sizes, strides."""
    pending = [manager]
    while pending:
        current = pending.pop()
        for leaf in current.get_leaf_guards():
            if type(leaf).__name__ != "TENSOR_MATCH":
                continue
            for part in leaf.verbose_code_parts():
                match = _CHECK_TENSOR.match(without_comment(part))
                if match is not None:
                    yield match["source"], match["rest"]
        pending.extend(current.get_child_managers())
        if hasattr(current, "get_key_value_managers"):  # of a dictionary, by position: the managers of keys and of values
            entries = current.get_key_value_managers().values()
            pending.extend(one for pair in entries for one in pair if one is not None)


def _numbers(output_graph: Any, scope: _Scope) -> tuple[list[tuple[str, Any]], list[tuple[str, int | None]]]:
    """(source, value) of the tensors, the ints and the floats that the frame uses; None for a value that is not known."""
    tensors: dict[str, Any] = {}
    ints: dict[str, int | None] = {}
    for guard in output_graph.guards:
        kind = guard.create_fn_name()
        if kind == "TENSOR_MATCH" or kind in _CONSTANT:
            value = scope.value(guard)
            if is_a(value, torch.Tensor):
                tensors[guard.name] = value
            elif type(value) is int:
                ints[guard.name] = value
            elif type(value) is float:
                ints[guard.name] = None  # it may be named, but torch looks for values among ints only
    for source, hint in shapes.ints(output_graph.shape_env):
        ints[source] = hint
    return list(tensors.items()), list(ints.items())
