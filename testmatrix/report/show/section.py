"""A part of a page about a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Lines under a title, and the keys of the evidence that need not be shown again, since these lines tell them."""

    title: str
    lines: tuple[str, ...]
    keys: frozenset[str]
    heading: int = 0  #: how many of the lines, from the first, are headings of a table
