"""What a comparison says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]
State = Literal["symbolic", "constant", "unused"]
Number = Literal["int", "float", "size"]

#: JSON that a report can hold as it is; written out to one level, since msgspec has no recursive types.
Evidence = str | int | bool | list[Any] | dict[str, Any] | None


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
    """What became of one int, float or size in one cell."""

    state: State
    value: str = ""
    #: Of a constant: ``by design: global``, ``forced: range()``. Of a symbol, why some of its compiles have a constant.
    reason: str = ""
    line: str = ""
    code: str = ""  #: the source of that line
    context: tuple[str, ...] = ()  #: that line with those around it, as in a guard
    #: Compiles of the region's frame after the first, second, … distinct value of it.
    compiles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IntRow:
    """One int, float or size that reached a compiled region."""

    test: str
    region: str
    source: str
    cells: dict[str, IntState]
    kind: str = ""  #: of its source: ``argument``, ``list value``, ``global``, ``size of a Parameter``, ...
    number: Number = "int"
