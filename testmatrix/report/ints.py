"""The table of ints, floats and sizes: what became of each kind of source in each cell, why, and of each of them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from testmatrix.compare.finding import Number, State
from testmatrix.compare.numbers.patterns import pattern
from testmatrix.compare.numbers.reasons import BY_DESIGN, FORCED, SETTING, family
from testmatrix.compare.numbers.rows import meant_to_carry
from testmatrix.report.build import cell_values, int_cell
from testmatrix.report.markdown import escaped
from testmatrix.report.model import IntEntry, IntResult, NumberEntry, Report
from testmatrix.report.terminal import int_line

Entry = IntEntry | NumberEntry

_ABSENT = "-"
_TITLES: Mapping[Number, str] = {"int": "ints", "float": "floats", "size": "sizes"}
#: Kinds of sources in the order of the table; others come after them, by name.
_ORDER = (
    *("argument", "list value", "tuple value", "dict value", "closure", "object field", "dataclass field", "partial"),
    *("torch.Size", "numpy scalar", "DynamicInt", "local after a graph break"),
    *("global", "default argument", "module attribute", "class attribute", "dict key", "enum member", "number of a subclass"),
    *("size of a tensor", "size of a global tensor", "size of a buffer", "size of a Parameter"),
)
_STATES: tuple[State, ...] = ("symbolic", "constant", "unused")
_MOST_PATTERNS = 3
_MOST_FILES = 3  #: past that, a page names none
_LEGEND = """In each cell, what became of the numbers of each kind of source, and how often their function had been compiled after
the first, second and third distinct value: `123` is a compile for each of them, `111` one for all."""


@dataclass(frozen=True, slots=True)
class Group:
    """Sources of one kind that share what forced them, or why else they are not what their kind usually is."""

    label: str  #: ``argument, forced by ==``
    entries: tuple[Entry, ...]

    def text(self, cell: str) -> str:
        """``constant · 123``; ``symbolic 9, constant 2 · 111 ×9, 123 ×2`` where they differ."""
        states = [entry.cells[cell] for entry in self.entries if cell in entry.cells]
        counts = Counter(state.state for state in states)
        named = [state for state in _STATES if counts[state]]
        told = named[0] if len(named) == 1 else ", ".join(f"{state} {counts[state]}" for state in named)
        # How often it was compiled for one value says nothing of others.
        patterns = Counter(pattern(state.compiles) for state in states if len(state.compiles) > 1)
        ordered = sorted(patterns.items(), key=lambda item: (-item[1], item[0]))
        shown = [text if len(ordered) == 1 else f"{text} ×{count}" for text, count in ordered[:_MOST_PATTERNS]]
        if len(ordered) > _MOST_PATTERNS:
            shown.append("…")
        return " · ".join(filter(None, [told, ", ".join(shown)])) or _ABSENT


def groups_of(entries: Iterable[Entry], meant: Sequence[str]) -> list[Group]:
    """By kind of source and what sets some of them apart in the cells that are ``meant`` to carry them."""
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault((entry.kind, _apart(entry, meant)), []).append(entry)
    ordered = sorted(found, key=lambda key: (_ORDER.index(key[0]) if key[0] in _ORDER else len(_ORDER), *key))
    return [Group(", ".join(filter(None, key)) or _ABSENT, tuple(found[key])) for key in ordered]


def meant_cells(report: Report, number: Number) -> list[str]:
    """Cells of the run that are meant to carry ints, floats or sizes as symbols."""
    return [cell for cell, values in cell_values(report.run).items() if meant_to_carry(values, number)]


def int_table(report: Report) -> list[str]:
    """By kind of source, as aligned lines; then why numbers were constant, each int, and the int line."""
    sections = [f"torch {_version(report)}"]
    for title, rows in _kinds(report).items():
        sections.append("\n".join(_aligned([(title, "rows", *report.run.cells), *rows])))
    sections.append("\n".join(_reasons(report)))
    sections.append("\n".join(_each(report)) if report.ints else "")
    sections.append(int_line(report))
    return "\n\n".join(filter(None, sections)).split("\n")


def int_table_markdown(report: Report, file: str = "report.json", page: str = "") -> str:
    """The same as a page in Markdown, without each int. ``file`` and ``page`` are the names of the report and of the page."""
    sections = [f"# Ints, floats and sizes in torch {_version(report)}", _generated_by(report, file, page), _LEGEND]
    for title, rows in _kinds(report).items():
        sections += [f"## {title.capitalize()}", _markdown_table([(title, "rows", *report.run.cells), *rows])]
    reasons = _reasons(report, "`")
    if reasons:
        sections += ["## Why they are constant", "\n".join(f"- {line}" for line in reasons)]
    return "\n\n".join([*sections, f"**{int_line(report)}**"]) + "\n"


def _kinds(report: Report) -> Mapping[str, list[tuple[str, ...]]]:
    """Rows of the table by title: ints, floats, sizes; those that the run has none of are left out."""
    tables: dict[str, list[tuple[str, ...]]] = {}
    for number, title in _TITLES.items():
        groups = groups_of(_entries(report, number), meant_cells(report, number))
        if groups:
            cells = report.run.cells
            tables[title] = [(one.label, str(len(one.entries)), *(one.text(cell) for cell in cells)) for one in groups]
    return tables


def _apart(entry: Entry, meant: Sequence[str]) -> str:
    """What sets a source apart from others of its kind: ``forced by ==``, ``0 or 1``, ``unused``."""
    if entry.cells and all(state.state == "unused" for state in entry.cells.values()):
        return "unused"
    reasons = (entry.cells[cell].reason for cell in meant if cell in entry.cells)
    why, _, what = family(next((reason for reason in reasons if reason not in ("", SETTING)), "")).partition(": ")
    if why == FORCED:
        return f"forced by {what}"
    return what if why == BY_DESIGN and what != entry.kind else ""


def _reasons(report: Report, code: str = "") -> list[str]:
    """Why numbers were constant in a cell that should carry them as symbols; the most frequent reason first.

    ``code`` is put around what is code.
    """
    lines = []
    for number, title in _TITLES.items():
        cells = meant_cells(report, number)
        preferred = int_cell(report.run)
        cell = preferred if preferred in cells else next(iter(cells), "")
        for reason, places in _counted(_entries(report, number), cell):
            told = escaped(reason) if code else reason
            lines.append(f"{title} constant in {cell}: {len(places)} × {told}, first at {code}{places[0]}{code}")
    return lines


def _counted(entries: Iterable[Entry], cell: str) -> list[tuple[str, list[str]]]:
    places: dict[str, list[str]] = {}
    for entry in entries:
        state = entry.cells.get(cell)
        if state is not None and state.state == "constant":
            places.setdefault(state.reason or "no reason known", []).append(state.line or entry.source)
    return sorted(places.items(), key=lambda item: (-len(item[1]), item[0]))


def _entries(report: Report, number: Number) -> Sequence[Entry]:
    return report.ints if number == "int" else [entry for entry in report.numbers if entry.number == number]


def _each(report: Report) -> list[str]:
    """One row an int."""
    cells = report.run.cells
    rows = [("test", "region", "source", *cells)]
    rows += [(row.test, row.region, row.source, *(_state(row.cells.get(cell)) for cell in cells)) for row in report.ints]
    return _aligned(rows)


def _state(state: IntResult | None) -> str:
    if state is None:
        return _ABSENT
    return f"constant {state.value}".rstrip() if state.state == "constant" else state.state


def _version(report: Report) -> str:
    """torch's version without what names a build: the same page comes out of every build of it."""
    return report.run.torch.partition("+")[0]


def _generated_by(report: Report, file: str, page: str) -> str:
    """The commands that make the page, as far as a report tells them."""
    grid = " ".join(f"{axis}={','.join(values)}" for axis, values in report.run.grid.items())
    tests = list(dict.fromkeys(test.test.partition("::")[0] for test in report.tests))
    options = ["--testmatrix", f"--testmatrix-grid={grid}", f"--testmatrix-json={file}"]
    run = shlex.join(["python", "-m", "pytest", *options, *(tests if len(tests) <= _MOST_FILES else ["..."])])
    show = shlex.join(["testmatrix", "report", file, "--ints", "--format", "markdown", *(["-o", page] if page else [])])
    return f"Generated by these two commands, and not to be edited:\n\n```sh\n{run}\n{show}\n```"


def _markdown_table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [[escaped(text) for text in row] for row in rows]
    rule = ["---", "--:", *("---" for _ in head[2:])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rest])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
