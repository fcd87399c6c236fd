"""Running something in a cell: from the same state, under the cell's settings, recorded."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from testmatrix.errors import UsageError
from testmatrix.observation import Note
from testmatrix.torch_adapter import arrival, caches, settings, state, writes
from testmatrix.torch_adapter import recording as recordings
from testmatrix.torch_adapter.leaks import restored, snapshot
from testmatrix.torch_adapter.leaks.leak import put_back
from testmatrix.torch_adapter.leaves import Budget
from testmatrix.torch_adapter.recording import Recording
from testmatrix.torch_adapter.state import State

#: The settings that there are only where the compiler is.
_DYNAMO = "torch._dynamo.config"


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

    Where torch's compiler is not there yet, there is nothing to set: see :attr:`Recording.arrived` for where it comes.

    Args:
        watch: settings whose reads and writes are told apart by cell (those of every axis).
        max_kept: bytes of tensor values to keep for the comparison.
    """
    _import_what_it_sets(setup)
    before = state.save()
    recording = Recording(budget=Budget(max_kept), oracle=setup.oracle, float64=setup.float64, backend=setup.backend)
    with ExitStack() as stack:
        end = _End(recording, before)
        stack.callback(end.put_back)
        if arrival.is_loaded() or setup.environment:
            stack.enter_context(caches.fresh_caches())
            stack.enter_context(state.environment(dict(setup.environment)))
        end.only_own = before.settings.still_holds() and not setup.contexts and not settings.any_alias(setup.settings)
        if arrival.is_loaded():
            _enter(setup, recording, stack)
            end.own = {(module, name): value for module, name, value in setup.settings}
            stack.enter_context(settings.watched(watch, recording.settings_read.add, _writes(recording)))
        else:
            stack.enter_context(arrival.awaited(_on_arrival(watch, recording, stack)))
        recording.before, recording.environment = before, state.variables()
        recordings.activate(recording)
        stack.callback(recordings.activate, None)
        end.started = writes.now()
        stack.callback(end.see)
        recording.baseline = snapshot.take()
        stack.callback(_find_leaks, recording)
        yield recording


def _import_what_it_sets(setup: CellSetup) -> None:
    """What a project's own axes set may concern anything, and does from the start; what ours set concerns the compiler alone."""
    others = {module for module, _, _ in setup.settings} - {_DYNAMO}
    if others or setup.contexts:
        for module in sorted({*others, arrival.COMPILER}):
            importlib.import_module(module)


@dataclass
class _End:
    """Puts back what was there before: little, where it is known that little was touched."""

    recording: Recording
    before: State
    own: Mapping[settings.Key, object] = field(default_factory=dict)  #: the cell's settings, where there was something to set
    only_own: bool = False  #: no others can have been written
    started: writes.Moment | None = None

    def see(self) -> None:
        """Right after the test, before the cell's own settings go."""
        self.only_own = self.only_own and writes.none_since(self.started) and self.before.settings.has_same_contents()

    def put_back(self) -> None:
        changes = state.restore(self.recording.before or self.before, self.own, only_own=self.only_own)
        for text in restored.told(changes, self.recording.expected):
            self.recording.tell("leak", text)


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


def _enter(setup: CellSetup, recording: Recording, stack: ExitStack) -> None:
    """Forget what was compiled, and set what the cell sets."""
    from testmatrix.torch_adapter import dynamo

    if dynamo.recover_from_stuck_compile():
        recording.notes.append(Note(kind="leak", text="an earlier test left a compile unfinished (a compile callback raised)"))
    dynamo.reset()
    settings.apply(setup.settings)
    for name in setup.contexts:
        stack.enter_context(_inside(name))
    if setup.oracle:
        stack.enter_context(dynamo.compilation_off())


def _on_arrival(watch: tuple[settings.Key, ...], recording: Recording, stack: ExitStack) -> Callable[[str], None]:
    """What to do where the compiler is imported in the middle of a run: whether it is used is all that counts from then on."""

    def arrived(fault: str) -> None:
        if fault:
            recording.tell("recorder", fault)
        recording.arrived = True
        if recording.baseline is not None:
            recording.baseline = snapshot.refreshed(recording.baseline)
        settings.keep_imported()
        before = state.variables()
        stack.enter_context(caches.fresh_caches())
        own = {name: value for name, value in state.variables().items() if before.get(name) != value}
        recording.environment.update(own)
        recording.expected.update(state.named(name) for name in own)  # torch has set some of them, too, while it was imported
        stack.enter_context(settings.watched(watch, recording.settings_read.add, _writes(recording)))

    return arrived


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
