"""Torch's config modules: read, set, watch and put back.

A config module keeps one entry a setting; an entry holds its override in a context variable and a ``hide`` flag that
``unittest.mock`` leaves behind. Both are put back after every cell, whatever the test did to them.
"""

from __future__ import annotations

import copy
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, cast

from torch.utils import _config_module

from testmatrix.errors import UsageError, nearest
from testmatrix.torch_adapter import writes

_SCALARS = (bool, int, float, str, type(None), tuple)

#: Methods of a config module that all copies and hashes of its settings come from.
_WHOLE = ("_get_dict", "get_hash")
#: How far up the function that writes a log may be from where a module is copied.
_MOST_FRAMES = 4

#: (module, setting) of one entry.
Key = tuple[str, str]

_NONE: Mapping[Key, object] = types.MappingProxyType({})


class _Saved(NamedTuple):
    """State of one entry; a tuple, since a thousand of them are made for every cell."""

    override: object
    default: object
    hide: bool


class Change(NamedTuple):
    """Something that was changed and put back."""

    name: str  #: ``torch._dynamo.config.verbose``
    before: object
    left: object


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The state of every entry at some point."""

    entries: dict[Key, _Saved]
    #: Overrides that can change in place, each with a copy of what was in it.
    mutable: tuple[tuple[object, object], ...]
    moment: writes.Moment | None  #: when it was taken, or put back the last time

    def still_holds(self) -> bool:
        """Whether all is known to be as it was; False where in doubt."""
        return writes.none_since(self.moment) and self.has_same_contents()

    def has_same_contents(self) -> bool:
        """Whether what can change in place is as it was."""
        return all(_same(value, content) for value, content in self.mutable)


#: The state that was taken or put back last.
_latest: Snapshot | None = None
#: The state in which modules were imported, of those that came after the first snapshot.
_imported: dict[Key, _Saved] = {}

_known_modules: tuple[int, list[ModuleType]] = (0, [])


def config_modules() -> list[ModuleType]:
    """Every config module that has been imported so far."""
    global _known_modules
    if _known_modules[0] != len(sys.modules):  # scanning takes a while, and imports are rare between cells
        found = [module for module in list(sys.modules.values()) if isinstance(module, _config_module.ConfigModule)]
        _known_modules = (len(sys.modules), list({id(module): module for module in found}.values()))
    return _known_modules[1]


def _entries(module: ModuleType) -> dict[str, Any]:
    return cast("dict[str, Any]", module._config)


def snapshot() -> Snapshot:
    """The state of every entry of every config module."""
    global _latest
    if _latest is not None and _latest.still_holds():
        return _latest
    taken: dict[Key, _Saved] = {}
    mutable: list[tuple[object, object]] = []
    moment = writes.now()  # a write from now on is seen, by whatever thread
    for module in config_modules():
        for name, entry in _entries(module).items():
            value = entry.user_override.get()
            saved = _Saved(_copied(value), entry.default, entry.hide)
            taken[module.__name__, name] = saved
            if saved.override is not value:
                mutable.append((value, saved.override))
    _latest = Snapshot(taken, tuple(mutable), moment)
    return _latest


def keep_imported() -> None:
    """Remember the present state of all entries that no snapshot has yet: it is what they are put back to."""
    known = {} if _latest is None else _latest.entries
    for module in config_modules():
        for name, entry in _entries(module).items():
            key = (module.__name__, name)
            if key not in known:
                _imported.setdefault(key, _Saved(_copied(entry.user_override.get()), entry.default, entry.hide))


def _is_constant(value: object) -> bool:
    return isinstance(value, _SCALARS) or value is _config_module._UNSET_SENTINEL


def _copied(value: object) -> object:
    if _is_constant(value):
        return value
    try:
        return copy.copy(value)
    except Exception:  # a callable or a handle: its identity is its value
        return value


def changed(before: Snapshot) -> tuple[str, ...]:
    """Names of the entries that differ from the snapshot, as ``torch._dynamo.config.verbose``."""
    names = []
    for module in config_modules():
        for name, entry in _entries(module).items():
            saved = _saved(before, (module.__name__, name))
            if saved is not None and (entry.hide != saved.hide or not _same(entry.user_override.get(), saved.override)):
                names.append(f"{module.__name__}.{name}")
    return tuple(sorted(names))


def _same(value: object, saved: object) -> bool:
    if value is saved:
        return True
    unset = _config_module._UNSET_SENTINEL
    if value is unset or saved is unset:
        return False
    try:
        return type(value) is type(saved) and bool(value == saved)
    except Exception:
        return False


def _saved(before: Snapshot, key: Key) -> _Saved | None:
    """What an entry was; None for one that was imported since and is taken to be at its defaults."""
    saved = before.entries.get(key)
    return _imported.get(key) if saved is None else saved


def restore(before: Snapshot, own: Mapping[Key, object] = _NONE, *, only_own: bool = False) -> list[Change]:
    """Put every entry back to the snapshot; returns what differed, apart from what was set to its ``own`` value.

    No other than the ``own`` entries are looked at where only these were written. Entries read for the first time since may keep
    a copy of their default. One that is hidden differs by what mocks do to undo a change, so that it was undone.
    """
    if only_own:
        _restore_own(before, own)
        return []
    changes = []
    for module in config_modules():
        for name, entry in _entries(module).items():
            key = (module.__name__, name)
            saved = _saved(before, key)
            if saved is None:
                continue
            present, hidden = entry.user_override.get(), entry.hide
            if not _put_back(module, name, entry, saved):
                continue
            was, now = (saved.default if one is _config_module._UNSET_SENTINEL else one for one in (saved.override, present))
            if not (hidden or _same(now, was) or (key in own and _same(now, own[key]))):
                changes.append(Change(f"{module.__name__}.{name}", was, now))
    return changes


def _restore_own(before: Snapshot, own: Mapping[Key, object]) -> None:
    """Put back these entries alone: all others are known to be as they were, and with these, all hold again."""
    global _latest
    for key in own:
        module = sys.modules[key[0]]
        _put_back(module, key[1], _entries(module)[key[1]], before.entries[key])
    if all(_is_constant(before.entries[key].override) for key in own):  # a copy of another would have to be known, too
        _latest = Snapshot(before.entries, before.mutable, writes.now())


def _put_back(module: ModuleType, name: str, entry: Any, saved: _Saved) -> bool:
    """Put one entry back; whether it differed."""
    if entry.default is not saved.default:
        entry.default = saved.default
    if entry.hide == saved.hide and _same(entry.user_override.get(), saved.override):
        return False
    entry.user_override.set(_copied(saved.override))
    entry.hide = saved.hide
    _mark_dirty(module, name)
    return True


def _mark_dirty(module: ModuleType, name: str) -> None:
    """Make the module's cached hash and dictionary forget this entry, as its own setter does."""
    module._hash_dirty_var.set(True)
    module._mark_get_dict_dirty(name)


