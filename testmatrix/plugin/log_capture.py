"""pytest's log capture, as far as torch's loggers are concerned.

From version 9 on, pytest adds two handlers to every logger that does not propagate, in each phase of a test. Torch has more than
forty of these, so that a third of the time of a test that does next to nothing went into it: here it is done without a lock for
each. And to torch's trace logger, any handler means that somebody wants the trace: every compile would format hundreds of
records, a seventh of its time, and print them under a failing test; that one gets handlers only where the user asked for a log.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import _pytest.logging

_TRACE = "torch.__trace"
_PATCHED = "catching_logs"


class Catching:
    """Has a handler see what is logged in the block: at the root logger, and at loggers whose records do not get there."""

    __slots__ = ("_before", "_handler", "_level", "_loggers")

    def __init__(self, handler: logging.Handler, level: int | None = None) -> None:
        self._handler, self._level = handler, level
        self._loggers: list[logging.Logger] = []
        self._before = logging.NOTSET

    def __enter__(self) -> logging.Handler:
        handler, root = self._handler, logging.root
        if self._level is not None:
            handler.setLevel(self._level)
            self._before = root.level
            root.setLevel(min(root.level, self._level))
        self._loggers = [logger for logger in (root, *_cut_off(handler)) if handler not in logger.handlers]
        for logger in self._loggers:
            logger.handlers.append(handler)
        return handler

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for logger in self._loggers:
            if self._handler in logger.handlers:  # the test may have taken it off
                logger.handlers.remove(self._handler)
        self._loggers = []
        if self._level is not None:
            logging.root.setLevel(self._before)


def _cut_off(handler: logging.Handler) -> Iterator[logging.Logger]:
    """Loggers that do not propagate. The placeholders among them, for names that only children have, have no such attribute."""
    traced = _is_asked_for(handler)
    for name, logger in list(logging.root.manager.loggerDict.items()):
        if not getattr(logger, "propagate", True) and isinstance(logger, logging.Logger) and (traced or name != _TRACE):
            yield logger


def _is_asked_for(handler: logging.Handler) -> bool:
    if type(handler).__module__ != "_pytest.logging":
        return True
    if isinstance(handler, logging.FileHandler):
        return handler.baseFilename != os.path.abspath(os.devnull)
    return type(handler).__name__ == "_LiveLoggingStreamHandler"


def install() -> Callable[[], None]:
    """Put :class:`Catching` in the place of pytest's own, which does this from version 9 on; returns what takes it back."""
    original: Any = getattr(_pytest.logging, _PATCHED, None)
    if "attached_loggers" not in getattr(original, "__slots__", ()):
        return lambda: None
    setattr(_pytest.logging, _PATCHED, Catching)
    return lambda: setattr(_pytest.logging, _PATCHED, original)
