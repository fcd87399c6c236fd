"""Compile caches: each cell has directories of its own, with the caches left on, and nothing from an earlier cell's in memory.

All of it is below one root directory of the process or of its run. A cell's directory is only named here: torch makes it where
it has something to write, and most tests never compile. Deliberately shared between cells is what is no more than the answer of
the C++ compiler: see :mod:`.compiler`. Torch itself keeps precompiled headers outside of any cache directory.
"""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

from testmatrix.errors import EnvironmentUnusable
from testmatrix.torch_adapter import arrival, compiler, settings, state
from testmatrix.torch_adapter.importing import after_import

#: Directories of compiled code that a cell must not share, and the subdirectory that each gets.
_CACHE_VARIABLES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
#: With it set, a profile on disk makes a second run dynamic from its first call.
_UNSET_VARIABLES = ("TORCH_COMPILE_JOB_ID",)
#: What shares compiles past any directory: names of profiles, and caches on other machines. Torch reads most from the
#: environment, when it is imported.
_SHARING: tuple[tuple[str, str, object], ...] = (
    ("torch.compiler.config", "job_id", None),
    ("torch.compiler.config", "pgo_extra_read_key", None),
    ("torch.compiler.config", "pgo_extra_write_key", None),
    ("torch._dynamo.config", "automatic_dynamic_remote_pgo", False),
    ("torch._functorch.config", "enable_remote_autograd_cache", False),
    ("torch._inductor.config", "fx_graph_remote_cache", False),
    ("torch._inductor.config", "autotune_remote_cache", False),
    ("torch._inductor.config", "bundled_autotune_remote_cache", False),
    ("torch._inductor.config", "remote_gemm_autotune_cache", False),
)

_root: str | None = None
_numbers = itertools.count()


def use_root(path: str) -> None:
    """Keep everything below this directory, which is made when it is needed. Whoever chose it removes it.

    For a process that starts others by forking: it can remove what they left behind however they ended.
    """
    global _root
    _root = path


def remove_root() -> None:
    """Remove the root directory with all that is in it, if there is any."""
    if _root is not None:
        _remove(_root)


def root() -> str:
    """The root directory; a temporary one that this process removes when it exits where none was chosen.

    Raises:
        EnvironmentUnusable: no temporary directory can be written.
    """
    global _root
    if _root is None:
        try:
            _root = tempfile.mkdtemp(prefix="testmatrix-")
        except OSError as error:
            raise EnvironmentUnusable(f"no directory for compile caches ({error}): set TMPDIR to a writable one") from None
        atexit.register(_remove_own, _root, os.getpid())
    return _root


def _remove_own(path: str, process: int) -> None:
    if os.getpid() == process:  # and not one that was forked from it, and ends first
        _remove(path)


def _remove(path: str) -> None:
    if not os.path.exists(path):
        return
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.exists(path):
        return
    for directory in _directories(path):  # a test may have taken away its own permissions
        os.chmod(directory, stat.S_IRWXU)
    shutil.rmtree(path, ignore_errors=True)


def _directories(path: str) -> Iterator[str]:
    """A directory and all below it, each before it is looked into."""
    yield path
    for directory, names, _ in os.walk(path):
        paths = (os.path.join(directory, name) for name in names)
        yield from (one for one in paths if not os.path.islink(one))


@contextmanager
def fresh_caches() -> Iterator[None]:
    """Point the compile caches to directories that nothing else uses, and remove them afterwards where they came to be."""
    process, outside = os.getpid(), os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    path = os.path.join(root(), f"cell-{process}-{next(_numbers)}")
    variables: dict[str, str | None] = {name: os.path.join(path, directory) for name, directory in _CACHE_VARIABLES.items()}

    def builder_is_there() -> None:
        stack.enter_context(compiler.shared_builds(root()))
        stack.enter_context(compiler.probes_elsewhere(outside))

    try:
        with ExitStack() as stack:
            stack.enter_context(state.environment({**variables, **dict.fromkeys(_UNSET_VARIABLES)}))
            if arrival.is_loaded():  # where it comes in the block, what is compiled there does not count
                stack.enter_context(_nothing_shared())
                stack.enter_context(_fresh_artifacts())
            stack.enter_context(after_import(compiler.BUILDER, builder_is_there))
            yield
    finally:
        _remove_own(path, process)


@contextmanager
def _nothing_shared() -> Iterator[None]:
    sharing = _sharing()
    settings.apply((module, name, alone) for module, name, alone, _ in sharing)
    try:
        yield
    finally:
        settings.apply((module, name, value) for module, name, _, value in sharing)


@functools.cache
def _sharing() -> tuple[tuple[str, str, object, object], ...]:
    """The settings that share anything, with their present value. Not worked out for every cell: each starts from the same."""
    present = ((module, name, alone, getattr(sys.modules.get(module), name, None)) for module, name, alone in _SHARING)
    return tuple(one for one in present if one[-1])


def _fresh_artifacts() -> AbstractContextManager[object]:
    """Hide what earlier compiles of the process left for ``torch.compiler.save_cache_artifacts`` and for precompiled packages."""
    packages: Any = getattr(sys.modules.get("torch._dynamo.precompile_context"), "PrecompileContext", None)
    if hasattr(packages, "clear"):
        packages.clear()
    artifacts: Any = getattr(sys.modules.get("torch.compiler._cache"), "CacheArtifactManager", None)
    return artifacts.with_fresh_cache() if hasattr(artifacts, "with_fresh_cache") else nullcontext()
