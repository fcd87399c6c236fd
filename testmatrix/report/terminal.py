"""The summary section of a run, as lines. Whoever has a terminal writes them; nothing here does."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from testmatrix.options import SEVERITIES
from testmatrix.report.build import int_cell
from testmatrix.report.model import CauseEntry, FindingEntry, Report
from testmatrix.report.notes import cut, note_lines

_INDENT = "    "
_CODES = {"error": "31;1", "warning": "33", "unstable": "35", "info": "36", "dim": "2", "bold": "1"}


@dataclass(frozen=True, slots=True)
class _Group:
    """A cause with its findings, the one that stands for it first."""

    cause: CauseEntry
    findings: tuple[FindingEntry, ...]

    @property
    def severity(self) -> str:
        return min((finding.severity for finding in self.findings), key=SEVERITIES.index)

    @property
    def label(self) -> str:
        return "unstable" if self.cause.verdict == "unstable" else self.severity


def summary_lines(
    report: Report, *, width: int = 100, color: bool = False, warnings_shown: int | None = 10, file: str = ""
) -> list[str]:
    """What a run says at its end: what ran, findings by cause, notes, and the int line, always last.

    A run without findings and notes has two lines. All errors are shown; of warnings ``warnings_shown`` causes (None for all);
    of the rest, numbers. ``width`` cuts descriptions (see :func:`cut`), never a command. ``file`` is the JSON report to see more
    in, empty where there is none.
    """
    paint = painter(color)
    groups = _groups(report)
    errors = [group for group in groups if group.label == "error"]
    compact = [group for group in groups if group.label in ("warning", "unstable")]
    counted = [group for group in groups if group.label == "info"]
    lines = [what_ran(report)]
    for group in errors:
        lines += ["", *_full(group, report, width, paint)]
    if compact:
        shown = compact if warnings_shown is None else compact[:warnings_shown]
        lines.append("")
        for group in shown:
            lines += _compact(group, report, width, paint)
        lines += _left_out(compact[len(shown) :])
    if groups:
        lines.append("")
    lines += _info_line(counted)
    lines += note_lines(report, width)
    lines += _total_line(report, groups)
    lines += _hint(groups, file)
    return [*lines, int_line(report)]


def what_ran(report: Report) -> str:
    """One line: how many tests, over which cells, how many of them were run and how many collapsed, and how long it took."""
    summary, run = report.summary, report.run
    cells = f"{_number(len(run.cells), 'cell')} + {run.oracle}" if run.oracle else _number(len(run.cells), "cell")
    collapsed = f", {summary.cells_collapsed} collapsed" if summary.cells_collapsed else ""
    clean = "" if report.findings else ", no findings"
    return f"{_number(summary.tests, 'test')} × {cells}: {summary.cells_run} run{collapsed}, {summary.wall:.1f} s{clean}"


def int_line(report: Report) -> str:
    """The unspecialisation rate, or why there is none."""
    cell = int_cell(report.run)
    ints = report.summary.ints
    if not cell:
        return "ints: no rate, since no cell of this run has dynamic shapes and unspecialized ints"
    if not ints.reached:
        return f"ints: none reached a compiled region in {cell}, so there is no rate"
    return f"ints: {ints.symbolic} of {ints.reached} symbolic in {cell} ({_percent(ints.symbolic, ints.reached)})"


def cells_text(cells: Sequence[str], report: Report) -> str:
    """The cells of a finding: ``all 4 cells`` where it shows in all of them."""
    if len(report.run.cells) > 1 and set(cells) == set(report.run.cells):
        return f"all {len(cells)} cells"
    return ", ".join(cells)


def _groups(report: Report) -> list[_Group]:
    findings = {finding.id: finding for finding in report.findings}
    groups = [_Group(cause, tuple(findings[each] for each in cause.findings if each in findings)) for cause in report.causes]
    return [group for group in groups if group.findings]


def _full(group: _Group, report: Report, width: int, paint: Callable[[str, str], str]) -> list[str]:
    place = group.findings[0].evidence.get("frame") or group.findings[0].evidence.get("region")
    head, what, command = _compact(group, report, width, paint)
    return [head, what, *([cut(f"{_INDENT}at {place}", width)] if place else []), command]


def _compact(group: _Group, report: Report, width: int, paint: Callable[[str, str], str]) -> list[str]:
    """Head, what differs, and the command; the first finding stands for its cause."""
    first = group.findings[0]
    cells = cells_text(_all_cells(group, report), report)
    cause = paint(f"cause {group.cause.cause}", "dim")
    head = f"{paint(group.label, group.label)}  {group.cause.kind}  {cells}  {_number(group.cause.tests, 'test')}  {cause}"
    return [head, cut(f"{_INDENT}{first.summary}", width), f"{_INDENT}{first.rerun}"]


def _left_out(groups: Sequence[_Group]) -> list[str]:
    if not groups:
        return []
    kinds = _counts(group.cause.kind for group in groups)
    return [f"and {_number(len(groups), 'more cause')}, all in the JSON report: {kinds}"]


def _info_line(groups: Sequence[_Group]) -> list[str]:
    if not groups:
        return []
    return [f"info: {_counts(finding.kind for group in groups for finding in group.findings)}"]


def _total_line(report: Report, groups: Sequence[_Group]) -> list[str]:
    if not groups:
        return []
    labels = Counter(group.label for group in groups)
    parts = [f"{labels[label]} {label}" for label in ("error", "warning", "unstable", "info") if labels[label]]
    return [f"{_number(len(report.findings), 'finding')} of {_number(len(groups), 'cause')}: {', '.join(parts)}"]


def _hint(groups: Sequence[_Group], file: str) -> list[str]:
    """How to see everything about a cause, by the example of the gravest."""
    return [f"everything about one: {shlex.join(['testmatrix', 'show', groups[0].cause.cause, file])}"] if groups and file else []


def _all_cells(group: _Group, report: Report) -> list[str]:
    """Every cell that the cause shows in, in grid order; what is not of the grid (the oracle) comes last."""
    named = {cell for finding in group.findings for cell in finding.cells}
    return [*(cell for cell in report.run.cells if cell in named), *sorted(named.difference(report.run.cells))]


def _counts(kinds: Iterable[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in sorted(Counter(kinds).items()))


def _number(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _percent(part: int, whole: int) -> str:
    """Rounded down, so that 100 % means all of them; something that is more than nothing never reads as nothing."""
    percent = part * 100 // whole
    return "<1 %" if part and not percent else f"{percent} %"


def painter(color: bool) -> Callable[[str, str], str]:
    """Puts a text in the style of a severity, or dim or bold, where colours are wanted."""

    def paint(text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if color else text

    return paint
