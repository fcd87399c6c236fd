"""The statement that a line of source is a part of, as a syntax tree.

What is recorded is a line, with the two before and after it. A statement may be longer than that, so that it may have to be
completed before it parses.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

#: A line of a context: ``12 | code``, and ``12 > code`` for the line itself.
_IN_CONTEXT = re.compile(r"\s*\d+ (?P<mark>[|>]) ?(?P<code>.*)", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#[^'\"]*$")
_LONGEST = 500  #: characters of what is parsed
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def statement_of(code: str, context: Sequence[str]) -> str:
    """The line with as many of those around it as its open brackets want, in one line; the line where nothing is cut."""
    lines = [match for match in map(_IN_CONTEXT.fullmatch, context) if match]
    own = next((position for position, match in enumerate(lines) if match["mark"] == ">"), None)
    if own is None:
        return code
    texts = [_COMMENT.sub("", match["code"]).strip() for match in lines]
    before, text, after = texts[:own], texts[own], texts[own + 1 :]
    while before and _is_cut(text, before):
        text = f"{before.pop()} {text}"
    while after and _unbalanced(text)[0]:
        text = f"{text} {after.pop(0)}"
    return text


def _is_cut(text: str, before: Sequence[str]) -> bool:
    """Whether a bracket that was opened in the lines before it is still open where a text starts."""
    return bool(_unbalanced(text)[1]) or any(_unbalanced(" ".join(before[start:]))[0] for start in range(len(before)))


def parsed(code: str) -> ast.AST | None:
    """The line as a tree, completed where it is a part of a statement: a block's head, or one with open or closed brackets."""
    for attempt in _attempts(code.strip()):
        try:
            return ast.parse(attempt)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _attempts(text: str) -> Iterator[str]:
    if not text or len(text) > _LONGEST:
        return
    yield text
    if text.endswith(":"):
        yield f"{text.removeprefix('el') if text.startswith('elif') else text} pass"
    openers, closers = _unbalanced(text)
    if openers or closers:
        balanced = "".join("_(" if bracket == ")" else "_[" if bracket == "]" else "{" for bracket in reversed(closers))
        balanced += text.rstrip(",") + "".join(_CLOSING[bracket] for bracket in reversed(openers))
        yield balanced
        yield f"{balanced}: pass"


def _unbalanced(text: str) -> tuple[list[str], list[str]]:
    """(brackets that stay open, brackets that were opened before)."""
    openers: list[str] = []
    closers: list[str] = []
    for character in text:
        if character in "([{":
            openers.append(character)
        elif character in ")]}":
            if openers:
                openers.pop()
            else:
                closers.append(character)
    return openers, closers
