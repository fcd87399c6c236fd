"""``testmatrix doctor``: can matrix runs work here?"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

import click

from testmatrix.errors import EnvironmentUnusable


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report. A run needs every check to be fine."""

    what: str
    fine: bool
    says: str


@click.command()
def doctor() -> None:
    """Check Python, pytest, torch and its hooks, the compiler, ccache and the directory for compile caches.

    Exit status 0 where all is fine, 3 otherwise.
    """
    checks = [check() for check in CHECKS]
    for check in checks:
        click.echo(f"{'ok     ' if check.fine else 'PROBLEM'}  {check.what:<9}  {check.says}")
    problems = sum(not check.fine for check in checks)
    if problems:
        raise EnvironmentUnusable(f"{problems} of {len(checks)} checks failed: see above")


def _python() -> Check:
    return Check("python", True, f"{platform.python_version()} ({platform.python_implementation()}, {platform.platform()})")


def _pytest() -> Check:
    return Check("pytest", True, importlib.metadata.version("pytest"))


def _plugin() -> Check:
    installed = any(entry.name == "testmatrix" for entry in importlib.metadata.entry_points(group="pytest11"))
    return Check(
        "plugin", installed, "installed" if installed else "not installed for this Python: pip install pytest-testmatrix"
    )


def _torch() -> Check:
    try:
        return Check("torch", True, importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        return Check("torch", False, "not installed")


def _hooks() -> Check:
    try:
        # Imports torch, which no other command does.
        from testmatrix.torch_adapter.capabilities import missing

        lines = missing()
    except (EnvironmentUnusable, ImportError) as error:
        return Check("hooks", False, str(error))
    return Check("hooks", not lines, "; ".join(lines) or "all there")


def _compiler() -> Check:
    candidates = (os.environ.get("CXX"), "g++", "clang++", "c++", "cl")
    found = next((path for name in candidates if name and (path := shutil.which(name))), None)
    return Check("compiler", found is not None, found or "no C++ compiler: inductor needs g++ or clang++ on the path, or CXX")


def _ccache() -> Check:
    if "CCACHE_DISABLE" in os.environ:
        return Check("ccache", True, "switched off by CCACHE_DISABLE")
    found = shutil.which("ccache")
    return Check("ccache", True, found or "not found: with it, cells share what inductor's C++ compiler made")


def _cache() -> Check:
    try:
        directory = tempfile.gettempdir()
        with tempfile.TemporaryDirectory(dir=directory):
            return Check("cache", True, f"{directory} is writable")
    except OSError as error:
        return Check(
            "cache", False, f"no temporary directory for compile caches ({error.strerror}): set TMPDIR to a writable one"
        )


CHECKS: tuple[Callable[[], Check], ...] = (_python, _pytest, _plugin, _torch, _hooks, _compiler, _ccache, _cache)
