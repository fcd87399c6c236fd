"""The region calls of a cell against those of its reference, in the order in which the test made them.

A call is compared only where it was given the same: what follows from an earlier difference is no difference of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

from testmatrix.compare.difference import Difference
from testmatrix.compare.finding import Severity
from testmatrix.compare.leaves import type_name
from testmatrix.compare.lineup import CallKey, call_counts, keyed_calls, paired_calls
from testmatrix.compare.mutations import before, is_dynamos, mutation_differences
from testmatrix.compare.outputs import gradient_differences, result_differences
from testmatrix.compare.values import judge_scalars
from testmatrix.compare.wording import exception_signature, first_line, signature, stable_region, stable_text
from testmatrix.observation import ExceptionRecord, Leaf, Observation, RegionCall, TensorRecord

#: ``same``: as far as recorded; ``drifted``: other bits in a tensor; ``other``: a number, shape or dtype differs.
Inputs = Literal["same", "drifted", "other"]

_GOOD = frozenset({"passed", "xfailed", "xpassed", "skipped"})
_NUMBERS = frozenset({"int", "bool", "float", "complex", "NoneType"})
_OUTSIDE = ("G[", "C[")  #: sources of what a region was not given
_UNREAL = (".FakeTensor", ".FunctionalTensor")
_INTERNAL = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch._subclasses", "torch.fx", "torch._guards")


def compare_regions(
    ours: Observation,
    theirs: Observation,
    raises_everywhere: Callable[[CallKey], bool],
    wanted: Callable[[CallKey], bool],
    *,
    rest: bool = True,
) -> list[Difference]:
    """Differences of results, mutations and exceptions of the calls that are ``wanted``; gradients and call counts as the rest.

    ``raises_everywhere`` says whether a call raised in every cell: a test of what does not compile.
    """
    found: list[Difference] = []
    both_pass = _good(ours) and _good(theirs)
    # Where the reference alone fails, the test asks for compilation, and looks at what the region noted of it.
    asks = _good(ours) and not _good(theirs)
    alike = sys.maxsize  # calls of ours before the first that was not given the same
    for key, left, right in paired_calls(ours, theirs):
        inputs = compare_inputs(left, right)
        values = inputs == "same"
        alike = alike if values else min(alike, left.index)
        if inputs == "other" or (inputs == "drifted" and found):
            continue
        raised = _exceptions(key, ours, theirs, left, right, raises_everywhere)
        if wanted(key):
            found.extend(raised)
        if left.exception is not None or right.exception is not None:
            if (left.exception is None) != (right.exception is None) and not both_pass:
                return found
            continue
        if wanted(key) and _reality(left) == _reality(right):
            found.extend(result_differences(key, left, right, ours.cell, theirs.cell, values=values))
            changed = mutation_differences(key, left, right, ours.cell, theirs.cell, values=values)
            found.extend(one for one in changed if not (asks and one.path.startswith(_OUTSIDE)))
    if rest and not found:
        found.extend(gradient_differences(_until(ours, alike), theirs))
    if rest and both_pass:
        found.extend(_call_counts(ours, theirs))
    return found


def _reality(call: RegionCall) -> tuple[bool, bool]:
    """Whether values are real, and whether all tensors are: what one side only traced is not to be compared."""
    return call.concrete, not any(leaf.tensor is not None and _is_unreal(leaf.tensor) for leaf in call.result)


def _is_unreal(tensor: TensorRecord) -> bool:
    return tensor.device == "meta" or tensor.subclass.endswith(_UNREAL)


def _good(observation: Observation) -> bool:
    return observation.outcome in _GOOD


def _until(observation: Observation, call: int) -> Observation:
    """The observation without the backward passes that came after a call started: they follow from what it was given."""
    return replace(observation, gradients=tuple(one for one in observation.gradients if one.calls <= call))


def compare_inputs(left: RegionCall, right: RegionCall) -> Inputs:
    """Whether two calls were given the same, as far as it is recorded on both sides.

    What gradients hold before a call is no input of it: a call that reads them is one that changes them.
    """
    ours, theirs = before(left), before(right)
    drifted = False
    for path, leaf in ours.items():
        other = theirs.get(path)
        if other is None or path.endswith(".grad") or is_dynamos(path):
            continue
        if _other_input(leaf, other):
            return "other"
        drifted = drifted or _other_bits(leaf.tensor, other.tensor)
    return "drifted" if drifted else "same"


def _other_bits(left: TensorRecord | None, right: TensorRecord | None) -> bool:
    return left is not None and right is not None and bool(left.digest and right.digest) and left.digest != right.digest


def _other_input(left: Leaf, right: Leaf) -> bool:
    if left.tensor is not None and right.tensor is not None:
        return (left.tensor.dtype, left.tensor.shape) != (right.tensor.dtype, right.tensor.shape)
    if left.type == right.type == "more" or (left.value.startswith("len=") and right.value.startswith("len=")):
        return left.value != right.value
    name = type_name(left)
    if name != type_name(right):
        return name in _NUMBERS or type_name(right) in _NUMBERS
    return name in _NUMBERS and judge_scalars(name, left.value, right.value).verdict not in ("equal", "close")


def _exceptions(
    key: CallKey,
    ours: Observation,
    theirs: Observation,
    left: RegionCall,
    right: RegionCall,
    raises_everywhere: Callable[[CallKey], bool],
) -> Iterator[Difference]:
    mine, other = left.exception, right.exception
    if mine is None and other is None:
        return
    if mine is not None and other is not None:
        if mine.type == other.type:
            return
        internal = mine.type.startswith(_INTERNAL) or other.type.startswith(_INTERNAL)
        severity: Severity = "info" if internal else "warning"
    elif mine is not None:
        if not _good(ours) and is_same_exception(mine, ours.exception):
            return  # it is why the test fails: the outcome says so
        severity = "info" if _good(ours) and raises_everywhere(key) else "error"
    else:
        # Where the oracle's test fails, the test asks for compilation: what eager did tells nothing.
        severity = "error" if _good(theirs) else "info"
    yield Difference(
        kind="outcome",
        severity=severity,
        cell=ours.cell,
        reference=theirs.cell,
        left=_ending(mine),
        right=_ending(other),
        region=key.region,
        path="exception",
        call=key.number,
        frame=(mine or other or ExceptionRecord(type="")).frame,
        signature=signature(
            "outcome", stable_region(key.region), exception_signature(mine, ours.test), exception_signature(other, ours.test)
        ),
        same=f"{mine.type if mine else ''}|{other.type if other else ''}",
    )


def is_same_exception(one: ExceptionRecord, other: ExceptionRecord | None) -> bool:
    return other is not None and one.type == other.type and stable_text(one.message) == stable_text(other.message)


def _ending(exception: ExceptionRecord | None) -> str:
    return f"raises {exception.type} ({first_line(exception.message, 80)})" if exception else "returns normally"


def _call_counts(ours: Observation, theirs: Observation) -> Iterator[Difference]:
    """Regions that a test, passing on both sides, calls more often on one."""
    left, right = call_counts(keyed_calls(ours)), call_counts(keyed_calls(theirs))
    for region, depth in sorted(left.keys() | right.keys()):
        ours_here, theirs_here = left[region, depth], right[region, depth]
        if depth or ours_here == theirs_here:
            continue
        yield Difference(
            kind="outcome",
            severity="info",
            cell=ours.cell,
            reference=theirs.cell,
            left=_times(ours_here),
            right=_times(theirs_here),
            region=region,
            path="calls",
            signature=signature("outcome", stable_region(region), "calls"),
            same=f"{ours_here}|{theirs_here}",
        )


def _times(number: int) -> str:
    return f"called {number} time{'' if number == 1 else 's'}"
