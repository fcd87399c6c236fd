from __future__ import annotations

from builders import CELLS, GRID, STATIC, UNSPEC, call, observations, observe, raised, tensor

from testmatrix.compare.control import mark_unstable
from testmatrix.compare.finding import Finding
from testmatrix.compare.whole import compare_test
from testmatrix.observation import ORACLE, Observation


def check(first: dict[str, Observation], again: dict[str, Observation]) -> tuple[Finding, ...]:
    return mark_unstable(compare_test(first, GRID), first, again, GRID)


def test_what_repeats_is_stable() -> None:
    first = observations(3, odd=STATIC, odd_value=4)
    (finding,) = check(first, {cell: first[cell] for cell in (ORACLE, *STATIC)})
    assert (finding.unstable, finding.cells) == (False, STATIC)


def test_what_does_not_repeat_is_unstable() -> None:
    first = observations(3, odd=(UNSPEC,), odd_value=4)
    (finding,) = check(first, {UNSPEC: observe(UNSPEC, call(3)), ORACLE: first[ORACLE]})
    assert finding.unstable


def test_uninitialised_memory_differs_from_its_own_rerun() -> None:
    first = observations(tensor([1.0]), odd=(UNSPEC,), odd_value=tensor([2.0]))
    (finding,) = check(first, {UNSPEC: observe(UNSPEC, call(tensor([3.0]))), ORACLE: first[ORACLE]})
    assert finding.unstable


def test_a_reference_that_wavers_makes_its_findings_unstable() -> None:
    first = observations(tensor([1.0]), odd=CELLS, odd_value=tensor([2.0]))
    (finding,) = check(first, {UNSPEC: first[UNSPEC], ORACLE: observe(ORACLE, call(tensor([5.0])))})
    assert finding.unstable


def test_a_finding_keeps_the_cells_in_which_it_repeats() -> None:
    first = observations(3, odd=STATIC, odd_value=4)
    again = {ORACLE: first[ORACLE], STATIC[0]: first[STATIC[0]], STATIC[1]: observe(STATIC[1], call(3))}
    (finding,) = check(first, again)
    assert (finding.unstable, finding.cells) == (False, STATIC[:1])
    assert STATIC[1] not in finding.summary


def test_a_test_that_fails_now_and_then() -> None:
    first = observations(3)
    first[UNSPEC] = observe(UNSPEC, call(3), outcome="failed", exception=raised())
    (finding,) = check(first, {UNSPEC: observe(UNSPEC, call(3)), ORACLE: first[ORACLE]})
    assert finding.unstable


def test_without_a_rerun_nothing_changes() -> None:
    first = observations(3, odd=STATIC, odd_value=4)
    assert check(first, {}) == compare_test(first, GRID)
