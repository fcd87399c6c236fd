"""What Dynamo keeps between tests: forgotten before each cell, or kept from being made at all. Importing this imports Dynamo."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch._dynamo
import torch._dynamo.callback
import torch._dynamo.utils
from torch._dynamo import decorators, eval_frame


def reset() -> None:
    """Forget all that was compiled.

    Raises:
        AssertionError: a compile of an earlier test never ended; see :func:`recover_from_stuck_compile`.
    """
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    inductor = sys.modules.get("torch._inductor.utils")
    if inductor is not None:  # not imported: nothing was compiled with it, and importing it takes seconds
        inductor.clear_caches()


def recover_from_stuck_compile() -> bool:
    """Clear the count of pending compile callbacks that a raising callback leaves behind; True where there was one."""
    handler = torch._dynamo.callback.callback_handler
    name = "_CompilationCallbackHandler__pending_callbacks_counter"
    if getattr(handler, name, 0) == 0:
        return False
    setattr(handler, name, 0)
    return True


@contextmanager
def compilation_off() -> Iterator[None]:
    """Run compiled regions as plain Python, whatever stance the test asks for: the oracle.

    Torch's own test base class sets the default stance before each test.
    """
    with torch.compiler.set_stance("force_eager"):
        set_stance = decorators._set_stance
        decorators._set_stance = lambda stance: eval_frame._stance
        try:
            yield
        finally:
            decorators._set_stance = set_stance
