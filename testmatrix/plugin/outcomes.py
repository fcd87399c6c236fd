"""From pytest's reports of one run of an item to an outcome and phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import pytest

from testmatrix.observation import ExceptionRecord, Outcome, Phase

#: Phase → exceptions in the order in which they were raised (subtests raise several).
Exceptions = Mapping[str, list[ExceptionRecord]]


def outcome_of(reports: Sequence[pytest.TestReport], failed_subtests: int) -> Outcome:
    """What pytest would count the item as."""
    phases = {report.when: report for report in reports if not _is_subtest(report)}
    setup, call, teardown = phases.get("setup"), phases.get("call"), phases.get("teardown")
    for report in (setup, teardown):
        if report is not None and report.failed:
            return "error"
    decisive = call if call is not None else setup
    if decisive is None:
        return "error"
    if hasattr(decisive, "wasxfail"):
        return "xpassed" if decisive.passed else "xfailed"
    if decisive.passed and (failed_subtests or any(_is_subtest(report) and report.failed for report in reports)):
        return "failed"
    return cast("Outcome", decisive.outcome)


def phases_of(reports: Iterable[pytest.TestReport], exceptions: Exceptions) -> tuple[Phase, ...]:
    """One phase a report, subtests' among them, each with its exception."""
    left = {when: list(found) for when, found in exceptions.items()}
    phases = []
    for report in reports:
        waiting = left.get(str(report.when), [])
        raised = waiting.pop(0) if waiting and (not report.passed or hasattr(report, "wasxfail")) else None
        phases.append(
            Phase(
                when=report.when or "call",
                outcome=report.outcome,
                duration=report.duration,
                exception=raised,
            )
        )
    return tuple(phases)


def _is_subtest(report: pytest.TestReport) -> bool:
    return type(report) is not pytest.TestReport
