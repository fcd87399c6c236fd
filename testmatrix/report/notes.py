"""What is said of a run besides its findings: what could not be compared, and why. Grouped, one line each."""

from __future__ import annotations

from collections.abc import Iterable

from testmatrix.report.model import Report

_READABLE = 160
_SHOWN = 5  # texts of one kind; a recorder that stumbles over everything must not bury the findings


def note_lines(report: Report, width: int) -> list[str]:
    """The notes of a report, each kind and text once."""
    lines = [*_compiled_nothing(report), *_pinned(report), *_of_kinds(report)]
    return [cut(line, width) for line in lines]


def cut(line: str, width: int) -> str:
    """A description cut to the terminal's width, but never to less than says what it is about: logs claim 80 columns."""
    limit = max(width, _READABLE)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _compiled_nothing(report: Report) -> list[str]:
    if not report.tests:
        return ["note: no test was run, so there was nothing to compare"]
    if any(result.regions or result.compiles for test in report.tests for result in test.cells.values()):
        return []
    return ["note: nothing was compiled: no test reached torch.compile, so there was nothing to compare"]


def _pinned(report: Report) -> list[str]:
    """Axes that tests fix themselves, from the results and not from notes, so that every one of them is counted once."""
    tests: dict[tuple[str, ...], set[str]] = {}
    for test in report.tests:
        axes = tuple(sorted({axis for result in test.cells.values() for axis in result.pinned}))
        if axes:
            tests.setdefault(axes, set()).add(test.test)
    return [f"note: {', '.join(axes)} pinned by {_tests(names)} and not compared there" for axes, names in sorted(tests.items())]


def _of_kinds(report: Report) -> list[str]:
    kinds: dict[str, dict[str, set[str]]] = {}
    for note in report.notes:
        if note.kind != "pinned":
            kinds.setdefault(note.kind, {}).setdefault(note.text, set()).add(note.test)
    lines = []
    for kind, texts in sorted(kinds.items()):
        ordered = sorted(texts.items(), key=lambda item: (-len(item[1]), item[0]))
        lines += [f"note: {kind}: {text} ({_tests(tests)})" for text, tests in ordered[:_SHOWN]]
        if len(ordered) > _SHOWN:
            lines.append(f"note: {kind}: and {len(ordered) - _SHOWN} more, all in the JSON report")
    return lines


def _tests(names: Iterable[str]) -> str:
    number = len(set(names) - {""})
    return "1 test" if number == 1 else f"{number} tests"
