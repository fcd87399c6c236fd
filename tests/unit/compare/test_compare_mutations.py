"""What a call did to what it was given, apart from what its caller did before."""

from __future__ import annotations

from builders import STATIC, call, container, leaf, observe, tensor

from testmatrix.compare.difference import Difference
from testmatrix.compare.regions import compare_inputs, compare_regions
from testmatrix.observation import ORACLE, Gradients, Leaf, Observation, Outcome, RegionCall, TensorRecord

X = "L['x']"
MEAN = "L['self'].mean"


def differences(ours: Observation, theirs: Observation) -> list[Difference]:
    return compare_regions(ours, theirs, lambda key: False, lambda key: True)


def pair(ours: RegionCall, theirs: RegionCall) -> list[Difference]:
    return differences(observe(STATIC[0], ours), observe(ORACLE, theirs))


def given(before: float, after: float, path: str = X) -> RegionCall:
    if path == X:
        return call(1, arguments={X: tensor([before], keep=False)}, after={X: tensor([after])})
    return call(1, state=(leaf(tensor([before], keep=False), path),), after={path: tensor([after])})


def test_a_wrong_mutation_of_the_same() -> None:
    for path in (X, MEAN):
        (found,) = pair(given(1.0, 2.0, path), given(1.0, 3.0, path))
        assert (found.kind, found.severity) == ("mutation", "error")


def test_what_differed_before_is_no_mutation() -> None:
    for path in (X, MEAN):
        assert pair(given(1.0, 1.0, path), given(1.1, 1.1, path)) == []
        assert pair(given(1.0, 2.0, path), given(1.1, 2.5, path)) == []


def test_inputs_of_state() -> None:
    assert compare_inputs(given(1.0, 1.0, MEAN), given(1.0, 2.0, MEAN)) == "same"
    assert compare_inputs(given(1.0, 1.0, MEAN), given(1.1, 1.0, MEAN)) == "drifted"
    assert compare_inputs(given(1.0, 1.0, f"{X}.grad"), given(1.1, 1.0, f"{X}.grad")) == "same"
    longer = call(1, state=(container(2, "G['GL']", "list"),))
    assert compare_inputs(longer, call(1, state=(container(3, "G['GL']", "list"),))) == "other"


def test_another_state_does_not_hide_what_was_done_to_x() -> None:
    def made(mean: float, x: TensorRecord) -> RegionCall:
        state = (leaf(tensor([mean], keep=False), MEAN),)
        return call(1, arguments={X: tensor([1.0], keep=False)}, state=state, after={X: x})

    assert [found.kind for found in pair(made(1.0, tensor([1.0], "float64")), made(1.1, tensor([1.0])))] == ["mutation"]


def test_changed_on_one_side_only_without_data() -> None:
    def made(after: float) -> RegionCall:
        state = (leaf(tensor([1.0], keep=False), MEAN),)
        return call(1, state=state, after={MEAN: tensor([after], keep=False)})

    (found,) = pair(made(1.0), made(2.0))
    assert found.severity == "error"
    (found,) = pair(made(3.0), made(2.0))
    assert found.severity == "info"  # both changed, and how far apart they are cannot be told


def test_backward_passes_after_a_drift_are_not_compared() -> None:
    def made(cell: str, drift: float, grad: float, calls: int) -> Observation:
        first, second = given(1.0, 1.0), call(1, 1, {X: tensor([1.0 + drift], keep=False)})
        leaves: tuple[Leaf, ...] = (leaf(tensor([grad]), "mymod.tag[0] L['x'].grad"),)
        return observe(cell, first, second, gradients=(Gradients(index=0, leaves=leaves, calls=calls),))

    assert differences(made(STATIC[0], 1e-3, 1.0, 2), made(ORACLE, 0.0, 1.5, 2)) == []
    for drift, calls in ((1e-3, 1), (0.0, 2)):
        (found,) = differences(made(STATIC[0], drift, 1.0, calls), made(ORACLE, 0.0, 1.5, calls))
        assert found.kind == "output.grad"


def test_results_without_values_on_one_side_are_not_compared() -> None:
    real = call(tensor([1.0]))
    assert pair(call(tensor([1.0], subclass="torch.FakeTensor"), concrete=False), real) == []
    assert pair(call(tensor([1.0], device="meta")), real) == []
    assert pair(call(tensor([1.0], "float64")), real) != []
    assert pair(call(tensor([1.0], "float64"), concrete=False), call(tensor([1.0]), concrete=False)) != []


def test_what_a_test_of_compilation_notes_is_no_mutation() -> None:
    def made(cell: str, path: str, seen: bool, outcome: Outcome) -> Observation:
        return observe(cell, call(1, after={path: seen}), outcome=outcome)

    def kinds(path: str, outcome: Outcome) -> list[str]:
        return [one.kind for one in differences(made(STATIC[0], path, True, "passed"), made(ORACLE, path, False, outcome))]

    assert kinds("C['seen'][0]", "failed") == []
    assert kinds("C['seen'][0]", "passed") == ["mutation"]
    assert kinds("L['seen'][0]", "failed") == ["mutation"]
