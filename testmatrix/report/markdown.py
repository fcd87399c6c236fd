"""The report as Markdown, for a comment on a change."""

from __future__ import annotations

from testmatrix.report.model import CauseEntry, FindingEntry, Report
from testmatrix.report.notes import note_lines
from testmatrix.report.terminal import cells_text, int_line, what_ran

_NO_LIMIT = 1_000_000


def markdown(report: Report, *, shown: int = 20) -> str:
    """What ran, a table of causes, how to see each again, and the int line. ``shown`` limits the causes, gravest first."""
    findings = {finding.id: finding for finding in report.findings}
    rows = [(cause, findings[cause.findings[0]]) for cause in report.causes if cause.findings and cause.findings[0] in findings]
    parts = [f"### testmatrix: {_headline(report)}", what_ran(report)]
    if rows:
        parts += [_table(rows[:shown], report), _reruns(rows[:shown])]
    if len(rows) > shown:
        parts.append(f"{len(rows) - shown} more causes are in the JSON report.")
    notes = note_lines(report, _NO_LIMIT)
    if notes:
        parts.append("\n".join(f"- {escaped(note.removeprefix('note: '))}" for note in notes))
    parts.append(f"**{int_line(report)}**")
    return "\n\n".join(parts) + "\n"


def _headline(report: Report) -> str:
    if not report.causes:
        return "no findings"
    news = sum(cause.verdict == "new" for cause in report.causes)
    causes = "1 cause" if len(report.causes) == 1 else f"{len(report.causes)} causes"
    return f"{causes}, {news} new"


def _table(rows: list[tuple[CauseEntry, FindingEntry]], report: Report) -> str:
    lines = ["| severity | kind | cells | tests | what differs | cause |", "|---|---|---|--:|---|---|"]
    for cause, first in rows:
        severity = "unstable" if cause.verdict == "unstable" else first.severity
        cells = cells_text(first.cells, report)
        fields = (severity, f"`{cause.kind}`", cells, str(cause.tests), escaped(cause.summary), f"`{cause.cause}`")
        lines.append(f"| {' | '.join(fields)} |")
    return "\n".join(lines)


def _reruns(rows: list[tuple[CauseEntry, FindingEntry]]) -> str:
    commands = "\n".join(f"# {cause.cause}\n{first.rerun}" for cause, first in rows)
    return f"<details><summary>See one again</summary>\n\n```sh\n{commands}\n```\n\n</details>"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table."""
    for character in "\\`*_<|":
        text = text.replace(character, f"\\{character}")
    return text
