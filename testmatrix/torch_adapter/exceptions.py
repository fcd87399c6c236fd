"""Exceptions as they are compared: unwrapped, and free of what differs by process."""

from __future__ import annotations

import importlib.util
import os
import re
import traceback
from collections.abc import Iterator
from types import TracebackType

from testmatrix.observation import ExceptionRecord

#: Classes in which torch wraps what went wrong inside; what is inside is what differs.
_WRAPPERS = frozenset(
    {
        "torch._dynamo.exc.TorchRuntimeError",
        "torch._dynamo.exc.BackendCompilerFailed",
        "torch._dynamo.exc.InternalTorchDynamoError",
        "torch._inductor.exc.InductorError",
        "torch._inductor.exc.LoweringException",
    }
)
_MESSAGE_LIMIT = 400

_NORMALISED = (
    (re.compile(r"0x[0-9a-fA-F]+"), "0x…"),
    (re.compile(r"\b\d{9,}\b"), "N"),  # ids and addresses
    (re.compile(r"/[^\s'\":]*/(?=[^/\s'\":]+)"), ""),  # directories; the file's name stays
    (re.compile(r"\bline \d+"), "line N"),
    (re.compile(r"(\.py):\d+"), r"\1"),
    (re.compile(r"\b[su]\d+\b|\bz[fb]?\d+\b"), "s…"),  # symbol numbers
)


def normalise_message(message: str) -> str:
    """The first lines of a message without addresses, ids, directories, line and symbol numbers."""
    # Pytest's explanations of an assertion come below it, each after a plus.
    text = re.split(r"\n\n|\n +\+ ", message.strip(), maxsplit=1)[0][: 4 * _MESSAGE_LIMIT]
    for pattern, replacement in _NORMALISED:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())[:_MESSAGE_LIMIT]


def qualified(cls: type) -> str:
    """``module.qualname`` of a class; builtins without their module."""
    module = getattr(cls, "__module__", "")
    return cls.__qualname__ if module in ("builtins", "") else f"{module}.{cls.__qualname__}"


def _inside(error: BaseException) -> BaseException:
    """What a wrapper of torch's carries, as far as it says."""
    seen = {id(error)}
    while qualified(type(error)) in _WRAPPERS:
        inner = getattr(error, "inner_exception", None) or error.__cause__
        if not isinstance(inner, BaseException) or id(inner) in seen:
            break
        seen.add(id(inner))
        error = inner
    return error


_NAMED_INSIDE = re.compile(
    r"^(?:[\w.]+: )*?(?P<after>[A-Z]\w*(?:Error|Exception|Exit|Interrupt))\b: |\bgot (?P<got>[A-Z]\w*Error)\("
)


def _type_named_in(error: BaseException) -> str:
    """``InternalTorchDynamoError: TypeError: …`` names the class inside where it is not linked."""
    match = _NAMED_INSIDE.search(str(error))
    return (match["after"] or match["got"]) if match else ""


#: Packages whose frames are never the user's: torch, our own, and what runs the tests.
_PACKAGES = ("torch", "testmatrix", "_pytest", "pluggy", "unittest")


def _directories() -> Iterator[str]:
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is not None:
            yield from (os.path.join(directory, "") for directory in spec.submodule_search_locations or ())


_INSIDE = tuple(_directories())


def is_users(filename: str) -> bool:
    """Whether a file is neither torch's, nor ours, nor a test runner's, nor made up by one of them."""
    return not filename.startswith(("<", *_INSIDE))


def where(tb: TracebackType | None) -> str:
    """``file.py:12 in function`` of the innermost frame that is the user's, or else of the innermost frame."""
    frames = traceback.extract_tb(tb)
    if not frames:
        return ""
    outside = [frame for frame in frames if is_users(frame.filename)]
    frame = outside[-1] if outside else frames[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno} in {frame.name}"


def record(error: BaseException) -> ExceptionRecord:
    """An exception as data. Never raises, whatever the exception's own ``__str__`` does."""
    inner = _inside(error)
    outer_name, inner_name = qualified(type(error)), qualified(type(inner))
    if inner_name in _WRAPPERS:
        inner_name = _type_named_in(inner) or inner_name
    try:
        message = normalise_message(str(inner)).removeprefix(f"{inner_name}: ")  # a wrapper repeats the class
    except Exception as fault:
        message = f"<message not readable: {type(fault).__name__}>"
    return ExceptionRecord(
        type=inner_name,
        wrapper=outer_name if outer_name != inner_name and outer_name in _WRAPPERS else "",
        message=message,
        frame=where(error.__traceback__),
        assertion=isinstance(error, AssertionError),
    )
