"""No process outlives the one that made it."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")

HEAD = """
import os, signal, subprocess, sys, time
from testmatrix.plugin.supervision import processes

def is_there(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

def gone(process):
    for _ in range(1000):
        if not is_there(process):
            return True
        time.sleep(0.01)
    return False
"""


def said(code):
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_children_are_ended():
    assert said("""
child = subprocess.Popen(["sleep", "1000"])
print(processes.children() == {child.pid}, processes.end_all(frozenset()), gone(child.pid))
""") == ["True", "1", "True"]


def test_those_that_were_there_before_are_spared():
    assert said("""
before = subprocess.Popen(["sleep", "1000"])
spared = processes.children()
after = subprocess.Popen(["sleep", "1000"])
processes.end_all(spared)
print(is_there(before.pid), gone(after.pid))
before.kill()
""") == ["True", "True"]


def test_one_that_left_its_parent_is_found():
    assert said("""
processes.adopt_orphans()
daemon = "import subprocess; print(subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=-3, stderr=-3).pid)"
orphan = int(subprocess.run([sys.executable, "-c", daemon], capture_output=True, text=True).stdout)
print(is_there(orphan), processes.end_all(frozenset()), gone(orphan))
""") == ["True", "1", "True"]


def test_a_process_dies_with_the_one_that_it_was_told_to_die_with():
    assert said("""
processes.adopt_orphans()
reading, writing = os.pipe()
parent = os.fork()
if parent == 0:
    mine = os.getpid()
    child = os.fork()
    if child == 0:
        processes.die_with(mine)
        os.write(writing, str(os.getpid()).encode())
        time.sleep(1000)
    time.sleep(1000)
child = int(os.read(reading, 100))
print(is_there(child))
os.kill(parent, signal.SIGKILL)
print(gone(child))
""") == ["True", "True"]
