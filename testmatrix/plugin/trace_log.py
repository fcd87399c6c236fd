"""Keeping torch's structured trace out of pytest's log capture.

From version 9 on, pytest adds its handlers to loggers that do not propagate. To torch's trace logger, any handler means that
somebody wants the trace, so every compile would format hundreds of records, a seventh of its time, and print them under a
failing test.
"""

from __future__ import annotations

import logging
import os

from testmatrix.torch_adapter import arrival

_trace_logger = logging.getLogger("torch.__trace")


def leave() -> None:
    """Take pytest's handlers off the trace logger; handlers that write where the user asked for a log stay."""
    if not arrival.is_loaded():
        return  # nothing can be traced
    for handler in list(_trace_logger.handlers):
        if type(handler).__module__ == "_pytest.logging" and not _asked_for(handler):
            _trace_logger.removeHandler(handler)


def _asked_for(handler: logging.Handler) -> bool:
    if isinstance(handler, logging.FileHandler):
        return handler.baseFilename != os.path.abspath(os.devnull)
    return type(handler).__name__ == "_LiveLoggingStreamHandler"
