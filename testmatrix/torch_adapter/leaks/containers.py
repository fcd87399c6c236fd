"""Lists and dictionaries of the process that everybody may change in place."""

from __future__ import annotations

import builtins
import gc
import logging
import sys
from collections.abc import Callable, Collection, Iterator, MutableMapping, MutableSequence
from functools import partial
from typing import Any

from testmatrix.torch_adapter.leaks.leak import Leak, Part, named
from testmatrix.torch_adapter.leaks.modules import is_from_import

#: Names of builtins that the interpreter itself sets: the last value that was displayed.
_DISPLAYED = frozenset({"_"})


def list_part(
    name: str,
    live: Callable[[], MutableSequence[Any]],
    *,
    of_imports: bool = False,
    ignored: Callable[[Any], bool] | None = None,
) -> Part:
    """A list, told by what was added and removed.

    Args:
        of_imports: what a module installs that is imported for the first time stays, since it is not installed twice.
        ignored: tells what comes and goes with the test runner.
    """

    def read() -> list[Any]:
        return list(live()) if ignored is None else [each for each in live() if not ignored(each)]

    def leaks(before: list[Any], now: list[Any]) -> Iterator[Leak]:
        added = [each for each in now if not _holds(before, each)]
        removed = [each for each in before if not _holds(now, each)]
        staying = [each for each in added if of_imports and is_from_import(each)]
        told = [
            *(f"{named(each)} left in {name}" for each in added if not _holds(staying, each)),
            *(f"{named(each)} left out of {name}" for each in removed),
        ]
        if not added and not removed:
            told = [f"order of {name} left changed"]
        wanted = [*(each for each in now[:1] if _holds(staying, each)), *before]
        wanted += [each for each in staying if not _holds(wanted, each)]
        for text in told:
            yield Leak(text, partial(_refill, live(), wanted, ignored))

    return Part(read, leaks, live if ignored is None else None)


def _holds(values: Collection[Any], wanted: Any) -> bool:
    """By identity or, for text, by value: what somebody else's ``__eq__`` says is not to be relied on."""
    return any(each is wanted or (isinstance(wanted, str) and each == wanted) for each in values)


def _refill(live: MutableSequence[Any], values: list[Any], ignored: Callable[[Any], bool] | None) -> None:
    live[:] = [*values, *(each for each in live if ignored is not None and ignored(each))]


def _is_runners(handler: Any) -> bool:
    return type(handler).__module__ == "_pytest.logging"


def dict_part(name: str, live: Callable[[], MutableMapping[Any, Any]], ignored: Collection[str] = ()) -> Part:
    """A dictionary whose keys mean something, told as ``name.key``."""

    def leaks(before: dict[Any, Any], now: dict[Any, Any]) -> Iterator[Leak]:
        for key in {**before, **now}:
            if key in ignored or (key in before and key in now and before[key] is now[key]):
                continue
            if key in before:
                left = (
                    f"{name}.{key} left at {named(now[key])}, was {named(before[key])}" if key in now else f"{name}.{key} removed"
                )
                yield Leak(left, partial(live().__setitem__, key, before[key]))
            else:
                yield Leak(f"{name}.{key} left behind: {named(now[key])}", partial(live().pop, key, None))

    return Part(lambda: dict(live()), leaks, live)


PARTS = (
    dict_part("builtins", lambda: vars(builtins), _DISPLAYED),
    list_part("sys.path", lambda: sys.path, of_imports=True),
    list_part("sys.meta_path", lambda: sys.meta_path, of_imports=True),
    list_part("sys.path_hooks", lambda: sys.path_hooks, of_imports=True),
    list_part("the root logger's handlers", lambda: logging.root.handlers, ignored=_is_runners),
    list_part("gc.callbacks", lambda: gc.callbacks),
)
