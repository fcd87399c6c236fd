"""The command that shows a finding again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from testmatrix.compare.finding import Finding
from testmatrix.observation import ORACLE


def rerun_command(finding: Finding, options: Sequence[str] = ()) -> str:
    """A shell command that runs the finding's test in its first cell again.

    The oracle always runs. A finding between two cells needs its reference too, or the rerun would have nothing to compare with.
    ``options`` are flags of the run that change what a cell is, such as ``--testmatrix-grid``.
    """
    cells = [*finding.cells[:1], *([finding.reference] if finding.reference not in ("", ORACLE, *finding.cells[:1]) else [])]
    selected = [f"--testmatrix-cells={','.join(cells)}"] if cells and cells != [ORACLE] else []
    return shlex.join(["pytest", "--testmatrix", *options, *selected, finding.test])
