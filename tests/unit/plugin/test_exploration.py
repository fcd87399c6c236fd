"""Which cells a test is run in, in which order, and what its runs show together."""

from dataclasses import replace

import pytest
import torch

from testmatrix.grid import Axis, AxisValue, parse_grid
from testmatrix.observation import ORACLE, Leaf, Observation, Phase, RegionCall, TensorRecord
from testmatrix.plugin.exploration import Explorer

GRID = parse_grid("default")
NAMES = [cell.name for cell in GRID.cells]
EVERYTHING = tuple(sorted(GRID.setting_paths))
INTS_ALONE = ("torch._dynamo.config.specialize_int",)


def tensor(*numbers):
    data = torch.tensor(numbers)
    name = str(data.dtype).removeprefix("torch.")
    raw = data.numpy().tobytes()
    return TensorRecord(
        dtype=name,
        shape=(len(numbers),),
        stride=(1,),
        storage_offset=0,
        device="cpu",
        requires_grad=False,
        digest=raw.hex(),
        data=raw,
    )


def result(*numbers):
    return (Leaf(path="", type="torch.Tensor", tensor=tensor(*numbers)),)


def called(*numbers, float64=()):
    return RegionCall(region="suite.region", index=0, result=result(*numbers), float64=float64)


class FakeRun:
    """Stands for running the item: answers with what each run of each cell is said to show."""

    def __init__(self, shown, *, read=EVERYTHING):
        self._shown, self._read = shown, read
        self.requests = []

    def __call__(self, request):
        self.requests.append((request.name, request.float64))
        earlier = sum(name == request.name for name, _ in self.requests) - 1
        shown = self._shown(request, earlier)
        calls = () if shown is None else (shown,)
        return Observation(test="t", cell=request.name, outcome="passed", regions=calls, settings_read=self._read)

    @property
    def names(self):
        return [name for name, _ in self.requests]


def explore(shown, *, read=EVERYTHING, grid=GRID, **options):
    run = FakeRun(shown, read=read)
    return Explorer(grid=grid, cells=grid.cells, **options).explore("t", run), run


def agreeing(request, earlier):
    return called(1.0)


def wrong_in(*cells):
    return lambda request, earlier: called(2.0 if request.name in cells else 1.0)


def test_cells_in_grid_order_then_the_oracle():
    explored, run = explore(agreeing)
    assert run.names == [*NAMES, ORACLE]
    assert list(explored.observations) == run.names
    assert explored.findings == ()
    assert explored.runs == 5


def test_without_the_oracle():
    explored, run = explore(agreeing, oracle=False)
    assert run.names == NAMES
    assert ORACLE not in explored.observations


def test_what_never_reaches_the_compiler_runs_once():
    explored, run = explore(lambda request, earlier: None, read=())
    assert run.names == NAMES[:1]
    assert [explored.observations[name].same_as for name in NAMES] == ["", *[NAMES[0]] * 3]
    assert explored.findings == ()


def test_collapsed_cells_have_the_outcome_and_phases_of_the_first():
    phase = Phase(when="call", outcome="skipped", duration=1.0)
    first = Observation(test="t", cell=NAMES[0], outcome="skipped", phases=(phase,))
    explored = Explorer(grid=GRID, cells=GRID.cells).explore("t", lambda request: first)
    assert {observation.outcome for observation in explored.observations.values()} == {"skipped"}
    assert {observation.phases for observation in explored.observations.values()} == {(phase,)}


def test_settings_that_were_read_run_every_cell_but_no_oracle():
    _, run = explore(lambda request, earlier: None)
    assert run.names == NAMES


def test_cells_that_differ_in_what_was_not_read_stand_for_each_other():
    shapes = tuple(path for path in EVERYTHING if path not in INTS_ALONE)
    explored, run = explore(agreeing, read=shapes)
    assert run.names == [NAMES[0], NAMES[2], ORACLE]
    assert {name: one.same_as for name, one in explored.observations.items() if one.same_as} == {
        NAMES[1]: NAMES[0],
        NAMES[3]: NAMES[2],
    }
    explored, run = explore(agreeing, read=INTS_ALONE)
    assert run.names == [NAMES[0], NAMES[1], ORACLE]
    assert {name: one.same_as for name, one in explored.observations.items() if one.same_as} == {
        NAMES[2]: NAMES[0],
        NAMES[3]: NAMES[1],
    }


