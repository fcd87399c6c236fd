"""What one cell of one test does to its process, to memory or to the disk is that cell's result; the other 39 tests, and the
machine, are as if it had not been.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from faults.harness import Place, of_others
from faults.planted import CELL, FILLING

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes and their leavings are looked up in /proc")

TEST = "test_forty.py::test_faulted"
MODES = {"one process": (), "two workers": ("-n2",)}
#: Seconds a run of a test may take. A run takes none of it here, and the machine may have other things to do.
_TIMEOUT = 6
#: Of address space, for each process. Torch takes a part of it.
_MEMORY = 4 * 2**30
_DISK = "32m"


@dataclass(frozen=True)
class Expected:
    """What is to be said of the cell that has the fault."""

    outcome: str
    kind: str
    says: str  #: in the finding's summary
    function: str | None = ""  #: that is named as the culprit; empty: the fault's; None: that cannot be known


def crashed(says, function=""):
    return Expected("crashed", "crash", says, function)


HANGS = Expected("timeout", "timeout", f"no end after {_TIMEOUT} s")
FAULTS = {
    "segfault": crashed("SIGSEGV"),
    "abort": crashed("SIGABRT"),
    # None of the three leaves a word of where it was.
    "exit_0": crashed("status 0", None),
    "exit_3": crashed("status 3", None),
    "killed": crashed("SIGKILL", None),
    "stack_overflow": crashed("SIGSEGV"),
    "crash_with_processes": crashed("SIGSEGV"),
    "python_loop": HANGS,
    "native_lock": HANGS,
    "regular_expression": HANGS,
    "lock_taken_twice": HANGS,
    "thread_that_never_ends": HANGS,
    "stopped": HANGS,
    "memory_asked_for": Expected("failed", "outcome", "MemoryError"),
    "memory_of_tensors": Expected("failed", "outcome", "RuntimeError"),
    "memory_filled": Expected("failed", "outcome", "MemoryError", "_fill"),
    "memory_kept": crashed("used up the memory", "_fill"),
    "disk_filled": Expected("failed", "outcome", "No space left on device"),
}
#: What is said of each thing that is left behind.
LEAKS = (
    "thread",
    "torch._dynamo.config.verbose",
    "torch.set_default_dtype",
    "torch.set_default_device",
    "global forward hook",
    "planted_module",
    "PLANTED",
    "working directory",
    "builtins.open",
)


@pytest.fixture(scope="module")
def runs(request, tmp_path_factory):
    """The runs that the selected tests ask for, as many at a time as the machine has processors."""
    asked = {
        (item.callspec.params["mode"], item.callspec.params.get("fault", ""))
        for item in request.session.items
        if item.path == request.path
    }
    asked |= {(mode, "") for mode, _ in asked}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = {one: tmp_path_factory.mktemp("fault") for one in sorted(asked)}
        yield {one: pool.submit(run_with, folder, *one) for one, folder in folders.items()}


def run_with(folder, mode, fault):
    """A run of the forty tests with a fault, or with none."""
    options = (*MODES[mode], f"--testmatrix-timeout={_TIMEOUT}")
    if fault.startswith("disk"):
        with small_disk(folder / "disk") as disk:
            place = Place(folder, temporary=disk / "temporary")
            return place.run(*options, f"--testmatrix-store={disk / 'store'}", FAULT=fault)
    return Place(folder).run(*options, limit=_MEMORY if fault.startswith("memory") else 0, FAULT=fault)


@contextmanager
def small_disk(folder):
    """A file system in memory; it takes being root, or being skipped."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip(f"no disk to fill: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def without(runs, mode):
    """The run that had no fault."""
    return runs[mode, ""].result()


@pytest.fixture
def found(runs, mode, fault):
    """The run that had it."""
    return runs[mode, fault].result()


@pytest.mark.parametrize("mode", MODES)
def test_a_run_without_a_fault_is_clean(without):
    assert without.status == 0, without.output
    assert len(without.report["tests"]) == 40
    assert (without.processes, without.files) == ([], [])


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("mode", MODES)
def test_a_fault_is_one_result_of_one_test(without, found, fault):
    expected = FAULTS[fault]
    assert found.report is not None, found.output
    assert of_others(found.report, TEST) == of_others(without.report, TEST)
    (cells,) = [one["cells"] for one in found.report["tests"] if one["test"] == TEST]
    assert {name: cell["outcome"] for name, cell in cells.items()} == {
        **dict.fromkeys(cells, "passed"),
        CELL: expected.outcome,
    }
    (finding,) = [one for one in found.report["findings"] if one["test"] == TEST and one["severity"] == "error"]
    assert (finding["kind"], finding["cells"], finding["verdict"]) == (expected.kind, [CELL], "new")
    assert expected.says in finding["summary"]
    if expected.function is not None:
        frame = finding["evidence"]["cells"][CELL]["frame"]
        assert re.fullmatch(rf"planted\.py:\d+ in {expected.function or fault}", frame)
    assert found.status == 1, found.output
    assert found.processes == []
    assert [name for name in found.files if name != FILLING] == []


@pytest.mark.parametrize("fault", ["leaks"])
@pytest.mark.parametrize("mode", MODES)
def test_what_a_test_leaves_behind_is_noted_and_gone(without, found):
    assert found.report is not None, found.output
    assert of_others(found.report, TEST) == of_others(without.report, TEST)
    (cells,) = [one["cells"] for one in found.report["tests"] if one["test"] == TEST]
    assert {cell["outcome"] for cell in cells.values()} == {"passed"}
    notes = [note for note in found.report["notes"] if note["test"] == TEST]
    assert {(note["kind"], *note["cells"]) for note in notes} == {("leak", CELL)}
    assert [what for what in LEAKS if not any(what in note["text"] for note in notes)] == []
    assert len(notes) == len(LEAKS)
    assert found.status == 0, found.output
    assert (found.processes, found.files) == ([], [])
