"""Whether a pytest run is a matrix run, and what has to hold before its first test."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from testmatrix import configuration, options
from testmatrix.errors import TestmatrixError, UsageError
from testmatrix.options import Options

if TYPE_CHECKING:
    from testmatrix.plugin.matrix import MatrixPlugin


def _ini(config: pytest.Config) -> dict[str, options.Given]:
    present = getattr(config, "_inicfg", {})  # the public name warns
    return options.read_ini(config.getini, present if isinstance(present, Mapping) else {})


def _enabled(config: pytest.Config) -> bool:
    return options.is_enabled(vars(config.option), os.environ, _ini(config))


@contextmanager
def hooked_into_torch(config: pytest.Config) -> Iterator[None]:
    """While conftest files are imported: hook into torch as soon as they need its compiler, and never earlier.

    They, and what they import, may compile functions right away, and may set variables that torch reads when it is imported.
    """
    try:
        enabled = options.is_enabled(vars(config.known_args_namespace), os.environ, _ini(config))
    except TestmatrixError:
        enabled = False  # said once the run is configured, as a usage error
    if not enabled:
        yield
        return
    from testmatrix.torch_adapter import arrival

    arrival.expect()
    yield


def matrix_plugin(config: pytest.Config) -> MatrixPlugin | None:
    """The plugin that runs the matrix; None where this run is a plain one.

    Raises:
        pytest.UsageError: anything that can be known to be wrong before the first test, in one line.
    """
    try:
        if not _enabled(config):
            return None
        resolved = options.resolve(vars(config.option), os.environ, _ini(config), config.rootpath)
        return _prepared(config, resolved)
    except TestmatrixError as error:
        raise pytest.UsageError(f"testmatrix: {error}") from None


def _prepared(config: pytest.Config, resolved: Options) -> MatrixPlugin:
    from testmatrix.plugin.shards import settled
    from testmatrix.report.write import check_writable
    from testmatrix.torch_adapter import arrival

    resolved = settled(resolved, os.environ)
    plan = configuration.plan(resolved, configuration.read(resolved, config.rootpath))
    if resolved.json is not None:
        check_writable(resolved.json)
    arrival.hook_in()
    _check_settings(plan)

    from testmatrix.plugin.invocation import invocation
    from testmatrix.plugin.matrix import MatrixPlugin
    from testmatrix.plugin.session import MatrixSession

    session = MatrixSession(resolved, plan.grid, plan.cells, invocation(config, _rerun_options(resolved)))
    session.execution.began = session.began
    if not resolved.supervise or not _can_supervise(config):
        return MatrixPlugin(session)
    from testmatrix.plugin.supervision.supervisor import Supervisor

    session.runs_items = supervisor = Supervisor(session.execution, resolved.timeout or None, session.began)
    return MatrixPlugin(session, supervisor)


def _can_supervise(config: pytest.Config) -> bool:
    """Whether tests can run in a forked process: there is one where Python forks safely, and a debugger needs the terminal."""
    debugging = config.getoption("usepdb", False) or config.getoption("trace", False)
    return hasattr(os, "fork") and sys.platform != "darwin" and not debugging


def _check_settings(plan: configuration.Plan) -> None:
    """Refuse settings and context managers that do not exist, while nothing has run."""
    from testmatrix.torch_adapter import arrival

    axes = [axis for axis in plan.grid.axes if axis.origin or arrival.is_loaded()]
    if not axes:
        return  # torch's compiler is not there yet, and the settings of our own axes are in every version that was tried
    from testmatrix.torch_adapter import settings

    for axis in axes:
        for value in axis.values:
            for setting in value.settings:
                settings.check(setting.module, setting.name, setting.origin, setting.value)
            if value.context is not None:
                _check_context(value.context, f"{axis.origin}.values.{value.name}")


def _check_context(name: str, origin: str) -> None:
    from testmatrix.torch_adapter import cell

    try:
        cell.context_manager(name)
    except UsageError as error:
        raise UsageError(f"{origin}: {error}") from None


def _rerun_options(resolved: Options) -> tuple[str, ...]:
    """Flags without which a rerun would mean other cells."""
    changed = []
    for option in options.OPTIONS:
        source = resolved.sources.get(option.field)
        if option.field in ("grid", "backend", "config") and source is not None and source.label.startswith("--"):
            changed.append(f"{option.flag}={source.text}")
    return tuple(changed)
