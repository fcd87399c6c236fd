"""Assertions on how much was compiled: found in a test's source, and passed over in a cell where they do not hold.

Frame counts, op counts and expected graph text differ by cell, by design. Where such an assertion fails, the test is run again
with that one statement guarded, so that what follows it is compared, too.

What is recognised: attributes of torch's own counting backends and of backends of the suite's own, ``counters[...]``, inline
expected text, whatever a function used as a backend counts or collects, and variables assigned from any of these. The source
says which assertions may be about that (:mod:`count_sources`), the frame in which one fails whether it is (:mod:`count_owners`).
Everything else fails as in a bare run.
"""

from __future__ import annotations

import ast
import gc
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from testmatrix.plugin import count_owners, count_sources
from testmatrix.plugin.count_sources import Candidate

#: Statements that were passed over in the run that is going on.
_passed_over: list[str] = []


@dataclass(frozen=True, slots=True)
class CountAssertion:
    """Where one failed."""

    code: types.CodeType  #: of the function that holds it
    filename: str
    text: str  #: ``file.py:12: assert counter.frame_count == 1``
    rewritten: bool  #: the module's assertions were rewritten by pytest


@dataclass(frozen=True, slots=True)
class _Found:
    """The candidates of a file by line, all lines of a statement included."""

    by_line: dict[int, Candidate]
    collected: frozenset[str]  #: attributes in which its backends count


def find(tb: types.TracebackType | None) -> CountAssertion | None:
    """The count assertion that an AssertionError came from, by its traceback; None where it came from anything else."""
    outer: list[types.FrameType] = []
    while tb is not None:
        code = tb.tb_frame.f_code
        frames = [tb.tb_frame, *reversed(outer)]
        candidate = _confirmed(tb.tb_lineno, frames)
        if candidate is not None:
            return CountAssertion(
                code=code,
                filename=code.co_filename,
                text=f"{Path(code.co_filename).name}:{tb.tb_lineno}: {candidate.text}",
                rewritten="@pytest_ar" in tb.tb_frame.f_globals,
            )
        outer.append(tb.tb_frame)
        tb = tb.tb_next
    return None


def _confirmed(line: int, frames: Sequence[types.FrameType]) -> Candidate | None:
    """The candidate at a line of the first frame, where what it looked at there is a count; then its callers, innermost first."""
    filename = frames[0].f_code.co_filename
    found = _candidates(filename)
    candidate = found.by_line.get(line)
    if candidate is None:
        return None
    known = [frame for frame in frames if frame.f_code.co_filename == filename]
    counts = all(any(count_owners.holds(claim, known, found.collected) for claim in claims) for claims in candidate.claims)
    return candidate if counts else None


@contextmanager
def passed_over(assertion: CountAssertion, config: Any) -> Iterator[list[str]]:
    """Run with the count assertions of that function guarded; yields the list of those that failed meanwhile."""
    codes = _guarded_code(assertion, config)
    exchanged = [
        (function, function.__code__, code)
        for function in _functions_of(assertion.filename)
        for code in codes
        if _is_same(function.__code__, code)
    ]
    _passed_over.clear()
    for function, _, guarded in exchanged:
        function.__code__ = guarded
    try:
        yield _passed_over
    finally:
        for function, original, _ in exchanged:
            function.__code__ = original


def _functions_of(filename: str) -> list[types.FunctionType]:
    # Code objects are no objects of the collector's, so that it does not know which functions refer to one.
    functions = (found for found in gc.get_objects() if type(found) is types.FunctionType)
    return [function for function in functions if function.__code__.co_filename == filename]


def note(error: AssertionError, text: str) -> bool:
    """Called by guarded statements: whether the one that failed is to be passed over, which is noted."""
    tb = error.__traceback__
    if tb is None or _confirmed(tb.tb_lineno, _callers(tb.tb_frame)) is None:
        return False
    _passed_over.append(text)
    return True


def _callers(frame: types.FrameType) -> list[types.FrameType]:
    frames = []
    current: types.FrameType | None = frame
    while current is not None:
        frames.append(current)
        current = current.f_back
    return frames


def _source(filename: str) -> str | None:
    try:
        return Path(filename).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


@lru_cache(maxsize=256)
def _candidates(filename: str) -> _Found:
    source = _source(filename)
    if source is None or "site-packages" in filename:
        return _Found({}, frozenset())
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return _Found({}, frozenset())
    by_line: dict[int, Candidate] = {}
    for found in count_sources.candidates(tree, source):
        first = found.statement.lineno
        by_line.update(dict.fromkeys(range(first, (found.statement.end_lineno or first) + 1), found))
    return _Found(by_line, count_sources.collected_attributes(tree))


class _Guarding(ast.NodeTransformer):
    """Wraps what may be count assertions, so that their failure is noted instead of raised where they are."""

    def __init__(self, found: list[Candidate], name: str) -> None:
        self._texts = {id(each.statement): f"{name}:{each.statement.lineno}: {each.text}" for each in found}

    def visit(self, node: ast.AST) -> Any:
        text = self._texts.get(id(node))
        if text is None:
            return self.generic_visit(node)
        guard = ast.parse(
            "try:\n    pass\nexcept AssertionError as _testmatrix_error:\n"
            f"    if not __import__({__name__!r}, fromlist=['note']).note(_testmatrix_error, {text!r}):\n        raise"
        ).body[0]
        assert isinstance(guard, ast.Try)
        assert isinstance(node, ast.stmt)
        guard.body = [node]
        for each in (guard, *ast.walk(guard.handlers[0])):
            if isinstance(each, (ast.stmt, ast.expr, ast.ExceptHandler)):
                ast.copy_location(each, node)
        return guard


def _guarded_code(assertion: CountAssertion, config: Any) -> list[types.CodeType]:
    """The function's code again with its count assertions guarded, and that of the functions that it is defined in.

    A function that a test defines is made anew from its test's code. Empty where the source no longer fits.
    """
    source = _source(assertion.filename)
    if source is None:
        return []
    tree = ast.parse(source)
    guarding = _Guarding(count_sources.candidates(tree, source), Path(assertion.filename).name)
    tree = ast.fix_missing_locations(guarding.visit(tree))
    if assertion.rewritten:
        from _pytest.assertion.rewrite import rewrite_asserts

        rewrite_asserts(tree, source.encode(), assertion.filename, config)
    module = compile(tree, assertion.filename, "exec", dont_inherit=True)
    return _path_to(assertion.code, module)


def _path_to(wanted: types.CodeType, outer: types.CodeType) -> list[types.CodeType]:
    """The codes inside of ``outer`` that lead to one, that one last; empty where it is not there."""
    for code in outer.co_consts:
        if isinstance(code, types.CodeType):
            if _is_same(code, wanted):
                return [code]
            inner = _path_to(wanted, code)
            if inner:
                return [code, *inner]
    return []


def _is_same(one: types.CodeType, other: types.CodeType) -> bool:
    """Whether two codes are of one function."""
    place = (one.co_name, one.co_firstlineno, one.co_freevars)
    return place == (other.co_name, other.co_firstlineno, other.co_freevars)
