"""From what a run wrote down to its report. Pure."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from testmatrix.report.build import build_report
from testmatrix.report.model import Report
from testmatrix.report.rerun import rerun_command
from testmatrix.store.records import Invocation, Run, Tested
from testmatrix.store.runs import Recorded

#: pytest's status of a run that did not get to its end.
INTERRUPTED = 2


def report_of_tests(run: Run, tested: Iterable[Tested], invocation: Invocation, *, wall: float, exit_status: int) -> Report:
    """The report on tests that have been through the grid, in the order in which they were collected."""
    ordered = sorted(tested, key=lambda each: (each.position, each.test))
    return build_report(
        run,
        [msgspec.structs.replace(each.result, position=each.position) for each in ordered],
        ints=[row for each in ordered for row in each.ints],
        findings=[finding for each in ordered for finding in each.findings],
        notes=[note for each in ordered for note in each.notes],
        rerun=lambda finding: rerun_command(finding, invocation),
        wall=wall,
        exit_status=exit_status,
    )


def recorded_report(run: Run, recorded: Recorded) -> Report:
    """The report on a run as its journals have it. One that did not end was interrupted, and took as long as its tests did."""
    if recorded.finished is not None:
        wall, status = recorded.finished.wall, recorded.finished.exit
    else:
        results = (result for each in recorded.tested for result in each.result.cells.values())
        wall, status = sum(result.duration for result in results if not result.same_as), INTERRUPTED
    return report_of_tests(run, recorded.tested, recorded.invocation, wall=wall, exit_status=status)
