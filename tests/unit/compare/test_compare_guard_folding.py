from __future__ import annotations

from builders import compiled, constant

from testmatrix.compare.guards.rule import compare_guards
from testmatrix.observation import Guard

INTS = frozenset({"ints"})


def test_defaults_of_functions_are_looked_at_as_far_as_constants_are_folded() -> None:
    default = constant("dict(type(L['x']).__dict__)['make'].__func__.__defaults__[4]", None)
    assert compare_guards(compiled(default), compiled(), INTS).differences == ()
    assert len(compare_guards(compiled(default), compiled(), frozenset()).differences) == 1


def test_modules_of_torch_are_its_own_whatever_they_were_reached_by() -> None:
    inside = Guard(kind="MODULE_MATCH", source="G['__import_library'].torch.fft", text="torch.fft")
    outside = Guard(kind="MODULE_MATCH", source="G['__import_library'].torchish", text="torchish.fft")
    assert compare_guards(compiled(), compiled(inside), INTS).differences == ()
    assert len(compare_guards(compiled(), compiled(outside), INTS).differences) == 1
