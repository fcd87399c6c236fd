"""The pytest plugin: hooks that delegate.

Without ``--testmatrix`` nothing but the options is added, and no torch is imported.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from testmatrix import options

if TYPE_CHECKING:
    from testmatrix.plugin.matrix import MatrixPlugin


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("testmatrix", "differential test matrix for torch.compile")
    options.add_to_parser(group.addoption, parser.addini)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, Any, Any]:
    from testmatrix.plugin.start import hooked_into_torch

    with hooked_into_torch(early_config):
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    from testmatrix.plugin.start import matrix_plugin

    plugin: MatrixPlugin | None = matrix_plugin(config)
    if plugin is not None:
        config.pluginmanager.register(plugin, "testmatrix-run")
