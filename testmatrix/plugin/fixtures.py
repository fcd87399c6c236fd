"""Fixtures of wider scope that belong to a cell: they are set up again for each one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from testmatrix.torch_adapter import recording, settings


class CellFixtures:
    """Wider fixtures that reached the compiler, consulted a setting of the grid or changed one of torch's settings.

    What they made belongs to the cell that they were set up in, so they are torn down with it, together with what depends on
    them. All others stay, as in a run without the matrix.
    """

    def __init__(self) -> None:
        self._to_finish: list[tuple[pytest.FixtureDef[Any], Any]] = []

    @contextmanager
    def watching(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[None]:
        """Around the setup of one fixture."""
        active = recording.active()
        if active is None or fixturedef.scope == "function":
            yield
            return
        outer = (active.compiled_something, set(active.settings_read))
        active.compiled_something = False
        active.settings_read.clear()
        before = settings.snapshot()
        try:
            yield
        finally:
            if active.compiled_something or active.settings_read or settings.changed(before):
                self._to_finish.append((fixturedef, request))
            active.compiled_something |= outer[0]
            active.settings_read |= outer[1]

    def finish(self) -> list[BaseException]:
        """Tear down what belongs to the cell that ends; returns what was raised on the way."""
        raised: list[BaseException] = []
        while self._to_finish:
            fixturedef, request = self._to_finish.pop()
            try:
                fixturedef.finish(request)
            except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
                raised.append(error)
        return raised
