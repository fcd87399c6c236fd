"""Which of torch's private names the adapter stands on, and whether the installed torch has them."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from testmatrix.errors import EnvironmentUnusable

#: Versions on which every capability was tried.
SUPPORTED = "torch 2.13"


@dataclass(frozen=True, slots=True)
class Capability:
    """A private name and what is lost without it."""

    module: str
    attribute: str  #: dotted below the module
    purpose: str


CAPABILITIES = (
    Capability("torch._dynamo.eval_frame", "OptimizeContext.__call__", "to see calls of compiled regions"),
    Capability("torch._dynamo.eval_frame", "set_eval_frame", "to keep Dynamo out of the recorder"),
    Capability("torch._dynamo.eval_frame", "_maybe_set_eval_frame", "to keep Dynamo out of the recorder"),
    Capability("torch._dynamo.trace_rules", "add", "to keep Dynamo out of the recorder"),
    Capability("torch._dynamo.guards", "guard_manager_testing_hook_fn", "to read guards when they are made"),
    Capability("torch._C._dynamo.guards", "GlobalStateGuard", "to say what guards on the process check"),
    Capability("torch._dynamo.convert_frame", "_compile", "to see compiles and failed compiles"),
    Capability("torch._dynamo.convert_frame", "get_and_maybe_log_recompilation_reasons", "to say why a frame recompiled"),
    Capability("torch._dynamo.symbolic_convert", "InstructionTranslatorBase.log_graph_break", "to see graph breaks"),
    Capability("torch._dynamo.output_graph", "OutputGraph.call_user_compiler", "to see graphs"),
    Capability("torch._dynamo.exc", "FailOnRecompileLimitHit", "to tell the recompile limit from other failures"),
    Capability("torch._dynamo.decorators", "_set_stance", "to keep compilation off for the oracle"),
    Capability("torch._dynamo.eval_frame", "_stance", "to keep compilation off for the oracle"),
    Capability("torch._dynamo.utils", "counters", "to start every cell from the same state"),
    Capability("torch._dynamo.callback", "callback_handler", "to notice a compile that never ended"),
    Capability("torch.utils._config_module", "ConfigModule._get_dict", "to set torch's settings and see which are consulted"),
    Capability("torch.utils._config_module", "ConfigModule.get_hash", "to see which settings are consulted"),
    Capability("torch.autograd", "_engine_run_backward", "to record gradients"),
    Capability("torch._C", "DisableTorchFunction", "to read tensors without running user code"),
)


def _has(capability: Capability) -> bool:
    try:
        found: object = importlib.import_module(capability.module)
    except ImportError:
        return False
    for name in capability.attribute.split("."):
        # Not by `hasattr` alone: every class has a `__call__` from its metaclass.
        if not hasattr(found, name) or (isinstance(found, type) and not any(name in vars(base) for base in found.__mro__)):
            return False
        found = getattr(found, name)
    return True


def missing() -> tuple[str, ...]:
    """One line for each name that the installed torch lacks; empty where all are there.

    Raises:
        EnvironmentUnusable: torch cannot be imported at all.
    """
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise EnvironmentUnusable(f"torch cannot be imported ({error}); install {SUPPORTED}: pip install 'torch>=2.13'") from None
    return tuple(
        f"{capability.module}.{capability.attribute} is missing, needed {capability.purpose}"
        for capability in CAPABILITIES
        if not _has(capability)
    )


def version() -> str:
    """The version of the installed torch."""
    import torch

    return str(torch.__version__)  # a class of its own


def require() -> None:
    """Check every capability.

    Raises:
        EnvironmentUnusable: names the torch that was found, the first missing name and the versions that work.
    """
    lines = missing()
    if lines:
        import torch

        more = f" (and {len(lines) - 1} more: testmatrix doctor lists them)" if len(lines) > 1 else ""
        raise EnvironmentUnusable(f"torch {torch.__version__} cannot be recorded: {lines[0]}{more}; works with: {SUPPORTED}")
