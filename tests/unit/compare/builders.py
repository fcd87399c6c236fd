"""Observations by hand, with only what a test is about spelled out."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any

from testmatrix.grid import Grid, parse_grid
from testmatrix.observation import (
    ORACLE,
    Compile,
    ExceptionRecord,
    Guard,
    Leaf,
    Observation,
    Phase,
    RegionCall,
    Symbol,
    TensorRecord,
)

GRID: Grid = parse_grid("default")
CELLS: tuple[str, ...] = tuple(cell.name for cell in GRID.cells)
STATIC = CELLS[:2]
UNSPEC = "dynamic-unspecialize"
TEST = "test_mod.py::test_it"
REGION = "mymod.tag"

_FORMATS = {"float32": "f", "float64": "d", "int64": "q", "int32": "i", "bool": "?", "float16": "e", "complex64": "f"}


def tensor(values: Sequence[float], dtype: str = "float32", *, keep: bool = True, **fields: Any) -> TensorRecord:
    """A record of a tensor of one dimension, unless ``shape`` says otherwise."""
    data = raw(values, dtype)
    fields.setdefault("shape", (len(values),))
    stride, step = [], 1
    for size in reversed(fields["shape"]):
        stride.insert(0, step)
        step *= size
    defaults: dict[str, Any] = {"stride": tuple(stride), "storage_offset": 0, "device": "cpu", "requires_grad": False}
    record = {"data": data if keep else None, "digest": hashlib.sha1(data).hexdigest()} | defaults | fields
    return TensorRecord(dtype=dtype, **record)


def raw(values: Sequence[float], dtype: str) -> bytes:
    return struct.pack(f"<{len(values)}{_FORMATS[dtype]}", *values)


def leaf(value: object, path: str = "", type_: str = "") -> Leaf:
    if isinstance(value, TensorRecord):
        return Leaf(path=path, type=type_ or "torch.Tensor", tensor=value)
    return Leaf(path=path, type=type_ or type(value).__name__, value=repr(value))


def container(length: int, path: str = "", type_: str = "tuple") -> Leaf:
    return Leaf(path=path, type=type_, value=f"len={length}")


def call(result: object = None, index: int = 0, arguments: dict[str, object] | None = None, **fields: Any) -> RegionCall:
    """A region call; ``result`` is a scalar, a tensor, leaves, or an exception."""
    if isinstance(result, ExceptionRecord):
        fields["exception"] = result
    else:
        fields["result"] = result if isinstance(result, tuple) else (leaf(result),)
    fields.setdefault("region", REGION)
    after = fields.pop("after", {})
    return RegionCall(
        index=index,
        arguments=tuple(leaf(value, path) for path, value in (arguments or {}).items()),
        after=tuple(leaf(value, path) for path, value in after.items()),
        **fields,
    )


def raised(type_: str = "IndexError", message: str = "out of range", **fields: Any) -> ExceptionRecord:
    return ExceptionRecord(type=type_, message=message, frame=fields.pop("frame", "mod.py:12 in tag"), **fields)


def observe(
    cell: str, *regions: RegionCall, outcome: str = "passed", exception: ExceptionRecord | None = None, **fields: Any
) -> Observation:
    ended = "passed" if exception is None else "failed"
    phases = (Phase(when="call", outcome=ended, duration=0.1, exception=exception),)
    return Observation(test=TEST, cell=cell, outcome=outcome, phases=phases, regions=regions, **fields)  # type: ignore[arg-type]


def observations(
    eager: object, expected: object | None = None, odd: Sequence[str] = (), odd_value: object = None, **fields: Any
) -> dict[str, Observation]:
    """One region call in every cell: ``eager`` in the oracle, ``expected`` or the same in the cells, but for ``odd``."""
    usual = eager if expected is None else expected
    made = {cell: observe(cell, call(odd_value if cell in odd else usual, **fields)) for cell in CELLS}
    return {ORACLE: observe(ORACLE, call(eager, **fields)), **made}


def compiled(*guards: Guard, symbols: Sequence[Symbol] = (), **fields: Any) -> Compile:
    fields = {
        "frame": REGION,
        "line": 10,
        "region_call": 0,
        "ops": ("torch.mul",),
        "tensor_ops": 1,
        "inputs": ("Tensor",),
    } | fields
    return Compile(guards=guards, symbols=tuple(symbols), **fields)


def constant(source: str, value: object, **fields: Any) -> Guard:
    fields = {"kind": "CONSTANT_MATCH", "text": f"{source} == {value!r}", "line": "mod.py:12"} | fields
    return Guard(source=source, value=repr(value), value_type=type(value).__name__, **fields)


def type_match(source: str, name: str) -> Guard:
    return Guard(kind="TYPE_MATCH", source=source, text=name)


def shape_guard(text: str, line: str = "mod.py:12") -> Guard:
    return Guard(kind="SHAPE", source="", text=text, line=line)


def tensor_match(source: str, size: str, stride: str = "[1]") -> Guard:
    text = f"check_tensor({source}, Tensor, torch.float32, device=None, requires_grad=False, size={size}, stride={stride})"
    return Guard(kind="TENSOR_MATCH", source=source, text=text)


def int_symbol(name: str = "s0", source: str = "L['n']", **fields: Any) -> Symbol:
    return Symbol(name=name, sources=(source,), kind=fields.pop("kind", "int"), hint="5", lower="-oo", upper="oo", **fields)
