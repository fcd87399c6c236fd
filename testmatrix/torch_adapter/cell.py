"""Running something in a cell: from the same state, under the cell's settings, recorded."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace

from testmatrix.errors import UsageError
from testmatrix.observation import Note
from testmatrix.torch_adapter import caches, settings, state
from testmatrix.torch_adapter import recording as recordings
from testmatrix.torch_adapter.leaks import snapshot
from testmatrix.torch_adapter.leaks.leak import named, put_back
from testmatrix.torch_adapter.leaves import Budget
from testmatrix.torch_adapter.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSetup:
    """What a cell sets, as plain data."""

    settings: tuple[tuple[str, str, object], ...] = ()  #: (config module, name, value)
    environment: tuple[tuple[str, str], ...] = ()
    contexts: tuple[str, ...] = ()  #: ``package.module:callable``, each returning a context manager
    backend: str | None = None
    oracle: bool = False
    float64: bool = False


def context_manager(name: str) -> AbstractContextManager[object]:
    """The context manager that ``package.module:callable`` makes.

    Raises:
        UsageError: the module or name does not exist, calling it failed, or what it made is no context manager.
    """
    module, _, path = name.partition(":")
    with _blamed(name):
        made = operator.attrgetter(path)(importlib.import_module(module))()
    if not isinstance(made, AbstractContextManager):
        raise UsageError(f"context {name!r} returned {type(made).__name__}, which is no context manager")
    return made


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Turn whatever goes wrong in somebody's context manager into an error of one line that names it."""
    try:
        yield
    except Exception as error:
        message = " ".join(str(error).split())
        raise UsageError(f"context {name!r}: {type(error).__name__}: {message}") from error


@contextmanager
def _inside(name: str) -> Iterator[None]:
    made = context_manager(name)
    with _blamed(name):
        made.__enter__()
    try:
        yield
    finally:
        with _blamed(name):
            made.__exit__(None, None, None)  # what the test raised has ended in pytest's reports


@contextmanager
def running(setup: CellSetup, watch: tuple[settings.Key, ...], max_kept: int) -> Iterator[Recording]:
    """Everything in the block runs in the cell; what it changed is put back at the end, whatever happened.

    Args:
        watch: settings whose reads and writes are told apart by cell (those of every axis).
        max_kept: bytes of tensor values to keep for the comparison.
    """
    before = state.save()
    recording = Recording(budget=Budget(max_kept), oracle=setup.oracle, float64=setup.float64, backend=setup.backend)
    if state.recover_from_stuck_compile():
        recording.notes.append(Note(kind="leak", text="an earlier test left a compile unfinished (a compile callback raised)"))
    state.reset_compiler()
    with ExitStack() as stack:
        stack.callback(_restore, recording, before, {(module, name): value for module, name, value in setup.settings})
        stack.enter_context(caches.fresh_caches())
        stack.enter_context(state.environment(dict(setup.environment)))
        settings.apply(setup.settings)
        for name in setup.contexts:
            stack.enter_context(_inside(name))
        if setup.oracle:
            stack.enter_context(state.compilation_off())
        stack.enter_context(settings.watched(watch, recording.settings_read.add, _writes(recording)))
        recording.before, recording.environment = before, dict(os.environ)
        recordings.activate(recording)
        stack.callback(recordings.activate, None)
        recording.baseline = snapshot.take()
        stack.callback(_find_leaks, recording)
        yield recording


def _find_leaks(recording: Recording) -> None:
    """Put back, and note, what the test left behind where it found nothing of the kind."""
    if recording.baseline is None:
        return
    try:
        leaks = put_back(snapshot.found(recording.baseline))
    except Exception as error:  # such as a module whose attributes cannot be read
        recording.fault("leaks", error)
        return
    for leak in leaks:
        recording.tell("leak", leak.text)
    recording.lasting = tuple(leak.text for leak in leaks if leak.lasting)


def _restore(recording: Recording, before: state.State, own: dict[settings.Key, object]) -> None:
    for change in state.restore(recording.before or before, own):
        if change.name not in recording.expected:
            recording.tell("leak", f"{change.name} left at {named(change.left)}, was {named(change.before)}")


def keep_state(recording: Recording) -> None:
    """Keep what has changed since the cell started, torch's settings apart: what comes after the cell starts from it, too."""
    if recording.before is None:
        return
    if recording.baseline is not None:
        recording.baseline = snapshot.refreshed(recording.baseline)
    now, start, kept = state.ambient(), recording.environment, dict(recording.before.ambient.environment)
    for name in {*now.environment, *start}:
        if now.environment.get(name) == start.get(name):
            continue  # as it was, or the cell's own
        if name in now.environment:
            kept[name] = now.environment[name]
        else:
            kept.pop(name, None)
    recording.before = replace(recording.before, ambient=replace(now, environment=kept))


def _writes(recording: Recording) -> Callable[[settings.Key], None]:
    def on_write(key: settings.Key) -> None:
        if not recording.region_stack:  # inside a region it is the region's own ``dynamic=``, pinned there
            recording.settings_written.add(key)

    return on_write
