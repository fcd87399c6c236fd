"""Random conditions over up to four sources, and what they let through by brute force.

A condition is text as torch writes it. What it means is worked out by numpy over a whole grid of values at once, which shares
nothing with the algebra but the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.variables import Sort, variable

#: Four sources of ints; that two of them are sizes makes their domain start at zero.
SORTS: dict[str, Sort] = {"n": "int", "m": "int", "a": "extent", "b": "extent"}
#: Forty values for every source.
DOMAINS = {name: np.arange(0, 40) if sort == "extent" else np.arange(-20, 20) for name, sort in SORTS.items()}
ENVIRONMENT = {
    "FloorDiv": lambda a, b: a // b,
    "Mod": lambda a, b: a % b,
    "Max": np.maximum,
    "Min": np.minimum,
    "Abs": np.abs,
    "Eq": lambda a, b: a == b,
    "Ne": lambda a, b: a != b,
}

_small = st.integers(-4, 12)


def _terms(names: Sequence[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(names)
    return st.one_of(
        name,
        name,
        st.builds("{}*{}".format, st.integers(-3, 3), name),
        st.builds("FloorDiv({}, {})".format, name, st.integers(2, 5)),
        st.builds("Mod({}, {})".format, name, st.integers(2, 6)),
        st.builds("Max({}, {})".format, name, name),
        st.builds("Min({}, {})".format, name, _small),
        st.builds("Abs({})".format, name),
    )


def _sides(names: Sequence[str]) -> st.SearchStrategy[str]:
    term = _terms(names)
    product = st.builds("{}*{}".format, st.sampled_from(names), st.sampled_from(names))
    return st.one_of(term, term, st.builds("{} + {}".format, term, term), st.builds("{} - {}".format, term, term), product)


def comparisons(names: Sequence[str]) -> st.SearchStrategy[str]:
    side = _sides(names)
    other = st.one_of(_small.map(str), _small.map(str), _terms(names))
    ordered = st.builds("({} {} {})".format, side, st.sampled_from(["<", "<=", ">", ">="]), other)
    equal = st.builds("{}({}, {})".format, st.sampled_from(["Eq", "Ne"]), side, other)
    return st.one_of(ordered, ordered, equal)


def conditions(names: Sequence[str]) -> st.SearchStrategy[str]:
    one = comparisons(names)
    either = st.builds("({} | {})".format, one, one)
    return st.one_of(one, one, one, one, either, st.builds("~({} & {})".format, one, one))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Two sets of conditions over the same sources; often they have some in common, as those of two cells do."""
    names = draw(st.lists(st.sampled_from(sorted(SORTS)), min_size=1, max_size=4, unique=True))
    left = draw(st.lists(conditions(names), max_size=4))
    kept = draw(st.lists(st.sampled_from(left), unique=True)) if left and draw(st.booleans()) else []
    return left, kept + draw(st.lists(conditions(names), min_size=0 if kept else 1, max_size=2))


def conjunction(texts: Sequence[str]) -> Conjunction:
    read = [parse(text, lambda name: variable(name, SORTS[name])) for text in texts]
    return Conjunction(sorts=SORTS).and_also(read)


def let_through(texts: Sequence[str], values: Mapping[str, object]) -> np.ndarray:
    """Where all of the texts hold, for arrays of values of the sources."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
    result = np.ones(shape, dtype=bool)
    for text in texts:
        result = result & eval(text, {**ENVIRONMENT, **values})
    return result


def grid(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Every combination of values of the sources that occur, as arrays to be broadcast against each other."""
    names = [name for name in SORTS if any(name in _names(text) for text in texts)]
    shaped = np.meshgrid(*(DOMAINS[name] for name in names), indexing="ij", sparse=True)
    return dict(zip(names, shaped, strict=True))


def _names(text: str) -> set[str]:
    return set("".join(letter if letter.isalpha() else " " for letter in text).split())
