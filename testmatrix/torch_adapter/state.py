"""The state that every cell starts from, and how it is put back.

What is restored: torch's settings, random generators (Python, NumPy, torch), default dtype and device, grad mode and the other
global switches that guards check, environment variables, the current directory. All of it is taken before every test and put back
after it, so it is taken in the form in which Python and torch keep it. What is cleared is :mod:`.dynamo`'s, and the compile cache
on disk :mod:`.caches`'s.
"""

from __future__ import annotations

import ctypes
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from testmatrix.torch_adapter import settings

#: The test runner's own, which it changes from phase to phase.
_RUNNERS_VARIABLES = (b"PYTEST_CURRENT_TEST",)

#: Environment variables as Python keeps them: encoded.
Variables = dict[bytes, bytes]
#: Global switches as (setter, arguments that restore the present state).
Switches = tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class NumpyState:
    """State of the generator behind NumPy's own functions."""

    generator: Any  #: None where NumPy does not give it out
    state: Any
    memory: bytes  #: in which the generator keeps it; empty where that does not tell all

    def is_same(self, other: NumpyState) -> bool:
        return self is other or (self.generator is other.generator and _comparable(self.state) == _comparable(other.state))


def _comparable(state: Any) -> object:
    inner = {name: getattr(value, "tobytes", lambda value=value: value)() for name, value in state["state"].items()}
    return {**state, "state": inner}


@dataclass(frozen=True, slots=True, eq=False)
class RandomState:
    """State of every random generator of the process that suites draw from."""

    python: Any
    numpy: NumpyState | None
    cpu: torch.Tensor
    cuda: tuple[torch.Tensor, ...]

    def __eq__(self, other: object) -> bool:
        """Whether nothing was drawn in between. NumPy that was imported in between counts as not drawn from."""
        if not isinstance(other, RandomState):
            return NotImplemented
        drawn = self.numpy is not None and other.numpy is not None and not self.numpy.is_same(other.numpy)
        return (
            not drawn
            and self.python == other.python
            and torch.equal(self.cpu, other.cpu)
            and all(torch.equal(one, another) for one, another in zip(self.cuda, other.cuda, strict=False))
        )

    __hash__ = None  # type: ignore[assignment]


def random_state() -> RandomState:
    numpy = sys.modules.get("numpy")
    cuda = tuple(torch.cuda.get_rng_state_all()) if torch.cuda.is_initialized() else ()
    return RandomState(
        python=random.getstate(),
        numpy=_numpy_state(numpy) if numpy is not None else None,
        cpu=torch.default_generator.get_state(),
        cuda=cuda,
    )


def restore_random_state(state: RandomState) -> None:
    random.setstate(state.python)
    numpy = sys.modules.get("numpy")
    if numpy is not None and state.numpy is not None and _numpy_state(numpy) is not state.numpy:
        _restore_numpy(numpy, state.numpy)
    torch.default_generator.set_state(state.cpu)
    if state.cuda:
        torch.cuda.set_rng_state_all(list(state.cuda))


#: What was read last.
_numpy_read: NumpyState | None = None


def _numpy_state(numpy: Any) -> NumpyState:
    """The state of NumPy's own generator; the same object as the last time where nothing was drawn since."""
    global _numpy_read
    generator, memory = _numpy_memory(numpy)
    if memory and _numpy_read is not None and _numpy_read.generator is generator and _numpy_read.memory == memory:
        return _numpy_read
    state = numpy.random.get_state(legacy=False)
    # A normal number that was drawn ahead is not in the memory; without one, whatever is drawn changes it. What is not seen is a
    # state with one set again where that number alone had been drawn since.
    if memory and (state["has_gauss"] or memory != _memory_of(state)):
        memory = b""
    _numpy_read = NumpyState(generator, state, memory)
    return _numpy_read


def _memory_of(state: Any) -> bytes:
    inner = state["state"]
    return bytes(inner["key"].tobytes() + int(inner["pos"]).to_bytes(4, sys.byteorder))


