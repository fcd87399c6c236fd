"""Gradients that a test's backward passes leave on what its regions were given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from testmatrix.observation import Gradients, Leaf
from testmatrix.torch_adapter.leaves import LeafReader
from testmatrix.torch_adapter.recording import Recording, active


def around_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``torch.autograd._engine_run_backward``, below both ``backward`` and ``grad``."""

    def recorded_backward(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        result = original(*args, **kwargs)
        recording = active()
        if recording is not None and recording.regions and not recording.region_stack and not recording.compile_stack:
            try:
                if torch._C._len_torch_dispatch_stack() == 0:
                    with torch._C.DisableTorchFunction():
                        recording.gradients.append(_gradients(recording, result))
            except Exception as fault:
                recording.fault("gradients", fault)
        return result

    return recorded_backward


def _gradients(recording: Recording, result: Any) -> Gradients:
    reader = LeafReader(recording.budget)
    leaves: list[Leaf] = []
    for reference, name in recording.differentiable:
        tensor = reference()
        if tensor is not None and tensor.grad is not None:
            leaves.extend(reader.read(tensor.grad, f"{name}.grad"))
    if isinstance(result, tuple) and any(value is not None for value in result):
        leaves.extend(reader.read(result, "result"))
    return Gradients(index=len(recording.gradients), leaves=tuple(leaves), calls=len(recording.regions))
