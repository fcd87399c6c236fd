"""A finding or a cause by its id, or by a start of it."""

from __future__ import annotations

from testmatrix.errors import UsageError, nearest
from testmatrix.report.model import CauseEntry, FindingEntry, Report

SHORTEST = 4  #: characters of a start
_LISTED = 8  #: candidates that an error names


def find(report: Report, word: str, where: str) -> FindingEntry | CauseEntry:
    """The finding or cause that ``word`` names; ``where`` is what the report was read from.

    Raises UsageError, in one line, where there is none or more than one.
    """
    known: dict[str, FindingEntry | CauseEntry] = {
        **{cause.cause: cause for cause in report.causes},
        **{finding.id: finding for finding in report.findings},
    }
    if word in known:  # also where it is the start of another: equal findings are numbered, as in 5bf1859755-2
        return known[word]
    if len(word) < SHORTEST:
        raise UsageError(f"{word!r} is too short: give at least {SHORTEST} characters of the id of a finding or a cause")
    candidates = [id_ for id_ in known if id_.startswith(word)]
    if len(candidates) > 1:
        raise UsageError(f"{word!r} may be each of {_listed(candidates, known)}: give more characters")
    if not candidates:
        raise UsageError(f"{where} has no finding and no cause {word!r}: {nearest(word, known)}")
    return known[candidates[0]]


def _listed(candidates: list[str], known: dict[str, FindingEntry | CauseEntry]) -> str:
    shown = [f"{id_} ({_what(known[id_])})" for id_ in candidates[:_LISTED]]
    more = len(candidates) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _what(entry: FindingEntry | CauseEntry) -> str:
    return f"a {'cause' if isinstance(entry, CauseEntry) else 'finding'}, {entry.kind}"
