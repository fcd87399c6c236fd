"""How a test ended in each cell, and which of these ends the grid explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from testmatrix.compare.finding import Evidence, Finding, Severity
from testmatrix.compare.lineup import CallKey, keyed_calls
from testmatrix.compare.regions import is_same_exception
from testmatrix.compare.wording import exception_signature, first_line, in_cells, raised_as, signature, stable_text
from testmatrix.observation import ORACLE, Observation

BAD = frozenset({"failed", "error", "crashed", "timeout"})
_KINDS = {"crashed": "crash", "timeout": "timeout"}
_VERBS = {
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

    outcome: str
    exception: str
    message: str


def end_of(observation: Observation) -> End:
    exception = observation.exception
    if exception is None or observation.outcome not in BAD:
        return End(observation.outcome, "", "")
    asserted = exception.assertion or exception.type == "AssertionError"
    return End(observation.outcome, exception.type, "" if asserted else stable_text(exception.message))


def compare_outcomes(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """Findings of kind ``outcome``, ``crash``, ``timeout`` and ``outcome.count``; ``cells`` were run, in grid order."""
    counted = _counted(observations, cells)
    groups: dict[End, list[str]] = {}
    for cell in cells:
        groups.setdefault(end_of(observations[cell]), []).append(cell)
    reference = _reference(observations, cells, groups)
    if reference is None:
        return counted
    expected = end_of(observations[reference])
    found = []
    for end, members in groups.items():
        severity = _severity(end, expected, alike=len(groups) == 1)
        if severity is not None:
            found.append(_finding(observations, members, reference, severity, cells))
    return found + counted


def _reference(observations: Mapping[str, Observation], cells: Sequence[str], groups: Mapping[End, Sequence[str]]) -> str | None:
    """What the ends are measured by: the oracle, unless it alone does not pass, or the first cell that passes."""
    oracle = observations.get(ORACLE)
    if oracle is not None and oracle.outcome not in BAD | {"skipped"}:
        return ORACLE
    passing = next((cell for cell in cells if observations[cell].outcome not in BAD | {"skipped"}), None)
    if passing is not None:
        return passing
    # Nothing passes anywhere: a plain failure or skip, in which only the class can be news.
    return ORACLE if oracle is not None else next(iter(cells), None)


def _severity(end: End, expected: End, *, alike: bool) -> Severity | None:
    if end == expected:
        return None
    if end.outcome == expected.outcome and end.exception == expected.exception:
        return "warning"  # only the message differs
    if end.outcome in BAD and expected.outcome in BAD | {"skipped"}:
        # Fails everywhere. Where the cells agree, the oracle's end is that of a test that asks for compilation.
        return "error" if not alike else ("warning" if expected.outcome in BAD else None)
    return "error" if end.outcome in BAD else "warning"


def _finding(
    observations: Mapping[str, Observation], members: Sequence[str], reference: str, severity: Severity, cells: Sequence[str]
) -> Finding:
    first, other = observations[members[0]], observations[reference]
    exception = first.exception if first.outcome in BAD else None
    call = raising_call(first)
    where = f" ({call.region}, call {call.number})" if call else ""
    why = f": {raised_as(exception)}: {first_line(exception.message)}" if exception else ""
    versus = f"{_VERBS[other.outcome]} in {reference}"
    if other.outcome in BAD and other.exception is not None:
        versus += f" with {raised_as(other.exception)}"
    return Finding(
        test=first.test,
        kind=_KINDS.get(first.outcome, "outcome"),
        severity=severity,
        cells=tuple(members),
        reference=reference,
        summary=f"{_VERBS[first.outcome]} {in_cells(members, cells)}, {versus}{why}{where}",
        region=call.region if call else "",
        frame=exception.frame if exception else "",
        signature=signature(
            _KINDS.get(first.outcome, "outcome"),
            f"{first.outcome} for {other.outcome}",
            exception_signature(exception, first.test),
        ),
        evidence={
            "cells": {cell: _told(observations[cell]) for cell in members},
            "reference": _told(other),
        },
    )


def raising_call(observation: Observation) -> CallKey | None:
    """The region call whose exception ended the test, where there is one."""
    if observation.exception is None or observation.outcome not in BAD:
        return None
    raising = [
        key
        for key, call in keyed_calls(observation).items()
        if call.exception is not None and is_same_exception(call.exception, observation.exception)
    ]
    return min(raising, key=lambda key: key.depth, default=None)


def _told(observation: Observation) -> dict[str, Evidence]:
    told: dict[str, Evidence] = {"outcome": observation.outcome}
    exception = observation.exception
    if exception is not None:
        told |= {"exception": exception.type, "message": exception.message, "frame": exception.frame}
        if exception.wrapper:
            told["wrapper"] = exception.wrapper
    return told


def _counted(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """Assertions on how much was compiled are expected to depend on the cell: one note, never an error."""
    members = [cell for cell in cells if observations[cell].count_assertions]
    if not members:
        return []
    assertions = list(dict.fromkeys(text for cell in members for text in observations[cell].count_assertions))
    rest = next((cell for cell in cells if cell not in members), ORACLE)
    more = f" and {len(assertions) - 1} more" if len(assertions) > 1 else ""
    return [
        Finding(
            test=observations[members[0]].test,
            kind="outcome.count",
            severity="info",
            cells=tuple(members),
            reference=rest,
            summary=f"asserts how much was compiled {in_cells(members, cells)}: {first_line(assertions[0])}{more}",
            frame=assertions[0].split(": ", 1)[0],
            signature=signature("outcome.count", *sorted({stable_text(text.split(": ", 1)[-1]) for text in assertions})),
            evidence={"cells": {cell: list(observations[cell].count_assertions) for cell in members}},
        )
    ]
