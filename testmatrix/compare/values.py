"""Judging two recorded values: equal, close, apart in the sign of a zero alone, different, or not to be told.

The only module of the comparison that uses torch, for reading raw bytes of every dtype, and only once bytes differ.
"""

from __future__ import annotations

import cmath
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from testmatrix.observation import TensorRecord

if TYPE_CHECKING:
    import torch

Verdict = Literal["equal", "close", "sign_of_zero", "different", "unknown"]

#: (rtol, atol) by dtype, as ``torch.testing._comparison._DTYPE_PRECISIONS`` has them; every other dtype is compared exactly.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
_EIGHT_BIT_FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
_FLOATING = frozenset(name for name in TOLERANCES if name.startswith(("float", "bfloat"))) | set(_EIGHT_BIT_FLOATS)
_COMPLEX = frozenset(name for name in TOLERANCES if name.startswith("complex"))
_INTEGRAL = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of comparing two values."""

    verdict: Verdict
    max_abs: float = 0.0  #: largest absolute error; infinite where a NaN or an infinity meets something else
    max_rel: float = 0.0  #: largest error relative to the right side
    index: tuple[int, ...] = ()  #: of the largest absolute error among the elements outside the tolerance
    count: int = 0  #: elements outside the tolerance, or with another sign of zero
    left: str = ""  #: the elements at ``index``
    right: str = ""
    note: str = ""  #: why it could not be told, or what decided


EQUAL = Judgement(verdict="equal")


def judge_tensors(left: TensorRecord, right: TensorRecord, float64: TensorRecord | None = None) -> Judgement:
    """Compare the values of two tensors of one dtype and shape.

    ``float64`` is the same result computed in double precision: where ``left`` lies outside the tolerance of ``right`` but no
    farther from the truth, it counts as close.
    """
    if 0 in left.shape and left.shape == right.shape:
        return EQUAL
    if left.digest and left.digest == right.digest:
        return EQUAL
    if left.data is None or right.data is None:
        return _judge_digests(left, right)
    if left.data == right.data:
        return EQUAL
    if left.dtype not in _FLOATING | _COMPLEX | _INTEGRAL or len(left.data) != len(right.data):
        # Quantised and packed dtypes have no conversion to compare in (some conversions crash the process).
        return Judgement(verdict="different", count=1, note=f"raw bytes of dtype {left.dtype}")
    return _judge_bytes(left, right, float64)


def _judge_digests(left: TensorRecord, right: TensorRecord) -> Judgement:
    if left.digest and right.digest and left.dtype in _INTEGRAL:
        return Judgement(verdict="different", count=1, note="values not kept; digests differ")
    return Judgement(verdict="unknown", note="values not kept")


def _read(record: TensorRecord) -> torch.Tensor:
    import torch

    assert record.data is not None
    flat = torch.frombuffer(bytearray(record.data), dtype=getattr(torch, record.dtype))
    return flat.reshape(record.shape)


def _judge_bytes(left: TensorRecord, right: TensorRecord, float64: TensorRecord | None) -> Judgement:
    import torch

    with torch.no_grad():
        ours, theirs = _read(left), _read(right)
        if left.dtype in _INTEGRAL:
            return _judge_exact(ours, theirs)
        wide = torch.complex128 if left.dtype in _COMPLEX else torch.float64
        a, b = ours.to(wide), theirs.to(wide)
        rtol, atol = TOLERANCES.get(left.dtype, (0.0, 0.0))
        outside = ~_within(a, b, rtol, atol)
        if not bool(outside.any()):
            signs = _zero_signs(a, b)
            if bool(signs.any()):
                return _describe("sign_of_zero", a, b, signs)
            return _describe("close", a, b, torch.ones_like(outside), count=0)
        if float64 is not None and _nearer(a, b, float64, outside):
            return _describe("close", a, b, outside, note="nearer to float64 than the reference")
        return _describe("different", a, b, outside)


def _judge_exact(a: torch.Tensor, b: torch.Tensor) -> Judgement:
    import torch

    if a.dtype in (torch.uint16, torch.uint32, torch.uint64):  # few operations exist for them
        outside = (a.view(torch.uint8) != b.view(torch.uint8)).reshape(*a.shape, -1).any(-1)
    else:
        outside = a != b
    if not bool(outside.any()):
        return EQUAL
    return _describe("different", a, b, outside)


def _within(a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> torch.Tensor:
    """Elements within the tolerance, taken of the larger side, so that it does not matter which side is which."""
    import torch

    error = _error(a, b)
    return error <= atol + rtol * torch.maximum(a.abs(), b.abs()).nan_to_num(0.0, 0.0, 0.0)


def _error(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Absolute errors; 0 where both are NaN or the same infinity, infinite where only one of them is."""
    import torch

    if a.is_complex():
        parts = torch.stack([_error(a.real, b.real), _error(a.imag, b.imag)])
        norm: torch.Tensor = torch.linalg.vector_norm(parts, dim=0)
        return norm
    same = (a == b) | (a.isnan() & b.isnan())
    return torch.where(same, torch.zeros_like(a), (a - b).abs().nan_to_num(math.inf, math.inf, math.inf))


