"""A pytest plugin for matrix runs: says where the time goes, as JSON in the file that ``BENCHMARK_WHERE`` names.

Times are exclusive: what is recorded during a test counts as recording and not as the test.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

COMPARING = "comparing"
COMPARING_GUARDS = "comparing guards"

spent: dict[str, float] = {}
_stack: list[list[float]] = []


@contextmanager
def timed(name: str) -> Generator[None]:
    started = time.perf_counter()
    _stack.append([0.0])
    try:
        yield
    finally:
        elapsed = time.perf_counter() - started
        inner = _stack.pop()[0]
        spent[name] = spent.get(name, 0.0) + elapsed - inner
        if _stack:
            _stack[-1][0] += elapsed


def _time_function(owner: Any, attribute: str, name: str) -> None:
    original: Callable[..., Any] = getattr(owner, attribute)

    def measured(*args: Any, **kwargs: Any) -> Any:
        with timed(name):
            return original(*args, **kwargs)

    setattr(owner, attribute, measured)


class _TimedContext(AbstractContextManager[Any]):
    """Times entering and leaving, not what is inside."""

    def __init__(self, inner: AbstractContextManager[Any], name: str) -> None:
        self._inner, self._name = inner, name

    def __enter__(self) -> Any:
        with timed(self._name):
            return self._inner.__enter__()

    def __exit__(self, *details: Any) -> bool | None:
        with timed(self._name):
            return self._inner.__exit__(*details)


def pytest_sessionstart() -> None:
    from testmatrix.compare import whole
    from testmatrix.plugin import exploration, runner
    from testmatrix.torch_adapter import cell, compiles, gradients, guards, regions

    for attribute in ("__init__", "returned", "raised"):
        _time_function(regions._Call, attribute, "recording")
    for owner, attribute in ((guards, "read"), (compiles, "_ops"), (compiles, "_opened"), (gradients, "_gradients")):
        _time_function(owner, attribute, "recording")
    for attribute in ("compare_observations", "number_rows", "mark_unstable"):
        _time_function(exploration, attribute, COMPARING)
    for attribute in ("compared_compiles", "guard_differences", "guard_notes"):
        _time_function(whole, attribute, COMPARING_GUARDS)
    _time_function(runner, "runtestprotocol", "tests")
    running = cell.running
    cell.running = lambda *args, **kwargs: _TimedContext(running(*args, **kwargs), "cells")  # type: ignore[assignment]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """After the last test: in the process that ran the tests, which is the one that has anything to say."""
    result = yield
    if nextitem is None and spent and "BENCHMARK_WHERE" in os.environ:
        Path(os.environ["BENCHMARK_WHERE"]).write_text(json.dumps(spent), encoding="utf-8")
    return result
