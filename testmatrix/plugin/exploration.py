"""One test through the grid: which cells to run, in which order, and what they show together.

Knows nothing of pytest: it is given a function that runs the test once and returns what was observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from testmatrix.compare.finding import Finding, IntRow
from testmatrix.grid import Cell, Grid
from testmatrix.observation import LOST, ORACLE, Note, Observation, RegionCall
from testmatrix.store.records import Purpose


@dataclass(frozen=True, slots=True)
class Request:
    """One run of the test."""

    cell: Cell | None  #: None: the oracle
    purpose: Purpose = "first"

    @property
    def name(self) -> str:
        return ORACLE if self.cell is None else self.cell.name

    @property
    def float64(self) -> bool:
        """With the arbiter's results beside the oracle's."""
        return self.purpose == "arbitration"


RunOnce = Callable[[Request], Observation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """A test's observations and what comparing them showed."""

    observations: dict[str, Observation]
    findings: tuple[Finding, ...] = ()
    ints: tuple[IntRow, ...] = ()
    runs: int = 0  #: how often the test was run, control and arbitration included
    fault: str = ""  #: why the observations could not be compared, where they could not


@dataclass
class Explorer:
    """How tests of one run are explored."""

    grid: Grid
    cells: tuple[Cell, ...]
    oracle: bool = True
    control: bool = True
    collapse: bool = True
    comparing: Callable[[], None] = lambda: None  #: told before runs are compared
    _differences: dict[tuple[str, str], Difference] = field(default_factory=dict)

    def explore(self, test: str, run: RunOnce) -> Explored:
        """Run the test where it can differ, and compare."""
        count = _Counting(run)
        observations: dict[str, Observation] = {}
        for cell in self.cells:
            stand_in = self._stand_in(cell, observations.values()) if self.collapse else None
            observations[cell.name] = count(Request(cell)) if stand_in is None else _same(test, cell, stand_in)
        if len(observations) > 1 and count.runs == 1 and not _may_have_compiled(observations[self.cells[0].name]):
            return Explored(observations=observations, runs=count.runs)
        return self._compared(observations, count)

    def _compared(self, observations: dict[str, Observation], count: _Counting) -> Explored:
        """With the oracle, and whatever else must be run for it."""
        # Not before they are needed: they import sympy, which takes longer than thousands of tests that compile nothing.
        from testmatrix.compare.numbers.rows import number_rows
        from testmatrix.compare.whole import compare_observations

        if self.oracle and any(_may_have_compiled(observation) for observation in observations.values()):
            observations[ORACLE] = count(Request(None))
        self.comparing()
        compared = compare_observations(_filled(observations), self.grid)
        if ORACLE in observations and any(_is_arbitrated(finding) for finding in compared.findings):
            observations[ORACLE] = _arbitrated(observations[ORACLE], count(Request(None, "arbitration")))
            self.comparing()
            compared = compare_observations(_filled(observations), self.grid)
        findings = self._controlled(compared.findings, observations, count) if self.control else compared.findings
        ints = number_rows(observations, self.grid)
        noted = {name: _noted(one, compared.notes.get(name, ())) for name, one in observations.items()}
        return Explored(observations=noted, findings=findings, ints=ints, runs=count.runs)

    def _stand_in(self, cell: Cell, observations: Iterable[Observation]) -> Observation | None:
        """A run in another cell that consulted nothing in which this cell differs; None where there is none."""
        runs = (one for one in observations if not one.same_as and one.outcome not in LOST)
        return next((one for one in runs if self._between(one.cell, cell).was_missed_by(one)), None)

    def _between(self, one: str, other: Cell) -> Difference:
        """The same for every test."""
        known = self._differences.get((one, other.name))
        if known is None:
            known = self._differences[one, other.name] = difference(self.grid, self.grid.cell(one), other)
        return known

    def _controlled(
        self, findings: tuple[Finding, ...], observations: dict[str, Observation], run: RunOnce
    ) -> tuple[Finding, ...]:
        """The findings, with those that do not repeat marked. Only cells that one is about are run again."""
        doubted = [finding for finding in findings if finding.severity != "info"]
        concerned = {name for finding in doubted for name in (*finding.cells, finding.reference)} & set(observations)
        if not concerned:
            return findings
        from testmatrix.compare.control import mark_unstable

        names = {observations[name].same_as or name for name in concerned}
        again = {cell.name: run(Request(cell, "control")) for cell in self.cells if cell.name in names}
        if ORACLE in names:
            again[ORACLE] = _arbitrated(run(Request(None, "control")), observations[ORACLE])
        elif ORACLE in observations:
            again[ORACLE] = observations[ORACLE]
        self.comparing()
        for name, observation in observations.items():
            if observation.same_as in again:
                again[name] = replace(again[observation.same_as], cell=name)
        return mark_unstable(findings, _filled(observations), again, self.grid)


