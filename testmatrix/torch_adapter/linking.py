"""Linking kernels without reading torch's libraries, which a third of the time of building a kernel goes into.

A shared library may have undefined symbols: they are looked up when it is loaded, in the libraries that it names. Which ones it
names is all that the linker takes from torch's, so it is given empty libraries of the same names, and told to name them whether
they seem to be of use or not. A kernel is loaded into the process in which it was built, where torch's libraries are loaded
already; those that are not loaded under the name that the kernel would have are read as ever.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

_READ_FOR_LONG = ("torch", "torch_cpu", "torch_python")


def options(compiler: str, given: Sequence[str], directory: str) -> list[str]:
    """The linker's options, with empty libraries of this directory before torch's. Raises OSError and SubprocessError."""
    names = [name for name in _READ_FOR_LONG if f"-l{name}" in given and _is_loaded(f"lib{name}.so")]
    if not names:
        return list(given)
    folder = os.path.join(directory, "stand-ins")
    for name in names:
        if not os.path.exists(os.path.join(folder, f"lib{name}.so")):
            _make_empty(compiler, folder, f"lib{name}.so")
    return ["-Wl,--no-as-needed", f"-L{folder}", *given]


def _is_loaded(library: str) -> bool:
    if sys.platform != "linux":
        return False
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def _make_empty(compiler: str, folder: str, library: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as partial:
        made = os.path.join(partial, library)
        command = [compiler, "-shared", "-nostdlib", f"-Wl,-soname,{library}", "-x", "c++", os.devnull, "-o", made]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.replace(made, os.path.join(folder, library))
