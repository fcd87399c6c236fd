"""Guards and symbols of one compile, read while Dynamo still has them, free of ids, addresses and symbol numbers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

import sympy

from testmatrix.observation import Guard, Symbol
from testmatrix.torch_adapter.exceptions import is_users, qualified

#: Guards on the process, not on inputs: their payload differs by machine and thread, and no axis touches them.
_AMBIENT = frozenset(
    {
        "SHAPE_ENV",  # read off the shape environment instead
        "DETERMINISTIC_ALGORITHMS",
        "GRAD_MODE",
        "GLOBAL_STATE",
        "TORCH_FUNCTION_STATE",
        "AUTOGRAD_SAVED_TENSORS_HOOKS",
        "DEFAULT_DEVICE",
        "FSDP_TRAINING_STATE",
    }
)
_CONSTANT = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
#: Hooks are kept by the number of their handle, which counts up through the process.
_HOOK_HANDLE = re.compile(r"___dict_contains\(\d+, (?=[^()]*hooks)")
_ID = re.compile(r"\b(?:\d{7,}|0x[0-9a-f]+)\b")
#: Globals that Dynamo installs, numbered by process or named by the id of what they hold and by the compile.
_COMPILED_NAMES = re.compile(r"__builtins_dict___\d+|__compiled_fn_\d+\w*|___\w+?_\d+(?=')|(?:_\d{7,})+_c\d+\b")
_USER_LOCATION = re.compile(r"^(?P<code>.*?)  # \S*?(?P<file>[^/\s]+):(?P<line>\d+) in ", re.S)
_CHECK_TENSOR = re.compile(r"^check_tensor\((?P<source>.*?), (?P<rest>\w+, DispatchKeySet\(.*\), .*)\)(?:  #.*)?$", re.S)


def read(guard_manager: Any, builder: Any) -> tuple[tuple[Guard, ...], tuple[Symbol, ...]]:
    """All guards and symbols of the compile that these were made for."""
    output_graph = builder.check_fn_manager.output_graph
    scope = _Scope(builder)
    tensors = dict(_tensor_checks(guard_manager.root))
    shape_env = output_graph.shape_env
    guards = dict.fromkeys((*_discrete(output_graph.guards, scope, tensors), *_shape_guards(shape_env)))  # each once
    return tuple(guards), tuple(_symbols(shape_env))


class _Scope:
    """Values of sources, for the types and names that stand in for ids."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def describe(self, guard: Any) -> str:
        """Type or qualified name of the guarded object; empty where it is gone."""
        try:
            value = self._builder.get(guard)
        except Exception:
            return ""
        kind = guard.create_fn_name()
        if kind in ("TYPE_MATCH", "DATA_PTR_MATCH"):
            return qualified(type(value))
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        module = getattr(value, "__module__", None)
        if isinstance(name, str):
            return f"{module}.{name}" if isinstance(module, str) and module != "builtins" else name
        return qualified(type(value))

    def constant(self, guard: Any) -> tuple[str, str]:
        """(repr, type) of the constant that a guard compares with; empty where it cannot be read."""
        try:
            value = self._builder.get(guard)
        except Exception:
            return "", ""
        return repr(value)[:200], qualified(type(value))


def _discrete(guards: Iterable[Any], scope: _Scope, tensors: dict[str, str]) -> Iterator[Guard]:
    for guard in sorted(guards, key=lambda g: (g.name, g.create_fn_name())):
        kind = guard.create_fn_name()
        if kind in _AMBIENT:
            continue
        value = value_type = ""
        if kind in _CONSTANT:
            value, value_type = scope.constant(guard)
            text = f"== {value}"
        elif kind == "TENSOR_MATCH":
            text = tensors.get(guard.name, "")
        else:
            told = [plain(code) for code in guard.code_list or () if "___check" not in code]
            if len(told) < len(guard.code_list or ()) or not told:
                told.append(scope.describe(guard))  # in place of what is checked by id
            text = " and ".join(told)
        line, code = _line(guard.user_stack)
        source = plain(guard.name)
        yield Guard(kind=kind, source=source, text=text[:2000], value=value, value_type=value_type, line=line, code=code)


