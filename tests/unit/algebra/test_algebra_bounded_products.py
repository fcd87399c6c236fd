"""Products whose factors are bounded by what they are: decided by linear reasoning, without trying out and without z3."""

from __future__ import annotations

import pytest

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.normal import conjuncts
from testmatrix.compare.algebra.parse import parse
from testmatrix.compare.algebra.relation import relate
from testmatrix.compare.algebra.variables import variable


def conjunction(*texts: str) -> Conjunction:
    parts = (part for text in texts for part in conjuncts(parse(text, lambda name: variable(name, "int"))))
    return Conjunction(frozenset(parts), {"x": "int", "y": "int"})


@pytest.mark.parametrize(
    ("implied", "kind"),
    [
        ("Max(x, 3)*Max(y, 2) >= 6", "equal"),
        ("Max(x, 3)*Max(y, 2) >= 7", "wider"),
        ("Min(x, -3)*Min(y, -2) >= 6", "equal"),
        ("Min(x, -3)*Min(y, -2) >= 7", "wider"),
        ("Max(x, 3)*Min(y, -2) <= -6", "equal"),
        ("Max(x, 3)*Min(y, -2) <= -7", "wider"),
    ],
)
def test_the_number_in_an_extremum_bounds_a_product(implied: str, kind: str) -> None:
    plain = conjunction("x + y >= -100")
    assert relate(plain, conjunction("x + y >= -100", implied), ask_z3=False).kind == kind
