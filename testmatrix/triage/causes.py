"""Findings with one fingerprint are one cause.

The fingerprint leaves out everything that changes while the cause stays: the test's name, line numbers and values.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from testmatrix.compare.finding import Finding, Severity
from testmatrix.options import FINDING_KINDS, SEVERITIES
from testmatrix.triage.verdicts import Verdict, joint_verdict

_FRAME_FUNCTION = re.compile(r" in (?P<function>.+)$")
_DIGEST_LENGTH = 10  # 40 bits: thousands of causes in a project's history stay apart, and it can still be typed


class Entry(Protocol):
    """A finding as a report has it: with a fingerprint, and without what that was made of."""

    @property
    def id(self) -> str: ...
    @property
    def test(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def severity(self) -> Severity: ...
    @property
    def cells(self) -> tuple[str, ...]: ...
    @property
    def summary(self) -> str: ...
    @property
    def evidence(self) -> Mapping[str, Any]: ...
    @property
    def cause(self) -> str: ...
    @property
    def verdict(self) -> Verdict: ...


_Entry = TypeVar("_Entry", bound=Entry)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause(Generic[_Entry]):
    """What a person triages: all findings that have one fingerprint."""

    cause: str  #: the fingerprint
    kind: str
    summary: str  #: of the first finding, which stands for the others
    findings: tuple[_Entry, ...]
    tests: tuple[str, ...]  #: node ids, sorted, each once
    severity: Severity  #: the most serious one of its findings
    verdict: Verdict


def digest(*parts: str) -> str:
    """A short, stable hash of text parts; no two different sequences of parts are joined into the same text."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def fingerprint(finding: Finding) -> str:
    """The id of the cause that a finding belongs to."""
    return digest(finding.kind, finding.signature, _function(finding))


def group_causes(findings: Iterable[_Entry]) -> tuple[Cause[_Entry], ...]:
    """Causes in the order in which a person should look at them; the same for the same findings in any order."""
    groups: dict[str, list[_Entry]] = {}
    for finding in findings:
        groups.setdefault(finding.cause, []).append(finding)
    causes = [_cause(key, sorted(group, key=finding_order)) for key, group in groups.items()]
    return tuple(sorted(causes, key=_cause_order))


def _cause(key: str, findings: Sequence[_Entry]) -> Cause[_Entry]:
    return Cause(
        cause=key,
        kind=findings[0].kind,
        summary=findings[0].summary,
        findings=tuple(findings),
        tests=tuple(sorted({finding.test for finding in findings})),
        severity=min((finding.severity for finding in findings), key=SEVERITIES.index),
        verdict=joint_verdict(finding.verdict for finding in findings),
    )


def _function(finding: Finding) -> str:
    """Function of the frame, empty where that is the test's own: a renamed test must keep its causes."""
    match = _FRAME_FUNCTION.search(finding.frame)
    if match is None:
        return ""
    function = match["function"]
    own = finding.test.partition("[")[0].rpartition("::")[2]
    return "" if own in function.split(".") else function


def finding_order(finding: Entry) -> tuple[bool, int, str, tuple[str, ...], str, str, int, str]:
    """The gravest first, and the same order whatever else there is."""
    return (
        finding.verdict == "unstable",  # a finding that repeats stands for the cause, where there is one
        SEVERITIES.index(finding.severity),
        finding.test,
        finding.cells,
        str(finding.evidence.get("region", "")),
        finding.summary,
        len(finding.id),  # ids of findings alike are numbered: the tenth comes after the second
        finding.id,
    )


def _kind_order(kind: str) -> tuple[bool, int, str]:
    """Kinds in the order of their table; numbers that torch burned in come last, since every model has some."""
    known = kind in FINDING_KINDS
    return kind == "guard.specialized", FINDING_KINDS.index(kind) if known else len(FINDING_KINDS), kind


def _cause_order(cause: Cause[_Entry]) -> tuple[bool, int, tuple[bool, int, str], int, str]:
    return (
        cause.verdict == "unstable",  # says nothing about the code under test, so it comes after everything that does
        SEVERITIES.index(cause.severity),
        _kind_order(cause.kind),
        -len(cause.tests),
        cause.cause,
    )
