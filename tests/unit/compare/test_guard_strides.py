"""Witnesses are tensors that people make."""

from __future__ import annotations

from dataclasses import replace

from builders import compiled, int_symbol, shape_guard

from testmatrix.compare.guards.rule import compare_guards
from testmatrix.observation import Compile, Symbol

NOTHING: frozenset[str] = frozenset()


def extent(name: str, source: str, hint: int) -> Symbol:
    return replace(int_symbol(name, f"L['x'].{source}", kind="size"), hint=str(hint), lower="0")


SYMBOLS = (
    extent("s0", "size()[0]", 4),
    extent("s1", "size()[1]", 6),
    extent("s2", "stride()[0]", 6),
    extent("s3", "stride()[1]", 1),
)


def shaped(*texts: str) -> Compile:
    return compiled(*map(shape_guard, texts), symbols=SYMBOLS)


def witness(reference: Compile, other: Compile) -> dict[str, int]:
    (one,) = compare_guards(reference, other, NOTHING).differences
    return {source.removeprefix("L['x']."): int(value) for source, value in one.witness}


def test_strides_follow_from_the_sizes() -> None:
    found = witness(shaped("s1 <= 6"), shaped())
    assert found["size()[1]"] > 6
    assert (found["stride()[0]"], found["stride()[1]"]) == (found["size()[1]"], 1)


def test_strides_that_a_condition_asks_for_stay() -> None:
    found = witness(shaped("s1 <= 6", "s2 >= 40"), shaped("s2 >= 40"))
    assert found["stride()[0]"] >= 40


def test_strides_that_the_difference_is_about_stay() -> None:
    found = witness(shaped("Eq(s2, s1)"), shaped())
    assert found["stride()[0]"] != found["size()[1]"]


def test_an_empty_dimension_counts_as_one() -> None:
    found = witness(shaped("s1 >= 1"), shaped())
    assert (found["size()[1]"], found["stride()[0]"]) == (0, 1)
