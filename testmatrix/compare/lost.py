"""Cells that took their process down or never ended.

What they had recorded went with the process, so nothing but their end is known of them. That end is one finding, and they have no
part in any other: their emptiness is no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from testmatrix.compare.ends import BAD, VERBS, End, end_of, end_told, ended_as
from testmatrix.compare.finding import Finding
from testmatrix.compare.wording import exception_signature, first_line, in_cells, listed, signature
from testmatrix.observation import ORACLE, Observation, Outcome

#: The kind of finding that an outcome makes.
KINDS: Mapping[Outcome, str] = {"crashed": "crash", "timeout": "timeout"}


def is_lost(observation: Observation) -> bool:
    return observation.outcome in KINDS


def surviving(observations: Mapping[str, Observation]) -> dict[str, Observation]:
    """Those of which there is something to compare. Where the oracle is not among them, it is as if there were none."""
    return {name: one for name, one in observations.items() if not is_lost(one)}


def compare_lost(observations: Mapping[str, Observation], cells: Sequence[str]) -> list[Finding]:
    """``crash`` and ``timeout``: one finding for each way in which cells were lost; ``cells`` were run, in grid order.

    The oracle is named among the cells where it was lost, too: nothing else would say so.
    """
    groups: dict[End, list[str]] = {}
    for name in (*cells, ORACLE):
        if name in observations and is_lost(observations[name]):
            groups.setdefault(end_of(observations[name]), []).append(name)
    return [_finding(observations, members, _reference(observations, cells, members), cells) for members in groups.values()]


def _reference(observations: Mapping[str, Observation], cells: Sequence[str], members: Sequence[str]) -> str:
    """What ended best, the oracle first; the oracle where all were lost alike."""
    others = [name for name in (ORACLE, *cells) if name in observations and name not in members]
    return min(others, key=lambda name: (is_lost(observations[name]), observations[name].outcome in BAD), default=ORACLE)


def _finding(observations: Mapping[str, Observation], members: Sequence[str], reference: str, cells: Sequence[str]) -> Finding:
    first, kind = observations[members[0]], KINDS[observations[members[0]].outcome]
    exception = first.exception
    other = None if reference in members else observations.get(reference)
    summary = f"{VERBS[first.outcome]} {_where(members, cells)}"
    if other is not None:
        summary += f", {ended_as(other)}"
    if exception is not None:
        at = f" at {exception.frame}" if exception.frame else ""
        summary += f": {first_line(exception.message or exception.type)}{at}"
    return Finding(
        test=first.test,
        kind=kind,
        severity="error",
        cells=tuple(members),
        reference=reference,
        summary=summary,
        frame=exception.frame if exception else "",
        # The messages of all crashes are much alike: where it was tells them apart.
        signature=signature(kind, exception_signature(exception, first.test), _file(exception.frame) if exception else ""),
        evidence={
            "cells": {name: end_told(observations[name]) for name in members},
            **({"reference": end_told(other)} if other is not None else {}),
        },
    )


def _file(frame: str) -> str:
    """``file.py:12 in function`` -> ``file.py``."""
    return frame.partition(" in ")[0].rpartition(":")[0]


def _where(members: Sequence[str], cells: Sequence[str]) -> str:
    """``in every cell and in eager``."""
    compiled = [name for name in members if name != ORACLE]
    parts = [in_cells(compiled, cells)] if compiled else []
    return listed([*parts, f"in {ORACLE}"] if ORACLE in members else parts)
