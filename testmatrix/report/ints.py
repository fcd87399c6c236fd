"""The table of ints: what became of each of them in each cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from testmatrix.report.build import int_cell
from testmatrix.report.model import IntEntry, IntResult, Report
from testmatrix.report.terminal import int_line

_ABSENT = "-"


def int_table(report: Report) -> list[str]:
    """The table as aligned lines, one row an int, then why ints were constant, then the int line."""
    cells = report.run.cells
    rows = [("test", "region", "source", *cells)]
    rows += [(row.test, row.region, row.source, *(_state(row.cells.get(cell)) for cell in cells)) for row in report.ints]
    lines = _aligned(rows) if report.ints else []
    reasons = _reasons(report.ints, int_cell(report.run))
    return [*lines, *(["", *reasons] if reasons else []), *([""] if lines else []), int_line(report)]


def int_table_markdown(report: Report) -> str:
    """The same as a Markdown table."""
    cells = report.run.cells
    lines = [f"| test | region | source | {' | '.join(cells)} |", "|---|---|---|" + "---|" * len(cells)]
    for row in report.ints:
        fields = (f"`{row.test}`", f"`{row.region}`", f"`{row.source}`", *(_state(row.cells.get(cell)) for cell in cells))
        lines.append("| " + " | ".join(field.replace("|", "\\|") for field in fields) + " |")
    return "\n".join([*(lines if report.ints else []), *([""] if report.ints else []), f"**{int_line(report)}**"]) + "\n"


def _state(state: IntResult | None) -> str:
    if state is None:
        return _ABSENT
    return f"constant {state.value}".rstrip() if state.state == "constant" else state.state


def _reasons(rows: Iterable[IntEntry], cell: str) -> list[str]:
    """Why ints were constant in the cell that should carry them as symbols; the most frequent reason first."""
    counts: dict[str, list[str]] = {}
    for row in rows:
        state = row.cells.get(cell)
        if state is not None and state.state == "constant":
            counts.setdefault(state.reason or "no reason known", []).append(state.line or row.source)
    ordered = sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))
    return [f"constant in {cell}: {len(where)} × {reason}, first at {where[0]}" for reason, where in ordered]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