def check(module: str, name: str, origin: str = "", value: object = None) -> None:
    """Refuse a setting that torch does not have, or a value of a type that it does not take; None is of any type.

    Raises:
        UsageError: names the nearest setting of that module, or the type.
    """
    where = f"{origin}: " if origin else ""
    try:
        __import__(module)
    except ImportError:
        raise UsageError(f"{where}there is no config module {module!r} in the installed torch") from None
    found = sys.modules[module]
    if not isinstance(found, _config_module.ConfigModule):
        raise UsageError(f"{where}{module!r} is not one of torch's config modules")
    if name not in _entries(found):
        raise UsageError(f"{where}{module} has no setting {name!r}; {nearest(name, _entries(found))}")
    present = getattr(found, name, None)
    taken = _types_taken(present, getattr(_entries(found)[name], "value_type", None))
    if value is not None and taken is not None and type(value) not in taken:
        wanted = " or ".join(_TYPE_NAMES[kind] for kind in _TYPE_NAMES if kind in taken) or f"of type {type(present).__name__}"
        raise UsageError(f"{where}{module}.{name} must be {wanted}, not {value!r}; it is {present!r}")


_TYPE_NAMES = {bool: "a boolean", int: "an integer", float: "a float", str: "a string"}


def _types_taken(present: object, declared: object) -> frozenset[type] | None:
    """The types that a setting takes, by its value and the annotation that torch keeps; None: nobody says."""
    taken = _types_declared(declared)
    if taken is None or (present is None and not taken):
        return None
    if present is not None:
        taken |= {type(present)}
    return taken | {int} if float in taken else taken


