"""What a test's earlier run in the same process must not leave behind for the next one.

A bare run executes a test once, so suites are free to change what they were given: parameters of ``parametrize``, module-level
counters and tensors, class attributes, what a module's fixture returned. Each cell starts from what the first one started from.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from testmatrix.torch_adapter import contents
from testmatrix.torch_adapter.contents import Contents, Kept

#: Where classes and modules are no part of a suite.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "torch", "numpy", "pytest", "_pytest"})


@dataclass
class _Scope:
    """The module and classes that some items are in: what these hold is looked at for each item, and rarely differs."""

    module: Any
    cls: type | None
    function_module: str  #: a test's function may be imported from another one
    owners: list[Any]
    modules: frozenset[str]  #: where the suite's functions and classes are from
    _latest: Contents | None = None

    def contents(self) -> Contents:
        """What module and classes hold now."""
        if self._latest is None or not self._latest.still_holds():
            self._latest = found = Contents(self.modules)
            found.kept.extend(contents.names(owner) for owner in self.owners)
            for owner in self.owners:
                found.add(contents.bound(vars(owner)).values())
        return self._latest


#: That of the last item: those of a module and class follow each other.
_scope: _Scope | None = None


def _scope_of(item: Any) -> _Scope:
    global _scope
    module, cls = getattr(item, "module", None), getattr(item, "cls", None)
    function_module = getattr(getattr(item, "function", None), "__module__", None) or ""
    if _scope is None or (_scope.module, _scope.cls, _scope.function_module) != (module, cls, function_module):
        classes = [each for each in getattr(cls, "__mro__", ()) if _is_suites(each)]
        names = {each.__module__ for each in classes} | {getattr(module, "__name__", ""), function_module}
        owners = [owner for owner in (module, *classes) if owner is not None]
        _scope = _Scope(module, cls, function_module, owners, frozenset(names | {"torch._dynamo.testing"}))
    return _scope


class Pristine:
    """What one item's runs start from."""

    def __init__(self, item: Any) -> None:
        self._item = item
        self._scope = _scope_of(item)
        self._given = Contents(self._scope.modules)  # before anything has run
        self._given.add(_parameters(item))
        self._started: list[Kept] | None = None
        self._of_cell: list[list[Kept]] = []
        self._stash = dict(item.stash._storage)
        self._markers = list(item.own_markers)
        self._keywords = dict(item.keywords._markers)
        self._extra_keywords = set(item.extra_keyword_matches)
        self._user_properties = list(item.user_properties)
        dtest = getattr(item, "dtest", None)
        self._doctest_globals: dict[str, Any] | None = None if dtest is None else dict(dtest.globs)

    def begin_function(self) -> None:
        """Right before anything of the first run that belongs to the function alone; later calls do nothing."""
        if self._started is None:
            self._started = self._contents()

    def before_wider_setup(self) -> list[Kept]:
        """What a fixture of wider scope may change; for :meth:`belongs_to_cell`. Empty once it no longer matters."""
        return self._contents() if self._started is None else []

    def belongs_to_cell(self, before: list[Kept]) -> None:
        """The fixture is set up again for each cell, so that each starts from what there was before it, where it changed that."""
        changed = contents.differing(before)
        if changed:
            self._of_cell.append(changed)

    def put_back(self) -> None:
        """Undo what an earlier run left behind."""
        contents.put_back(self._started or self._given.kept)
        for changed in reversed(self._of_cell):
            contents.put_back(changed)
        self._put_item_back(self._item)

    def _put_item_back(self, item: Any) -> None:
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

    def _contents(self) -> list[Kept]:
        """What the test's module, classes, parameters and wider fixtures hold now."""
        shared = self._scope.contents()
        own = Contents(self._scope.modules, beside=shared)
        own.add([*_parameters(self._item), getattr(self._item, "function", None), *_wider_values(self._item)])
        return shared.kept + own.kept if own.kept else shared.kept


def _is_suites(cls: type) -> bool:
    return cls.__module__.partition(".")[0] not in _LIBRARIES


def _parameters(item: Any) -> list[object]:
    callspec = getattr(item, "callspec", None)
    return [] if callspec is None else list(callspec.params.values())


def _wider_values(item: Any) -> Iterator[object]:
    """What fixtures of wider scope have made for the item so far."""
    for fixturedef in getattr(getattr(item, "_request", None), "_fixture_defs", {}).values():
        if fixturedef.scope != "function" and fixturedef.cached_result is not None:
            yield fixturedef.cached_result[0]
