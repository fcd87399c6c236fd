"""Whether any of torch's settings may have been written since a moment, without looking at them one by one.

A thousand settings are long to compare after every test, and hardly any test writes one. A setting has a value of the thread's
own in a context variable, and attributes in its entry. A context is immutable, so two moments with the same one have the same
values; and every write to an attribute of an entry is counted. What changes in place is not seen here.
"""

from __future__ import annotations

import contextvars
import sys
from dataclasses import dataclass
from typing import Any

from torch.utils import _config_module


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A point in time to ask about."""

    entries: int  #: how often an attribute of any entry had been written
    context: contextvars.Context
    imported: int  #: modules


_written = 0


def now() -> Moment | None:
    """This moment; None where writes cannot be counted, so that nothing can be known."""
    if not _is_counting and not _count_writes():
        return None
    return Moment(_written, contextvars.copy_context(), len(sys.modules))


def none_since(moment: Moment | None) -> bool:
    """Whether all settings are bound to what they were bound to then, and no further ones came. False where in doubt."""
    if moment is None or moment.entries != _written or moment.imported != len(sys.modules):
        return False
    try:
        return moment.context == contextvars.copy_context()
    except Exception:  # values of other people's variables are compared, too
        return False


_is_counting = False


def _count_writes() -> bool:
    """Count what is written to entries from now on, in whatever way; False where this torch has other entries."""
    global _is_counting
    entry: Any = getattr(_config_module, "_ConfigEntry", None)
    if getattr(entry, "__setattr__", None) is not object.__setattr__:
        return False

    def counted(self: object, name: str, value: object) -> None:
        global _written
        _written += 1
        object.__setattr__(self, name, value)

    entry.__setattr__ = counted
    _is_counting = True
    return True
