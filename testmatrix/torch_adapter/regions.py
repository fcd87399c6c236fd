"""Calls of compiled regions.

Everything that the suite compiles goes through ``OptimizeContext.__call__``: ``torch.compile`` in all its forms, modules (their
``forward``), decorated classes (their ``__call__``) and ``torch._dynamo.optimize``. What it returns is wrapped once more; the
wrapper keeps every attribute that Dynamo and users look for, so that nested regions are inlined as before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, cast

import torch
from torch._dynamo import eval_frame

from testmatrix.observation import ExceptionRecord, Leaf, RegionCall
from testmatrix.torch_adapter import exceptions, float64, pytrees, state
from testmatrix.torch_adapter.arguments import Target, changeable, is_library, named_arguments, target_of
from testmatrix.torch_adapter.attributes import has_state, is_a, is_data
from testmatrix.torch_adapter.graph import leaves_of_graph
from testmatrix.torch_adapter.leaves import LeafReader
from testmatrix.torch_adapter.recording import Recording, active
from testmatrix.torch_adapter.tensors import is_concrete, is_fake

_set_eval_frame = eval_frame.set_eval_frame
_restore_eval_frame = eval_frame._maybe_set_eval_frame

#: Attributes by which a suite asks for or against a dynamic dimension.
_MARKS = ("_dynamo_dynamic_indices", "_dynamo_weak_dynamic_indices", "_dynamo_static_indices", "_dynamo_unbacked_indices")


def wrap_result(context: Any, result: Any) -> Any:
    """The recorded form of what ``OptimizeContext.__call__`` returned; modules and classes stay as they are."""
    recording = active()
    if recording is not None:
        recording.compiled_something = True
    try:
        if not _is_region(result):
            return result
        return _recorded(context, result, result._torchdynamo_orig_callable)
    except Exception as fault:  # attributes of the suite's callable may be its own code
        if recording is not None:
            recording.fault("a region", fault)
        return result


def _is_region(result: Any) -> bool:
    if not isinstance(result, FunctionType) or result.__code__.co_name != "compile_wrapper":
        return False
    return "_testmatrix_recorded" not in vars(result) and not is_library(result._torchdynamo_orig_callable)  # type: ignore[attr-defined]


def _recorded(context: Any, compiled: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    dynamic = getattr(context, "_dynamic", None)
    target: list[Target] = []  # found at the first call: a module's forward may be replaced until then

    @functools.wraps(compiled)
    def recorded_region(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        recording = active()
        if recording is None:
            return compiled(*args, **kwargs)
        prior = _set_eval_frame(None)  # where Dynamo is on already, it must not trace the recorder
        try:
            if not target:
                target.append(_target(recording, original))
            call = _Call(recording, target[0], args, kwargs, dynamic)
        finally:
            _restore_eval_frame(prior)
        try:
            result = compiled(*args, **kwargs)
        except BaseException as error:
            prior = _set_eval_frame(None)
            try:
                call.raised(error)
            finally:
                _restore_eval_frame(prior)
            raise
        prior = _set_eval_frame(None)
        try:
            call.returned(result)
        finally:
            _restore_eval_frame(prior)
        return result

    wrapper: Any = recorded_region
    wrapper.__wrapped__ = compiled.__wrapped__  # type: ignore[attr-defined]
    wrapper._torchdynamo_wrapper_id = id(recorded_region)
    wrapper._testmatrix_recorded = True
    return recorded_region


def _target(recording: Recording, original: Any) -> Target:
    try:
        return target_of(original)
    except Exception as fault:
        recording.fault("what a region runs", fault)
        return Target(None, None, exceptions.qualified(type(original)))


class _Call:
    """One region call between its start and its end. Its methods never raise."""

    def __init__(self, recording: Recording, target: Target, args: Any, kwargs: Any, dynamic: bool | None) -> None:
        self.recording, self.target = recording, target
        self.depth = len(recording.region_stack)
        self.index = recording.open_region()
        self.ordinal = recording.count_top_level() if self.depth == 0 else -1
        self.named: list[tuple[str, Any]] = []
        self.arguments: tuple[Leaf, ...] = ()
        self.state: tuple[Leaf, ...] = ()
        self.pinned: tuple[str, ...] = ()
        self.random: state.RandomState | None = None
        self.float64: tuple[Leaf, ...] = ()
        self.as_compiling: tuple[Leaf, ...] = ()
        self.concrete = True
        recording.compiled_something = True
        try:
            with torch._C.DisableTorchFunction():
                self._read_arguments(args, kwargs, dynamic)
            if recording.float64 and self.concrete:
                self.float64 = float64.run(target, args, kwargs, recording.budget)
                self.as_compiling = float64.as_compiling(target, args, kwargs, recording.budget)
            self.random = state.random_state() if self.concrete else None
        except Exception as fault:
            recording.fault(f"arguments of {target.name}", fault)

    def _read_arguments(self, args: Any, kwargs: Any, dynamic: bool | None) -> None:
        self.named = named_arguments(self.target, args, kwargs)
        tensors = list(_tensors(value for _, value in self.named))
        self.pinned = ("shapes",) if dynamic is not None or any(map(_marked, tensors)) else ()
        self.concrete = _plain_execution() and all(map(is_concrete, tensors))
        reader = LeafReader(self.recording.budget, self.recording.digests)
        self.arguments = tuple(
            leaf
            for name, value in self.named
            for leaf in reader.read(value, name, values=False, digests=self.concrete, objects=False)
        )
        state = LeafReader(self.recording.budget, self.recording.digests)
        self.state = self._read_state(state)
        if self.depth == 0:  # regions inside one are inlined in compiled cells, and called in the oracle
            self._watch_gradients(tensors, [*reader.differentiable, *state.differentiable])

    def _read_state(self, reader: LeafReader) -> tuple[Leaf, ...]:
        """What will be read after the call, as it is before, without what is among the arguments already."""
        known = {leaf.path for leaf in self.arguments}
        roots = [(name, value) for name, value in self._roots() if has_state(value) or name not in known]
        return tuple(
            leaf
            for name, value in roots
            for leaf in reader.read(value, name, values=False, digests=self.concrete, attributes=True)
            if leaf.path not in known
        )

    def _roots(self) -> list[tuple[str, Any]]:
        """What a call can change: found anew each time, as globals may be bound to something else meanwhile."""
        given = {id(value) for _, value in self.named if is_data(value)}
        return [*self.named, *((name, value) for name, value in changeable(self.target) if id(value) not in given)]

    def _watch_gradients(self, tensors: list[torch.Tensor], seen: list[tuple[str, torch.Tensor]]) -> None:
        """Watch what backward passes may reach: arguments, parameters, what else was read, what arguments were made from."""
        names = {id(value): name for name, value in self.named}
        for position, tensor in enumerate(tensors):
            if tensor.requires_grad and tensor.is_leaf:
                self._watch(tensor, names.get(id(tensor), f"argument {position}"))
        if is_a(self.target.bound, torch.nn.Module):
            for name, parameter in torch.nn.Module.named_parameters(cast("torch.nn.Module", self.target.bound)):
                if parameter.requires_grad:
                    self._watch(parameter, name)
        for name, tensor in seen:
            self._watch(tensor, name)
        for name, value in self.named:
            for position, leaf in enumerate(leaves_of_graph(_tensors([value]))):
                self._watch(leaf, f"{name} leaf {position}")

    def _watch_graph(self, result: Any) -> None:
        """Watch what a result was made from and has no name so far: told apart by shape, as the order varies by cell."""
        found: dict[str, list[torch.Tensor]] = {}
        for leaf in leaves_of_graph(_tensors([result])):
            if not self.recording.is_watched(leaf):
                found.setdefault(str(list(leaf.shape)), []).append(leaf)
        for shape, leaves in found.items():
            if len(leaves) == 1:
                self._watch(leaves[0], f"leaf {shape}")

    def _hashes(self) -> dict[str, str]:
        """Hashes of the tensors before the call, by path."""
        return {leaf.path: leaf.tensor.digest for leaf in (*self.arguments, *self.state) if leaf.tensor and leaf.tensor.digest}

    def _watch(self, tensor: torch.Tensor, name: str) -> None:
        self.recording.watch(tensor, f"{self.target.name}[{self.ordinal}] {name}")

    def returned(self, result: Any) -> None:
        self._close(result, None)

    def raised(self, error: BaseException) -> None:
        self._close(None, error)

    def _close(self, result: Any, error: BaseException | None) -> None:
        recording = self.recording
        recording.region_stack.pop()
        leaves: tuple[Leaf, ...] = ()
        after: tuple[Leaf, ...] = ()
        raised: ExceptionRecord | None = None
        random = False
        concrete = self.concrete
        try:
            with torch._C.DisableTorchFunction():
                random = self.random is not None and self.random != state.random_state()
                raised = None if error is None else exceptions.record(error)
                reader = LeafReader(recording.budget, recording.digests, self._hashes())
                after = tuple(
                    leaf
                    for name, value in self._roots()
                    for leaf in reader.read(value, name, values=self.concrete, attributes=True)
                )
                if error is None:
                    leaves = reader.read(result, "", values=self.concrete, called="result")
                    concrete = self.concrete and not any(map(is_fake, _tensors([result])))
                    if self.depth == 0 and self.concrete:
                        self._watch_graph(result)
        except Exception as fault:
            recording.fault(f"result of {self.target.name}", fault)
        recording.close_region(
            self.index,
            RegionCall(
                region=self.target.name,
                index=self.index,
                depth=self.depth,
                arguments=self.arguments,
                state=self.state,
                result=leaves,
                after=after,
                exception=raised,
                random=random,
                pinned=self.pinned,
                concrete=concrete,
                float64=self.float64,
                as_compiling=self.as_compiling,
            ),
        )


def _tensors(values: Any) -> Any:
    """Tensors among arguments, containers included, without following other objects."""
    pending = list(values)
    budget = 1000
    while pending and budget:
        budget -= 1
        value = pending.pop(0)
        if is_a(value, torch.Tensor):
            yield value
        elif is_a(value, list, tuple):
            pending.extend(value)
        elif is_a(value, dict):
            pending.extend(dict.values(value))
        else:
            pending.extend(child for _, child in pytrees.children(value) or ())


def _marked(tensor: torch.Tensor) -> bool:
    return any(vars(tensor).get(name) for name in _MARKS)


def _plain_execution() -> bool:
    """Whether reading a tensor now gives real values and shows nowhere: no tracing, fake mode, transform or profiler."""
    return not (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._functorch.peek_interpreter_stack() is not None
        or torch.compiler.is_exporting()
        or torch._guards.TracingContext.try_get() is not None
        or torch._C._get_tracing_state() is not None
        or torch.autograd._profiler_enabled()
    )
