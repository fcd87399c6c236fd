"""The state that every cell starts from, and how it is put back.

What is restored: torch's settings, random generators (Python, NumPy, torch), default dtype and device, grad mode and the other
global switches that guards check, environment variables. What is cleared: Dynamo's caches and counters, Inductor's in-memory
caches. The on-disk compile cache is :mod:`.caches`'s.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch
import torch._dynamo
import torch._dynamo.callback
import torch._dynamo.utils
from torch._dynamo import decorators, eval_frame

from testmatrix.torch_adapter import settings

#: The test runner's own, which it changes from phase to phase.
_RUNNERS_VARIABLES = frozenset({"PYTEST_CURRENT_TEST"})


@dataclass(frozen=True, slots=True, eq=False)
class RandomState:
    """State of every random generator of the process that suites draw from."""

    python: Any
    numpy: Any
    cpu: torch.Tensor
    cuda: tuple[torch.Tensor, ...]

    def __eq__(self, other: object) -> bool:
        """Whether nothing was drawn in between. NumPy that was imported in between counts as not drawn from."""
        if not isinstance(other, RandomState):
            return NotImplemented
        both = self.numpy is not None and other.numpy is not None
        return (
            self.python == other.python
            and torch.equal(self.cpu, other.cpu)
            and (not both or (self.numpy[2:] == other.numpy[2:] and bool((self.numpy[1] == other.numpy[1]).all())))
            and all(torch.equal(one, another) for one, another in zip(self.cuda, other.cuda, strict=False))
        )

    __hash__ = None  # type: ignore[assignment]


def random_state() -> RandomState:
    numpy = sys.modules.get("numpy")
    cuda = tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() and torch.cuda.is_initialized() else ()
    return RandomState(
        python=random.getstate(),
        numpy=numpy.random.get_state() if numpy is not None else None,
        cpu=torch.default_generator.get_state(),
        cuda=cuda,
    )


def restore_random_state(state: RandomState) -> None:
    random.setstate(state.python)
    numpy = sys.modules.get("numpy")
    if numpy is not None and state.numpy is not None:
        numpy.random.set_state(state.numpy)
    torch.default_generator.set_state(state.cpu)
    if state.cuda:
        torch.cuda.set_rng_state_all(list(state.cuda))


def _switches() -> tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]:
    """Global switches as (setter, arguments that restore the present state)."""
    return (
        (torch.set_default_dtype, (torch.get_default_dtype(),)),
        (torch.set_grad_enabled, (torch.is_grad_enabled(),)),
        (torch.set_num_threads, (torch.get_num_threads(),)),
        (
            _set_deterministic,
            (torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()),
        ),
        (torch.set_anomaly_enabled, (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled())),
        (torch.set_float32_matmul_precision, (torch.get_float32_matmul_precision(),)),
        (torch.set_default_device, (_default_device(),)),
        (decorators._set_stance, (eval_frame._stance,)),
    )


def _set_deterministic(mode: bool, warn_only: bool) -> None:
    torch.use_deterministic_algorithms(mode, warn_only=warn_only)


def _default_device() -> torch.device | None:
    """What ``torch.set_default_device`` was given; ``torch.get_default_device`` cannot tell the processor from nothing."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return None if context is None else context.device


@dataclass(frozen=True, slots=True)
class Ambient:
    """What surrounds a test apart from torch's settings."""

    random: RandomState
    switches: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]
    environment: dict[str, str]
    directory: str  #: the current one; empty where it was removed


@dataclass(frozen=True, slots=True)
class State:
    """A point to come back to."""

    settings: settings.Snapshot
    ambient: Ambient


def ambient() -> Ambient:
    environment = {name: value for name, value in os.environ.items() if name not in _RUNNERS_VARIABLES}
    return Ambient(random_state(), _switches(), environment, _directory())


def save() -> State:
    return State(settings.snapshot(), ambient())


def restore(state: State, own: Mapping[settings.Key, object] = MappingProxyType({})) -> list[settings.Change]:
    """Put the process back to a saved state, apart from what it has imported and created since; returns what had been changed.

    Random numbers that were drawn are no change, and neither are settings that are still at their ``own`` value.
    """
    changes = settings.restore(state.settings, own)
    restore_random_state(state.ambient.random)
    for (setter, wanted), (_, present) in zip(state.ambient.switches, _switches(), strict=True):
        if wanted != present:
            setter(*wanted)
            changes.append(settings.Change(f"torch.{setter.__name__.lstrip('_')}", _single(wanted), _single(present)))
    for name in set(os.environ) - set(state.ambient.environment) - _RUNNERS_VARIABLES:
        changes.append(settings.Change(f"environment variable {name}", None, os.environ.pop(name)))
    for name, value in state.ambient.environment.items():
        if os.environ.get(name) != value:
            changes.append(settings.Change(f"environment variable {name}", value, os.environ.get(name)))
            os.environ[name] = value
    if state.ambient.directory and state.ambient.directory != _directory():
        changes.append(settings.Change("working directory", state.ambient.directory, _directory()))
        os.chdir(state.ambient.directory)
    return changes


def _single(arguments: tuple[Any, ...]) -> Any:
    return arguments[0] if len(arguments) == 1 else arguments


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


def reset_compiler() -> None:
    """Forget all that was compiled.

    Raises:
        AssertionError: a compile of an earlier test never ended; see :func:`stuck_compile`.
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
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set variables while the block runs, and unset those that are None."""
    before = {name: os.environ.get(name) for name in variables}
    _set_environment(variables)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


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
