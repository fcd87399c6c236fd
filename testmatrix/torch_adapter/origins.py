"""Whose code something is: the suite's, a library's, or that of Python and torch themselves."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Literal

Origin = Literal["suite", "library", "system"]

_SYSTEM = frozenset({"torch", "functorch", "torchgen", "numpy", "_pytest", "pytest", "testmatrix", *sys.stdlib_module_names})
#: Of Python's, but nothing but data.
_PLAIN = frozenset({"collections", "argparse", "types"})


@lru_cache(maxsize=4096)
def origin(module: str) -> Origin:
    """Whose a module is, by its name and file; one without a file was made by the suite."""
    if module.partition(".")[0] in _SYSTEM:
        return "system"
    file = getattr(sys.modules.get(module), "__file__", None)
    return "library" if isinstance(file, str) and ("site-packages" in file or "dist-packages" in file) else "suite"


def origin_of(cls: type) -> Origin:
    """Whose a class is."""
    module = type.__getattribute__(cls, "__module__")
    return origin(module) if type(module) is str else "system"


def is_opaque(cls: type) -> bool:
    """Whether attributes of instances are nobody's data: how Python or torch do their work."""
    return origin_of(cls) == "system" and type.__getattribute__(cls, "__module__") not in _PLAIN
