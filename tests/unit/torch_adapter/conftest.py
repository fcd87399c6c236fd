"""Recording in this process, as in a cell of a run."""

from contextlib import contextmanager

import pytest

from testmatrix.torch_adapter import cell, hooks
from testmatrix.torch_adapter.cell import CellSetup

DYNAMO = "torch._dynamo.config"
WATCHED = ((DYNAMO, "assume_static_by_default"), (DYNAMO, "automatic_dynamic_shapes"), (DYNAMO, "specialize_int"))
CELLS = {
    "static": ((DYNAMO, "assume_static_by_default", True), (DYNAMO, "automatic_dynamic_shapes", False)),
    "dynamic": ((DYNAMO, "assume_static_by_default", False), (DYNAMO, "specialize_int", False)),
}


@contextmanager
def _recording(name="dynamic", max_kept=1 << 20, **setup):
    with cell.running(CellSetup(settings=CELLS[name], **setup), WATCHED, max_kept) as recording:
        yield recording


@pytest.fixture
def record():
    """A context manager that records what runs in it; what was recorded is complete at its end."""
    hooks.install()
    yield _recording
    hooks.uninstall()
