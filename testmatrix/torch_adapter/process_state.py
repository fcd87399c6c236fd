"""What guards on the state of the process check, without what differs by machine and by thread.

Read off the values that the guards of this compile hold, not off the process, which may have changed while it was traced. The
number of threads is left out: torch checks it, and it says nothing of the code under test.
"""

from __future__ import annotations

import json
from typing import Any

from testmatrix.torch_adapter.exceptions import qualified

_LEFT_OUT = frozenset({"num_threads", "autocast_state", "default_dtype"})
#: Numbers of c10's scalar types; they are part of torch's file format and do not change.
_SCALAR_TYPES = {
    **{0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "float16", 6: "float32", 7: "float64", 8: "complex32"},
    **{9: "complex64", 10: "complex128", 11: "bool", 15: "bfloat16"},
}
#: Devices in the order in which the state of autocasting lists them.
_AUTOCAST_DEVICES = ("cpu", "cuda", "mtia", "maia", "xpu", "ipu", "hpu", "xla", "privateuseone", "mps")


def payload(kind: str, output_graph: Any) -> str | None:
    """What a guard of this kind checks; None for kinds that say so themselves."""
    if kind == "DEFAULT_DEVICE":
        return f"device={output_graph.current_device}"
    if kind == "TORCH_FUNCTION_STATE":
        modes = ", ".join(qualified(type(mode)) for mode in output_graph.torch_function_mode_stack or ())
        return f"modes=[{modes}]"
    if kind == "FSDP_TRAINING_STATE":
        return "checked with GLOBAL_STATE"
    if kind not in ("GLOBAL_STATE", "GRAD_MODE", "DETERMINISTIC_ALGORITHMS"):
        return None
    state = json.loads(output_graph.global_state_guard.__getstate__())
    if kind == "GRAD_MODE":
        return f"grad_mode={state['grad_mode']}"
    if kind == "DETERMINISTIC_ALGORITHMS":
        return _told({name: value for name, value in state.items() if name.startswith("deterministic")})
    return _told(
        {
            "autocast": _autocast(state["autocast_state"]),
            "default_dtype": _dtype(state["default_dtype"]),
            **{name: value for name, value in state.items() if name not in _LEFT_OUT},
        }
    )


def _told(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={values[name]}" for name in sorted(values))


def _dtype(number: int) -> str:
    return _SCALAR_TYPES.get(number, f"type {number}")


def _autocast(state: dict[str, Any]) -> str:
    """``off``, or each device for which it is on with its dtype; torch compares the others' dtypes as little."""
    on = [
        f"{_AUTOCAST_DEVICES[i] if i < len(_AUTOCAST_DEVICES) else i}:{_dtype(state['dtype'][i])}"
        for i, enabled in enumerate(state["enabled"])
        if enabled
    ]
    cached = "" if state.get("cached_enabled", True) else " without cache"
    return (f"({' '.join(on)})" if on else "off") + cached
