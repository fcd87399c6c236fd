"""Teardown of wider scopes, apart from the item's own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest


def report_of(item: pytest.Item, tear_down: Callable[[], None]) -> pytest.TestReport | None:
    """Tear something down as pytest does in an item's last phase, output captured; the report where it raised."""
    with _captured(item):
        call = pytest.CallInfo.from_call(tear_down, when="teardown", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    if call.excinfo is None:
        return None
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    return report


def merged(reports: list[pytest.TestReport], torn_down: pytest.TestReport | None) -> None:
    """Let a failed teardown of wider scopes stand for the item's own; where that failed as well, both are said."""
    if torn_down is None or torn_down.passed:
        return
    if reports and reports[-1].when == "teardown" and reports[-1].passed:
        reports.pop()
    reports.append(torn_down)


def is_due(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Whether wider scopes are set up that the next item does not share."""
    stack = list(item.session._setupstate.stack)
    shared = nextitem.listchain() if nextitem is not None else []
    return stack != shared[: len(stack)]


def wider_scopes(item: pytest.Item, nextitem: pytest.Item | None) -> pytest.TestReport | None:
    """Tear down the wider scopes that the next item does not share, as pytest would have after the item."""
    if not is_due(item, nextitem):
        return None
    state = item.session._setupstate
    return report_of(item, lambda: state.teardown_exact(nextitem))


def _captured(item: pytest.Item) -> AbstractContextManager[Any]:
    capture: Any = item.config.pluginmanager.get_plugin("capturemanager")
    return nullcontext() if capture is None else capture.item_capture("teardown", item)
