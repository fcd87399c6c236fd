"""The one set of reports that stands for a test which ran in several cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import pytest

from testmatrix.compare.finding import Finding
from testmatrix.observation import When
from testmatrix.options import Options
from testmatrix.plugin import holding, teardown
from testmatrix.plugin.exploration import Explored
from testmatrix.plugin.runner import Run


def is_failing(finding: Finding, options: Options) -> bool:
    """Whether a finding makes the run fail: of a failing kind, and one that repeats."""
    return not finding.unstable and options.fails(finding.kind, finding.severity)


def choose_run(explored: Explored, runs: Mapping[str, Run], options: Options) -> tuple[Run | None, tuple[Finding, ...]]:
    """The run whose reports stand for the test, and the findings that make it fail; no run where all were lost.

    Where a failing finding is about the outcome, it is a run that fails; otherwise the first cell's, as in a bare run.
    """
    failing = tuple(finding for finding in explored.findings if is_failing(finding, options))
    for finding in failing:
        for name in finding.cells:
            run = runs.get(name)
            if finding.kind == "outcome" and run is not None and run.observation.outcome in ("failed", "error"):
                return run, failing
    return next(iter(runs.values()), None), failing


def reports_of(item: pytest.Item, chosen: Run | None, explored: Explored) -> list[pytest.TestReport]:
    """The reports of the chosen run; where no run came to its end, a failure that says what ended them."""
    if chosen is not None:
        return list(chosen.reports)
    ends = dict.fromkeys(one.exception.message for one in explored.observations.values() if one.exception is not None)
    return unseen(item, "; ".join(ends) or "no run of the test came to its end")


def unseen(item: pytest.Item, failure: str) -> list[pytest.TestReport]:
    """Reports of a test whose failure pytest itself could not see; all three, as what reads them waits for the last."""
    return [made_up(item, "setup"), made_up(item, "call", failure), made_up(item, "teardown")]


def made_up(item: pytest.Item, when: When, failure: str = "") -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed" if failure else "passed",
        longrepr=failure or None,
        when=when,
    )


def with_findings(reports: list[pytest.TestReport], failing: Sequence[Finding], fault: str = "") -> list[pytest.TestReport]:
    """The reports with failing findings in them: a test fails where its cells differ, even though each of them passed."""
    lines = [f"{finding.kind} in {', '.join(finding.cells)}: {finding.summary}" for finding in failing]
    if fault:
        lines.append(f"testmatrix: {fault}")
    if not lines:
        return reports
    decisive = next((r for r in reports if r.failed), None)
    if decisive is not None:
        decisive.sections.insert(0, ("testmatrix", "\n".join(lines)))
        return reports
    last = next((r for r in reversed(reports) if r.when == "call" and type(r) is pytest.TestReport), reports[0])
    if hasattr(last, "wasxfail"):
        del last.wasxfail
    last.outcome = "failed"
    last.longrepr = "\n".join(lines)
    return reports


def log(
    item: pytest.Item,
    reports: Sequence[pytest.TestReport],
    failed_subtests: int,
    warned: Sequence[warnings.WarningMessage],
    tear_down: Callable[[bool], pytest.TestReport | None],
) -> None:
    """Log the reports of one run as if it were the only one, and tear down wider scopes where pytest would.

    ``tear_down`` is given whether the session is about to stop: then all scopes end.
    """
    holding.set_failed_subtests(item, failed_subtests)
    for warning in warned:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno, warning.file, warning.line)
    *first, last = reports
    for report in first:
        item.ihook.pytest_runtest_logreport(report=report)
    # Not earlier: the reports so far decide whether the session goes on, and with it what is torn down.
    left = [last]
    teardown.merged(left, tear_down(bool(item.session.shouldfail or item.session.shouldstop)))
    for report in left:
        item.ihook.pytest_runtest_logreport(report=report)