def _zero_signs(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.is_complex():
        return _zero_signs(a.real, b.real) | _zero_signs(a.imag, b.imag)
    return (a == 0) & (b == 0) & (a.signbit() != b.signbit())


def _nearer(a: torch.Tensor, b: torch.Tensor, reference: TensorRecord, outside: torch.Tensor) -> bool:
    """Whether ``a`` is no farther from the double-precision result than ``b`` where the two are apart."""
    if reference.data is None or reference.shape != tuple(a.shape) or reference.dtype not in ("float64", "complex128"):
        return False
    truth = _read(reference).to(a.dtype)
    return bool(_error(a, truth)[outside].max() <= _error(b, truth)[outside].max())


def _describe(
    verdict: Verdict, a: torch.Tensor, b: torch.Tensor, mask: torch.Tensor, *, count: int | None = None, note: str = ""
) -> Judgement:
    import torch

    wide = (a, b) if a.is_complex() else (a.to(torch.float64), b.to(torch.float64))
    error = _error(*wide)
    relative = (error / wide[1].abs()).nan_to_num(0.0)
    # A masked element may have no error that float64 can show (a sign, the last digit of a large int): -1 keeps the others out.
    flat = int(torch.where(mask, error, -torch.ones_like(error)).reshape(-1).argmax())
    index: list[int] = []
    rest = flat
    for size in reversed(a.shape):
        index.insert(0, rest % size)
        rest //= size
    return Judgement(
        verdict=verdict,
        max_abs=float(error.max()),
        max_rel=float(relative.max()),
        index=tuple(index),
        count=int(mask.sum()) if count is None else count,
        left=repr(a.reshape(-1)[flat].item()),
        right=repr(b.reshape(-1)[flat].item()),
        note=note,
    )


def judge_scalars(type_name: str, left: str, right: str) -> Judgement:
    """Compare the ``repr`` of two Python values of one type."""
    if left == right:
        return EQUAL
    different = Judgement(verdict="different", max_abs=math.inf, count=1, left=left, right=right)
    parse = _PARSERS.get(type_name)
    if parse is None:
        return different
    try:
        a, b = parse(left), parse(right)
    except ValueError:
        return different
    error = math.hypot(_part_error(a.real, b.real), _part_error(a.imag, b.imag))
    relative = error / abs(b) if b and not cmath.isnan(b) else 0.0
    # A float that came out of a float32 tensor (``.item()``) carries float32's rounding.
    rtol, atol = TOLERANCES["float32" if _is_single(a) and _is_single(b) else "float64"]
    scale = max(abs(a), abs(b))
    if not error <= atol + (rtol * scale if math.isfinite(scale) else 0.0):
        return Judgement(verdict="different", max_abs=error, max_rel=relative, count=1, left=left, right=right)
    verdict: Verdict = "close" if error or _signs(a) == _signs(b) else "sign_of_zero"
    return Judgement(verdict=verdict, max_abs=error, max_rel=relative, left=left, right=right)


_PARSERS: dict[str, Callable[[str], complex]] = {
    "float": lambda text: complex(float(text), 0.0),
    "complex": lambda text: complex(text.strip("()")),
}


def _part_error(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    error = abs(a - b)
    return math.inf if math.isnan(error) else error


def _is_single(value: complex) -> bool:
    try:
        return all(math.isnan(part) or struct.unpack("f", struct.pack("f", part))[0] == part for part in (value.real, value.imag))
    except OverflowError:
        return False


def _signs(value: complex) -> tuple[float, ...]:
    return tuple(math.copysign(1.0, part) if part == 0 else 0.0 for part in (value.real, value.imag))
