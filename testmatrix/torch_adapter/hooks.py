"""Putting the recorder's hooks into torch, and taking them out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch._dynamo
from torch._dynamo import convert_frame, eval_frame, guards, output_graph, symbolic_convert, trace_rules

from testmatrix.torch_adapter import compiles, gradients, regions

_undo: list[Callable[[], None]] = []


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    setattr(owner, name, make(original))
    _undo.append(lambda: setattr(owner, name, original))


def _around_optimize(original: Callable[..., Any]) -> Callable[..., Any]:
    def recorded_optimize(self: Any, fn: Any) -> Any:
        __tracebackhide__ = True
        return regions.wrap_result(self, original(self, fn))

    return recorded_optimize


def installed() -> bool:
    return bool(_undo)


def install() -> None:
    """Hook into torch; regions made from now on are recorded. Calling it again does nothing."""
    if installed():
        return
    trace_rules.add("testmatrix")  # Dynamo skips frames of the recorder instead of tracing them
    _replace(eval_frame.OptimizeContext, "__call__", _around_optimize)
    _replace(convert_frame, "_compile", compiles.around_compile)
    _replace(convert_frame, "get_and_maybe_log_recompilation_reasons", compiles.around_recompile_reasons)
    _replace(symbolic_convert.InstructionTranslatorBase, "log_graph_break", compiles.around_graph_break)
    _replace(output_graph.OutputGraph, "call_user_compiler", compiles.around_call_user_compiler)
    _replace(torch.autograd, "_engine_run_backward", gradients.around_backward)
    _replace(guards, "guard_manager_testing_hook_fn", _chained)
    if hasattr(guards, "profile_guard_manager"):
        # Measures the guards' latency for torch's own log after flushing the processor's caches: a third of a small compile.
        _replace(guards, "profile_guard_manager", lambda original: lambda *args: 0.0)


def _chained(previous: Callable[..., Any] | None) -> Callable[..., Any]:
    """Our hook, after one that was there before."""
    if previous is None:
        return compiles.on_guards

    def both(*args: Any) -> None:
        __tracebackhide__ = True
        previous(*args)
        compiles.on_guards(*args)

    return both


def uninstall() -> None:
    """Take the hooks out. Regions made meanwhile stay wrapped, and record nothing."""
    while _undo:
        _undo.pop()()
