"""Text laid out at a width: wrapped where it is longer, never cut."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

INDENT = "  "
_BETWEEN = " | "
_HANGING = "  "
_NARROWEST = 16  # columns narrower than that are shown one below the other


def printable(text: str) -> str:
    """One line as it can go to a terminal: control characters, which a message may hold, as their escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text.expandtabs())


def wrapped(text: str, width: int, hanging: str = _HANGING) -> list[str]:
    """The lines of a text, none longer than ``width``."""
    lines: list[str] = []
    for line in map(printable, text.splitlines()):
        lines += textwrap.wrap(line, max(width, _NARROWEST), subsequent_indent=hanging, break_on_hyphens=False)
    return lines or [""]


def fields(rows: Sequence[tuple[str, Sequence[str]]], width: int) -> list[str]:
    """Labels in one column, what they name in another: a text for each line of it."""
    labels = [printable(label) for label, _ in rows]
    column = max(map(len, labels), default=0)
    lines = []
    for label, (_, texts) in zip(labels, rows, strict=True):
        value = [line for text in texts for line in wrapped(text, width - len(INDENT) - column - 2)] or [""]
        for position, line in enumerate(value):
            lines.append(f"{INDENT}{'' if position else label:<{column}}  {line}".rstrip())
    return lines


def columns(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[list[str], list[str]]:
    """Rows side by side: the lines of the headings, and those below. Where it is too narrow, one column below the other."""
    table = [headings, *rows]
    natural = [max(len(line) for row in table for line in [*row[column].splitlines(), ""]) for column in range(len(headings))]
    widths = _shares(natural, width - len(INDENT) - len(_BETWEEN) * (len(headings) - 1))
    if any(share < min(wanted, _NARROWEST) for share, wanted in zip(widths, natural, strict=True)):
        return [], _stacked(headings, rows, width)
    return _row(headings, widths), [line for row in rows for line in _row(row, widths)]


def _shares(wanted: Sequence[int], available: int) -> list[int]:
    """Widths that fit: what a narrow column leaves goes to wider ones."""
    shares = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda column: wanted[column])
    for position, column in enumerate(order):
        shares[column] = min(wanted[column], available // (len(order) - position))
        available -= shares[column]
    return shares


def _row(texts: Sequence[str], widths: Sequence[int]) -> list[str]:
    cells = [wrapped(text, width) for text, width in zip(texts, widths, strict=True)]
    lines = []
    for position in range(max(map(len, cells), default=0)):
        parts = (cell[position] if position < len(cell) else "" for cell in cells)
        lines.append((INDENT + _BETWEEN.join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True))).rstrip())
    return lines


def _stacked(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    lines: list[str] = []
    for column, heading in enumerate(headings):
        lines += [f"{INDENT}{line}" for line in wrapped(f"{heading}:", width - len(INDENT))]
        texts = [row[column] for row in rows if row[column]] or ["-"]
        lines += [f"{INDENT * 2}{line}" for text in texts for line in wrapped(text, width - 2 * len(INDENT))]
    return lines
