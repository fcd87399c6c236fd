"""Text of a guard as a condition over sources.

The text comes out of sympy's printer or torch's, or out of a file that anybody may have written: it is read as a small language
of its own and never evaluated, and what would take long or grow large is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from testmatrix.compare.algebra.functions import FUNCTIONS, Undefined, build, number
from testmatrix.compare.algebra.normal import canonical
from testmatrix.compare.algebra.weight import checked, raised

_MAX_TEXT = 20_000
_MAX_NODES = 1_500
_MAX_DEPTH = 60
_MAX_DIGITS = 400
_MAX_EXPONENT = 64

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: sympy.Eq,
    ast.NotEq: sympy.Ne,
    ast.Lt: sympy.Lt,
    ast.LtE: sympy.Le,
    ast.Gt: sympy.Gt,
    ast.GtE: sympy.Ge,
}
#: Operators that a long text has many of in a row.
_CHAINS: tuple[tuple[type[ast.operator], ...], ...] = ((ast.Add, ast.Sub), (ast.Mult,), (ast.BitAnd,), (ast.BitOr,))
_RELATIONS = {"Eq": sympy.Eq, "Ne": sympy.Ne, "Lt": sympy.Lt, "Le": sympy.Le, "Gt": sympy.Gt, "Ge": sympy.Ge}
_LOGIC = {"And": sympy.And, "Or": sympy.Or, "Not": sympy.Not}
_CONSTANTS = {
    "oo": sympy.oo,
    "int_oo": sympy.oo,
    "True": sympy.true,
    "true": sympy.true,
    "False": sympy.false,
    "false": sympy.false,
}
_PYTHON_FUNCTIONS = {"min": "Min", "max": "Max", "abs": "Abs", "float": "ToFloat", "sqrt": "OpaqueUnaryFn_sqrt"}

#: From a name or a source in the text to its symbol; raises KeyError for what it does not know.
Lookup = Callable[[str], Any]


#: What sympy raises, here or there, at expressions that nobody has thought of.
SYMPY_ERRORS = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)


class Unparsable(ValueError):
    """A text that is no condition, or one that would take too much to work with. The message says why."""


def parse(text: str, lookup: Lookup) -> Any:
    """The condition in normal form. Raises Unparsable."""
    try:
        return canonical(_boolean(_Reader(lookup).read(_tree(text))))
    except Unparsable:
        raise
    except (SyntaxError, MemoryError, *SYMPY_ERRORS) as error:
        raise Unparsable(f"{type(error).__name__}: {error}") from None


def parse_number(text: str, lookup: Lookup) -> Any:
    """An arithmetic expression (a replacement, a bound) as a sympy expression. Raises Unparsable."""
    try:
        tree = _tree(text)
        value = _number(_Reader(lookup).read(tree))
    except Unparsable:
        raise
    except (SyntaxError, MemoryError, *SYMPY_ERRORS) as error:
        raise Unparsable(f"{type(error).__name__}: {error}") from None
    if not isinstance(value, sympy.Expr):
        raise Unparsable("not a number")
    return value


def _tree(text: str) -> ast.expr:
    if len(text) > _MAX_TEXT:
        raise Unparsable(f"longer than {_MAX_TEXT} characters")
    tree = ast.parse(text.strip(), mode="eval").body
    _check_size(tree)
    return tree


def _check_size(tree: ast.AST) -> None:
    pending, nodes = [(tree, 0)], 0
    while pending:
        node, depth = pending.pop()
        nodes += 1
        if nodes > _MAX_NODES or depth > _MAX_DEPTH:
            raise Unparsable(f"more than {_MAX_NODES} parts or {_MAX_DEPTH} levels")
        chained = node.left if isinstance(node, ast.BinOp) and _is_chained(node) else None
        pending.extend((child, depth + (child is not chained)) for child in ast.iter_child_nodes(node))


def _is_chained(node: ast.BinOp) -> bool:
    """Whether a sum (product, alternative) goes on in its left side: ``a + b + c`` is as deep a tree as it is long."""
    return isinstance(node.left, ast.BinOp) and any(
        isinstance(node.op, group) and isinstance(node.left.op, group) for group in _CHAINS
    )


def _boolean(value: Any) -> Any:
    if _is_condition(value):
        return value
    return sympy.Ne(value, 0)


def _is_condition(value: Any) -> bool:
    return isinstance(value, sympy.logic.boolalg.Boolean) and not value.is_Symbol


def _number(value: Any) -> Any:
    """A condition in the place of a number is one where it holds, and zero elsewhere."""
    if not _is_condition(value):
        return value
    return build("Where", (canonical(value), sympy.Integer(1), sympy.Integer(0)))


class _Reader:
    """Python's grammar of expressions, as far as guards use it."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def read(self, node: ast.AST) -> Any:
        return checked(self._read(node))

    def _read(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant):
            return _literal(node.value)
        if isinstance(node, ast.Name) and node.id in _CONSTANTS:
            return _CONSTANTS[node.id]
        if isinstance(node, ast.Name | ast.Subscript | ast.Attribute):
            return self._source(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._chain(node)
        if isinstance(node, ast.UnaryOp):
            return _unary(node.op, self.read(node.operand))
        if isinstance(node, ast.BoolOp):
            operands = [_boolean(self.read(value)) for value in node.values]
            return sympy.And(*operands) if isinstance(node.op, ast.And) else sympy.Or(*operands)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        raise Unparsable(f"{type(node).__name__} in {ast.unparse(node)[:80]}")

    def _chain(self, last: ast.BinOp) -> Any:
        """A sum, a product, or the like, however long."""
        operations = [last]
        while _is_chained(operations[-1]):
            operations.append(operations[-1].left)  # type: ignore[arg-type]
        value = self.read(operations[-1].left)
        for operation in reversed(operations):
            value = checked(_binary(operation.op, value, self.read(operation.right)))
        return value

    def _source(self, node: ast.expr) -> Any:
        name = ast.unparse(node)
        try:
            return self._lookup(name)
        except KeyError:
            raise Unparsable(f"unknown name {name[:80]}") from None

    def _call(self, node: ast.Call) -> Any:
        if not isinstance(node.func, ast.Name) or node.keywords:
            return self._source(node)  # a method: L['x'].size()
        name = _PYTHON_FUNCTIONS.get(node.func.id, node.func.id)
        if name in _RELATIONS and len(node.args) == 2:
            return _RELATIONS[name](*(_number(self.read(argument)) for argument in node.args))
        if name == "Piecewise":
            return self._piecewise(node.args)
        if name == "ITE" and len(node.args) == 3:
            condition, then, otherwise = (_boolean(self.read(argument)) for argument in node.args)
            return sympy.Or(sympy.And(condition, then), sympy.And(sympy.Not(condition), otherwise))
        if name in _LOGIC:
            return _LOGIC[name](*(_boolean(self.read(argument)) for argument in node.args))
        function = FUNCTIONS.get(name)
        if function is None:
            raise Unparsable(f"unknown function {name}")
        if function.arity not in (None, len(node.args)) or not node.args:
            raise Unparsable(f"{name} with {len(node.args)} arguments")
        arguments = [self.read(argument) for argument in node.args]
        if name == "Where":
            return build(name, (canonical(_boolean(arguments[0])), *map(_number, arguments[1:])))
        return build(name, tuple(map(_number, arguments)))

    def _piecewise(self, cases: list[ast.expr]) -> Any:
        """``Piecewise((a, condition), (b, True))`` as ``Where(condition, a, b)``."""
        read = [[self.read(part) for part in case.elts] for case in cases if isinstance(case, ast.Tuple)]
        if len(read) != len(cases) or any(len(case) != 2 for case in read) or not read or read[-1][1] != sympy.true:
            raise Unparsable("a Piecewise that does not cover everything")
        value = read[-1][0]
        for branch, condition in reversed(read[:-1]):
            value = build("Where", (canonical(_boolean(condition)), _number(branch), _number(value)))
        return value

    def _compare(self, node: ast.Compare) -> Any:
        sides = [_number(self.read(side)) for side in (node.left, *node.comparators)]
        parts = []
        for operator, left, right in zip(node.ops, sides[:-1], sides[1:], strict=True):
            if type(operator) not in _COMPARISONS:
                raise Unparsable(f"comparison in {ast.unparse(node)[:80]}")
            parts.append(_COMPARISONS[type(operator)](left, right))
        return sympy.And(*parts)


def _literal(value: object) -> Any:
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    if isinstance(value, int) and len(f"{value:x}") > _MAX_DIGITS:
        raise Unparsable("a number of too many digits")
    if isinstance(value, int | float):
        try:
            return number(value)
        except Undefined:
            raise Unparsable("a number that is not finite") from None
    raise Unparsable(f"{value!r:.80} is no number")


def _unary(operator: ast.unaryop, operand: Any) -> Any:
    if isinstance(operator, ast.USub):
        return -_number(operand)
    if isinstance(operator, ast.UAdd):
        return _number(operand)
    return sympy.Not(_boolean(operand))  # sympy prints ``~`` for not


def _binary(operator: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(operator, ast.BitAnd | ast.BitOr) and (_is_condition(left) or _is_condition(right)):
        return (sympy.And if isinstance(operator, ast.BitAnd) else sympy.Or)(_boolean(left), _boolean(right))
    left, right = _number(left), _number(right)
    if isinstance(operator, ast.Add):
        return left + right
    if isinstance(operator, ast.Sub):
        return left - right
    if isinstance(operator, ast.Mult):
        return left * right
    if isinstance(operator, ast.Div):
        return _quotient(left, right)
    if isinstance(operator, ast.Pow):
        return _power(left, right)
    name = _OPERATORS.get(type(operator))
    if name is None:
        raise Unparsable(f"operator {type(operator).__name__}")
    return build(name, (left, right))


_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.FloorDiv: "FloorDiv",
    ast.Mod: "PythonMod",
    ast.LShift: "LShift",
    ast.RShift: "RShift",
    ast.BitAnd: "BitwiseFn_bitwise_and",
    ast.BitOr: "BitwiseFn_bitwise_or",
    ast.BitXor: "BitwiseFn_bitwise_xor",
}


def _quotient(left: Any, right: Any) -> Any:
    """sympy prints a rational factor as a division (``s0/2``), which is exact; any other rounds."""
    if right.is_Integer and right != 0:
        return left / right
    return build("IntTrueDiv" if left.is_integer and right.is_integer else "FloatTrueDiv", (left, right))


def _power(base: Any, exponent: Any) -> Any:
    if exponent.is_Integer and 0 <= exponent <= _MAX_EXPONENT:
        return raised(base, exponent)
    if exponent.is_Integer and -_MAX_EXPONENT <= exponent < 0:
        return _quotient(sympy.Integer(1), raised(base, -exponent))  # as sympy prints a quotient
    return build("PowByNatural" if base.is_integer and exponent.is_integer else "FloatPow", (base, exponent))