def _restore_numpy(numpy: Any, state: NumpyState) -> None:
    if state.generator is not None and numpy.random.get_bit_generator() is not state.generator:
        numpy.random.set_bit_generator(state.generator)
    numpy.random.set_state(state.state)
    global _numpy_read
    _numpy_read = None


def _numpy_memory(numpy: Any) -> tuple[Any, bytes]:
    """The generator, and the bytes in which it keeps its state; none where it is of a kind not known to keep it in one piece."""
    generator: Any = getattr(numpy.random, "get_bit_generator", lambda: None)()  # from NumPy 1.24 on
    if type(generator).__name__ != "MT19937":
        return generator, b""
    return generator, ctypes.string_at(generator.ctypes.state_address, _MT19937_BYTES)


_MT19937_BYTES = 4 * (624 + 1)


def _set_stance(stance: Any) -> None:
    from torch._dynamo import decorators, eval_frame

    decorators._set_stance(eval_frame.DynamoStance() if stance is None else stance)


def _stance() -> Any:
    """None for the default one, which is the compiler's where there is no compiler yet."""
    stance: Any = getattr(sys.modules.get("torch._dynamo.eval_frame"), "_stance", None)
    return None if stance is None or stance == type(stance)() else stance


def _switches() -> Switches:
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
        (_set_stance, (_stance(),)),
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
    switches: Switches
    environment: Variables
    directory: str  #: the current one; empty where it was removed


@dataclass(frozen=True, slots=True)
class State:
    """A point to come back to."""

    settings: settings.Snapshot
    ambient: Ambient


def ambient() -> Ambient:
    return Ambient(random_state(), _switches(), variables(), _directory())


def save() -> State:
    return State(settings.snapshot(), ambient())


def restore(
    state: State, own: Mapping[settings.Key, object] = MappingProxyType({}), *, only_own: bool = False
) -> list[settings.Change]:
    """Put the process back to a saved state, apart from what it has imported and created since; returns what had been changed.

    Random numbers that were drawn are no change, and neither are settings that are still at their ``own`` value. Where no other
    settings can have been written, ``only_own`` saves looking at them.
    """
    changes = settings.restore(state.settings, own, only_own=only_own)
    restore_random_state(state.ambient.random)
    changes.extend(_restore_switches(state.ambient.switches))
    changes.extend(_restore_variables(state.ambient.environment))
    directory = _directory()
    if state.ambient.directory and state.ambient.directory != directory:
        changes.append(settings.Change("working directory", state.ambient.directory, directory))
        os.chdir(state.ambient.directory)
    return changes


def _restore_switches(before: Switches) -> Iterator[settings.Change]:
    present = _switches()
    if present == before:
        return
    for (setter, wanted), (_, now) in zip(before, present, strict=True):
        if wanted != now:
            setter(*wanted)
            yield settings.Change(f"torch.{setter.__name__.lstrip('_')}", _single(wanted), _single(now))


def _single(arguments: tuple[Any, ...]) -> Any:
    return arguments[0] if len(arguments) == 1 else arguments


def _restore_variables(before: Variables) -> Iterator[settings.Change]:
    now = variables()
    if now == before:
        return
    for name in sorted(now.keys() | before.keys()):
        if now.get(name) == before.get(name):
            continue
        wanted, left = before.get(name), now.get(name)
        if wanted is None:
            del os.environ[os.fsdecode(name)]
        else:
            os.environ[os.fsdecode(name)] = os.fsdecode(wanted)
        yield settings.Change(named(name), _decoded(wanted), _decoded(left))


def named(variable: bytes) -> str:
    """How a change of an environment variable is named."""
    return f"environment variable {os.fsdecode(variable)}"


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else os.fsdecode(value)


def variables() -> Variables:
    """All environment variables, apart from the test runner's own."""
    kept: Any = getattr(os.environ, "_data", None)  # reading them one by one decodes each
    encoded = isinstance(kept, dict) and os.supports_bytes_environ
    found = dict(kept) if encoded else {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items()}
    for name in _RUNNERS_VARIABLES:
        found.pop(name, None)
    return found


def _directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""


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
