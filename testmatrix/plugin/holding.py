"""Keeping an item's reports back until it is known which run of it is to be reported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

try:  # subtests are part of pytest from version 9
    from _pytest.subtests import failed_subtests_key
except ImportError:  # pragma: no cover - older pytest
    failed_subtests_key = None  # type: ignore[assignment]


@contextmanager
def held_reports(config: pytest.Config) -> Iterator[list[pytest.TestReport]]:
    """Collect what would be logged instead of logging it.

    Reports of subtests are logged from inside the test, past every hook that could hold them; so the calls themselves are
    turned away where the plugin manager executes hooks.
    """
    manager: Any = config.pluginmanager
    execute = manager._inner_hookexec
    held: list[pytest.TestReport] = []

    def holding(hook_name: str, methods: Any, kwargs: Any, firstresult: bool) -> Any:
        if hook_name == "pytest_runtest_logreport":
            held.append(kwargs["report"])
            return []
        return execute(hook_name, methods, kwargs, firstresult)

    manager._inner_hookexec = holding
    try:
        yield held
    finally:
        manager._inner_hookexec = execute


def _key(item: pytest.Item) -> Any:
    return getattr(item, "id", item.nodeid)  # older pytest counts by node id


def failed_subtests(item: pytest.Item) -> int:
    return 0 if failed_subtests_key is None else item.config.stash[failed_subtests_key][_key(item)]


def set_failed_subtests(item: pytest.Item, number: int) -> None:
    """pytest fails a test that has any when its report is logged; each run of the item starts with none."""
    if failed_subtests_key is not None:
        item.config.stash[failed_subtests_key][_key(item)] = number
