"""Some memory is left where a test took all that a limit allows."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")

#: Takes everything in small pieces, so that not even a small object can be made.
HEAD = """
import mmap, resource, sys
from testmatrix.plugin.supervision.memory import Reserve

def fill(kept):
    try:
        while True:
            kept.append(mmap.mmap(-1, 1 << 20))
    except OSError:
        pass
    while True:
        kept.append(bytearray(1000))

resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
"""


def said(code):
    """What a process says that runs the code under the limit."""
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_it_is_given_up_when_all_else_is_used():
    assert said("""
reserve, kept, more = Reserve(), [], []
try:
    fill(kept)
except MemoryError:
    reserve.open()
try:
    more.append(bytearray(1 << 24))
    print("written")
except MemoryError:
    print("failed")
""") == ["written"]


def test_it_is_kept_while_there_is_other_memory():
    assert said("""
reserve = Reserve()
reserve.open()
try:
    fill([])
except MemoryError:
    print("filled")
print(reserve.is_whole())
""") == ["filled", "True"]


def test_it_is_not_whole_while_the_memory_is_kept():
    assert said("""
reserve, kept = Reserve(), []
try:
    fill(kept)
except MemoryError:
    reserve.open()
print(reserve.is_whole())
kept.clear()
print(reserve.is_whole())
""") == ["False", "True"]


def test_what_the_last_exception_holds_is_no_lasting_loss():
    assert said("""
def filling():
    kept = []
    fill(kept)

reserve = Reserve()
try:
    filling()
except MemoryError as error:
    reserve.open()
    sys.last_value, sys.last_traceback = error, error.__traceback__
print(reserve.is_whole())
""") == ["True"]


def test_a_process_that_never_had_any_to_spare_goes_on():
    assert said("""
kept = []
try:
    fill(kept)
except MemoryError:
    pass
kept[-100:] = []  # enough for the objects below
print(Reserve().is_whole())
""") == ["True"]
