"""Torch's compiler is imported when the suite needs it, as without the matrix, and never on the recorder's account.

Importing it takes longer than thousands of tests that compile nothing. As long as it is not there, nothing of it can have been
touched, consulted or compiled; from the moment that it is, it is hooked into. Importing this module imports no torch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from testmatrix.errors import TestmatrixError
from testmatrix.torch_adapter import capabilities
from testmatrix.torch_adapter.importing import call_after_import

COMPILER = "torch._dynamo"

_take_back: Callable[[], None] | None = None
_waiting: Callable[[str], None] | None = None


def is_loaded() -> bool:
    """Whether the compiler has been imported, to the end."""
    return COMPILER in sys.modules and not _is_initializing(COMPILER)


def _is_initializing(name: str) -> bool:
    return getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False)


def load() -> None:
    """Import the compiler, for processes that are forked from this one."""
    importlib.import_module(COMPILER)


def expect() -> None:
    """Hook into the compiler as soon as something imports it. Calling it again does nothing."""
    global _take_back
    if _take_back is None and not is_loaded():
        _take_back = call_after_import(COMPILER, _arrived)


def expect_no_more() -> None:
    """Take :func:`expect` back."""
    global _take_back
    if _take_back is not None:
        _take_back()
        _take_back = None


def hook_in() -> None:
    """Hook into the compiler: now where it is there, else as soon as it is.

    Raises:
        EnvironmentUnusable: this torch cannot be recorded. Where its version was never tried, the compiler is imported to see.
    """
    if is_loaded() or not _is_tried():
        expect_no_more()
        _hook()
    else:
        expect()


def _is_tried() -> bool:
    try:
        return f"torch {capabilities.version()}".startswith(f"{capabilities.SUPPORTED}.")
    except ImportError:
        return False


def _hook() -> None:
    capabilities.require()
    from testmatrix.torch_adapter import hooks

    hooks.install()


def _arrived() -> None:
    """In the middle of an import of the suite's, into which nothing may be raised."""
    if _is_initializing("torch"):
        return  # which imports it by itself, then: that is before any run, and :func:`hook_in` finds it there
    fault = ""
    try:
        _hook()
    except TestmatrixError as error:  # said by :func:`hook_in` where the run has not started yet
        fault = str(error)
    if _waiting is not None:
        _waiting(fault)


@contextmanager
def awaited(arrived: Callable[[str], None]) -> Iterator[None]:
    """Call back where the compiler is imported while the block runs, with what is wrong with it, if anything is."""
    global _waiting
    outer, _waiting = _waiting, arrived
    try:
        yield
    finally:
        _waiting = outer