def plain(code: str) -> str:
    """Guard code without ids, addresses and names that Dynamo numbers by compile."""
    text = code.split("  #", 1)[0].rstrip()
    text = _HOOK_HANDLE.sub("___dict_contains(N, ", text)
    return _ID.sub("N", _COMPILED_NAMES.sub(lambda match: re.sub(r"\d+", "N", match.group()), text))


def _line(stack: Any) -> tuple[str, str]:
    """``file.py:12`` and its source, of the innermost frame that is the user's, or else of the innermost."""
    if not stack:
        return "", ""
    frames = list(stack)
    outside = [frame for frame in frames if is_users(frame.filename)]
    frame = outside[-1] if outside else frames[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}", (frame.line or "").strip()


def _tensor_checks(manager: Any) -> Iterator[tuple[str, str]]:
    """(source, payload) of the tensor checks in a guard tree: type, dispatch keys, dtype, device, sizes, strides."""
    pending = [manager]
    while pending:
        current = pending.pop()
        for leaf in current.get_leaf_guards():
            if type(leaf).__name__ != "TENSOR_MATCH":
                continue
            for part in leaf.verbose_code_parts():
                match = _CHECK_TENSOR.match(part)
                if match is not None:
                    yield match["source"], match["rest"]
        pending.extend(current.get_child_managers())


def _location(sloc: Any) -> tuple[str, str]:
    """``file.py:12`` and its source, of what a shape guard says of the user's code (``if n == 5:  # dir/file.py:12 in f``)."""
    match = _USER_LOCATION.match(str(getattr(sloc, "maybe_user_loc", None) or ""))
    return (f"{match['file']}:{match['line']}", match["code"].strip()) if match else ("", "")


def _shape_guards(shape_env: Any) -> Iterator[Guard]:
    for guard in shape_env.guards:
        line, code = _location(guard.sloc)
        yield Guard(kind="SHAPE", source="", text=str(guard.expr), line=line, code=code)


def _symbols(shape_env: Any) -> Iterator[Symbol]:
    replaced_at = getattr(shape_env, "replacements_slocs", {})
    created = getattr(shape_env, "var_to_stack", {})
    for symbol, sources in shape_env.var_to_sources.items():
        names = tuple(plain(str(source.name)) for source in sources)
        bounds = shape_env.var_to_range.get(symbol)
        replacement = shape_env.replacements.get(symbol)
        line, code = _location(replaced_at.get(symbol))
        if not line:
            line, code = _line_of_traceback(created.get(symbol))
        if bounds is not None and bounds.lower == bounds.upper and replacement is None:
            replacement = bounds.lower
        yield Symbol(
            name=str(symbol),
            sources=names,
            kind=_kind(symbol, names),
            hint=str(shape_env.backed_var_to_val.get(symbol, "")),
            lower=_bound(bounds.lower) if bounds is not None else "",
            upper=_bound(bounds.upper) if bounds is not None else "",
            replacement="" if replacement is None else str(replacement),
            line=line,
            code=code,
        )


def _line_of_traceback(captured: Any) -> tuple[str, str]:
    try:
        return _line(captured.summary()) if captured is not None else ("", "")
    except Exception:
        return "", ""


def _bound(value: Any) -> str:
    if value in (sympy.oo, -sympy.oo):
        return "oo" if value == sympy.oo else "-oo"
    return str(value).replace("int_oo", "oo")


def _kind(symbol: Any, sources: tuple[str, ...]) -> Any:
    name = str(symbol)
    if name.startswith(("u", "zuf")):
        return "unbacked"
    if name.startswith("z"):
        return "float"
    first = sources[0] if sources else ""
    if ".size()" in first:
        return "size"
    if ".stride()" in first or ".storage_offset()" in first:
        return "stride"
    return "int"
