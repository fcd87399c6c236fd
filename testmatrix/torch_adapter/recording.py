"""The recording that is going on in this process, and what the hooks put into it."""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any

import torch

from testmatrix.observation import Compile, FailedCompile, Gradients, GraphBreak, Note, RegionCall
from testmatrix.torch_adapter.exceptions import qualified
from testmatrix.torch_adapter.leaks.snapshot import Snapshot
from testmatrix.torch_adapter.leaves import Budget
from testmatrix.torch_adapter.state import State, Variables
from testmatrix.torch_adapter.tensors import Digests


@dataclass
class OpenCompile:
    """A compile that has started; the hooks inside Dynamo fill it."""

    frame: str
    line: int
    region_call: int
    resume: int = 0
    breaks: list[GraphBreak] = field(default_factory=list)
    ops: list[str] = field(default_factory=list)
    tensor_ops: int = 0
    inputs: list[str] = field(default_factory=list)
    recompile_reasons: tuple[str, ...] = ()
    made: Compile | None = None  #: set once the guards were read


@dataclass
class Recording:
    """One test in one cell, while it runs. Hooks append; nothing is read before the test has ended."""

    budget: Budget
    oracle: bool = False
    float64: bool = False  #: run region calls in float64, too
    backend: str | None = None
    regions: list[RegionCall | None] = field(default_factory=list)  #: None: the call has not returned yet
    top_level: int = 0  #: calls of regions so far that were not made inside a region
    compiles: list[Compile] = field(default_factory=list)
    failed_compiles: list[FailedCompile] = field(default_factory=list)
    gradients: list[Gradients] = field(default_factory=list)
    settings_read: set[tuple[str, str]] = field(default_factory=set)
    settings_written: set[tuple[str, str]] = field(default_factory=set)
    compiled_something: bool = False  #: a region was made or called: what was set up meanwhile belongs to the cell
    notes: list[Note] = field(default_factory=list)
    before: State | None = None  #: what the process is put back to at the end
    baseline: Snapshot | None = None  #: what the rest of the process is put back to, where it can be
    expected: set[str] = field(default_factory=set)  #: settings that wider fixtures of the cell set: no leaks of the test's
    lasting: tuple[str, ...] = ()  #: leaks that only a fresh process ends
    environment: Variables = field(default_factory=dict)  #: when the test started
    #: Torch's compiler was imported meanwhile: none of the cell's settings hold for it, and no other run has the import in it.
    arrived: bool = False
    #: Tensors that a backward pass may reach: (weak reference, name).
    differentiable: list[tuple[weakref.ref[Any], str]] = field(default_factory=list)
    _watched: dict[int, weakref.ref[Any]] = field(default_factory=dict)  #: the same by id
    digests: Digests = field(default_factory=Digests)
    _local: threading.local = field(default_factory=threading.local)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open_region(self) -> int:
        """Reserve the next index, in the order in which calls start."""
        with self._lock:
            self.regions.append(None)
            index = len(self.regions) - 1
        self.region_stack.append(index)
        return index

    def count_top_level(self) -> int:
        """Position of a call that starts now among those that the test itself makes."""
        with self._lock:
            self.top_level += 1
            return self.top_level - 1

    def close_region(self, index: int, call: RegionCall) -> None:
        self.regions[index] = call

    @property
    def region_stack(self) -> list[int]:
        """Indices of the region calls that this thread is in."""
        stack: list[int] | None = getattr(self._local, "regions", None)
        if stack is None:
            stack = self._local.regions = []
        return stack

    @property
    def compile_stack(self) -> list[OpenCompile]:
        stack: list[OpenCompile] | None = getattr(self._local, "compiles", None)
        if stack is None:
            stack = self._local.compiles = []
        return stack

    def watch(self, tensor: torch.Tensor, name: str) -> None:
        """Record the tensor's gradient after backward passes; the first name stays."""
        if not self.is_watched(tensor):
            self.differentiable.append((weakref.ref(tensor), name))
            self._watched[id(tensor)] = self.differentiable[-1][0]

    def is_watched(self, tensor: torch.Tensor) -> bool:
        reference = self._watched.get(id(tensor))
        return reference is not None and reference() is tensor  # ids are used again

    def tell(self, kind: str, text: str) -> None:
        """Something to say of the test, once."""
        note = Note(kind=kind, text=text)
        if note not in self.notes:
            self.notes.append(note)

    def fault(self, where: str, error: BaseException) -> None:
        """A fault of the recorder's own: said, never raised into the suite."""
        if len(self.notes) < 50:
            self.notes.append(Note(kind="recorder", text=f"{where}: {qualified(type(error))}: {error}"[:400]))


_active: Recording | None = None


def active() -> Recording | None:
    """The recording that is going on; None between tests."""
    return _active


def activate(recording: Recording | None) -> None:
    global _active
    _active = recording
