"""``sys.modules``: entries replaced, removed or faked. An ordinary import is no leak."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator
from functools import partial
from types import ModuleType
from typing import Any

from testmatrix.torch_adapter.leaks.leak import Leak, Part, named

#: Modules that their own package, or a compiler, makes without a file, whenever it likes.
_MADE = re.compile(r"^(?:torch|triton|_?cython)(?:\.|_|$)")
_SHOWN = 3  #: names that one text has

#: Names in ``sys.modules`` when the cell began, for :func:`is_from_import`.
_known: Collection[str] = frozenset()


def read_modules() -> dict[str, Any]:
    global _known
    modules = sys.modules.copy()
    _known = modules
    return modules


def is_from_import(value: object) -> bool:
    """Whether something comes with a module that was first imported since the cell began.

    That is a function or an object of a class that the module defines, or a path to what is inside of a package.
    """
    if isinstance(value, str):
        return any(value.startswith(os.path.join(folder, "")) for folder in _new_packages())
    module = getattr(value, "__module__", None) or type(value).__module__
    return isinstance(module, str) and module in sys.modules and module not in _known


def _new_packages() -> Iterator[str]:
    """Folders of packages that were first imported since the cell began."""
    for name, module in sys.modules.copy().items():
        if name not in _known and isinstance(module, ModuleType):
            yield from (folder for folder in vars(module).get("__path__") or () if isinstance(folder, str))


def _leaks(before: dict[str, Any], now: dict[str, Any]) -> Iterator[Leak]:
    replaced = [name for name in before if name in now and now[name] is not before[name]]
    removed = [name for name in before if name not in now]
    new = {name: module for name, module in list(now.items()) if name not in before}
    faked = sorted(_fakes(new))
    back = partial(sys.modules.update, {name: before[name] for name in (*replaced, *removed)})
    if replaced:
        yield Leak(f"replaced in sys.modules: {_listed(replaced)}", back)
    if removed:
        yield Leak(f"removed from sys.modules: {_listed(removed)}", back)
    for name in faked:
        yield Leak(f"put into sys.modules: {name}, {_described(new[name])}", partial(sys.modules.pop, name, None))


def _fakes(new: dict[str, Any]) -> Iterator[str]:
    """New entries that no import made: not even that of the package which they are in, as ``six`` does for its parts."""
    packages = {name.partition(".")[0] for name, module in new.items() if _is_real(name, module)}
    for name, module in new.items():
        if not _is_real(name, module) and name.partition(".")[0] not in packages and not _MADE.match(name):
            yield name


def _is_real(name: str, module: Any) -> bool:
    """Whether an import made this entry. What stands for a module, as a lazy one does, has the module's own spec."""
    spec = _spec_of(module)
    return getattr(spec, "name", None) == name and getattr(spec, "loader", spec) is not None


def _spec_of(module: Any) -> Any:
    try:
        return getattr(module, "__spec__", None)
    except Exception:  # of an object that only plays a module
        return None


def _described(module: Any) -> str:
    if not isinstance(module, ModuleType):
        return named(module)
    spec = _spec_of(module)
    return f"which is {module.__name__}" if spec is not None else "a module of no import"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


PARTS = (Part(read_modules, _leaks, lambda: sys.modules),)
