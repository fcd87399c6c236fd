from __future__ import annotations

from dataclasses import replace
from typing import Any

from builders import CELLS, GRID, REGION, STATIC, UNSPEC, call, compiled, observe, raised

from testmatrix.compare.finding import Finding
from testmatrix.compare.whole import compare_test
from testmatrix.observation import FailedCompile, GraphBreak, Observation


def compare(made: dict[str, Observation]) -> list[Finding]:
    return [finding for finding in compare_test(made, GRID) if finding.kind.startswith("compile.")]


def made(odd: dict[str, Any], **usual: Any) -> dict[str, Observation]:
    """All cells compile the region once; the last one as ``odd`` says."""
    usual = {"compiles": (compiled(),)} | usual
    return {cell: observe(cell, call(1), **(usual | odd if cell == UNSPEC else usual)) for cell in CELLS}


def failed(limit: bool = False, **fields: Any) -> FailedCompile:
    exception = raised("torch._dynamo.exc.InternalTorchDynamoError", "no lowering")
    return FailedCompile(frame=REGION, line=10, region_call=0, exception=fields.get("exception", exception), limit=limit)


def test_alike_is_quiet() -> None:
    assert compare(made({})) == []


def test_fewer_compiles_are_what_dynamic_is_for() -> None:
    assert compare(made({}, compiles=(compiled(),) * 3) | {UNSPEC: observe(UNSPEC, call(1), compiles=(compiled(),))}) == []


def test_more_compiles_than_the_more_specialised_cell() -> None:
    (finding,) = compare(made({"compiles": (compiled(), compiled())}))
    assert (finding.kind, finding.severity, finding.cells, finding.reference) == ("compile.count", "warning", (UNSPEC,), CELLS[0])


def test_resume_frames_are_counted_with_their_breaks() -> None:
    assert compare(made({"compiles": (compiled(), compiled(resume=1))})) == []


def test_the_more_specialised_cell_may_compile_more() -> None:
    observations = made({})
    observations[CELLS[0]] = observe(CELLS[0], call(1), compiles=(compiled(),) * 4)
    assert compare(observations) == []


def test_a_graph_break_that_one_cell_has() -> None:
    broken = compiled(breaks=(GraphBreak(reason="data dependent u0", line="mod.py:14"),))
    (finding,) = compare(made({"compiles": (broken,)}))
    assert (finding.kind, finding.severity, finding.cells, finding.frame) == ("compile.break", "warning", (UNSPEC,), "mod.py:14")
    assert compare(made({}, compiles=(broken,))) == []


def test_the_recompile_limit() -> None:
    observations = made({})
    for cell in STATIC:
        observations[cell] = observe(cell, call(1), compiles=(compiled(),) * 8, failed_compiles=(failed(limit=True),))
    (finding,) = compare(observations)
    assert (finding.kind, finding.severity, finding.cells) == ("compile.limit", "warning", STATIC)


def test_a_compile_that_fails_silently() -> None:
    (finding,) = compare(made({"compiles": (), "failed_compiles": (failed(),)}))
    assert (finding.kind, finding.severity, finding.cells) == ("compile.none", "warning", (UNSPEC,))


def test_a_compile_that_fails_in_every_cell_is_information() -> None:
    silent = {"compiles": (), "failed_compiles": (failed(),)}
    (finding,) = compare(made(silent, **silent))
    assert (finding.kind, finding.severity, finding.cells) == ("compile.none", "info", CELLS)


def test_a_failure_that_reached_the_caller_is_no_silent_one() -> None:
    observations = made({})
    observations[UNSPEC] = observe(UNSPEC, call(raised()), failed_compiles=(failed(),), outcome="failed", exception=raised())
    assert compare(observations) == []


def test_nothing_compiled_although_another_cell_did() -> None:
    (finding,) = compare(made({"compiles": ()}))
    assert (finding.kind, finding.cells, finding.region) == ("compile.none", (UNSPEC,), REGION)
    assert compare(made({"compiles": ()}, compiles=())) == []


def test_arithmetic_on_symbols_has_no_counterpart_where_they_are_constants() -> None:
    scalar = compiled(ops=("_operator.mul",), tensor_ops=0, inputs=("Tensor", "SymInt"))
    assert compare(made({"compiles": (scalar,)}, compiles=())) == []


def test_counts_are_not_compared_across_pinned_axes() -> None:
    observations = {cell: replace(one, pinned=("shapes", "ints")) for cell, one in made({"compiles": (compiled(),) * 3}).items()}
    assert compare(observations) == []
