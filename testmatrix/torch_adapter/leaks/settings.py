"""Settings of the interpreter and the process that have one value each, and are read and set by a pair of functions."""

from __future__ import annotations

# What ``signal`` itself has makes a member of an enumeration of every handler that it reads.
import _signal  # type: ignore[import-not-found]
import gc
import locale
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from testmatrix.torch_adapter.leaks.leak import Leak, Part, differ, named

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

#: What torch raises the recursion limit to, for good, when Inductor compiles for the first time.
_INDUCTORS_LIMIT = 2000
_LIMITS = ("RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_STACK")


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the process."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]
    told: Callable[[Any], str] = named


def _attribute(owner: Any, name: str, told: str = "") -> Setting:
    return Setting(told or f"{owner.__name__}.{name}", partial(getattr, owner, name, None), partial(setattr, owner, name))


def _umask() -> int:
    mask = os.umask(0o77)  # there is no reading it without setting it; what another thread makes now is nobody else's to read
    os.umask(mask)
    return mask


def _limits() -> Iterator[Setting]:
    for name in _LIMITS:
        number = getattr(resource, name, None)
        if number is not None:
            yield Setting(f"resource limit {name}", partial(resource.getrlimit, number), partial(resource.setrlimit, number))


def _set_gc(enabled: bool) -> None:
    (gc.enable if enabled else gc.disable)()


SETTINGS: tuple[Setting, ...] = (
    Setting("sys.settrace's function", sys.gettrace, sys.settrace),
    Setting("sys.setprofile's function", sys.getprofile, sys.setprofile),
    Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("thread switch interval", sys.getswitchinterval, sys.setswitchinterval),
    *(_attribute(sys, name) for name in ("excepthook", "unraisablehook", "displayhook", "breakpointhook")),
    _attribute(threading, "excepthook"),
    Setting("garbage collection", gc.isenabled, _set_gc),
    Setting("gc thresholds", gc.get_threshold, lambda thresholds: gc.set_threshold(*thresholds)),
    Setting("umask", _umask, os.umask, oct),
    Setting("locale", partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL)),
    _attribute(logging.root.manager, "disable", "logging.disable's level"),
    *_limits(),
)

#: What pytest's capture and log handlers set for each phase.
PHASED: tuple[Setting, ...] = (
    *(_attribute(sys, name) for name in ("stdin", "stdout", "stderr")),
    _attribute(logging.root, "level", "level of the root logger"),
)
_SIGNALS = tuple(sorted(int(number) for number in signal.valid_signals() if number <= getattr(signal, "SIGSYS", 31)))


def settings_part(settings: Sequence[Setting], *, phased: bool = False) -> Part:
    reads = tuple(setting.read for setting in settings)

    def leaks(before: list[Any], now: list[Any]) -> Iterator[Leak]:
        for setting, old, new in zip(settings, before, now, strict=True):
            if differ(old, new) and not (setting.name == "recursion limit" and _is_inductors(old, new)):
                yield Leak(f"{setting.name} left at {setting.told(new)}, was {setting.told(old)}", partial(setting.write, old))

    return Part(lambda: [read() for read in reads], leaks, phased=phased)


def _is_inductors(old: int, new: int) -> bool:
    return new == _INDUCTORS_LIMIT > old and "torch._inductor.compile_fx" in sys.modules


def _read_handlers() -> list[Any]:
    return list(map(_signal.getsignal, _SIGNALS))


def _handler_leaks(before: list[Any], now: list[Any]) -> Iterator[Leak]:
    for number, old, new in zip(_SIGNALS, before, now, strict=True):
        if differ(old, new):
            # A handler that is not Python's reads as None, and nothing in Python can set it.
            undo = None if old is None else partial(signal.signal, number, old)
            name = signal.Signals(number).name
            yield Leak(f"handler of {name} left at {_handler(new)}, was {_handler(old)}", undo)


def _handler(handler: Any) -> str:
    return signal.Handlers(handler).name if isinstance(handler, int) else named(handler)


PARTS = (
    settings_part(SETTINGS),
    *(settings_part((setting,), phased=True) for setting in PHASED),
    Part(_read_handlers, _handler_leaks),
)
