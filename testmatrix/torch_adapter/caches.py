"""Compile caches on disk: a directory of the cell's own, with the caches left on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from testmatrix.torch_adapter import state

#: Directories of compiled code that a cell must not share, and the subdirectory that each gets.
_CACHE_VARIABLES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
#: With it set, a profile on disk makes a second run dynamic from its first call.
_UNSET_VARIABLES = ("TORCH_COMPILE_JOB_ID",)


@contextmanager
def fresh_caches() -> Iterator[None]:
    """Point the compile caches to directories that nothing else uses, and remove them afterwards."""
    root = tempfile.mkdtemp(prefix="testmatrix-")
    variables: dict[str, str | None] = {name: os.path.join(root, directory) for name, directory in _CACHE_VARIABLES.items()}
    try:
        with state.environment({**variables, **dict.fromkeys(_UNSET_VARIABLES)}):
            yield
    finally:
        shutil.rmtree(root, ignore_errors=True)