def test_what_one_cell_read_and_another_did_not():
    """The first cell asks for ints, the third does not: each stands for those that differ in what it did not ask for."""

    def shown(request):
        return Observation(
            test="t", cell=request.name, outcome="passed", regions=(called(1.0),), settings_read=reads[request.name]
        )

    reads = {NAMES[0]: EVERYTHING, NAMES[1]: EVERYTHING, NAMES[2]: (), ORACLE: ()}
    explored = Explorer(grid=GRID, cells=GRID.cells).explore("t", shown)
    assert {name: one.same_as for name, one in explored.observations.items()} == {
        **dict.fromkeys([NAMES[0], NAMES[1], NAMES[2], ORACLE], ""),
        NAMES[3]: NAMES[2],
    }


def test_collapsing_can_be_left_out():
    _, run = explore(lambda request, earlier: None, read=(), collapse=False)
    assert run.names == NAMES


def test_another_backend_is_another_cell_where_a_region_was_called():
    grid = parse_grid("backend=eager,aot_eager")
    _, run = explore(agreeing, read=(), grid=grid)
    assert run.names == [*(cell.name for cell in grid.cells), ORACLE]
    _, run = explore(lambda request, earlier: None, read=(), grid=grid)
    assert run.names == [grid.cells[0].name]


@pytest.mark.parametrize(
    "value",
    [AxisValue("a", environment=(("X", "1"),)), AxisValue("a", context="package.module:name")],
    ids=["environment", "context"],
)
def test_axis_beyond_settings_runs_every_cell(value):
    axis = Axis("own", (value, AxisValue("b")), frozenset({"backend"}))
    grid = parse_grid("own=a,b", (axis,), {})
    _, run = explore(lambda request, earlier: None, read=(), grid=grid)
    assert run.names == ["a", "b"]


def test_oracle_where_only_a_later_cell_called_a_region():
    _, run = explore(lambda request, earlier: called(1.0) if request.name == NAMES[3] else None, control=False)
    assert run.names == [*NAMES, ORACLE]


def test_control_runs_a_findings_cells_and_its_reference_again():
    explored, run = explore(wrong_in(NAMES[3]))
    assert run.requests == [
        *((name, False) for name in NAMES),
        (ORACLE, False),
        (ORACLE, True),  # arbitration
        (NAMES[3], False),
        (ORACLE, False),
    ]
    (finding,) = explored.findings
    assert (finding.kind, finding.cells, finding.reference, finding.unstable) == ("output.value", (NAMES[3],), ORACLE, False)
    assert explored.runs == 8


def test_control_can_be_left_out():
    explored, run = explore(wrong_in(NAMES[3]), control=False)
    assert run.names == [*NAMES, ORACLE, ORACLE]
    assert [finding.unstable for finding in explored.findings] == [False]


def test_what_does_not_repeat_is_unstable():
    explored, _ = explore(lambda request, earlier: called(2.0 if request.name == NAMES[3] and not earlier else 1.0))
    assert [(finding.kind, finding.unstable) for finding in explored.findings] == [("output.value", True)]


def test_arbiter_decides_for_what_is_nearer():
    exact = (
        Leaf(
            path="",
            type="torch.Tensor",
            tensor=replace(tensor(1.0), dtype="float64", data=torch.tensor([1.001], dtype=torch.float64).numpy().tobytes()),
        ),
    )

    def shown(request, earlier):
        if request.cell is None:
            return called(1.0, float64=exact if request.float64 else ())
        return called(1.0009)

    explored, run = explore(shown)
    assert explored.findings == ()
    assert run.requests[-1] == (ORACLE, True)


def test_arbitration_with_other_calls_is_not_used():
    def shown(request, earlier):
        return replace(called(1.0), region="suite.other") if request.float64 else wrong_in(NAMES[3])(request, earlier)

    explored, _ = explore(shown)
    assert [finding.kind for finding in explored.findings] == ["output.value"]
    assert explored.observations[ORACLE].regions[0].region == "suite.region"


def test_warning_needs_no_arbiter():
    def shown(request, earlier):
        return called(0.0) if request.name == NAMES[3] else called(-0.0)

    explored, run = explore(shown)
    assert [(finding.kind, finding.severity) for finding in explored.findings] == [("output.value", "warning")]
    assert (ORACLE, True) not in run.requests
