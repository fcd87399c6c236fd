"""Compiles, graph breaks and frames that Dynamo gave up on, seen from inside Dynamo.

Every function here runs in the middle of a compile. An exception would surface in the suite's program as an internal error of
Dynamo's, so each hook keeps its faults to itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch
from torch._dynamo.exc import FailOnRecompileLimitHit, Unsupported

from testmatrix.observation import Compile, FailedCompile, GraphBreak
from testmatrix.torch_adapter import exceptions, guard_text, guards
from testmatrix.torch_adapter.recording import OpenCompile, Recording, active

#: What a graph's nodes are that are arithmetic on symbols and no work on tensors.
_SYMBOLIC = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
_RESUME = re.compile(r"^torch_dynamo_resume_in_(?P<name>.+)_at_(?P<line>\d+)$")


def around_compile(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``convert_frame._compile``: one call is one attempt to compile one frame."""

    def recorded_compile(code: CodeType, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        kwargs["skip"] = kwargs.get("skip", 0) + 1  # one frame more on the stack that torch cuts off
        recording = active()
        if recording is None:
            return original(code, *args, **kwargs)
        attempt = _opened(recording, code, args)
        try:
            result = original(code, *args, **kwargs)
        except Exception as error:
            _failed(recording, attempt, error)
            raise
        finally:
            recording.compile_stack.pop()
        if attempt.made is None and getattr(result, "guarded_code", None) is not None:
            attempt.made = _compile_of(attempt)  # the suite has put a guard hook of its own in place of ours
        if attempt.made is not None:
            recording.compiles.append(attempt.made)
        return result

    return recorded_compile


def _opened(recording: Recording, code: CodeType, args: tuple[Any, ...]) -> OpenCompile:
    frame_globals = args[0] if args and isinstance(args[0], dict) else {}
    name, line, resume = _frame_of(code)
    stack = recording.region_stack
    attempt = OpenCompile(
        frame=f"{frame_globals.get('__name__', '')}.{name}".lstrip("."),
        line=line,
        region_call=stack[-1] if stack else -1,
        resume=resume,
    )
    recording.compile_stack.append(attempt)
    recording.compiled_something = True
    return attempt


def _frame_of(code: CodeType) -> tuple[str, int, int]:
    """(qualified name, first line, line after the break) of a frame; resume functions keep their frame's name."""
    name = getattr(code, "co_qualname", code.co_name)
    resume = _RESUME.match(code.co_name)
    if resume is None:
        return name, code.co_firstlineno, 0
    parent = name.rpartition(".")[0]
    return (f"{parent}.{resume['name']}" if parent else resume["name"]), code.co_firstlineno, int(resume["line"])


def _failed(recording: Recording, attempt: OpenCompile, error: Exception) -> None:
    try:
        limit = isinstance(error, FailOnRecompileLimitHit) or (isinstance(error, Unsupported) and "recompile limit" in str(error))
        recording.failed_compiles.append(
            FailedCompile(
                frame=attempt.frame,
                line=attempt.line,
                region_call=attempt.region_call,
                exception=exceptions.record(error),
                limit=limit,
            )
        )
    except Exception as fault:
        recording.fault(f"failed compile of {attempt.frame}", fault)


def _current() -> tuple[Recording, OpenCompile] | None:
    recording = active()
    if recording is None or not recording.compile_stack:
        return None
    return recording, recording.compile_stack[-1]


def on_guards(guard_manager: Any, f_locals: Any, builder: Any) -> None:
    """``guard_manager_testing_hook_fn``: runs at every compile, with the inputs that triggered it."""
    current = _current()
    if current is None:
        return
    recording, attempt = current
    found = guards.Read()
    try:
        found = guards.read(guard_manager, builder)
    except Exception as fault:
        recording.fault(f"guards of {attempt.frame}", fault)
    for kind in found.unknown:
        recording.tell("guards", f"guard kind {kind} is not known to this version: carried as text")
    if found.left_out:
        recording.tell(
            "guards", f"guard_filter_fn leaves out guards of {attempt.frame} ({found.left_out}): sizes and ints may go unchecked"
        )
    attempt.made = _compile_of(attempt, found)


def _compile_of(attempt: OpenCompile, read: guards.Read | None = None) -> Compile:
    read = read or guards.Read()
    return Compile(
        frame=attempt.frame,
        line=attempt.line,
        resume=attempt.resume,
        region_call=attempt.region_call,
        guards=read.guards,
        symbols=read.symbols,
        asked=read.asked,
        ops=tuple(attempt.ops),
        tensor_ops=attempt.tensor_ops,
        inputs=tuple(attempt.inputs),
        breaks=tuple(dict.fromkeys(attempt.breaks)),
        recompile_reasons=attempt.recompile_reasons,
    )


def around_graph_break(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``InstructionTranslatorBase.log_graph_break``."""

    def recorded_break(self: Any, code_options: Any, reason: str, exc: BaseException, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        current = _current()
        if current is not None:
            recording, attempt = current
            try:
                attempt.breaks.append(_graph_break(self, reason, exc))
            except Exception as fault:
                recording.fault(f"graph break in {attempt.frame}", fault)
        return original(self, code_options, reason, exc, *args, **kwargs)

    return recorded_break


def _graph_break(translator: Any, reason: str, exc: BaseException) -> GraphBreak:
    kind = getattr(exc, "gb_type", None) or exceptions.normalise_message(str(reason))
    stack = getattr(exc, "real_stack", None)
    outside = [frame for frame in stack or () if exceptions.is_users(frame.filename)]
    if outside:
        line = f"{os.path.basename(outside[-1].filename)}:{outside[-1].lineno}"
    else:
        line = f"{os.path.basename(translator.f_code.co_filename)}:{translator.lineno}"
    return GraphBreak(reason=str(kind)[:200], line=line)


def around_call_user_compiler(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``OutputGraph.call_user_compiler``: the graph on its way to the backend, and the place to exchange a named backend."""

    def recorded_call(self: Any, gm: Any, example_inputs: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        current = _current()
        if current is None:
            return original(self, gm, example_inputs, *args, **kwargs)
        recording, attempt = current
        try:
            attempt.ops, attempt.inputs, attempt.tensor_ops = _ops(gm), _inputs(gm), _tensor_ops(gm)
        except Exception as fault:
            recording.fault(f"graph of {attempt.frame}", fault)
        replacement = _replacement(recording, self.compiler_fn)
        if replacement is None:
            return original(self, gm, example_inputs, *args, **kwargs)
        kept, self.compiler_fn = self.compiler_fn, replacement
        try:
            return original(self, gm, example_inputs, *args, **kwargs)
        finally:
            self.compiler_fn = kept

    return recorded_call


def _calls(gm: Any) -> list[Any]:
    return [node for node in gm.graph.nodes if node.op in ("call_function", "call_method", "call_module")]


def _ops(gm: Any) -> list[str]:
    return [node.target if isinstance(node.target, str) else _target_name(node.target) for node in _calls(gm)]


def _tensor_ops(gm: Any) -> int:
    return sum(not isinstance(_example(node), _SYMBOLIC) for node in _calls(gm))


def _example(node: Any) -> Any:
    return node.meta.get("example_value", node.meta.get("val"))


def _target_name(target: Any) -> str:
    module = getattr(target, "__module__", "") or ""
    name = getattr(target, "__name__", None) or str(target)
    return f"{module}.{name}" if module and module not in ("builtins", "torch._ops") else str(name)


def _inputs(gm: Any) -> list[str]:
    kinds = []
    for node in gm.graph.nodes:
        if node.op == "placeholder":
            value = _example(node)
            kinds.append(type(value).__name__ if value is not None else "constant")
    return ["Tensor" if kind in ("FakeTensor", "Parameter") else kind for kind in kinds]


def _replacement(recording: Recording, compiler: Any) -> Any:
    """The cell's backend, where the suite named one or left it out; None to leave the suite's in place."""
    if recording.backend is None or not _is_named(compiler):
        return None
    from torch._dynamo.backends.registry import lookup_backend

    return lookup_backend(recording.backend)


def _is_named(compiler: Any) -> bool:
    """Whether a backend is one of torch's registry, not a callable that the suite brought."""
    from torch._dynamo.backends.registry import _BACKENDS, lookup_backend

    inner = getattr(compiler, "_torchdynamo_orig_backend", compiler)
    if getattr(inner, "compiler_name", None) == "inductor":
        return True
    inner = getattr(inner, "compiler_fn", inner)
    name = getattr(compiler, "_compiler_name", None)
    return isinstance(name, str) and name in _BACKENDS and lookup_backend(name) is inner


def around_recompile_reasons(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``get_and_maybe_log_recompilation_reasons`` as ``convert_frame`` sees it."""

    def recorded_reasons(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        reasons = original(*args, **kwargs)
        current = _current()
        if current is not None:
            recording, attempt = current
            try:
                attempt.recompile_reasons = tuple(guard_text.plain(str(reason)) for reason in reasons)
            except Exception as fault:
                recording.fault(f"recompile of {attempt.frame}", fault)
        return reasons

    return recorded_reasons
