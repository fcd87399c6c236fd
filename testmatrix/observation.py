"""What is recorded of one test in one cell.

These classes are the only thing that crosses from the recorder to the comparison. They hold text, numbers and bytes, never a
live tensor, exception or pytest object, so that they can be written to a file, sent from a worker process and read by a
version of the package that runs without torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed", "crashed", "timeout"]
When = Literal["setup", "call", "teardown"]

#: Outcomes of a run that did not come to its end: how it was lost is all that is known of it.
LOST: frozenset[Outcome] = frozenset({"crashed", "timeout"})

#: Name of the cell in which compilation is off. It is not a cell of the grid.
ORACLE = "eager"


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRecord:
    """A tensor's metadata and, where it was small enough to keep, its values."""

    dtype: str  #: without the ``torch.`` prefix: ``float32``
    shape: tuple[int, ...]
    stride: tuple[int, ...]  #: empty for layouts that have none
    storage_offset: int
    device: str
    requires_grad: bool
    subclass: str = "Tensor"  #: qualified name where it is not ``torch.Tensor``
    layout: str = "strided"
    #: Where else in the arguments and the result the same storage is found: ``L['x']``, ``result[1]``; sorted.
    aliases: tuple[str, ...] = ()
    #: Hash of the values in logical (contiguous) order; empty where the values could not be read.
    digest: str = ""
    #: The values as raw bytes in logical (contiguous) order; None where they were too many to keep or could not be read.
    data: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One node of a nested result or argument: a container, a scalar, a tensor or an opaque object.

    ``path`` is relative to the root: ``''`` for the root itself, ``[0]['a'].b`` below it. For arguments, the root is a source
    (``L['x']``), attributes and globals included (``L['self'].count``, ``G['TICK']``).
    """

    path: str
    type: str  #: qualified Python type: ``int``, ``torch.Size``, ``mymodule.Point``
    value: str = ""  #: ``repr`` of a scalar, ``len=N`` of a container, with a dictionary's keys, empty for opaque objects
    tensor: TensorRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionRecord:
    """An exception, unwrapped: what torch's own wrappers carried inside, and the innermost frame that is the user's."""

    type: str  #: qualified class of the innermost exception: ``ZeroDivisionError``
    wrapper: str = ""  #: qualified class of what was raised, where that is one of torch's wrappers
    message: str = ""  #: normalised: no addresses, ids, temporary paths, process-dependent numbers
    frame: str = ""  #: ``file.py:12 in function`` of the user's innermost frame, or torch's where there is none
    assertion: bool = False  #: an assertion of the test's own, not something that the code under test raised


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionCall:
    """One call of a callable that the suite handed to the compiler."""

    region: str  #: ``module.qualname`` of the callable
    index: int  #: position among all region calls of the test, from 0
    depth: int = 0  #: 0 for a call from the test, 1 for a region called inside a region, ...
    arguments: tuple[Leaf, ...] = ()  #: before the call; tensors without data
    #: What else the call could see, before it: attributes, parameters, buffers and globals; tensors without data.
    state: tuple[Leaf, ...] = ()
    result: tuple[Leaf, ...] = ()  #: empty where the call raised
    after: tuple[Leaf, ...] = ()  #: arguments, attributes, buffers and globals after the call, with data
    exception: ExceptionRecord | None = None
    random: bool = False  #: the call drew from a random generator
    pinned: tuple[str, ...] = ()  #: axes that the test itself fixed for this region
    #: False where the values inside are not real (fake tensors, a functional transform), so that only metadata counts.
    concrete: bool = True
    #: The region's result in float64, and its result where ``torch.compiler.is_compiling()`` says that it is being compiled:
    #: both run eager, in an arbitration run of the oracle only.
    float64: tuple[Leaf, ...] = ()
    as_compiling: tuple[Leaf, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One guard of a compile, free of ids, addresses and symbol numbers."""

    kind: str  #: torch's name: ``TYPE_MATCH``, ``EQUALS_MATCH``, ``TENSOR_MATCH``, ``SHAPE``, ...
    source: str  #: ``L['n']``; for SHAPE guards empty
    text: str  #: normalised payload; for SHAPE a sympy expression over the compile's symbols: ``Eq(Mod(s0, 8), 0)``
    value: str = ""  #: ``repr`` of the constant for guards that compare with one
    value_type: str = ""  #: Python type of that constant: ``int``
    line: str = ""  #: the user's line that made the guard: ``file.py:12``
    code: str = ""  #: the source of that line
    #: That line with two lines around it, each as ``12 | code``, its own as ``12 > code``; empty where the file is not to be had.
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A symbol of the shape environment and where its value comes from."""

    name: str  #: ``s0``; the name used in this compile's SHAPE guards
    sources: tuple[str, ...]  #: ``L['n']``, ``L['x'].size()[0]``
    kind: Literal["size", "stride", "int", "float", "bool", "unbacked"]
    hint: str = ""
    lower: str = ""  #: bounds of its range, ``-oo`` and ``oo`` where there are none
    upper: str = ""
    replacement: str = ""  #: expression that the symbol was replaced by; a number where it was specialised
    line: str = ""  #: the user's line that specialised, or else created, it
    code: str = ""  #: the source of that line
    context: tuple[str, ...] = ()  #: as in :class:`Guard`


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBreak:
    reason: str
    line: str  #: the user's ``file.py:12``


@dataclass(frozen=True, slots=True, kw_only=True)
class Compile:
    """One Dynamo compilation: one cache entry of one frame."""

    frame: str  #: ``module.qualname`` of the code object
    line: int  #: first line of the code object
    resume: int = 0  #: nth resume function of the frame after a graph break, 0 for the frame itself
    region_call: int = -1  #: index of the region call that triggered it; -1 outside of any
    guards: tuple[Guard, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    ops: tuple[str, ...] = ()  #: targets of the graph's call nodes in order
    tensor_ops: int = 0  #: how many of them make tensors; the rest is arithmetic on symbols
    inputs: tuple[str, ...] = ()  #: kind of each graph input: ``Tensor``, ``SymInt``, ``constant``
    breaks: tuple[GraphBreak, ...] = ()
    recompile_reasons: tuple[str, ...] = ()
    #: Sources that the suite asked to be symbols, with what it asked by: ``("L['x'].size()[0]", "mark_dynamic")``.
    asked: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedCompile:
    """A frame that Dynamo gave up on, so that it ran eager (or raised)."""

    frame: str
    line: int
    region_call: int
    exception: ExceptionRecord
    limit: bool = False  #: because the recompile limit was reached


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradients:
    """What one backward pass through the test's regions left behind."""

    index: int  #: nth backward pass of the test, from 0
    leaves: tuple[Leaf, ...]  #: paths name the tensor: ``region[3] L['x'].grad``, ``result[0]`` for autograd.grad
    calls: int = 0  #: region calls that had been made by then


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    when: When
    outcome: Literal["passed", "failed", "skipped"]
    duration: float  #: seconds
    exception: ExceptionRecord | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something to say about an observation that is no difference: a fault of the recorder, an axis that did not apply."""

    kind: str  #: ``recorder``, ``pinned``, ``uncompared``, ``leak``, ...
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything recorded for one test in one cell."""

    test: str  #: pytest's node id
    cell: str  #: a cell's name, or :data:`ORACLE`
    outcome: Outcome
    phases: tuple[Phase, ...] = ()
    duration: float = 0.0  #: seconds, all phases
    regions: tuple[RegionCall, ...] = ()
    compiles: tuple[Compile, ...] = ()
    failed_compiles: tuple[FailedCompile, ...] = ()
    gradients: tuple[Gradients, ...] = ()
    settings_read: tuple[str, ...] = ()  #: axis settings consulted, as ``torch._dynamo.config.specialize_int``
    pinned: tuple[str, ...] = ()  #: axes that the test fixed by its own writes to the settings
    #: Assertions on how much was compiled that failed here and were passed over: ``file.py:12: assert c.frame_count == 1``.
    count_assertions: tuple[str, ...] = ()
    #: The outcome that the test had before those assertions were passed over; empty where there were none.
    counted_outcome: str = ""
    notes: tuple[Note, ...] = ()
    same_as: str = ""  #: cell whose run stands for this one, where this one was not run
    torch: str = ""  #: the version that compiled, which settles the kinds of guards that there can be

    @property
    def exception(self) -> ExceptionRecord | None:
        """The first exception of any phase."""
        return next((phase.exception for phase in self.phases if phase.exception is not None), None)

    @property
    def reached_compiler(self) -> bool:
        return bool(self.regions or self.compiles or self.failed_compiles)