def _types_declared(declared: object) -> frozenset[type] | None:
    if declared is None or declared is type(None):
        return frozenset()
    origin = typing.get_origin(declared)
    if origin is typing.Literal:
        return frozenset(type(choice) for choice in typing.get_args(declared)) - {type(None)}
    if origin in (typing.Union, types.UnionType):
        parts = [_types_declared(part) for part in typing.get_args(declared)]
        return None if None in parts else frozenset().union(*(part for part in parts if part is not None))
    plain = origin or declared
    if plain in _TYPE_NAMES or plain in (list, tuple, dict, set, frozenset):
        return frozenset({cast("type", plain)})
    return None


def apply(settings: Iterable[tuple[str, str, object]]) -> None:
    """Set (module, name, value) triples as the ambient configuration of a cell.

    Overrides are seen by the setting thread only; the default is set as well, so that threads of the test's own are in the
    cell, too.
    """
    for module, name, value in settings:
        __import__(module)
        found = sys.modules[module]
        entry = _entries(found)[name]
        if entry.alias is not None:
            setattr(found, name, value)
            continue
        entry.default = value
        entry.user_override.set(value)
        entry.hide = False
        _mark_dirty(found, name)


def any_alias(settings: Iterable[tuple[str, str, object]]) -> bool:
    """Whether one of these is another name of a setting elsewhere."""
    modules = ((sys.modules.get(module), name) for module, name, _ in settings)
    return any(module is not None and _entries(module)[name].alias is not None for module, name in modules)


class _WatchedOverride:
    """Stands in for an entry's context variable and tells of single reads and of writes."""

    def __init__(self, inner: Any, key: Key, on_read: Callable[[Key], None], on_write: Callable[[Key], None]) -> None:
        self.inner, self.key = inner, key
        self.on_read, self.on_write = on_read, on_write

    def get(self, *default: object) -> object:
        if sys._getframe(1).f_code.co_name == "__getattr__":
            self.on_read(self.key)
        return self.inner.get(*default)

    def set(self, value: object) -> object:
        self.on_write(self.key)
        return self.inner.set(value)

    def reset(self, token: Any) -> None:
        self.on_write(self.key)
        self.inner.reset(token)


@contextmanager
def watched(keys: Iterable[Key], on_read: Callable[[Key], None], on_write: Callable[[Key], None]) -> Iterator[None]:
    """Tell of reads and writes of these settings while the block runs. The watchers must not raise.

    A copy or a hash of a whole module counts as a read of each of its settings, unless it is made for torch's log.
    """
    keys = tuple(keys)
    stood_in: list[tuple[Any, Any]] = []
    for module, name in keys:
        __import__(module)
        entry = _entries(sys.modules[module])[name]
        stood_in.append((entry, entry.user_override))
        entry.user_override = _WatchedOverride(entry.user_override, (module, name), on_read, on_write)
    modules: Any = _config_module.ConfigModule
    whole = {name: getattr(modules, name) for name in _WHOLE}
    for name, original in whole.items():
        setattr(modules, name, _telling(original, keys, on_read))
    try:
        yield
    finally:
        for name, original in whole.items():
            setattr(modules, name, original)
        for entry, original in reversed(stood_in):
            entry.user_override = original


def _telling(original: Callable[..., Any], keys: tuple[Key, ...], on_read: Callable[[Key], None]) -> Callable[..., Any]:
    """Wrap a method that reads a module's settings all together; it keeps what it read, and need not read any entry again."""

    def read_together(self: ModuleType, *args: Any, **kwargs: Any) -> Any:
        if not _is_for_log():
            for key in keys:
                if key[0] == self.__name__:
                    on_read(key)
        return original(self, *args, **kwargs)

    return read_together


def _is_for_log() -> bool:
    """Whether the function that asked is one of those that write torch's settings to its log."""
    frame: types.FrameType | None = sys._getframe(2)
    for _ in range(_MOST_FRAMES):
        if frame is None:
            return False
        if frame.f_code.co_name.endswith("_for_logging"):
            return True
        frame = frame.f_back
    return False