def _may_have_compiled(observation: Observation) -> bool:
    """Whether there can be anything to compare with eager; of a run that was lost, nothing is known."""
    return observation.reached_compiler or observation.outcome in LOST


class _Counting:
    def __init__(self, run: RunOnce) -> None:
        self._run, self.runs = run, 0

    def __call__(self, request: Request) -> Observation:
        self.runs += 1
        return self._run(request)


def stands_for(grid: Grid, run: Observation, cell: Cell) -> bool:
    """Whether a run in one cell is what another cell would have shown: all that the two set differently was never consulted.

    What a run that was lost consulted is not known.
    """
    return run.outcome not in LOST and difference(grid, grid.cell(run.cell), cell).was_missed_by(run)


@dataclass(frozen=True, slots=True)
class Difference:
    """What two cells set differently."""

    settings: frozenset[str]  #: paths of settings
    backend: bool
    unwatched: bool  #: environment variables or context managers: nobody can tell whether they were consulted

    def was_missed_by(self, run: Observation) -> bool:
        """Whether a run consulted nothing of it; a backend is consulted where a region is called."""
        if self.unwatched or (self.backend and (run.reached_compiler or run.settings_read)):
            return False
        return self.settings.isdisjoint(run.settings_read)


def difference(grid: Grid, one: Cell, other: Cell) -> Difference:
    settings: set[str] = set()
    backend = unwatched = False
    for axis in grid.differing(one, other):
        values = [axis.value(name) for name in (one.value(axis.name), other.value(axis.name)) if name is not None]
        settings.update(setting.path for value in values for setting in value.settings)
        backend |= len({value.backend for value in values}) > 1
        unwatched |= any(value.environment or value.context for value in values)
    return Difference(frozenset(settings), backend, unwatched)


def _filled(observations: Mapping[str, Observation]) -> dict[str, Observation]:
    """All observations, those of cells that were not run being what stands for them: a finding shows in these, too."""
    return {name: replace(observations[one.same_as], cell=name) if one.same_as else one for name, one in observations.items()}


def _same(test: str, cell: Cell, first: Observation) -> Observation:
    return Observation(
        test=test, cell=cell.name, outcome=first.outcome, phases=first.phases, notes=first.notes, same_as=first.cell
    )


def _noted(observation: Observation, notes: Sequence[Note]) -> Observation:
    return replace(observation, notes=(*observation.notes, *notes)) if notes else observation


def _arbitrated(oracle: Observation, arbitration: Observation) -> Observation:
    """The oracle's observation with the arbitrating results of another run of it, where its region calls are the same."""
    if [call.region for call in oracle.regions] != [call.region for call in arbitration.regions]:
        return oracle
    calls = tuple(_with_arbitration(call, other) for call, other in zip(oracle.regions, arbitration.regions, strict=True))
    return replace(oracle, regions=calls)


def _with_arbitration(call: RegionCall, other: RegionCall) -> RegionCall:
    return replace(call, float64=other.float64, as_compiling=other.as_compiling)


def _is_arbitrated(finding: Finding) -> bool:
    """Whether running the region once more in another way can tell that a difference is none to report."""
    return finding.severity == "error" and finding.kind.startswith("output.")
