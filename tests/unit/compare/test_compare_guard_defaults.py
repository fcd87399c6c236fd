from __future__ import annotations

from builders import compiled, constant

from testmatrix.compare.guards import compare_guards

INTS = frozenset({"ints"})


def test_defaults_of_functions_are_looked_at_as_far_as_constants_are_folded() -> None:
    default = constant("dict(type(L['x']).__dict__)['make'].__func__.__defaults__[4]", None)
    assert compare_guards(compiled(default), compiled(), INTS) == ()
    assert len(compare_guards(compiled(default), compiled(), frozenset())) == 1
