"""Inductor's C++ builds, so that four cells which ask for the same kernel do not have it built four times.

Torch compiles and links in one command, in the cell's own directory. As it stands ccache cannot help: it caches no command that
links, and the paths differ. So the command is taken apart: ccache compiles, under paths relative to torch's working directory,
and a library that was linked in the same way from the same object is copied. What is shared is what the compiler made of
identical source, flags and headers, and nothing that torch itself keeps. A command that is not fully understood, that writes
outside of the cells' directories, or that fails in any way, runs as torch wrote it: the suite sees the compiler's own message.

The compiler is the one that torch's command names: a suite's own choice is the one that runs.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from testmatrix.torch_adapter import linking, state

#: The module that builds. It is imported with Dynamo.
BUILDER = "torch._inductor.cpp_builder"

#: Options whose value is a word of its own.
_WITH_VALUE = frozenset({"-D", "-I", "-include", "-isystem", "-isysroot", "-Xclang", "-L", "-l", "-undefined"})
_LINK_ONLY = ("-l", "-L", "-Wl,", "-shared", "-static-", "-undefined", "-fuse-ld")
#: Further inputs and outputs, or another kind of output: left to torch's own command.
_NOT_SPLIT = ("@", "-c", "-E", "-S", "-x", "-M", "-save-temps", "-flto", "-fprofile", "-fdump", "-gsplit", "--coverage")
#: Libraries that no test builds: what is linked with these alone depends on the object only.
_FIXED_LIBRARIES = frozenset({"-ltorch", "-ltorch_cpu", "-ltorch_python", "-lc10", "-lgomp", "-lomp", "-liomp5"})
_MOST_LINKED = 256
#: A precompiled header hides macros of the time and defines from ccache, which does not cache unless it may overlook both. It
#: still hashes the precompiled header itself.
_CCACHE = {
    "CCACHE_SLOPPINESS": "pch_defines,time_macros",
    "CCACHE_NOHASHDIR": "1",  # the working directory is in the debugging information only, and is gone after the cell
    "CCACHE_INODECACHE": "1",  # the precompiled header has 150 MB
    "CCACHE_DEPEND": "1",  # no preprocessing of its own: the compiler says which headers it read
}
_DEPENDENCIES = ("-MD", "-MF", "shared.d")

_RunCommand = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class Build:
    """A command that makes a shared library of one source file."""

    compiler: str
    source: str
    output: str
    compiling: tuple[str, ...]  #: options of the compiler
    linking: tuple[str, ...]  #: all options but the output: the linker's driver takes the compiler's, too


def split(command: Sequence[str]) -> Build | None:
    """Take a command apart; None where anything in it is doubtful."""
    sources, output = [], ""
    compiling: list[str] = []
    linking: list[str] = []
    words = iter(command[1:])
    for word in words:
        if word.startswith(_NOT_SPLIT):
            return None
        if not word.startswith("-"):
            sources.append(word)
            continue
        if word == "-o":
            output = next(words, "")
            continue
        option = (word, next(words, "")) if word in _WITH_VALUE else (word,)
        linking += option
        if not word.startswith(_LINK_ONLY):
            compiling += option
    if len(sources) != 1 or not sources[0].endswith(".cpp") or not output or "-shared" not in linking:
        return None
    return Build(command[0], sources[0], output, tuple(compiling), tuple(linking))


def find_ccache() -> str | None:
    """The ccache to use; None where there is none, or where it is switched off by its own variable."""
    return None if "CCACHE_DISABLE" in os.environ else _which_ccache(os.environ.get("PATH", os.defpath))


@functools.lru_cache(maxsize=8)
def _which_ccache(path: str) -> str | None:
    return shutil.which("ccache", path=path)


@dataclass(frozen=True, slots=True)
class SharedBuilds:
    """Where builds of one run share what they made."""

    ccache: str
    directory: str

    def takes(self, build: Build) -> bool:
        return os.path.realpath(build.output).startswith(os.path.realpath(self.directory) + os.sep)

    def build(self, build: Build, cwd: str) -> None:
        """Make the library. Raises OSError and subprocess.SubprocessError where that fails."""
        made, source = os.path.join(cwd, "shared.o"), os.path.relpath(build.source, cwd)
        self._run([self.ccache, build.compiler, *build.compiling, *_DEPENDENCIES, "-c", source, "-o", "shared.o"], cwd)
        if not all(option in _FIXED_LIBRARIES for option in build.linking if option.startswith("-l")):
            self._run([build.compiler, made, *build.linking, "-o", build.output], cwd)
            return
        kept = os.path.join(self.directory, "linked", _key(made, build))
        if os.path.exists(kept):
            shutil.copy(kept, build.output)
            return
        options = linking.options(build.compiler, build.linking, self.directory)
        self._run([build.compiler, made, *options, "-o", build.output], cwd)
        _keep(build.output, kept)

    def environment(self) -> dict[str, str]:
        """A ccache of the run's own, which nothing else has configured; the user's where there is one."""
        if "CCACHE_DIR" in os.environ:
            return {**_CCACHE, **os.environ}
        own = os.path.join(self.directory, "ccache")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CCACHE_")}
        return {**inherited, **_CCACHE, "CCACHE_DIR": own, "CCACHE_TEMPDIR": os.path.join(own, "tmp"), "CCACHE_MAXSIZE": "1G"}

    def _run(self, command: Sequence[str], cwd: str) -> None:
        quiet = subprocess.DEVNULL
        subprocess.run(command, cwd=cwd, env=self.environment(), check=True, stdin=quiet, stdout=quiet, stderr=quiet)


def _key(path: str, build: Build) -> str:
    with open(path, "rb") as stream:
        content = hashlib.blake2b(stream.read(), digest_size=20)
    content.update("\0".join((build.compiler, *build.linking)).encode())
    return content.hexdigest()


def _keep(made: str, kept: str) -> None:
    """Keep a copy for later cells; whether it can be kept does not matter to this one."""
    directory = os.path.dirname(kept)
    with suppress(OSError):
        os.makedirs(directory, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(dir=directory)
        os.close(descriptor)
        shutil.copy(made, partial)
        os.replace(partial, kept)
        others = sorted((entry.stat().st_mtime, entry.path) for entry in os.scandir(directory))
        for _, path in others[:-_MOST_LINKED]:
            os.unlink(path)


@contextmanager
def shared_builds(directory: str) -> Iterator[None]:
    """Builds in the block share what they made with those in other blocks of the same directory, where there is a ccache.

    Where torch builds in another way than the one that is known, nothing is shared.
    """
    module = sys.modules.get(BUILDER)
    run = getattr(module, "_run_compile_cmd", None)
    ccache = find_ccache()
    if ccache is None or run is None:
        yield
        return
    with _replaced(module, "_run_compile_cmd", _through(SharedBuilds(ccache, directory), run)):
        yield


@contextmanager
def _replaced(owner: Any, name: str, value: object) -> Iterator[None]:
    original = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _through(shared: SharedBuilds, run: _RunCommand) -> _RunCommand:
    def run_compile_cmd(cmd_line: str, cwd: str) -> None:
        build = split(shlex.split(cmd_line))
        if build is not None and shared.takes(build):
            with suppress(OSError, subprocess.SubprocessError):
                shared.build(build, cwd)
                return
        run(cmd_line, cwd)

    return run_compile_cmd


@contextmanager
def probes_elsewhere(directory: str | None) -> Iterator[None]:
    """Keep the probes of what the processor can do in another cache directory; None for torch's default one.

    Torch builds half a dozen of them, which takes seconds, and remembers what they showed for the life of the process. They
    depend on torch and the compiler only, and their names say on which: the directory is the one where bare runs have theirs.
    """
    probing = getattr(sys.modules.get("torch._inductor.cpu_vec_isa"), "VecISA", None)
    check_build = getattr(probing, "check_build", None)
    if check_build is None:
        yield
        return

    def check_elsewhere(isa: object, code: str) -> bool:
        with suppress(OSError), state.environment({"TORCHINDUCTOR_CACHE_DIR": directory}):
            return bool(check_build(isa, code))
        return bool(check_build(isa, code))  # it cannot be written

    with _replaced(probing, "check_build", check_elsewhere):
        yield
