"""A pytest plugin for bare runs: sets torch's settings from ``BENCHMARK_SETTINGS``, and nothing else.

The variable holds JSON, ``[["torch._dynamo.config", "specialize_int", true], …]``.
"""

from __future__ import annotations

import importlib
import json
import os


def pytest_configure() -> None:
    for module, name, value in json.loads(os.environ.get("BENCHMARK_SETTINGS", "[]")):
        setattr(importlib.import_module(module), name, value)
