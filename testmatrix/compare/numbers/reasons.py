"""Why a number is a constant: by torch's design, or because a line of the user's forced it.

What forces is read off the syntax of that line, or of the statement that it is a part of; where that fails, words in it decide.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from testmatrix.compare.numbers.sources import ENUM_MEMBER, SUBCLASS, is_attribute
from testmatrix.compare.numbers.statements import parsed, statement_of

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
#: Where one of these is done to it in the line itself, the rest of the statement is not asked.
_SURE = frozenset(_TELLING[:8])
#: What is seldom done to anything but ints. It counts first where the number's name is not in the line, as in a function that it
#: was passed on to under another name, so that any name may be meant.
_TO_INTS = ("range()", "dim=", "index", "lookup")
_TELLING_OF_OTHERS = (*_TO_INTS, *(reason for reason in _TELLING if reason not in _TO_INTS))
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
def forced(code: str, names: tuple[str, ...], number: str, context: tuple[str, ...] = ()) -> str:
    """What in a line of source made a number a constant.

    ``names`` are what it may be called there, its own first, and ``context`` is the line with those around it, as in a guard.
    """
    found = _forcer(code, statement_of(code, context), names[:1])
    return f"{FORCED}: {_size_forcer(found) if number == 'size' else found}"


def family(reason: str) -> str:
    """A reason without its details: ``forced: passing it to a function`` for ``… (hann_window())``."""
    return reason.partition(" (")[0]


def _forcer(code: str, statement: str, names: Sequence[str]) -> str:
    """The number's own name tells more than any other, and the line more than the rest of its statement."""
    lines = [_Line(tree) for tree in map(parsed, dict.fromkeys((code, statement))) if tree is not None]
    found = [reason for line in lines for name in names if (reason := line.most_telling_of(name))]
    if found:
        return found[0] if family(found[0]) in _SURE else _first(found, _TELLING)
    found = [reason for line in lines if (reason := line.most_telling_of_others())]
    if found:
        return found[0] if family(found[0]) in _TO_INTS else _first(found, _TELLING_OF_OTHERS)
    words = _by_words(code)
    return words if words != _UNKNOWN else _by_words(statement)


def _size_forcer(found: str) -> str:
    """The same for a size: beside what forces an int, operations want it to be equal to the size of something else."""
    if found == _UNKNOWN:
        return "shape equality"
    kind, _, detail = found.partition(" (")
    if detail and kind in ("passing it to a function", "method", "operator", "arithmetic"):
        return f"shape equality ({detail}"
    return found if kind in ("range()", "==", "truth value", "iteration", "comparison") else "shape equality"


class _Line:
    """What is done to the names in a line."""

    def __init__(self, tree: ast.AST) -> None:
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        # Where a function is written in the line, that is what was compiled, and the rest is what it is called with.
        self._parts = [*(node.body for node in ast.walk(tree) if isinstance(node, ast.Lambda)), tree]

    def most_telling_of(self, name: str) -> str:
        """Of what is done to one name: the first part of the line that does anything to it tells."""
        found = (_first(self._reasons(part, name), _TELLING) for part in self._parts)
        return next(filter(None, found), "")

    def most_telling_of_others(self) -> str:
        """Of what is done to any name, but for modules and objects that a method is taken from."""
        found = [
            _first([reason for reason in self._reasons(part) if family(reason) != "method"], _TELLING_OF_OTHERS)
            for part in self._parts
        ]
        best = (one for among in (_TO_INTS, _SURE) for one in found if family(one) in among)
        return next(best, found[-1])

    def _reasons(self, part: ast.AST, name: str = "") -> list[str]:
        uses = (node for node in ast.walk(part) if _is_use(node, name))
        return [reason for use in uses for reason in _reasons_of(use, self._parents)]


def _first(reasons: Sequence[str], order: Sequence[str]) -> str:
    return min(reasons, key=lambda reason: order.index(family(reason)), default="")


def _is_use(node: ast.AST, name: str) -> bool:
    """Whether an expression reads a variable, an attribute or an item of that name; of any name, where there is none."""
    match node:
        case ast.Name(id=called, ctx=ast.Load()) | ast.Attribute(attr=called, ctx=ast.Load()):
            return name in ("", called)
        case ast.Subscript(slice=ast.Constant(value=str(called)), ctx=ast.Load()):
            return name == called
    return False


def _reasons_of(use: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """What the expressions around one use of a name do with it, from the inside out."""
    if _unpacks(parents.get(use)) and getattr(use, "attr", "") != "shape":
        yield "iteration"
    node = use
    while (parent := parents.get(node)) is not None and not isinstance(parent, _SCOPES):
        reason = _reason_at(parent, node)
        if reason:
            yield reason
        called = isinstance(parent, ast.Call) and node is not parent.func
        if called or (isinstance(parent, ast.Subscript) and node is parent.slice):
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
        case ast.Subscript() if node is parent.slice and not _has_slice(node):
            return "index"
        case ast.Tuple() if _has_slice(parent):
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
    if any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in (parent.left, *parent.comparators)):
        return ""  # no number is compared with a text
    equal = any(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in parent.ops)
    return "==" if equal else "comparison"


def _call(parent: ast.Call, node: ast.AST) -> str:
    name = parent.func.attr if isinstance(parent.func, ast.Attribute) else getattr(parent.func, "id", "")
    if node is parent.func:
        return f"method ({name}())" if isinstance(node, ast.Attribute) else ""
    if name in ("range", "get"):
        return "range()" if name == "range" else "lookup"
    return f"passing it to a function ({name}())" if name not in ("", "_") else "passing it to a function"


def _unpacks(statement: ast.AST | None) -> bool:
    """Whether a statement takes a value apart: ``a, b = x``."""
    return isinstance(statement, ast.Assign) and any(isinstance(target, ast.Tuple | ast.List) for target in statement.targets)


def _has_slice(node: ast.AST) -> bool:
    """Whether a subscript takes a part, in one dimension at least: ``[:n]``, ``[n:, 0]``."""
    return isinstance(node, ast.Slice) or (isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts))


def _by_words(code: str) -> str:
    for pattern, name in _WORDS:
        match = pattern.search(code)
        if match:
            detail = match.groupdict().get("detail")
            return f"{name} ({detail}))" if detail else name
    return _UNKNOWN
