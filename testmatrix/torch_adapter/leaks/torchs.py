"""What a test may leave behind in torch, apart from its settings and the switches that :mod:`..state` puts back.

Marks on functions (``allow_in_graph`` and the like) and operators of a library are no part of it: they go with what they are on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.nn.modules import module as modules
from torch.optim import optimizer
from torch.utils import _python_dispatch

from testmatrix.torch_adapter.leaks.leak import Leak, Part, named
from testmatrix.torch_adapter.leaks.settings import Setting, settings_part

#: Global hooks, each kind a dictionary that has them by number. What else torch keeps by these numbers says nothing without them.
_MODULE_HOOKS = (
    "forward_pre_hooks",
    "forward_hooks",
    "backward_pre_hooks",
    "backward_hooks",
    "module_registration_hooks",
    "parameter_registration_hooks",
    "buffer_registration_hooks",
)
_OPTIMIZER_HOOKS = ("optimizer_pre_hooks", "optimizer_post_hooks")
_MOST_SAVED_HOOKS = 100  #: pairs to take off at most: what was there at first may be gone


def _hook_parts() -> Iterator[Part]:
    for owner, names in ((modules, _MODULE_HOOKS), (optimizer, _OPTIMIZER_HOOKS)):
        for name in names:
            if hasattr(owner, f"_global_{name}"):
                yield _hook_part(owner, name)


def _hook_part(owner: Any, name: str) -> Part:
    hooks: dict[int, Any] = getattr(owner, f"_global_{name}")

    def leaks(before: dict[int, Any], now: dict[int, Any]) -> Iterator[Leak]:
        told = name.replace("_", " ").removesuffix("s")
        for number in now.keys() - before.keys():
            yield Leak(f"global {told} left behind: {named(now[number])}", partial(hooks.pop, number, None))
        for number in before.keys() - now.keys():
            yield Leak(f"global {told} removed: {named(before[number])}", partial(hooks.__setitem__, number, before[number]))

    return Part(lambda: dict(hooks), leaks, lambda: hooks)


def _mode_part(name: str, read: Callable[[], list[Any]], pop: Callable[[], Any], push: Callable[[Any], None]) -> Part:
    """A stack of modes. The default device is a mode, too, which setting the default device puts back."""

    def read_others() -> list[Any]:
        stack = read()
        return [mode for mode in stack if mode is not _default_device()] if stack else stack

    def refill(wanted: list[Any]) -> None:
        stack = read()
        for _ in stack:
            pop()
        for mode in (*(mode for mode in stack if mode is _default_device()), *wanted):
            push(mode)

    def leaks(before: list[Any], now: list[Any]) -> Iterator[Leak]:
        entered = [mode for mode in now if not any(mode is one for one in before)]
        left = [mode for mode in before if not any(mode is one for one in now)]
        for mode in entered:
            yield Leak(f"{name} mode left entered: {named(mode)}", partial(refill, before))
        for mode in left:
            yield Leak(f"{name} mode of others left: {named(mode)}", partial(refill, before))

    return Part(read_others, leaks)


def _default_device() -> Any:
    return getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)


def _function_modes() -> list[Any]:
    return [torch._C._get_function_stack_at(index) for index in range(torch._C._len_torch_function_stack())]


def _dispatch_modes() -> list[Any]:
    return [torch._C._get_dispatch_stack_at(index) for index in range(torch._C._len_torch_dispatch_stack())]


def _saved_tensors_hooks() -> Any:
    return torch._C._autograd._top_saved_tensors_default_hooks(True)


def _saved_tensors_leaks(before: Any, now: Any) -> Iterator[Leak]:
    def undo() -> None:
        for _ in range(_MOST_SAVED_HOOKS):
            present = _saved_tensors_hooks()
            if present is None or present == before:
                break
            torch._C._autograd._pop_saved_tensors_default_hooks()
        if before is not None and _saved_tensors_hooks() != before:
            torch._C._autograd._push_saved_tensors_default_hooks(*before)

    yield Leak(f"hooks on saved tensors left at {named(now)}, were {named(before)}", undo)


def _registry() -> Any:
    """Where backends are registered: with the compiler, which is not there before a suite has imported it."""
    return sys.modules.get("torch._dynamo.backends.registry")


def _backends() -> dict[str, Any]:
    return getattr(_registry(), "_COMPILER_FNS", {})


def _backend_leaks(before: dict[str, Any], now: dict[str, Any]) -> Iterator[Leak]:
    """Backends that a test registered; torch looks its own up when they are first asked for."""
    for name in now.keys() - before.keys():
        if not str(getattr(now[name], "__module__", "")).startswith("torch."):

            def undo(name: str = name) -> None:
                _registry()._COMPILER_FNS.pop(name, None)
                _registry()._BACKENDS.pop(name, None)

            yield Leak(f"backend {name!r} left registered: {named(now[name])}", undo)
    for name in before.keys() - now.keys():
        yield Leak(f"backend {name!r} removed", partial(_backends().__setitem__, name, before[name]))


def _autocast(device: str) -> Iterator[Setting]:
    yield Setting(
        f"autocast on {device}", partial(torch.is_autocast_enabled, device), partial(torch.set_autocast_enabled, device)
    )
    yield Setting(
        f"autocast dtype on {device}", partial(torch.get_autocast_dtype, device), partial(torch.set_autocast_dtype, device)
    )


def _parts() -> Iterator[Part]:
    yield from _hook_parts()
    yield settings_part(
        (*_autocast("cpu"), Setting("torch.set_warn_always", torch.is_warn_always_enabled, torch.set_warn_always))
    )
    yield _mode_part(
        "torch function", _function_modes, torch._C._pop_torch_function_stack, torch._C._push_on_torch_function_stack
    )
    yield _mode_part("torch dispatch", _dispatch_modes, _python_dispatch._pop_mode, _python_dispatch._push_mode)
    if hasattr(torch._C._autograd, "_top_saved_tensors_default_hooks"):
        yield Part(_saved_tensors_hooks, _saved_tensors_leaks)
    yield Part(lambda: dict(_backends()), _backend_leaks, _backends)


PARTS = tuple(_parts())
