"""A leak, the parts of a process in which there can be some, and how things are named in what is said of it."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from testmatrix.torch_adapter.exceptions import normalise_message, qualified

_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Leak:
    """Something that a test has left behind."""

    text: str  #: what it is, from what to what: the same in every cell and process
    undo: Callable[[], object] | None = field(default=None, compare=False)  #: None: nothing but the end of the process ends it
    lasting: bool = False  #: it is still there, so that other tests want a fresh process


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the process's state."""

    read: Callable[[], Any]  #: its value now, which no later change reaches
    leaks: Callable[[Any, Any], Iterable[Leak]]  #: between a value and a later one that differs
    live: Callable[[], Any] | None = None  #: the same as ``read``, where there is no need to keep it
    phased: bool = False  #: the test runner changes it from phase to phase


def put_back(leaks: Iterable[Leak]) -> tuple[Leak, ...]:
    """Undo each; returns them all, those that could not be undone marked as lasting. Never raises."""
    return tuple(leak if _is_undone(leak) else replace(leak, lasting=True) for leak in leaks)


def _is_undone(leak: Leak) -> bool:
    if leak.undo is None:
        return False
    try:
        leak.undo()
    except Exception:  # such as a limit that only root may raise again
        return False
    return True


def differ(old: Any, new: Any) -> bool:
    """Asks the values themselves only where they are not identical, and trusts none of them to be able to tell."""
    try:
        return old is not new and bool(old != new)
    except Exception:
        return True


def named(value: object) -> str:
    """A value in a few words that are the same in every process: functions by their name and place, objects by their type."""
    try:
        return _named(value)
    except Exception:  # a ``repr`` or an attribute of somebody else's
        return f"an object of {qualified(type(value))}"


def _named(value: object) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, (str, bytes)):
        return shortened(repr(value))
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(named, value))})"
    if isinstance(value, type):
        return qualified(value)
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value)
    if isinstance(value, (set, frozenset)):
        return shortened(f"{{{', '.join(sorted(map(repr, value)))}}}")
    if isinstance(value, dict) or dataclasses.is_dataclass(value):
        return shortened(repr(value))
    if isinstance(value, functools.partial):
        return named(value.func)
    function = getattr(value, "__func__", value)  # of a bound method
    if isinstance(function, types.FunctionType):
        return f"{_own_name(function)} ({place_of(function.__code__)})"
    if isinstance(function, types.BuiltinFunctionType):
        return f"{function.__module__ or ''}.{function.__qualname__}".removeprefix(".")
    return f"an object of {qualified(type(value))}"


def shortened(text: str) -> str:
    """One line without what differs by process: temporary directories, ids and addresses."""
    told = normalise_message(text)
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"


def place_of(code: types.CodeType) -> str:
    """``file.py:12``"""
    return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def _own_name(function: types.FunctionType) -> str:
    return re.sub(r"^.*<locals>\.", "", function.__qualname__)
