"""Doing something right after a module was imported, without importing it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Finder:
    """Finds one module, as Python would have, and calls back when it has run."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name, self._call = name, call

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader)
        return spec

    def _call_after(self, loader: object) -> None:
        run = loader.exec_module  # type: ignore[attr-defined]

        def run_and_call(module: ModuleType) -> None:
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self._call()

        loader.exec_module = run_and_call  # type: ignore[attr-defined]


def call_after_import(name: str, call: Callable[[], None]) -> Callable[[], None]:
    """Call something once, as soon as the module is there; returns what takes that back. Not for one that is there already."""
    finder = _Finder(name, call)
    sys.meta_path.insert(0, finder)

    def take_back() -> None:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)

    return take_back


@contextmanager
def after_import(name: str, call: Callable[[], None]) -> Iterator[None]:
    """Call something as soon as the module is there, if that is while the block runs; at once where it is already."""
    if name in sys.modules:
        call()
        yield
        return
    take_back = call_after_import(name, call)
    try:
        yield
    finally:
        take_back()
