from __future__ import annotations

import math

import pytest
from builders import raw, tensor
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.compare.values import judge_scalars, judge_tensors

floats = st.floats(width=32)
vectors = st.lists(floats, min_size=1, max_size=6)
pairs = st.integers(1, 6).flatmap(lambda n: st.tuples(*[st.lists(floats, min_size=n, max_size=n)] * 2))


@given(vectors)
def test_a_tensor_equals_itself(values: list[float]) -> None:
    assert judge_tensors(tensor(values), tensor(values)).verdict == "equal"


@given(pairs)
def test_the_verdict_does_not_depend_on_the_side(pair: tuple[list[float], list[float]]) -> None:
    left, right = tensor(pair[0]), tensor(pair[1])
    assert judge_tensors(left, right).verdict == judge_tensors(right, left).verdict


@given(vectors, st.integers(0, 5))
def test_nan_equals_nan_and_nothing_else(values: list[float], position: int) -> None:
    here = position % len(values)
    values[here] = math.nan
    other = list(values)
    other[here] = 1.0
    assert judge_tensors(tensor(values, digest="a"), tensor(values, digest="b")).verdict == "equal"
    judged = judge_tensors(tensor(values), tensor(other))
    assert judged.verdict == "different"
    assert judged.index == (here,)
    assert judged.max_abs == math.inf


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5), st.integers(0, 4))
def test_ints_are_exact(values: list[int], position: int) -> None:
    other = list(values)
    here = position % len(values)
    other[here] = values[here] + (1 if values[here] < 0 else -1)
    judged = judge_tensors(tensor(values, "int64"), tensor(other, "int64"))
    assert (judged.verdict, judged.index, judged.count) == ("different", (here,), 1)
    assert (judged.left, judged.right) == (repr(values[here]), repr(other[here]))


@given(floats, floats)
def test_scalars_are_judged_alike_from_both_sides(left: float, right: float) -> None:
    assert judge_scalars("float", repr(left), repr(left)).verdict == "equal"
    assert judge_scalars("float", repr(left), repr(right)).verdict == judge_scalars("float", repr(right), repr(left)).verdict


@pytest.mark.parametrize(
    ("dtype", "left", "right", "verdict"),
    [
        ("float32", [1.0], [1.000001], "close"),
        ("float64", [1.0], [1.000001], "different"),
        ("float16", [1.0], [1.001], "close"),
        ("float32", [0.0, 1.0], [-0.0, 1.0], "sign_of_zero"),
        ("float32", [0.0, 1.0], [-0.0, 2.0], "different"),
        ("float32", [math.inf], [math.inf], "equal"),
        ("float32", [math.inf], [-math.inf], "different"),
        ("float32", [math.inf], [1e30], "different"),
        ("bool", [True], [False], "different"),
        ("int32", [1], [1], "equal"),
    ],
)
def test_tolerances_are_those_of_the_dtype(dtype: str, left: list[float], right: list[float], verdict: str) -> None:
    assert judge_tensors(tensor(left, dtype), tensor(right, dtype)).verdict == verdict


def test_complex_parts_are_judged_together() -> None:
    one, same, sign = (tensor(values, "complex64", shape=(1,)) for values in ([1.0, 0.0], [1.0, 0.0], [1.0, -0.0]))
    assert judge_tensors(one, same).verdict == "equal"
    assert judge_tensors(one, sign).verdict == "sign_of_zero"
    assert judge_tensors(one, tensor([1.0, 1.0], "complex64", shape=(1,))).verdict == "different"


@pytest.mark.parametrize(
    ("dtype", "left", "right", "verdict"),
    [
        ("bfloat16", b"\x80\x3f", b"\x81\x3f", "close"),
        ("bfloat16", b"\x80\x3f", b"\x00\x40", "different"),
        ("float8_e4m3fn", b"\x38", b"\x40", "different"),
        ("float8_e5m2", b"\x00", b"\x80", "sign_of_zero"),
        ("uint16", b"\x01\x00", b"\x02\x00", "different"),
        ("qint8", b"\x01", b"\x02", "different"),
    ],
)
def test_dtypes_that_python_does_not_have(dtype: str, left: bytes, right: bytes, verdict: str) -> None:
    records = [tensor([1.0], shape=(1,), data=data, digest=repr(data)) for data in (left, right)]
    ours, theirs = (type(one)(**{**fields(one), "dtype": dtype}) for one in records)
    assert judge_tensors(ours, theirs).verdict == verdict


def fields(record: object) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__slots__}


def test_values_that_were_not_kept_are_unknown_unless_digests_tell() -> None:
    assert judge_tensors(tensor([1.0], keep=False), tensor([1.0])).verdict == "equal"
    assert judge_tensors(tensor([1.0], keep=False), tensor([2.0])).verdict == "unknown"
    assert judge_tensors(tensor([1], "int64", keep=False), tensor([2], "int64")).verdict == "different"
    assert judge_tensors(tensor([1.0], keep=False, digest=""), tensor([2.0])).verdict == "unknown"


def test_empty_tensors_are_equal_without_data() -> None:
    assert judge_tensors(tensor([], shape=(0, 3), data=None, digest=""), tensor([], shape=(0, 3))).verdict == "equal"


def test_nearer_to_float64_than_the_reference_is_close() -> None:
    truth = tensor([1.0, 2.0], "float64")
    assert judge_tensors(tensor([1.0, 2.0]), tensor([1.1, 2.0]), truth).verdict == "close"
    assert judge_tensors(tensor([1.1, 2.0]), tensor([1.0, 2.0]), truth).verdict == "different"


def test_the_largest_error_is_located_in_several_dimensions() -> None:
    judged = judge_tensors(tensor([0.0] * 6, shape=(2, 3)), tensor([0.0, 1.0, 0.0, 0.0, 0.0, 5.0], shape=(2, 3)))
    assert (judged.index, judged.count, judged.max_abs, judged.left, judged.right) == ((1, 2), 2, 5.0, "0.0", "5.0")


@pytest.mark.parametrize(
    ("type_", "left", "right", "verdict"),
    [
        ("int", "3", "4", "different"),
        ("bool", "True", "False", "different"),
        ("float", "nan", "nan", "equal"),
        ("float", "nan", "1.0", "different"),
        ("float", "0.0", "-0.0", "sign_of_zero"),
        ("float", "1.0", "1.00000001", "close"),
        ("float", "0.30000001192092896", "0.30000004172325134", "close"),  # one bit of float32 apart
        ("float", "0.3", "0.300001", "different"),
        ("float", "inf", "-inf", "different"),
        ("complex", "(1+2j)", "(1+2j)", "equal"),
        ("complex", "(1+2j)", "(1+3j)", "different"),
        ("str", "'a'", "'b'", "different"),
    ],
)
def test_scalars(type_: str, left: str, right: str, verdict: str) -> None:
    assert judge_scalars(type_, left, right).verdict == verdict


def test_raw_is_little_endian() -> None:
    assert raw([1], "int32") == b"\x01\x00\x00\x00"
