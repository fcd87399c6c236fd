"""The page about a finding or a cause: its head, then section after section until all of the evidence has been told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from testmatrix.compare.wording import listed
from testmatrix.options import SEVERITIES
from testmatrix.report.model import CauseEntry, FindingEntry, Report
from testmatrix.report.notes import cut
from testmatrix.report.show.guards import condition_section, relation_section, sets_section
from testmatrix.report.show.layout import INDENT, fields, printable, wrapped
from testmatrix.report.show.section import Section
from testmatrix.report.show.sides import sides_section
from testmatrix.report.show.values import lines_of, read
from testmatrix.report.terminal import painter

_OWN_LINE = re.compile(r"^\s*\d+ >")
_Paint = Callable[[str, str], str]


def show_lines(
    report: Report, entry: FindingEntry | CauseEntry, *, width: int = 100, color: bool = False, everything: bool = False
) -> list[str]:
    """Everything known about a finding, or about a cause with the first of its findings.

    Text is wrapped at ``width``; commands and lines of source are left as they are. With ``everything``, the conditions that two
    guard sets have in common are listed, too.
    """
    paint = painter(color)
    if isinstance(entry, CauseEntry):
        return _cause_page(report, entry, width, paint, everything)
    return _finding_page(report, entry, width, paint, everything)


def _finding_page(report: Report, finding: FindingEntry, width: int, paint: _Paint, everything: bool) -> list[str]:
    head = _head(report, finding, width)
    lines = [*_label(finding.severity, finding.kind, finding.verdict, paint), *wrapped(finding.summary, width, ""), *head.lines]
    lines += ["", f"{INDENT}{printable(finding.rerun)}"] if finding.rerun else []
    for section in _sections(finding, head.keys, width, everything):
        lines += ["", *_painted(section, paint)]
    return lines


def _cause_page(report: Report, cause: CauseEntry, width: int, paint: _Paint, everything: bool) -> list[str]:
    by_id = {finding.id: finding for finding in report.findings}
    findings = [by_id[id_] for id_ in cause.findings if id_ in by_id]
    severity = min((finding.severity for finding in findings), key=SEVERITIES.index, default="info")
    rows = [("cause", [cause.cause]), ("findings", [f"{len(cause.findings)} of {_count(cause.tests, 'test')}"])]
    lines = [*_label(severity, cause.kind, cause.verdict, paint), *wrapped(cause.summary, width, ""), *fields(rows, width)]
    for test in dict.fromkeys(finding.test for finding in findings):
        lines += ["", *wrapped(test, width)]
        lines += [cut(f"{INDENT}{_in_one_line(finding)}", width) for finding in findings if finding.test == test]
    lost = [id_ for id_ in cause.findings if id_ not in by_id]
    lines += ["", *wrapped(f"not in this report: {', '.join(lost)}", width)] if lost else []
    if findings:
        lines += ["", paint("the first of them:", "bold"), "", *_finding_page(report, findings[0], width, paint, everything)]
    return lines


def _label(severity: str, kind: str, verdict: str, paint: _Paint) -> list[str]:
    return [f"{paint(severity, 'unstable' if verdict == 'unstable' else severity)}  {printable(kind)}  {verdict}"]


def _head(report: Report, finding: FindingEntry, width: int) -> Section:
    """What every finding has: where it shows, its cause, and who shares that."""
    evidence = finding.evidence
    region, frame, line = (read(evidence, key, str) for key in ("region", "frame", "line"))
    calls = read(evidence, "calls", list[int]) if region else None
    on_calls = f", call{'s' if len(calls) > 1 else ''} {listed([str(call) for call in calls])}" if calls else ""
    rows = [
        ("finding", finding.id),
        ("cause", _shared(report, finding)),
        ("test", finding.test),
        ("cells", ", ".join(finding.cells)),
        ("reference", finding.reference),
        ("region", f"{region}{on_calls}" if region else ""),
        ("at", frame or ""),
    ]
    told = {"region": region, "frame": frame, "calls": calls, "line": line if line == frame else None}
    return Section(
        title="",
        lines=tuple(fields([(label, [text]) for label, text in rows if text], width)),
        keys=frozenset(key for key, value in told.items() if value),
    )


def _shared(report: Report, finding: FindingEntry) -> str:
    others = [one for one in report.findings if one.cause == finding.cause and one is not finding]
    if not others:
        return f"{finding.cause} (no other finding)"
    tests = len({one.test for one in others})
    return f"{finding.cause} ({_count(len(others), 'other finding')} of {_count(tests, 'test')})"


def _sections(finding: FindingEntry, told: frozenset[str], width: int, everything: bool) -> list[Section]:
    """What the evidence has, beside the keys that are told already: both sides, what these mean, and the line at the end."""
    condition = condition_section(finding, width)
    in_words = condition is not None and "cells" in condition.keys
    sections = [
        condition,
        None if in_words else sides_section(finding, width),
        sets_section(finding, width, everything=everything),
        relation_section(finding, width),
    ]
    context = _context_section(finding)
    told = told.union(*(section.keys for section in [*sections, context] if section))
    return [section for section in [*sections, _rest(finding, told, width), context] if section]


def _context_section(finding: FindingEntry) -> Section | None:
    """The user's line with the lines around it, its own marked."""
    context = read(finding.evidence, "context", list[str])
    if context is None:
        return None
    place = read(finding.evidence, "line", str) or read(finding.evidence, "frame", str)
    lines = tuple(printable(line) for line in context) or (f"{INDENT}(not to be had)",)
    return Section(title=place or "source", lines=lines, keys=frozenset({"context"}))


def _rest(finding: FindingEntry, told: frozenset[str], width: int) -> Section | None:
    """Evidence that no other section tells, as it is: of kinds that need no more, of later versions, or damaged."""
    left = {key: lines_of(value) for key, value in finding.evidence.items() if key not in told}
    return Section(title="evidence", lines=tuple(fields(list(left.items()), width)), keys=frozenset(left)) if left else None


def _painted(section: Section, paint: _Paint) -> Iterator[str]:
    yield paint(printable(section.title), "bold")
    for position, line in enumerate(section.lines):
        marked = position < section.heading or ("context" in section.keys and _OWN_LINE.match(line))
        yield paint(line, "bold") if marked else line


def _in_one_line(finding: FindingEntry) -> str:
    return f"{finding.id}  {finding.severity}  {', '.join(finding.cells)}  {printable(finding.summary)}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
