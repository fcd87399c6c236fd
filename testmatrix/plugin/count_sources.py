"""Which assertions of a file may be about how much was compiled, by its source alone.

Two kinds of evidence. A *variable* that a function used as a backend counts or collects in, or that was assigned from one, is
certain; it is a variable of one scope, so that the same name elsewhere in the file means nothing. An *attribute* such as
``frame_count`` says too little: whose it is has to be seen while the test runs, so that it is kept as a claim on its owner.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

#: Attributes that torch's own counting backends and its module of metrics have.
COUNTING_ATTRIBUTES = frozenset(
    {"frame_count", "op_count", "graph_count", "num_compiles", "compile_count", "graphs", "generated_kernel_count"}
)
#: What the first parameter of a backend is called.
BACKEND_PARAMETERS = frozenset({"gm", "graph_module"})

_COUNTERS = "counters"  # torch._dynamo.utils.counters
_EXPECTED_TEXT = frozenset({"assertExpectedInline", "assertExpected", "assertExpectedRaises"})
_UNARY = frozenset({"assertTrue", "assertFalse", "assertIsNone", "assertIsNotNone"})
_COMPILER_KEYWORDS = frozenset({"backend", "fw_compiler", "bw_compiler"})
_MUTATORS = frozenset({"append", "extend", "add", "update"})
_MOST_ROUNDS = 5  # of assignments that follow each other

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Claim:
    """A reason to take something for a count."""

    owner: ast.expr | None = None  #: what has to be one of the compiler's counters at run time; None: certain
    attribute: str = ""  #: of the owner; empty: the owner itself is what counts
    used: bool = False  #: a variable of that name was handed to the compiler as its backend


Claims = frozenset[Claim]
_CERTAIN: Claims = frozenset({Claim()})
_NOTHING: Claims = frozenset()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that may assert how much was compiled."""

    statement: ast.stmt
    text: str  #: its first line
    claims: tuple[Claims, ...]  #: of each the assertion is about something else without; one of each has to hold


def candidates(tree: ast.Module, source: str) -> list[Candidate]:
    """The statements of a file that may be count assertions, by what the file says."""
    file = _File(tree)
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assert, ast.Expr)):
            claims = file.claims_of_statement(node)
            if claims and all(claims):
                text = (ast.get_source_segment(source, node) or "").split("\n", 1)[0]
                found.append(Candidate(node, text, claims))
    return found


def collected_attributes(tree: ast.Module) -> frozenset[str]:
    """Attributes in which backends of a file count or collect."""
    return frozenset(_File(tree).attributes)


