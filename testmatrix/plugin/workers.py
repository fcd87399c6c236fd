"""What the process that reports and the workers of pytest-xdist tell each other."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

_KEY = "testmatrix"


class Briefing(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told before it collects."""

    folder: str = ""  #: of the run; empty where nothing is kept
    temporary: str = ""  #: folder below which it keeps temporary files, which the process that reports removes
    resumed: str = ""  #: id of the run that is gone on with
    done: tuple[str, ...] = ()  #: tests that it has done


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker tells at its end."""

    taken_over: dict[str, int] = {}  #: tests that are done, by node id, with their positions


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workeroutput")


def leaves_tests_to_workers(config: pytest.Config) -> bool:
    return not is_worker(config) and config.getoption("dist", "no") != "no" and bool(config.getoption("tx", None))


def name_of(config: pytest.Config) -> str:
    """``gw0``; empty in a process that is no worker."""
    return str(getattr(config, "workerinput", {}).get("workerid", ""))


def brief(node: Any, briefing: Briefing) -> None:
    """In the process that reports: leave word for a worker that is about to start."""
    node.workerinput[_KEY] = msgspec.msgpack.encode(briefing)


def briefing_of(config: pytest.Config) -> Briefing:
    """In a worker."""
    left = getattr(config, "workerinput", {}).get(_KEY)
    return Briefing() if left is None else msgspec.msgpack.decode(left, type=Briefing)


def tell(config: pytest.Config, collected: Collected) -> None:
    """In a worker that ends."""
    config.workeroutput[_KEY] = msgspec.msgpack.encode(collected)  # type: ignore[attr-defined]


def told_by(node: Any) -> Collected | None:
    """In the process that reports, of a worker that has ended; None where it was lost."""
    left = getattr(node, "workeroutput", {}).get(_KEY)
    return None if left is None else msgspec.msgpack.decode(left, type=Collected)
