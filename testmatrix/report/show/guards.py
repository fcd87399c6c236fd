"""What two compiles check: the condition that one of them lacks, both sets side by side, and how they are related."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from testmatrix.report.model import FindingEntry
from testmatrix.report.show.layout import INDENT, columns, wrapped
from testmatrix.report.show.section import Section
from testmatrix.report.show.values import Scalar, read, text_of

_GUARDS = dict[str, list[str]]
_SIDES = ("reference", "cell", "common")
_VALUES = dict[str, Scalar]
_CACHE = dict[str, int | str]
#: What a condition begins with, up to what it says of it: ``L['x'].size()[0] in [2, oo)``, ``L['n']: TYPE_MATCH int``.
_SUBJECT = re.compile(r"^(?P<subject>.+?)(?:: [A-Z]|(?: in [\[(]| [=!<>]=? ))")
_RELATIONS = {
    "wider": "{cell} lets through more than {reference}",
    "narrower": "{cell} lets through less than {reference}",
    "neither": "{cell} and {reference} each let through what the other rejects",
    "equal": "{cell} and {reference} let through the same",
    "undecided": "whether {cell} lets through more or less than {reference} was not decided within the time allowed",
}


def condition_section(finding: FindingEntry, width: int) -> Section | None:
    """The condition that one side has alone, with torch's name of its guard."""
    evidence = finding.evidence
    parts = [part for key in ("guard", "source", "text") if (part := read(evidence, key, str)) is not None]
    if len(parts) < 3:
        return None
    guard, source, text = parts
    told = text if source and source in text else f"{source or 'the process'} {text}"
    again = {"path"} if (read(evidence, "path", str) or "").split() == " ".join(parts).split() else set()
    keys = frozenset({"guard", "source", "text", *again, *_said(finding)})
    return Section(title="condition", lines=tuple(_indented([f"{told} ({guard})"], width)), keys=keys)


def sets_section(finding: FindingEntry, width: int, *, everything: bool) -> Section | None:
    """Both sets in two columns, conditions on the same source beside each other; what both have is folded to one line."""
    guards = read(finding.evidence, "guards", _GUARDS)
    if guards is None or not set(guards) <= set(_SIDES):
        return None
    reference, cell, common = (guards.get(side, []) for side in _SIDES)
    heading, lines = columns([f"{finding.reference} (reference)", _cell(finding)], aligned(reference, cell), width)
    if common and everything:
        lines += [f"{INDENT}in both of them:", *(f"{INDENT}{line}" for line in _indented(common, width - len(INDENT)))]
    elif common:
        lines.append(f"{INDENT}… and {_count(len(common), 'condition')} in common (--all prints them)")
    if len(finding.cells) > 1:
        lines.append(f"{INDENT}({_cell(finding)} is the first of {len(finding.cells)} cells that show it)")
    return Section(title="what is checked", lines=(*heading, *lines), keys=frozenset({"guards"}), heading=len(heading))


def relation_section(finding: FindingEntry, width: int) -> Section | None:
    """How the sets are related, with the input that shows it; then the caches that they belong to."""
    told = {key: sentence for key, sentence in _sentences(finding) if sentence}
    if not told:
        return None
    keys = {*told, *({"accepted_by"} if "witness" in told else set())}
    return Section(title="relation", lines=tuple(_indented(told.values(), width)), keys=frozenset(keys))


def aligned(left: Sequence[str], right: Sequence[str]) -> list[tuple[str, str]]:
    """Rows of two sets of conditions: those on one source share rows."""
    rows: list[tuple[str, str]] = []
    for subject in dict.fromkeys(_subject(line) for line in (*left, *right)):
        ours, theirs = ([line for line in lines if _subject(line) == subject] for lines in (left, right))
        rows += zip_longest(ours, theirs, fillvalue="")
    return rows


def _sentences(finding: FindingEntry) -> Iterator[tuple[str, str]]:
    """Keys of the evidence with what they say; empty where they are not what they should be."""
    evidence = finding.evidence
    names = {"cell": _cell(finding), "reference": finding.reference or "the reference"}
    relation = read(evidence, "relation", str)
    yield "relation", _RELATIONS[relation].format(**names) if relation in _RELATIONS else ""
    constants = read(evidence, "constants", _VALUES)
    if constants is not None:
        yield "constants", f"with these put in on both sides: {_assigned(constants) or 'nothing'}"
    witness, accepted_by = read(evidence, "witness", _VALUES), read(evidence, "accepted_by", str)
    if witness and accepted_by:
        yield "witness", f"accepted by {accepted_by} alone: {_assigned(_telling_first(witness, finding))}"
    cache = read(evidence, "cache", _CACHE) or {}
    if set(cache) == {"reference", "cell", "relation"} and cache["relation"] in _RELATIONS:
        together = _RELATIONS[str(cache["relation"])].format(**names)
        counts = ", ".join(f"{cache[side]} in {names[side]}" for side in ("reference", "cell"))
        yield "cache", f"compiles of this frame: {counts}; taken together, as far as numbers go, {together}"


def _telling_first(witness: Mapping[str, Scalar], finding: FindingEntry) -> dict[str, Scalar]:
    """The sources that the condition is on before those that only complete the input."""
    condition = f"{read(finding.evidence, 'source', str)} {read(finding.evidence, 'text', str)}"
    return dict(sorted(witness.items(), key=lambda item: item[0] not in condition))


def _said(finding: FindingEntry) -> frozenset[str]:
    """The two sides as words, where the summary has these."""
    reference, cells = read(finding.evidence, "reference", str), read(finding.evidence, "cells", dict[str, str])
    said = reference is not None and cells is not None and all(text in finding.summary for text in (reference, *cells.values()))
    return frozenset({"reference", "cells"}) if said else frozenset()


def _subject(line: str) -> str:
    match = _SUBJECT.match(line)
    return match["subject"] if match else line


def _cell(finding: FindingEntry) -> str:
    """The cell whose set the evidence has."""
    return finding.cells[0] if finding.cells else "the cell"


def _assigned(values: Mapping[str, Scalar]) -> str:
    return ", ".join(f"{source}={text_of(value)}" for source, value in values.items())


def _indented(texts: Iterable[str], width: int) -> list[str]:
    return [f"{INDENT}{line}" for text in texts for line in wrapped(text, width - len(INDENT))]


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
