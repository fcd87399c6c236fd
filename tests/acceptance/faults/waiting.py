"""A conftest file: writes down which tests run, and waits at the moment that MOMENT names until somebody interrupts the run."""

import ctypes
import os
import time
from pathlib import Path

import pytest

#: In the middle of the forty, so that some are done and some are not.
TEST = "test_faulted"


def pytest_collection_modifyitems():
    _wait_at("collection")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    with Path(os.environ["RAN"]).open("a", encoding="utf-8") as file:
        file.write(f"{item.nodeid}\n")
    if item.name == TEST:
        _wait_at("test")
        _wait_at("native")


def pytest_runtest_logfinish(nodeid):
    if nodeid.endswith(TEST):
        _wait_at("between")


def _wait_at(moment):
    if os.environ.get("MOMENT") != moment:
        return
    Path(os.environ["REACHED"]).touch()
    if moment == "native":
        _hang_in_native_code()
    while True:
        time.sleep(0.01)


def _hang_in_native_code():
    """In which no signal is seen, and nothing else of the interpreter's runs: a lock that is taken twice."""
    library, lock = ctypes.PyDLL(None), ctypes.create_string_buffer(128)
    library.pthread_mutex_lock(lock)
    library.pthread_mutex_lock(lock)
