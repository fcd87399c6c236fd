"""What a test's earlier run in the same process must not leave behind for the next one.

A bare run executes a test once, so suites are free to change what they were given: parameters of ``parametrize``, module-level
counters and tensors, class attributes, what a module's fixture returned. Each cell starts from what the first one started from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from testmatrix.plugin.contents import Contents, Names

#: Where classes and modules are no part of a suite.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "torch", "numpy", "pytest", "_pytest"})


class Pristine:
    """What one item's runs start from."""

    def __init__(self, item: Any) -> None:
        self._item = item
        module = getattr(item, "module", None)
        owners = [module, *(cls for cls in getattr(getattr(item, "cls", None), "__mro__", ()) if _is_suites(cls))]
        self._owners = [owner for owner in owners if owner is not None]
        classes = {owner.__module__ for owner in self._owners if isinstance(owner, type)}
        modules = {getattr(module, "__name__", ""), "torch._dynamo.testing"} | classes
        self._contents = Contents(frozenset(modules))
        self._contents.add(_parameters(item))
        self._names: list[Names] | None = None
        self._stash = dict(item.stash._storage)
        self._markers = list(item.own_markers)
        self._keywords = dict(item.keywords._markers)
        self._extra_keywords = set(item.extra_keyword_matches)
        self._user_properties = list(item.user_properties)
        dtest = getattr(item, "dtest", None)
        self._doctest_globals: dict[str, Any] | None = None if dtest is None else dict(dtest.globs)

    def save(self) -> None:
        """Right before anything of the first run that belongs to the function alone; later calls do nothing."""
        if self._names is not None:
            return
        self._names = [Names(owner) for owner in self._owners]
        for names in self._names:
            self._contents.add(names.values())
        self._contents.add(_wider_values(self._item))

    def put_back(self) -> None:
        """Undo what an earlier run left behind."""
        for names in self._names or ():
            names.put_back()
        self._contents.put_back()
        item = self._item
        item._report_sections.clear()
        item.own_markers[:] = self._markers
        item.user_properties[:] = self._user_properties
        for mapping, content in ((item.stash._storage, self._stash), (item.keywords._markers, self._keywords)):
            mapping.clear()
            mapping.update(content)
        item.extra_keyword_matches.clear()
        item.extra_keyword_matches.update(self._extra_keywords)
        if getattr(item, "_excinfo", None):
            item._excinfo = None  # unittest's
        if self._doctest_globals is not None:
            item.dtest.globs.update(self._doctest_globals)  # running a doctest clears them

    def forget_instance(self) -> None:
        """Have the next run make an instance of the test's class; unittest's items do so themselves."""
        item = self._item
        if isinstance(item.parent, pytest.Class) and getattr(item, "_instance", None) is not None:
            del item._instance
            item._obj = None


def _is_suites(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in _LIBRARIES and cls is not object


def _parameters(item: Any) -> list[object]:
    callspec = getattr(item, "callspec", None)
    return [] if callspec is None else list(callspec.params.values())


def _wider_values(item: Any) -> Iterator[object]:
    """What fixtures of wider scope have made for the item so far."""
    for fixturedef in getattr(getattr(item, "_request", None), "_fixture_defs", {}).values():
        if fixturedef.scope != "function" and fixturedef.cached_result is not None:
            yield fixturedef.cached_result[0]
