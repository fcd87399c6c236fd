"""Whether a finding is news."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from testmatrix.compare.finding import Finding

#: ``known`` is written by runs that have a baseline and must be readable by every version.
Verdict = Literal["new", "known", "unstable"]

#: What the most pressing verdict of a group is: one new finding makes the whole cause news.
_PRECEDENCE: tuple[Verdict, ...] = ("new", "known", "unstable")


def verdict_of(finding: Finding) -> Verdict:
    """``unstable`` where the control differed too, so that nothing is known about the cell; ``new`` otherwise."""
    return "unstable" if finding.unstable else "new"


def joint_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a group of findings: the most pressing one among them."""
    return min(verdicts, key=_PRECEDENCE.index)
