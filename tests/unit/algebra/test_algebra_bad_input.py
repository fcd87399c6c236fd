"""Texts that are no conditions, or too much: refused or decided, soon, and without the process growing."""

from __future__ import annotations

import resource
import time
from typing import Any

import pytest
import sympy

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.parse import Unparsable, parse, parse_number
from testmatrix.compare.algebra.relation import Relation, relate
from testmatrix.compare.algebra.solver import installed
from testmatrix.compare.algebra.variables import Sort, variable

#: What hangs takes minutes, or all there is; what works takes a hundredth of these.
SECONDS, MEGABYTES = 8, 200


def sort_of(name: str) -> Sort:
    return "float" if name.startswith("zf") else "int"


def look_up(name: str) -> Any:
    if not name[1:2].isdigit() and not name.startswith("zf"):
        raise KeyError(name)
    return variable(name, sort_of(name))


def nested(template: str, times: int, innermost: str = "s0") -> str:
    text = innermost
    for number in range(times):
        text = template.format(text, number)
    return text


@pytest.fixture(autouse=True)
def in_bounds() -> Any:
    """Neither long nor large."""
    start, size = time.monotonic(), peak()
    yield
    assert time.monotonic() - start < SECONDS
    assert peak() - size < MEGABYTES


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


NO_CONDITIONS = {
    "empty": "",
    "half a comparison": "s0 >",
    "an unknown name": "k >= 2",
    "an unknown function": "foo(s0) >= 2",
    "a function of too few arguments": "FloorDiv(s0) >= 2",
    "a function of no arguments": "Max() >= 2",
    "keyword arguments": "Max(s0, key=s1) >= 2",
    "a call of a call": "Max(s0)(s1) >= 2",
    "a statement": "s0 = 3",
    "several lines": "s0 > 3\ns1 > 3",
    "text": "'s0' > 3",
    "a complex number": "s0 > 3j",
    "None": "s0 > None",
    "infinite": "s0 > 1e999",
    "zoo": "s0 > zoo",
    "nan": "Eq(s0, nan)",
    "membership": "s0 in (1, 2)",
    "identity": "s0 is s1",
    "a lambda": "(lambda: s0)() > 3",
    "a list": "[s0] > 3",
    "a generator": "max(s0 for s0 in s1) > 3",
    "an f-string": 'f"{s0}" > 3',
    "a walrus": "(s0 := 3) > 2",
    "a starred argument": "Max(*s0) > 3",
    "a power of conditions": "And(s0, Max) > 2",
    "matrix product": "s0 @ s1 > 2",
    "a Piecewise that does not end": "Piecewise((1, s0 > 2)) > 0",
    "a Piecewise of something else": "Piecewise(1, 2) > 0",
    "an import": "__import__('os').getcwd() > 3",
    "null bytes": "s0 > \0",
    "a number of conditions": "Ne(s0, And(s0 > 1, s1 > 2, s3))) > 2",
}


@pytest.mark.parametrize("name", NO_CONDITIONS)
def test_what_is_no_condition_is_refused(name: str) -> None:
    with pytest.raises(Unparsable):
        parse(NO_CONDITIONS[name], look_up)


def test_a_condition_is_no_number_but_may_stand_for_one() -> None:
    assert parse_number("s0 > 3", look_up) == parse_number("Where(s0 > 3, 1, 0)", look_up)
    assert parse_number("True", look_up) == 1