@dataclass(eq=False)
class _Scope:
    """Where names are bound: a function, a class body or the module."""

    node: ast.AST
    outer: _Scope | None = None  #: the next one whose names are visible here
    bound: set[str] = field(default_factory=set)
    global_: set[str] = field(default_factory=set)
    nonlocal_: set[str] = field(default_factory=set)

    @property
    def module(self) -> _Scope:
        return self if self.outer is None else self.outer.module

    def resolve(self, name: str) -> _Scope:
        """The scope that a name means from here."""
        if self.outer is None or name in self.global_:
            return self.module
        if name in self.bound and name not in self.nonlocal_:
            return self
        return self.outer.resolve(name)

    def bind(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.bound.add(node.id)
        elif isinstance(node, ast.arg):
            self.bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.bound.add(node.name)
        elif isinstance(node, ast.alias):
            self.bound.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            self.bound.add(node.name)
        elif isinstance(node, ast.Global):
            self.global_.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            self.nonlocal_.update(node.names)


#: A variable, or an attribute of one: the scope of its first name, and its dotted name.
_Key = tuple[_Scope, str]


class _File:
    """One file's scopes, and what holds counts in them."""

    def __init__(self, tree: ast.Module) -> None:
        self._scopes: dict[ast.AST, _Scope] = {}
        self._enter(tree)
        self._functions = {
            (self._scopes[node].resolve(node.name), node.name): node
            for node in self._scopes
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        imports = [node for node in self._scopes if isinstance(node, ast.alias)]
        self._counters = {_COUNTERS, *(each.asname for each in imports if each.name == _COUNTERS and each.asname)}
        self._used = self._handed_over()
        self._used_keys = {self._key(node) for node in self._used} - {None}
        self.attributes = {name for node in self._scopes if _is_call_method(node) for name in _own_attributes(node)}
        self._held: dict[_Key, Claims] = {}
        self._returned: dict[ast.AST, list[Claims]] = {}
        for function in self._backends():
            self._collect(function)
        for _ in range(_MOST_ROUNDS):
            if not self._follow():
                break

    def _enter(self, tree: ast.Module) -> None:
        """Note the scope of every node. Not recursive: a sum of a thousand terms is a thousand deep."""
        module = _Scope(tree)
        pending: list[tuple[ast.AST, _Scope, _Scope]] = [(tree, module, module)]  # with what functions below it see
        while pending:
            node, scope, visible = pending.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)):
                    continue  # one object for all places
                self._scopes[child] = scope
                scope.bind(child)
                inner = _Scope(child, visible) if isinstance(child, (*_FUNCTIONS, ast.ClassDef)) else scope
                pending.append((child, inner, inner if isinstance(child, _FUNCTIONS) else visible))

    def _key(self, expression: ast.expr, node: ast.AST | None = None) -> _Key | None:
        """The variable or attribute that an expression names."""
        path = dotted(expression)
        scope = self._scopes[node or expression]
        return (scope.resolve(path.partition(".")[0]), path) if path else None

    # What backends collect

    def _handed_over(self) -> list[ast.expr]:
        """What is given to the compiler as its backend."""
        used: list[ast.expr] = []
        for node in self._scopes:
            if isinstance(node, ast.Call):
                used.extend(k.value for k in node.keywords if k.arg in _COMPILER_KEYWORDS)
                used.extend(node.args[:1] if _last_name(node.func) in ("optimize", "optimize_assert") else [])
        return used

    def _backends(self) -> list[Function]:
        """Functions that are handed to the compiler as its backend, or look like one."""
        named = {self._functions[key] for key in self._used_keys if key in self._functions}
        functions = [node for node in self._scopes if isinstance(node, _FUNCTIONS)]
        return [node for node in functions if node in named or node in self._used or _looks_like_one(node)]

    def _collect(self, function: Function) -> None:
        inside = set(ast.walk(function))
        for node in inside:
            for target in _mutated(node):
                key = self._key(target)
                if key is not None and key[0].node in inside and isinstance(target, ast.Attribute):
                    self.attributes.add(target.attr)  # of the backend itself, or of what it is given
                elif key is not None and key[0].node not in inside:
                    self._hold(key, _CERTAIN)
                    if isinstance(target, ast.Attribute):
                        self.attributes.add(target.attr)

    # What is assigned from that

    def _hold(self, key: _Key, claims: Claims) -> bool:
        before = self._held.get(key, _NOTHING)
        self._held[key] = before | claims
        return self._held[key] != before

    def _follow(self) -> bool:
        """One round of assignments, returned values and arguments; whether it showed anything new."""
        new = False
        for node, scope in self._scopes.items():
            if scope.outer is None:
                continue  # at import nothing was compiled yet
            for target, claims in self._assigned(node):
                key = self._key(target)
                if key is not None and claims and self._hold(key, claims):
                    new = True
                    if isinstance(target, ast.Attribute):
                        self.attributes.add(target.attr)
            if isinstance(node, ast.Return) and node.value is not None:
                values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                returned = [self.claims(value) for value in values]
                new |= self._returned.get(scope.node) != returned
                self._returned[scope.node] = returned
            if isinstance(node, ast.Call):
                new |= self._passed(node)
        return new

    def _assigned(self, node: ast.AST) -> Iterator[tuple[ast.expr, Claims]]:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from self._unpacked(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            yield from self._unpacked(node.target, node.value)

    def _unpacked(self, target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, Claims]]:
        returned = self._returned_by(value)
        if not isinstance(target, ast.Tuple):
            yield target, self.claims(value) | (returned[0] if len(returned) == 1 else _NOTHING)
        elif isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                yield from self._unpacked(one, other)
        else:
            yield from zip(target.elts, returned, strict=False)

    def _returned_by(self, call: ast.expr) -> list[Claims]:
        key = self._key(call.func) if isinstance(call, ast.Call) else None
        function = self._functions.get(key) if key is not None else None
        return self._returned.get(function, []) if function is not None else []

    def _passed(self, call: ast.Call) -> bool:
        """What a function of the file collects in a parameter, its caller's argument holds, too."""
        key = self._key(call.func)
        function = self._functions.get(key) if key is not None else None
        if function is None:
            return False
        inner = next((self._scopes[arg] for arg in ast.walk(function.args) if isinstance(arg, ast.arg)), None)
        names = [arg.arg for arg in function.args.args]
        given = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        new = False
        for name, argument in given:
            outer = self._key(argument)
            if inner is not None and outer is not None and Claim() in self._held.get((inner, name), _NOTHING):
                new |= self._hold(outer, _CERTAIN)
        return new

    # What that says about expressions and statements

    def claims(self, expression: ast.expr) -> Claims:
        """The reasons to take an expression for a count."""
        found: set[Claim] = set()
        pending: list[ast.AST] = [expression]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.expr):
                found |= self._own_claims(node)
            pending.extend(_parts(node))
        return frozenset(found)

    def _own_claims(self, node: ast.expr) -> Claims:
        claims = _NOTHING
        key = self._key(node)
        if key is not None:
            claims = self._held.get(key, _NOTHING)
            if _last_name(node) in self._counters:
                claims |= {Claim(node)}
        if isinstance(node, ast.Attribute) and (node.attr in COUNTING_ATTRIBUTES or node.attr in self.attributes):
            claims |= {Claim(node.value, node.attr, used=self._key(node.value) in self._used_keys)}
        return claims

    def claims_of_statement(self, statement: ast.Assert | ast.Expr) -> tuple[Claims, ...]:
        if isinstance(statement, ast.Assert):
            return tuple(self.claims(part) for part in _operands(statement.test))
        call = statement.value
        if not isinstance(call, ast.Call):
            return ()
        name = _last_name(call.func)
        if name in _EXPECTED_TEXT:
            return (_CERTAIN,)
        if not name.startswith("assert") and name not in ("check_count", "expect_count"):
            return ()
        if name in _UNARY and call.args:
            return tuple(self.claims(part) for part in _operands(call.args[0]))
        compared = [*call.args[:2], *(k.value for k in call.keywords if k.arg != "msg")]  # what follows them is the message
        return (frozenset().union(*(self.claims(argument) for argument in compared)),)


