"""The command that shows a finding again."""

from __future__ import annotations

import os
import shlex

from testmatrix.compare.finding import Finding
from testmatrix.observation import ORACLE
from testmatrix.store.records import Invocation as Invocation

_BARE = Invocation()


def rerun_command(finding: Finding, invocation: Invocation = _BARE) -> str:
    """A shell command that runs the finding's test in its first cell again, eager being no cell of the grid.

    The oracle always runs. A finding between two cells needs its reference too, or the rerun would have nothing to compare with.
    """
    first = [cell for cell in finding.cells if cell != ORACLE][:1]
    cells = [*first, *([finding.reference] if finding.reference not in ("", ORACLE, *first) else [])]
    selected = [f"--testmatrix-cells={','.join(cells)}"] if cells else []
    # Ours come last: an option of the suite's that takes any number of values would take the test for one.
    return shlex.join(
        ["pytest", *invocation.flags, "--testmatrix", *invocation.grid, *selected, _from_there(finding, invocation)]
    )


def _from_there(finding: Finding, invocation: Invocation) -> str:
    path, colons, name = finding.test.partition("::")
    return f"{os.path.normpath(os.path.join(invocation.root, path))}{colons}{name}" if invocation.root else finding.test
