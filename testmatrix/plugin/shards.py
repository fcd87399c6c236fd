"""Running one shard of the suite: the tests of all others are deselected."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from testmatrix.errors import UsageError
from testmatrix.options import Options
from testmatrix.shards.durations import Durations, read_durations
from testmatrix.shards.plan import ShardPlan, plan
from testmatrix.shards.shard import AUTO, Shard, shard_of_ci

NAME = "testmatrix-shard"
_WORKER_KEY = "testmatrix-other-shards"

#: pytest's options that select by what an earlier run left on this very machine, by the name under which pytest keeps them.
_SELECTING_LOCALLY = ("lf", "stepwise")
#: pytest's plugin that, with ``--lf``, leaves out whatever had no failure already while files are collected.
_NARROWING = "lfplugin-collwrapper"


def settled(options: Options, environ: Mapping[str, str]) -> Options:
    """The options with the shard that ``auto`` stands for."""
    if options.shard != AUTO:
        return options
    try:
        return dataclasses.replace(options, shard=shard_of_ci(environ))
    except UsageError as error:
        raise options.located("shard", error) from None


def install(config: pytest.Config, options: Options) -> None:
    """Deselect the tests of other shards, where the run is of one shard.

    To be called once everything is configured: of wrappers around a hook, the last one registered is the outermost, and what
    pytest itself selects (``--lf`` does it in such a wrapper) has to happen inside of ours.

    Raises:
        pytest.UsageError: the durations cannot be read.
    """
    try:
        durations = read_durations(options.durations) if options.durations is not None else {}
    except UsageError as error:
        raise pytest.UsageError(f"testmatrix: {options.located('durations', error)}") from None
    if not isinstance(options.shard, Shard):
        return
    config.pluginmanager.register(ShardPlugin(options.shard, durations), NAME)
    if config.pluginmanager.has_plugin(_NARROWING):
        config.pluginmanager.unregister(name=_NARROWING)


def positions(config: pytest.Config) -> dict[int, int]:
    """Where items come among the tests of all shards, by an item's identity; empty where the run is of no shard."""
    installed: ShardPlugin | None = config.pluginmanager.get_plugin(NAME)
    return {} if installed is None else installed.positions


class ShardPlugin:
    """Plans once all is collected, keeps what is this shard's, and says what that is."""

    def __init__(self, shard: Shard, durations: Durations) -> None:
        self._shard, self._durations = shard, durations
        self._plan: ShardPlan | None = None
        self._others = False  #: tests were selected that are other shards'
        self.positions: dict[int, int] = {}  #: among the tests of all shards, by an item's identity

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Plan what the command selects, which all shards have in common.

        What an earlier run left is not common to them. Where that selects, the plan is made of all that is collected, and the
        selection is made within it: what failed on this machine was this shard's, and is again.
        """
        collected = [item.nodeid for item in items]
        yield
        self.positions = {id(item): position for position, item in enumerate(items)}
        locally = any(config.getoption(name, False) for name in _SELECTING_LOCALLY)
        self._plan = plan(collected if locally else [item.nodeid for item in items], self._durations, self._shard.total)
        ours = self._plan.names(self._shard.number)
        others = [item for item in items if item.nodeid not in ours]
        if others:
            self._others = True
            items[:] = [item for item in items if item.nodeid in ours]
            config.hook.pytest_deselected(items=others)

    def pytest_report_collectionfinish(self, config: pytest.Config) -> str | None:
        if self._plan is None or config.option.verbose < 0:
            return None
        number = self._shard.number
        tests = f"{len(self._plan.shards[number - 1])} of {len(self._plan.tests)} tests"
        seconds = f", {self._plan.loads[number - 1]:.1f} of {sum(self._plan.loads):.1f} s expected" if self._durations else ""
        return f"testmatrix: shard {self._shard} has {tests}{seconds} (plan {self._plan.digest})"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A shard without tests is as fine as any other; no test at all is not."""
        if not self._others:
            return
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_WORKER_KEY] = True
        if session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            session.exitstatus = pytest.ExitCode.OK

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist has ended: only workers collect."""
        self._others |= getattr(node, "workeroutput", {}).get(_WORKER_KEY, False)
