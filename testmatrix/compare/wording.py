"""Words for findings, and the part of them that stays the same from run to run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from testmatrix.observation import ORACLE, ExceptionRecord

_NUMBER = re.compile(r"(?<![A-Za-z_])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|(?<=[su])\d+\b")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
#: Dynamo numbers the globals that it installs: ``__builtins_dict___2``, ``__resume_at_30_5``.
_NUMBERED_GLOBAL = re.compile(r"(__[A-Za-z]\w*?)(?:_+\d+)+(?=\W|$)")
_FRAME_FUNCTION = re.compile(r" in (.+)$")
_MESSAGE_LENGTH = 200


def stable_source(source: str) -> str:
    """A source without the numbers that Dynamo gives to globals of its own."""
    return _NUMBERED_GLOBAL.sub(r"\1", source) if "__" in source else source


def stable_text(text: str) -> str:
    """The first line of a text without numbers and addresses."""
    first = text.strip().split("\n", 1)[0][:_MESSAGE_LENGTH]
    return _NUMBER.sub("#", _ADDRESS.sub("#", stable_source(first)))


def stable_region(region: str) -> str:
    """A region's name without the function that it was defined in: renaming a test changes no cause."""
    return region.rsplit("<locals>.", 1)[-1]


def frame_function(frame: str) -> str:
    """``file.py:12 in function`` -> ``function``."""
    match = _FRAME_FUNCTION.search(frame)
    return match.group(1) if match else ""


def signature(kind: str, *parts: str) -> str:
    return "|".join((kind, *parts))


def exception_signature(exception: ExceptionRecord | None, test: str) -> str:
    """Class, message and function of an exception; the test's own name is left out."""
    if exception is None:
        return ""
    function = frame_function(exception.frame)
    if function and function.rsplit(".", 1)[-1] in re.split(r"::|\[", test):
        function = ""
    return f"{exception.type}:{stable_text(exception.message)}:{function}"


def raised_as(exception: ExceptionRecord) -> str:
    """The class that was raised, with what torch wrapped in it: ``TorchRuntimeError of ZeroDivisionError``."""
    wrapper = exception.wrapper.rpartition(".")[2]
    return f"{wrapper} of {exception.type}" if wrapper else exception.type


def first_line(text: str, limit: int = 120) -> str:
    line = text.strip().split("\n", 1)[0]
    return line if len(line) <= limit else line[: limit - 1] + "…"


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def in_cells(cells: Sequence[str], all_cells: Iterable[str]) -> str:
    """``in dynamic-specialize and dynamic-unspecialize``, ``in every cell``."""
    every = [cell for cell in all_cells if cell != ORACLE]
    if len(every) > 1 and set(every) <= set(cells):
        return "in every cell"
    return f"in {listed(cells)}"


def on_calls(numbers: Sequence[int]) -> str:
    """``call 1``, ``calls 1, 3 and 4``; long lists are cut."""
    words = [str(number) for number in numbers]
    if len(words) > 6:
        words = [*words[:5], f"{len(words) - 5} more"]
    return f"call{'s' if len(numbers) > 1 else ''} {listed(words)}"
