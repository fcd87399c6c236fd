"""What the suite asked to be carried as a symbol: by marking dimensions of tensors, or by naming sources or values."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from testmatrix.torch_adapter.attributes import stored
from testmatrix.torch_adapter.guard_text import plain

#: Attributes that torch's marking functions leave on a tensor, and what the suite called.
MARKS = (
    ("_dynamo_dynamic_indices", "mark_dynamic"),
    ("_dynamo_weak_dynamic_indices", "maybe_mark_dynamic"),
    ("_dynamo_unbacked_indices", "mark_unbacked"),
    ("_dynamo_strict_unbacked_indices", "mark_unbacked(strict=True)"),
)
#: Tensors inside nested ones, whose dimensions torch marks.
_TORCHS_OWN = re.compile(r"\._(?:min|max)_seqlen_tensor$")
_SETTINGS = "torch.compiler.config"
_SOURCES = ("dynamic_sources", "unbacked_sources")
_DIMENSION = re.compile(r"^(?P<source>.+):(?P<dimension>\d+)$")

#: (source, asked by)
Asked = tuple[str, str]


def of(tensors: Iterable[tuple[str, Any]], ints: Iterable[tuple[str, int | None]]) -> tuple[Asked, ...]:
    """What was asked of these sources, sorted."""
    return tuple(sorted({*_of_tensors(tensors), *_of_ints(ints)}))


def marks(tensor: Any) -> dict[str, tuple[int, ...]]:
    """Marked dimensions, by what marked them."""
    found = {}
    for attribute, name in MARKS:
        dimensions = stored(tensor, attribute)
        if isinstance(dimensions, (set, frozenset, list, tuple)) and dimensions:
            found[name] = tuple(sorted(int(dimension) for dimension in dimensions))
    return found


def _of_tensors(tensors: Iterable[tuple[str, Any]]) -> Iterator[Asked]:
    named, values = _named_sources(), _values()
    for source, tensor in tensors:
        if _TORCHS_OWN.search(source):
            continue
        for name, dimensions in marks(tensor).items():
            yield from ((_size(source, dimension), name) for dimension in dimensions)
        if named or values:
            for dimension, size in enumerate(tensor.shape):
                yield from ((_size(source, dimension), name) for name in _naming(named, source, dimension))
                if size in values:
                    yield _size(source, dimension), "dynamic_values"


def _of_ints(ints: Iterable[tuple[str, int | None]]) -> Iterator[Asked]:
    named, values = _named_sources(), _values()
    for source, value in ints:
        yield from ((plain(source), name) for name in _naming(named, source, None))
        if value in values:
            yield plain(source), "dynamic_values"


def _size(source: str, dimension: int) -> str:
    return f"{plain(source)}.size()[{dimension}]"


def _naming(named: Iterable[tuple[str, str, int | None]], source: str, dimension: int | None) -> Iterator[str]:
    """Settings that name a source, as a text or as a pattern."""
    for setting, pattern, only in named:
        if (dimension is None or only is None or dimension == only) and (pattern == source or _matches(pattern, source)):
            yield setting


def _matches(pattern: str, source: str) -> bool:
    try:
        return re.match(pattern, source) is not None
    except re.error:
        return False


def _named_sources() -> list[tuple[str, str, int | None]]:
    """(setting, text or pattern, dimension) of everything that the settings name."""
    found: list[tuple[str, str, int | None]] = []
    for setting in _SOURCES:
        for entry in filter(None, _setting(setting).replace(" ", "").split(",")):
            match = _DIMENSION.match(entry)
            found.append((setting, match["source"], int(match["dimension"])) if match else (setting, entry, None))
    return found


def _values() -> frozenset[int]:
    return frozenset(int(value) for value in filter(None, _setting("dynamic_values").replace(" ", "").split(",")))


def _setting(name: str) -> str:
    return str(getattr(sys.modules.get(_SETTINGS), name, "") or "")
