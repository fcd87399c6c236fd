"""Why a number is a constant: by torch's design, or because a line of the user's forced it.

What forces is read off that line. It is a line and not a whole statement, so that it may have to be completed before it parses;
where even that fails, words in it decide.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from testmatrix.compare.numbers.sources import ENUM_MEMBER, SUBCLASS, is_attribute

BY_DESIGN, FORCED = "by design", "forced"
#: Where what was recorded does not tell why.
KEPT = f"{BY_DESIGN}: kept constant by Dynamo"
#: Where a cell is not meant to carry a number.
SETTING = f"{BY_DESIGN}: setting of the cell"
#: Where the test itself asked for a symbol, and nothing tells why it did not get one.
NOT_CARRIED = "not carried although asked for"
#: Where no line of the user's was being traced, as while a backend compiles the graph.
OUTSIDE = f"{FORCED}: something outside of the user's code"
#: Kinds of sources whose numbers torch keeps constant whatever the settings are.
ALWAYS_CONSTANT = frozenset(
    {
        *("default argument", "dict key", "global", ENUM_MEMBER, SUBCLASS, "module attribute"),
        *("size of a Parameter", "size of a buffer"),
    }
)
_DIMENSIONS = frozenset({"dim", "dims", "axis", "axes", "dim0", "dim1"})
_OPERATORS: dict[type[ast.operator], str] = {
    **{ast.Pow: "**", ast.Mod: "%", ast.FloorDiv: "//", ast.Div: "/", ast.LShift: "<<", ast.RShift: ">>", ast.MatMult: "@"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
}
#: Operators that seldom force an int: another use in the same line tells more. Of sizes, they want equality.
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
#: From the most telling on; what is in parentheses in a reason doesn't count.
_TELLING = (
    *("range()", "dim=", "==", "lookup", "index", "truth value", "iteration", "passing it to a function"),
    *("method", "operator", "comparison", "formatting", "slice", "arithmetic"),
)
_SCOPES = (ast.Lambda, ast.comprehension, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORDS = (
    (re.compile(r"\brange\s*\("), "range()"),
    (re.compile(r"\b(?:dim|axis)\s*="), "dim="),
    (re.compile(r"==|!=|^\s*case\b"), "=="),
    (re.compile(r"\b(?:not\s+)?in\b(?!.*\bfor\b)|\.get\("), "lookup"),
    (re.compile(r"\w\s*\[[^\]:]+\]"), "index"),
    (re.compile(r"(?P<detail>[A-Za-z_]\w*\()"), "passing it to a function"),
)
_UNKNOWN = "an operation"


def by_design(kind: str, number: str, value: str, source: str = "") -> str:
    """Why a number without a symbol is a constant in a cell that is meant to carry it."""
    if kind in ALWAYS_CONSTANT:
        return f"{BY_DESIGN}: {kind}"
    if number == "int" and is_attribute(source):
        return f"{BY_DESIGN}: module attribute"  # torch makes symbols of all other objects' ints
    if number == "size":
        return f"{BY_DESIGN}: 0 or 1" if value in ("0", "1") else KEPT
    if number == "float" and value.lstrip("-") in ("inf", "nan"):
        return f"{BY_DESIGN}: nan or infinite"
    return KEPT


@lru_cache(maxsize=4096)
def forced(code: str, names: tuple[str, ...], number: str) -> str:
    """What in a line of source made a number a constant. ``names`` are what it may be called there."""
    return f"{FORCED}: {_size_forcer(code, names) if number == 'size' else _forcer(code, names)}"


def family(reason: str) -> str:
    """A reason without its details: ``forced: passing it to a function`` for ``… (hann_window())``."""
    return reason.partition(" (")[0]


def _forcer(code: str, names: Sequence[str]) -> str:
    tree = _parsed(code)
    if tree is None:
        return _by_words(code)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    # Where a function is written in the line, that is what was compiled, and the rest is what it is called with.
    for part in (*bodies, tree):
        read = [node for node in ast.walk(part) if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)]
        for name in names:
            uses = [node for node in read if name in (getattr(node, "id", ""), getattr(node, "attr", ""))]
            found = _most_telling(uses, parents)
            if found:
                return found
        found = _most_telling(read, parents)
        if found and family(found) != "method":  # it goes by another name there, and is no module that a function is taken from
            return found
    return _by_words(code)


def _size_forcer(code: str, names: Sequence[str]) -> str:
    """The same for a size: beside what forces an int, operations want it to be equal to the size of something else."""
    found = _forcer(code, names)
    if found == _UNKNOWN:
        return "shape equality"
    kind, _, detail = found.partition(" (")
    if detail and kind in ("passing it to a function", "method", "operator", "arithmetic"):
        return f"shape equality ({detail}"
    return found if kind in ("range()", "==", "truth value", "iteration", "comparison") else "shape equality"


def _most_telling(uses: Sequence[ast.AST], parents: dict[ast.AST, ast.AST]) -> str:
    found = [reason for use in uses for reason in _reasons_of(use, parents)]
    return min(found, key=lambda reason: _TELLING.index(family(reason)), default="")


def _reasons_of(use: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """What the expressions around one use of a name do with it, from the inside out."""
    node = use
    while (parent := parents.get(node)) is not None and not isinstance(parent, _SCOPES):
        reason = _reason_at(parent, node)
        if reason:
            yield reason
        if isinstance(parent, ast.Call) and node is not parent.func:
            return  # what is done with the result is done to something else
        node = parent
    # The bodies of lambdas and comprehensions are looked at by themselves; what a loop runs over is its first part.
    if isinstance(parent, ast.comprehension) and node is parent.iter and node is use:
        yield "iteration"


def _reason_at(parent: ast.AST, node: ast.AST) -> str:
    match parent:
        case ast.Compare():
            return _comparison(parent, node)
        case ast.keyword() if parent.arg in _DIMENSIONS:
            return "dim="
        case ast.Call():
            return _call(parent, node)
        case ast.Slice():
            return "slice"
        case ast.Subscript() if node is parent.slice and not isinstance(node, ast.Slice | ast.Tuple):
            return "index"
        case ast.Tuple() if any(isinstance(one, ast.Slice) or _is_ellipsis(one) for one in parent.elts):
            return "" if isinstance(node, ast.Slice) else "index"
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert() if node is parent.test and not isinstance(node, ast.Compare):
            return "truth value"
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) if not isinstance(node, ast.Compare):
            return "truth value"
        case ast.For() if node is parent.iter and not isinstance(node, ast.Call):
            return "iteration"
        case ast.BinOp() | ast.AugAssign() if type(parent.op) in _OPERATORS:
            return f"operator ({_OPERATORS[type(parent.op)]})"
        case ast.BinOp() | ast.AugAssign() if type(parent.op) in _ARITHMETIC:
            return f"arithmetic ({_ARITHMETIC[type(parent.op)]})"
        case ast.FormattedValue():
            return "formatting"
    return ""


def _comparison(parent: ast.Compare, node: ast.AST) -> str:
    if any(isinstance(op, ast.In | ast.NotIn) for op in parent.ops):
        return "lookup" if node is parent.left else ""
    equal = any(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in parent.ops)
    return "==" if equal else "comparison"


def _call(parent: ast.Call, node: ast.AST) -> str:
    name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
    if node is parent.func:
        return f"method ({name}())" if isinstance(node, ast.Attribute) else ""
    if name in ("range", "get"):
        return "range()" if name == "range" else "lookup"
    return f"passing it to a function ({name}())" if name not in ("", "_") else "passing it to a function"


def _is_ellipsis(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _by_words(code: str) -> str:
    for pattern, name in _WORDS:
        match = pattern.search(code)
        if match:
            detail = match.groupdict().get("detail")
            return f"{name} ({detail}))" if detail else name
    return _UNKNOWN


def _parsed(code: str) -> ast.AST | None:
    """The line as a tree, completed where it is a part of a statement: a block's head, or one with open or closed brackets."""
    text = code.strip()
    for attempt in _attempts(text):
        try:
            return ast.parse(attempt)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _attempts(text: str) -> Iterator[str]:
    if not text or len(text) > 500:
        return
    yield text
    if text.endswith(":"):
        yield f"{text.removeprefix('el') if text.startswith('elif') else text} pass"
    openers, closers = _unbalanced(text)
    if openers or closers:
        balanced = "".join("_(" if bracket == ")" else "_[" if bracket == "]" else "{" for bracket in reversed(closers))
        balanced += text.rstrip(",") + "".join({"(": ")", "[": "]", "{": "}"}[bracket] for bracket in reversed(openers))
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
