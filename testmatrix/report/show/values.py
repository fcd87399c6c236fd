"""What evidence holds, read with care: a report may come from another version, or be damaged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

Scalar = str | int | float | bool | None
_T = TypeVar("_T")
_DEEPEST = 6  # nothing that a comparison makes is nested as deep: from there on it is JSON text
_NUMBERS = (int, float, bool, type(None))


def read(evidence: Mapping[str, Any], key: str, kind: type[_T]) -> _T | None:
    """What a key holds, where it is there and of that type all through; None otherwise."""
    try:
        return msgspec.convert(evidence[key], kind)
    except (KeyError, msgspec.ValidationError):
        return None


def text_of(value: Scalar) -> str:
    """A value that is no container: text as it is, the others as in Python."""
    return value or "-" if isinstance(value, str) else repr(value)


def lines_of(value: object, depth: int = 0) -> list[str]:
    """Any value: a line for each item of a container, what is inside of those indented. Lists of numbers are one line."""
    if isinstance(value, (str, *_NUMBERS)):
        return text_of(value).splitlines() or ["-"]
    numbers = isinstance(value, list) and all(isinstance(each, _NUMBERS) for each in value)
    if not value or numbers or depth == _DEEPEST:
        return [_json(value)]
    if isinstance(value, Mapping):
        return [line for key, each in value.items() for line in _item(f"{key}:", each, depth)]
    if isinstance(value, list):
        return [line for each in value for line in _item("-", each, depth)]
    return [repr(value)]


def _item(label: str, value: object, depth: int) -> list[str]:
    lines = lines_of(value, depth + 1)
    return [f"{label} {lines[0]}"] if len(lines) == 1 else [label, *(f"  {line}" for line in lines)]


def _json(value: object) -> str:
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()
    except RecursionError:
        return "nested too deep to be shown"
