"""Whatever was recorded, comparing guards answers and raises nothing."""

from __future__ import annotations

from dataclasses import replace

from builders import compiled, constant, int_symbol, shape_guard, tensor_match
from hypothesis import given, settings
from hypothesis import strategies as st

from testmatrix.compare.guards.accept import accept_set
from testmatrix.compare.guards.cache import relate_caches
from testmatrix.compare.guards.rule import compare_guards
from testmatrix.compare.guards.sides import sides
from testmatrix.observation import Compile, Guard, Symbol

X0, X1, X2 = (f"L['x'].size()[{place}]" for place in range(3))
TEXTS = [
    *("s0 > 3", "Eq(s0, s1)", "s0 + 2*s1 < 40", "Eq(Mod(s0, 8), 0)", "Eq(FloorDiv(s0, s1), 2)", "Ne(s0, 5)", "Eq(2*s0, 3*s1)"),
    *("Eq(s1, s0**60)", "s1**60 > 3", "Eq(d0, 3*s0)", "zf0 > 0.5", "zf0*s0 > 2", "TruncToInt(zf0) < 9", "Eq(zf0, zf0)", "u0 > 3"),
    *("f(s0) > 3", "s0 >", "nested > 3", "True", "False", "(s0 > 3) | (zf0 > 1)", "Where(s0 > 2, s1, 0) > 0", "s0 > s99", ""),
    *(f"s1 <= {2**63 - 1}", f"s0 > {10**300}", "1 << s0 > s1", "s0 % s1 == 0", f"{X0} > 3", "L['n'] > 3", "9" * 5000 + " > s0"),
]
BOUNDS = ["", "-oo", "oo", "2", "0", "64", "8*nested", "s0 +", "2*s1", "-3", "1e400", "True"]


def _symbols(name: str, sources: list[tuple[str, ...]], kinds: list[str]) -> st.SearchStrategy[Symbol | None]:
    bound = st.sampled_from(BOUNDS)
    hint = st.sampled_from(["", "8", "5", "nested", "0.5"])

    def made(sources: tuple[str, ...], kind: str, hint: str, lower: str, upper: str, replaced: str) -> Symbol:
        symbol = int_symbol(name)
        return replace(  # type: ignore[arg-type]
            symbol, sources=sources, kind=kind, hint=hint, lower=lower, upper=upper, replacement=replaced
        )

    some = st.builds(made, st.sampled_from(sources), st.sampled_from(kinds), hint, bound, bound, st.one_of(st.just(""), bound))
    return st.one_of(st.none(), some)


@st.composite
def _compiles(draw: st.DrawFn) -> Compile:
    symbols = [
        draw(_symbols("s0", [("L['n']",), (X0,), (X0, "L['n']")], ["int", "size"])),
        draw(_symbols("s1", [("L['m']",), ("L['m']", X1), ()], ["int", "size", "bool"])),
        draw(_symbols("zf0", [("L['v']",)], ["float"])),
        draw(_symbols("u0", [(), (X2,)], ["unbacked"])),
        draw(_symbols("d0", [("L['x'].stride()[0]",)], ["stride"])),
    ]
    numbers = [
        *(constant("L['n']", value) for value in (5, 6, True, 2.5, float("nan"))),
        *(constant("L['v']", value) for value in (0.75, 1, float("inf"), None)),
        *(tensor_match("L['x']", size) for size in ("[4, None]", "[None, None]", "[8]", "[]")),
        Guard(kind="EQUALS_MATCH", source="L['n']", text="", value="?", value_type="int"),
        Guard(kind="NEW_KIND", source="L['n']", text=""),
    ]
    guards = draw(st.lists(st.one_of(st.sampled_from(TEXTS).map(shape_guard), st.sampled_from(numbers)), max_size=5))
    return compiled(*guards, symbols=[symbol for symbol in symbols if symbol is not None])


@settings(max_examples=150)
@given(
    _compiles(),
    _compiles(),
    st.frozensets(st.sampled_from(["ints", "sizes", "strides", "floats", "backend"])),
    st.sampled_from([("2.13", "2.13"), ("2.13", "2.14")]),
)
def test_anything_is_compared(one: Compile, other: Compile, governed: frozenset[str], versions: tuple[str, str]) -> None:
    there, back = (
        compare_guards(left, right, governed, versions=versions, limit=0.1, ask_z3=False)
        for left, right in ((one, other), (other, one))
    )
    mirrored = {"wider": "narrower", "narrower": "wider"}
    assert "undecided" in (there.relation, back.relation) or back.relation == mirrored.get(there.relation, there.relation)
    assert all(difference.text or difference.guard for difference in there.differences)
    assert compare_guards(one, one, governed).relation == "equal"
    shown = sides(accept_set(one), accept_set(other))
    assert not set(shown.reference) & set(shown.cell)
    assert relate_caches([accept_set(one)], [accept_set(one)]) == "equal"
    assert relate_caches([accept_set(one)], [accept_set(other)], limit=0.1) in (
        "equal",
        "wider",
        "narrower",
        "neither",
        "undecided",
    )