def dotted(expression: ast.AST) -> str:
    """``self.backend.calls`` of a name or a chain of attributes, with subscripts left out; empty for anything else."""
    if isinstance(expression, ast.Name):
        return expression.id
    if isinstance(expression, ast.Attribute):
        owner = dotted(expression.value) if not isinstance(expression.value, ast.Subscript) else ""
        return f"{owner}.{expression.attr}" if owner else ""
    return ""


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _positional(function: Function) -> list[str]:
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    required = names[: len(names) - len(function.args.defaults)]
    return required[1:] if required[:1] in (["self"], ["cls"]) else required


def _is_call_method(node: ast.AST) -> TypeGuard[ast.FunctionDef]:
    """Whether a function may make its instances backends; whether they are used as such is not said here."""
    return isinstance(node, ast.FunctionDef) and node.name == "__call__" and len(_positional(node)) == 2


def _own_attributes(method: ast.FunctionDef) -> Iterator[str]:
    targets = (target for node in ast.walk(method) for target in _mutated(node))
    yield from (target.attr for target in targets if isinstance(target, ast.Attribute) and dotted(target.value) == "self")


def _looks_like_one(function: Function) -> bool:
    names = _positional(function)
    return len(names) == 2 and names[0] in BACKEND_PARAMETERS


def _mutated(node: ast.AST) -> list[ast.expr]:
    """What a statement counts up, adds to or sets."""
    targets: Iterable[ast.expr] = ()
    if isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS:
        targets = [node.func.value]
    return [target.value if isinstance(target, ast.Subscript) else target for target in targets]


def _parts(node: ast.AST) -> Iterable[ast.AST]:
    """What a count in which makes the whole a count: not the graph that is called, nor the condition of a choice."""
    if isinstance(node, ast.Call):
        runs = isinstance(node.func, (ast.Name, ast.Subscript)) or _last_name(node.func) == "forward"
        return [*([] if runs else [node.func]), *node.args, *(k.value for k in node.keywords)]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return ast.iter_child_nodes(node)


def _operands(test: ast.expr) -> list[ast.expr]:
    """The conditions of which any one may be what failed."""
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _operands(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _operands(test.operand)
    return [test]