#: Each grows without an end if nothing is done about it, or is more than is worth reading.
TOO_MUCH = {
    "powers of powers": nested("({0})**64", 6, "2*s0") + " > 3",
    "powers of powers of a sum": nested("({0} + s1)**64", 6) + " > 3",
    "natural powers": nested("PowByNatural({0}, 4)", 25, "2*s0") + " > 3",
    "powers of numbers": nested("({0})**64", 8, "10") + " > s0",
    "products of long numbers": "*".join(["9" * 390] * 45) + " > s0",
    "shifts of shifts": nested("({0} << 4096)", 50) + " > 3",
    "remainders by remainders": nested("Mod(s1, {0})", 30) + " > 3",
    "remainders of quotients": nested("ModularIndexing({0}, 2, 3)", 28) + " > 3",
    "cases of cases": nested("ITE({0}, s{1} > 2, s{1} < 1)", 28, "(s0 > 1)"),
    "nested parentheses": "(" * 3000 + "s0" + ")" * 3000 + " > 3",
    "signs": "-" * 15_000 + "s0 > 3",
    "negations": "~" * 15_000 + "s0",
    "words of negation": "not " * 4_000 + "s0",
    "attributes": "s0" + ".x" * 6_000,
    "brackets": "[" * 9_000,
    "calls": "Max(" * 5_000,
    "a tower": "**".join(["s0"] * 2_000) + " > 3",
    "a long number": "s0 > " + "9" * 19_000,
    "a long hexadecimal number": "s0 > 0x" + "f" * 19_000,
    "a long text": " + ".join(["s0"] * 6_000) + " > 3",
    "a wide Or": " | ".join(f"Eq(s{n % 5}, {n})" for n in range(900)),
    "a wide And": " & ".join(f"(s{n % 9} + s{(n + 1) % 9} > {n})" for n in range(400)),
    "many arguments": f"Max({', '.join(f's{n}' for n in range(1_600))}) > 3",
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_what_is_too_much_is_refused(name: str) -> None:
    with pytest.raises(Unparsable):
        parse(TOO_MUCH[name], look_up)


#: Texts that are read, and are hard to decide, one way or another.
HARD = {
    "remainders of sums": nested("Mod({0} + s{1}, 7)", 28) + " > 3",
    "quotients of long sums": nested("FloorDiv({0} + s{1}, 7)", 28, "(" + " + ".join(f"{n}*s{n}" for n in range(60)) + ")")
    + " > 3",
    "long sums to choose from": f"Max({', '.join(nested('{0} + {1}*s1', 9, f's{n}') for n in range(16))}) > 3",
    "quotients of products": nested("FloorDiv({0}*s0*s{1}, s0*s{1})", 20) + " > 3",
    "nested maxima": nested("Max({0}, s{1})", 40) + " > 3",
    "nested remainders": nested("Mod({0} * s1 + {1}, 7)", 10) + " > 3",
    "remainders of one number": nested("Mod({0}, 7)", 50) + " > 3",
    "a product of sums inside of a quotient": "FloorDiv(" + "*".join(f"(s{n} + s{n + 1} + 1)" for n in range(20)) + ", 2) > 3",
    "a product of sums inside of a maximum": "Max(s0, " + "*".join(f"(s{n} + s{n + 1} + 1)" for n in range(20)) + ") > 3",
    "a power of a sum": "(s0 + s1 + s2 + 1)**50 > 3",
    "a power of a sum inside of a maximum": "Max(s0, (s0 + s1 + s2 + 1)**50) > 3",
    "inequalities": " & ".join(f"Ne(s0 + s1, {n})" for n in range(95)),
    "alternatives": " & ".join(f"((s{n} > {n}) | (s{n + 1} < {n}))" for n in range(80)),
    "nested alternatives": nested("(({0}) | (s{1} > 2)) & (s{1} < 9)", 16, "s0 > 1"),
    "nested cases": nested("Where(s{1} > 2, {0}, s{1})", 25) + " > 3",
    "a factorisation": "Eq(s0*s1, 1000000007*998244353) & (s0 > 1) & (s1 > 1)",
    "a sum of cubes": "Eq(s0**3 + s1**3, s2**3) & (s0 > 0) & (s1 > 0) & (s2 > 0)",
    "Pell's equation": "Eq(s0**2, 61*s1**2 + 1) & (s1 > 0)",
    "shifts": "Eq((1 << s0) + (s1 << s2), 10**300)",
    "powers": "Eq(2**s0 + 3**s1, 5**s2) & (s0 > 1)",
    "long numbers": f"(s0 > {'9' * 300}) & (s0*s1 < {'9' * 310})",
    "small steps": "Eq(zf0**2 + zf1**2, 2) & (zf0*zf1 > 0.99)",
    "products": " & ".join(f"(s{n}*s{n + 1} > s{n + 2} + {n})" for n in range(30)),
    "remainders": " & ".join(f"Eq(Mod(s0, {n}), {n - 1})" for n in range(2, 24)),
    "a chain of powers": " & ".join([f"Eq(s{n}, s{n - 1}**64)" for n in range(1, 7)] + ["Eq(s0, 3)"]),
    "a chain of remainders": " & ".join([f"Eq(s{n}, Mod(s{n - 1}*s{n - 1} + {n}, 97))" for n in range(1, 30)]),
    "bits": "Eq((s0 ^ s1) & s2, 12345) & (s0*s1 > s2)",
}


def related(texts: list[str], ask_z3: bool) -> Relation:
    read = [parse(text, look_up) for text in texts]
    sorts = {symbol.name: sort_of(symbol.name) for one in read for symbol in one.free_symbols}
    left = Conjunction(sorts=sorts).and_also(read)
    return relate(left, Conjunction(sorts=sorts).and_also(read[1:]), limit=0.2, ask_z3=ask_z3)


@pytest.mark.parametrize("ask_z3", [False, pytest.param(True, marks=pytest.mark.skipif(not installed(), reason="no z3"))])
@pytest.mark.parametrize("name", HARD)
def test_what_is_hard_is_decided_or_given_up_within_the_limit(name: str, ask_z3: bool) -> None:
    relation = related([HARD[name], "s0 >= 5"], ask_z3)
    assert relation.kind in ("narrower", "undecided", "equal")


def test_many_conditions_are_decided_or_given_up_within_the_limit() -> None:
    texts = [f"s{n} + s{(n * 7) % 60} >= s{(n * 3) % 60} - {n}" for n in range(300)] + [f"s{n} < {n * 100}" for n in range(60)]
    assert related([*texts, "Eq(s1, s2 + 1)"], ask_z3=False).kind in ("narrower", "undecided")


def test_the_same_text_over_and_over_does_not_pile_up() -> None:
    for number in range(300):
        parse(f"FloorDiv(s0*s1 + {number}, 7) + Mod(s0, {number + 2}) > {number}", look_up)


def test_a_long_sum_is_read() -> None:
    names = [f"s{n}" for n in range(300)]
    assert parse(" + ".join(names) + " > 3", look_up) == parse("3 < " + " + ".join(reversed(names)), look_up)
    assert parse(" - ".join(names[:200]) + " > 0", look_up).lhs.coeff(look_up("s199")) == -1


def test_a_power_with_a_long_exponent_is_kept_as_it_is() -> None:
    condition = parse("s0**9999999999 > 3", look_up)
    assert isinstance(condition, sympy.Ge)
