"""Call a function compiled and plain, and compare everything that its caller could see."""

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def same(got: Any, want: Any) -> None:
    """Equal in type, structure, dtype and value; Python's == alone would let 1, 1.0 and True pass for each other."""
    assert type(got) is type(want), f"{type(got).__name__} instead of {type(want).__name__}: {got!r}, {want!r}"
    if isinstance(want, torch.Tensor):
        torch.testing.assert_close(got, want, equal_nan=True)
        assert got.requires_grad == want.requires_grad
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want)
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want):
            same(one, other)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            same(got[key], want[key])
    elif isinstance(want, float) and math.isfinite(want):
        assert math.isclose(got, want, rel_tol=1e-9), f"{got!r} instead of {want!r}"
    elif isinstance(want, float) and math.isnan(want):
        assert math.isnan(got)
    else:
        assert got == want, f"{got!r} instead of {want!r}"


def agree(function: Callable, *calls: Any, backend: Any = "eager", **options: Any) -> None:
    """Compile once, make every call compiled and plain; a call is a tuple of arguments, or the only argument.

    Both sides get copies of their own, and what they did to them is compared as well.
    """
    fast = torch.compile(function, backend=backend, **options)
    for call in calls:
        args = call if type(call) is tuple else (call,)
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        same(fast(*ours), function(*theirs))
        for one, other in zip(ours, theirs):
            if isinstance(other, (torch.Tensor, list, tuple, dict)):
                same(one, other)
