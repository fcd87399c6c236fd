"""Witnesses as tensors that people make: strides that follow from the sizes, wherever nothing asks for others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.evaluate import Unevaluable, holds
from testmatrix.compare.algebra.relation import Witness
from testmatrix.compare.algebra.variables import Value, is_valid

_EXTENT = re.compile(r"^(?P<tensor>.+)\.(?P<of>size|stride)\(\)\[(?P<dimension>\d+)\]$")


def with_consistent_strides(witness: Witness, accepting: Conjunction) -> Witness:
    """The witness with the strides of contiguous tensors, if it is still one with them; else as it is."""
    values = _contiguous(dict(witness.values))
    try:
        valid = all(is_valid(values[name], sort) for name, sort in accepting.sorts.items())
        if valid and all(holds(one, values) for one in accepting.conditions) and holds(witness.rejected_by, values) is False:
            return replace(witness, values=tuple(sorted(values.items())))
    except (KeyError, Unevaluable):
        pass
    return witness


def _contiguous(values: Mapping[str, Value]) -> dict[str, Value]:
    sizes: dict[str, dict[int, Value | None]] = {}
    for source, value in values.items():
        match = _EXTENT.match(source)
        if match is not None:
            known = sizes.setdefault(match["tensor"], {})
            dimension = int(match["dimension"])
            known[dimension] = value if match["of"] == "size" else known.get(dimension)
    found = dict(values)
    for source in values:
        match = _EXTENT.match(source)
        if match is None or match["of"] != "stride":
            continue
        stride = _stride(sizes.get(match["tensor"], {}), int(match["dimension"]))
        if stride is not None:
            found[source] = stride
    return found


def _stride(sizes: Mapping[int, Value | None], dimension: int) -> Value | None:
    """The stride of a dimension of a contiguous tensor; None where a size after it is not known."""
    stride: Value = 1
    for later in range(dimension + 1, max(sizes) + 1):
        size = sizes.get(later)
        if size is None:
            return None
        stride *= max(size, 1)
    return stride
