"""What a comparison says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "info"]
State = Literal["symbolic", "constant", "unused"]

#: JSON that a report can hold as it is.
Evidence = str | int | bool | list["Evidence"] | dict[str, "Evidence"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A difference between observations of one test that the grid does not explain."""

    test: str
    kind: str  #: one of the kinds of the reference documentation: ``output.dtype``
    severity: Severity
    cells: tuple[str, ...]  #: where it shows, in grid order
    reference: str  #: cell, or the oracle, that they were compared with
    summary: str  #: one line: what differs, with both sides
    region: str = ""  #: the region or frame it concerns
    frame: str = ""  #: ``file.py:12 in function`` that the difference comes from, where known
    #: What stays the same when lines move, values vary or tests are renamed; findings of one cause share it.
    signature: str = ""
    evidence: dict[str, Evidence] = field(default_factory=dict)
    unstable: bool = False  #: did not repeat when the cell and its reference were run once more


@dataclass(frozen=True, slots=True, kw_only=True)
class IntState:
    """What became of one int in one cell."""

    state: State
    value: str = ""
    reason: str = ""  #: for constants: ``by design: global``, ``forced: range()``
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntRow:
    """One int that reached a compiled region."""

    test: str
    region: str
    source: str
    cells: dict[str, IntState]
