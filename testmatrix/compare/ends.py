"""How a test ended: what ends are alike, and how they are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from testmatrix.compare.finding import Evidence
from testmatrix.compare.wording import raised_as, stable_text
from testmatrix.observation import Observation, Outcome

BAD: frozenset[Outcome] = frozenset({"failed", "error", "crashed", "timeout"})
VERBS: Mapping[Outcome, str] = {
    "passed": "passes",
    "failed": "fails",
    "error": "errors",
    "skipped": "is skipped",
    "xfailed": "fails as expected",
    "xpassed": "passes against expectation",
    "crashed": "takes the process down",
    "timeout": "does not end in time",
}


@dataclass(frozen=True, slots=True)
class End:
    """What must agree for two ends of a test to be the same: messages without numbers, for assertions none at all."""

    outcome: Outcome
    exception: str
    message: str


def end_of(observation: Observation) -> End:
    exception = observation.exception
    if exception is None or observation.outcome not in BAD:
        return End(observation.outcome, "", "")
    asserted = exception.assertion or exception.type == "AssertionError"
    return End(observation.outcome, exception.type, "" if asserted else stable_text(exception.message))


def ended_as(observation: Observation) -> str:
    """``fails in eager with ValueError``, as the other side of a difference."""
    exception = observation.exception
    raised = f" with {raised_as(exception)}" if exception is not None and observation.outcome in BAD else ""
    return f"{VERBS[observation.outcome]} in {observation.cell}{raised}"


def end_told(observation: Observation) -> dict[str, Evidence]:
    """The end of a test as evidence."""
    told: dict[str, Evidence] = {"outcome": observation.outcome}
    exception = observation.exception
    if exception is not None:
        told |= {"exception": exception.type, "message": exception.message, "frame": exception.frame}
        if exception.wrapper:
            told["wrapper"] = exception.wrapper
    return told
