"""Errors that people can act on.

Every error has a stable slug that the documentation explains, and a message of one line: what was wrong, where, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TestmatrixError(Exception):
    """Root of the package's errors. ``str()`` of it is the line to show; it is never shown as a traceback."""

    __test__ = False  # the name starts with "Test": pytest must not take it for a test class
    slug = "error"


class UsageError(TestmatrixError):
    """A flag, variable, ini value or configuration file that cannot be used. Exit status 4 in pytest, 2 in the command."""

    slug = "usage"


class EnvironmentUnusable(TestmatrixError):
    """Torch is missing, too old or without a hook that is needed; or a path cannot be written. Exit status 3 in the command."""

    slug = "environment"


#: How many words an error message lists; torch's config modules have hundreds of settings.
_MOST_LISTED = 12


def nearest(word: str, choices: Iterable[str]) -> str:
    """The end of an error message about an unknown word: names the nearest valid one, or else all of them, or a dozen."""
    known = sorted(choices)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    if len(known) > _MOST_LISTED:
        listed = sorted(difflib.get_close_matches(word, known, n=_MOST_LISTED, cutoff=0.0))
        return f"valid: {', '.join(listed)}, …"
    return f"valid: {', '.join(known)}" if known else "there are none"
