"""Assertions on how much was compiled: found in a test's source, and passed over in a cell where they do not hold.

Frame counts, op counts and expected graph text differ by cell, by design. Where such an assertion fails, the test is run again
with that one statement guarded, so that what follows it is compared, too.

What is recognised: attributes that torch's own counters have (``frame_count``, ``op_count``), ``counters[...]``, inline expected
text, whatever a function used as a backend counts or collects, and names assigned from any of these.
"""

from __future__ import annotations

import ast
import gc
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_COUNTING_ATTRIBUTES = frozenset({"frame_count", "op_count", "graph_count", "num_compiles", "compile_count", "graphs"})
_COUNTING_NAMES = frozenset({"counters", "frame_count", "op_count", "compile_count", "num_compiles"})
_EXPECTED_TEXT = frozenset({"assertExpectedInline", "assertExpected", "assertExpectedRaises"})
_BACKEND_PARAMETERS = frozenset({"gm", "graph_module"})
_MUTATORS = frozenset({"append", "extend", "add", "update"})

#: Statements that were passed over in the run that is going on.
_passed_over: list[str] = []


@dataclass(frozen=True, slots=True)
class CountAssertion:
    """Where one failed."""

    code: types.CodeType  #: of the function that holds it
    filename: str
    text: str  #: ``file.py:12: assert counter.frame_count == 1``
    rewritten: bool  #: the module's assertions were rewritten by pytest


def find(tb: types.TracebackType | None) -> CountAssertion | None:
    """The count assertion that an AssertionError came from, by its traceback; None where it came from anything else."""
    while tb is not None:
        code, line = tb.tb_frame.f_code, tb.tb_lineno
        statement = _counting_statements(code.co_filename).get(line)
        if statement is not None:
            return CountAssertion(
                code=code,
                filename=code.co_filename,
                text=f"{Path(code.co_filename).name}:{line}: {statement}",
                rewritten="@pytest_ar" in tb.tb_frame.f_globals,
            )
        tb = tb.tb_next
    return None


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


def note(error: AssertionError, text: str) -> None:
    """Called by guarded statements."""
    _passed_over.append(text)


def _source(filename: str) -> str | None:
    try:
        return Path(filename).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


@lru_cache(maxsize=256)
def _counting_statements(filename: str) -> dict[int, str]:
    """Line → source of every count assertion of a file, all lines of a statement included."""
    source = _source(filename)
    if source is None or "site-packages" in filename:
        return {}
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    found: dict[int, str] = {}
    for statement in _find_statements(tree):
        text = _first_line(source, statement)
        found.update(dict.fromkeys(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1), text))
    return found


def _first_line(source: str, statement: ast.stmt) -> str:
    return (ast.get_source_segment(source, statement) or "").split("\n", 1)[0]


def _find_statements(tree: ast.Module) -> list[ast.stmt]:
    tainted = _tainted_names(tree)
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Assert, ast.Expr)) and _asserts_count(node, tainted)]


def _asserts_count(statement: ast.Assert | ast.Expr, tainted: frozenset[str]) -> bool:
    if isinstance(statement, ast.Assert):
        return _mentions(statement.test, tainted)
    call = statement.value
    if not isinstance(call, ast.Call):
        return False
    name = _last_name(call.func)
    if name in _EXPECTED_TEXT:
        return True
    is_assertion = name.startswith("assert") or name in ("check_count", "expect_count")
    return is_assertion and any(_mentions(argument, tainted) for argument in [*call.args, *(k.value for k in call.keywords)])


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _mentions(expression: ast.expr, tainted: frozenset[str]) -> bool:
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and (node.attr in _COUNTING_ATTRIBUTES or node.attr in tainted):
            return True
        if isinstance(node, ast.Name) and (node.id in _COUNTING_NAMES or node.id in tainted):
            return True
    return False


def _tainted_names(tree: ast.Module) -> frozenset[str]:
    """Names and attributes that hold how much was compiled, anywhere in the file."""
    tainted = {name for function in _backends(tree) for name in _collected_by(function)}
    for _ in range(3):  # assignments may follow each other
        known = frozenset(tainted)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and _mentions(node.value, known):
                tainted.update(target.id for target in node.targets if isinstance(target, ast.Name))
        if tainted == known:
            break
    return frozenset(tainted)


def _backends(tree: ast.Module) -> list[ast.FunctionDef]:
    """Functions that are handed to the compiler as its backend, or look like one."""
    used = {
        keyword.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "backend" and isinstance(keyword.value, ast.Name)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [f for f in functions if f.name in used or {a.arg for a in f.args.args[:2]} & _BACKEND_PARAMETERS]


def _collected_by(function: ast.FunctionDef) -> Iterator[str]:
    outer = {name for node in ast.walk(function) if isinstance(node, (ast.Nonlocal, ast.Global)) for name in node.names}
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign):
            target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
            name = _last_name(target)
            if name and (isinstance(target, ast.Attribute) or name in outer or isinstance(node.target, ast.Subscript)):
                yield name
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
            name = _last_name(node.func.value)
            if name:
                yield name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and target.id in outer)


class _Guarding(ast.NodeTransformer):
    """Wraps count assertions so that their failure is noted instead of raised."""

    def __init__(self, statements: list[ast.stmt], source: str, name: str) -> None:
        self._texts = {id(s): f"{name}:{s.lineno}: {_first_line(source, s)}" for s in statements}

    def visit(self, node: ast.AST) -> Any:
        text = self._texts.get(id(node))
        if text is None:
            return self.generic_visit(node)
        guard = ast.parse(
            "try:\n    pass\nexcept AssertionError as _testmatrix_error:\n"
            f"    __import__({__name__!r}, fromlist=['note']).note(_testmatrix_error, {text!r})"
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
    guarding = _Guarding(_find_statements(tree), source, Path(assertion.filename).name)
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
