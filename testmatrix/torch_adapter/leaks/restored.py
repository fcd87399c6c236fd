"""What is said of the state that :mod:`..state` puts back: settings, switches, environment variables, working directory."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from testmatrix.torch_adapter.leaks.leak import named
from testmatrix.torch_adapter.settings import Change

#: Variables that torch sets for itself, and for what it compiles with, where they are not set.
_COMPILERS_OWN = re.compile(
    r"^environment variable (?:_TORCHINDUCTOR_\w*|TRITON_\w*|TORCH_WARM_POOL|KMP_DUPLICATE_LIB_OK|CUBLAS_WORKSPACE_CONFIG)$"
)


def told(changes: Iterable[Change], expected: Collection[str]) -> Iterator[str]:
    """One text for each change that is a leak of the test's; ``expected`` are names of settings that fixtures set for a cell."""
    for change in changes:
        is_compilers = change.before is None and _COMPILERS_OWN.match(change.name)
        if change.name not in expected and not is_compilers:
            yield f"{change.name} left at {named(change.left)}, was {named(change.before)}"
