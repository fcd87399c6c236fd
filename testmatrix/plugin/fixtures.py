"""Fixtures of wider scope that belong to a cell: they are set up again for each one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from testmatrix.torch_adapter import cell as cells
from testmatrix.torch_adapter import recording, settings, state
from testmatrix.torch_adapter.leaks import snapshot


class CellFixtures:
    """Wider fixtures that reached the compiler, consulted a setting of the grid or changed one of torch's settings.

    What they made belongs to the cell that they were set up in, so they are torn down with it, together with what depends on
    them. All others stay, as in a run without the matrix, and so does what they changed: a seed or a default dtype that is set
    once for a class is what all cells start from.
    """

    def __init__(self) -> None:
        self._to_finish: list[tuple[pytest.FixtureDef[Any], Any]] = []
        self._in_function = False

    def begin(self) -> None:
        """A run of an item starts."""
        self._in_function = False

    def begin_function(self) -> None:
        """From here on, what changes is the function's."""
        self._in_function = True

    @contextmanager
    def watching(self, fixturedef: pytest.FixtureDef[Any], request: Any) -> Iterator[None]:
        """Around the setup of one fixture of wider scope."""
        active = recording.active()
        if active is None:
            yield
            return
        outer = (active.compiled_something, set(active.settings_read))
        active.compiled_something = False
        active.settings_read.clear()
        before, ambient, process = settings.snapshot(), state.ambient(), snapshot.take()
        try:
            yield
        finally:
            changed = settings.changed(before)
            if active.compiled_something or active.settings_read or changed:
                active.expected.update(changed)
                self._to_finish.append((fixturedef, request))
            elif state.ambient() != ambient:
                self._changed_state(active, fixturedef, request)
            if active.baseline is not None and not self.is_of_cell(fixturedef):
                active.baseline = snapshot.rebased(active.baseline, process, snapshot.take())
            active.compiled_something |= outer[0]
            active.settings_read |= outer[1]

    def is_of_cell(self, fixturedef: pytest.FixtureDef[Any]) -> bool:
        return any(each is fixturedef for each, _ in self._to_finish)

    def torn_down(self) -> None:
        """A wider fixture was torn down, perhaps to be set up with another parameter: what it put back stays so."""
        active = recording.active()
        if active is not None and not self._to_finish and not self._in_function:
            cells.keep_state(active)

    def _changed_state(self, active: recording.Recording, fixturedef: pytest.FixtureDef[Any], request: Any) -> None:
        """Keep the fixture's part of the state; where that cannot be told from the cell's or the function's, set it up again."""
        if self._to_finish or self._in_function:
            self._to_finish.append((fixturedef, request))
        else:
            cells.keep_state(active)

    def any_of_cell(self) -> bool:
        return bool(self._to_finish)

    def finish(self) -> None:
        """Tear down what belongs to the cell that ends; raises what was raised on the way, once all are torn down."""
        raised: list[BaseException] = []
        while self._to_finish:
            fixturedef, request = self._to_finish.pop()
            try:
                fixturedef.finish(request)
            except (Exception, pytest.skip.Exception, pytest.fail.Exception) as error:
                raised.append(error)
        if len(raised) == 1:
            raise raised[0]
        if raised:
            raise RuntimeError("; ".join(f"{type(error).__name__}: {error}" for error in raised)) from raised[0]
