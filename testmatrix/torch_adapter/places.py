"""Places in the user's code, as guards and symbols name them: a line, its source, and the lines around it."""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch

from testmatrix.torch_adapter.exceptions import is_users

_AROUND = 2
#: ``if n == 5:  # dir/file.py:12 in f``
_SHORT = re.compile(r"^(?P<code>.*?)  # (?P<file>\S.*?):(?P<line>\d+) in ", re.S)
_TORCHS = os.path.dirname(os.path.dirname(torch.__file__))


class Place(NamedTuple):
    """``file.py:12``, the source of that line, and it with the lines around it; empty where nothing is known."""

    line: str = ""
    code: str = ""
    context: tuple[str, ...] = ()


NOWHERE = Place()


@lru_cache(maxsize=16384)  # many guards come from one line: they share what is kept of it
def place(filename: str, number: int, code: str) -> Place:
    """The place of a line in a file. The source is part of the key, as a file may be written anew."""
    return Place(f"{os.path.basename(filename)}:{number}", code, _context(filename, number, code))


def _context(filename: str, number: int, code: str) -> tuple[str, ...]:
    lines = linecache.getlines(filename)
    if not 1 <= number <= len(lines) or lines[number - 1].strip() != code:
        return ()
    first, last = max(1, number - _AROUND), min(len(lines), number + _AROUND)
    shown = ((n, ">" if n == number else "|", lines[n - 1].rstrip()) for n in range(first, last + 1))
    return tuple(f"{n:>4} {mark} {text}".rstrip() for n, mark, text in shown)


def of_stack(stack: Iterable[Any] | None) -> Place:
    """The innermost frame that is the user's, or else the innermost."""
    frames = list(stack or ())
    if not frames:
        return NOWHERE
    outside = [frame for frame in frames if is_users(frame.filename)]
    frame = outside[-1] if outside else frames[-1]
    return place(frame.filename, frame.lineno or 0, (frame.line or "").strip())


def of_shape_location(sloc: Any) -> Place:
    """What a shape guard says of the user's code: a text with the file's name shortened."""
    match = _SHORT.match(str(getattr(sloc, "maybe_user_loc", None) or ""))
    if match is None:
        return NOWHERE
    number, code = int(match["line"]), match["code"].strip()
    return place(_full_name(match["file"], number, code), number, code)


@lru_cache(maxsize=4096)
def _full_name(short: str, number: int, code: str) -> str:
    """The file that torch named without the directories that it shares with torch itself; the short name where there is none.

    Any directory above torch may be the shared one: it is the file that has this source in this line.
    """
    found = (name for name in _candidates(short) if code and linecache.getline(name, number).strip() == code)
    return next(found, short)


def _candidates(short: str) -> Iterator[str]:
    above = _TORCHS
    while above != os.path.dirname(above):
        yield os.path.join(above, short)
        above = os.path.dirname(above)
    yield short  # on another drive
    first, _, rest = short.partition(os.sep)
    # Where only the root is shared, torch cuts off a letter too many.
    yield from (os.path.join(above, name, rest) for name in os.listdir(above) if name[1:] == first)
