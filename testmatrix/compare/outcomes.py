"""How a test ended in each cell, and which of these ends the grid explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testmatrix.compare.ends import BAD, VERBS, End, end_of, end_told, ended_as
from testmatrix.compare.finding import Finding, Severity
from testmatrix.compare.lineup import CallKey, keyed_calls
from testmatrix.compare.lost import compare_lost, surviving
from testmatrix.compare.regions import is_same_exception
from testmatrix.compare.wording import exception_signature, first_line, in_cells, raised_as, signature, stable_text
from testmatrix.observation import ORACLE, Observation


def compare_outcomes(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """Findings of kind ``outcome``, ``crash``, ``timeout`` and ``outcome.count``; ``cells`` were run, in grid order."""
    ended = surviving(observations)
    return [*compare_lost(observations, cells), *_compare_ended(ended, cells), *_counted(ended, cells)]


def _compare_ended(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """The cells of which there is an observation against the best of them."""
    present = [cell for cell in cells if cell in observations]
    groups: dict[End, list[str]] = {}
    for cell in present:
        groups.setdefault(end_of(observations[cell]), []).append(cell)
    reference = _reference(observations, present, groups)
    if reference is None:
        return []
    expected = end_of(observations[reference])
    found = []
    for end, members in groups.items():
        severity = _severity(end, expected, alike=len(groups) == 1)
        if severity is not None:
            found.append(_finding(observations, members, reference, severity, cells))
    return found


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
    return Finding(
        test=first.test,
        kind="outcome",
        severity=severity,
        cells=tuple(members),
        reference=reference,
        summary=f"{VERBS[first.outcome]} {in_cells(members, cells)}, {ended_as(other)}{why}{where}",
        region=call.region if call else "",
        frame=exception.frame if exception else "",
        signature=signature(
            "outcome",
            f"{first.outcome} for {other.outcome}",
            exception_signature(exception, first.test),
        ),
        evidence={
            "cells": {cell: end_told(observations[cell]) for cell in members},
            "reference": end_told(other),
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


def _counted(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """Assertions on how much was compiled are expected to depend on the cell: one note, never an error."""
    present = [cell for cell in cells if cell in observations]
    members = [cell for cell in present if observations[cell].count_assertions]
    if not members:
        return []
    assertions = list(dict.fromkeys(text for cell in members for text in observations[cell].count_assertions))
    rest = next((cell for cell in present if cell not in members), ORACLE)
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
