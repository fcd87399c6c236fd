"""A compile's accept set: which inputs its guards let through, as conditions on sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy

from testmatrix.compare.algebra.conjunction import Conjunction
from testmatrix.compare.algebra.functions import exact, number
from testmatrix.compare.algebra.normal import canonical, conjuncts, fixed
from testmatrix.compare.algebra.parse import SYMPY_ERRORS, Unparsable, parse, parse_number
from testmatrix.compare.algebra.variables import Sort, Value, variable
from testmatrix.compare.guards.discrete import Atom, atoms_of, is_number, static_extents
from testmatrix.compare.numbers.constants import ints_of
from testmatrix.compare.wording import stable_source
from testmatrix.guard_kinds import category
from testmatrix.observation import Compile, Guard, Symbol

#: Sizes, strides and offsets, by the source that they are reached by.
_EXTENT_SOURCE = re.compile(
    r"\.(?P<of>size|stride)\(\)\[\d+\]$|\.(?P<by>size|stride)\(\d+\)$|\.shape\[\d+\]$|\.storage_offset\(\)$"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
#: Bounds of a symbol that every int has.
_UNBOUNDED = frozenset({"", "oo", "-oo", "-9223372036854775808", "9223372036854775807"})


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that was not understood. It is carried as text, over sources."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptSet:
    """The inputs that a compile's guards let through.

    The numeric part is a conjunction in normal form, the discrete part a set of atoms. Guards are kept for saying where a
    condition comes from; two sets are the same where :attr:`key` is.
    """

    numeric: Conjunction
    constants: Mapping[str, Value]  #: sources that may have one value only
    symbolic: frozenset[str]  #: sources that are carried as symbols, whether or not a condition is on them
    recorded: Mapping[str, Value]  #: values of the inputs that triggered the compile
    atoms: Mapping[Atom, Guard]
    origins: Mapping[Any, Guard | Symbol]  #: condition to what made it
    opaque: tuple[Opaque, ...] = ()
    discrete: frozenset[Atom] = frozenset()  #: the atoms alone, in a set that keeps their hashes
    key: int = 0  #: hash of the normal form

    def is_same(self, other: AcceptSet) -> bool:
        """Whether the normal forms agree; cheap."""
        return self.key == other.key and self.discrete == other.discrete and self.numeric == other.numeric

    def understood(self) -> AcceptSet:
        """The set without what is compared as text only: kinds of guards that are not known, and opaque conditions."""
        atoms = {atom: origin for atom, origin in self.atoms.items() if category(atom.kind) != "unknown"}
        numeric = replace(self.numeric, opaque=frozenset())
        discrete = frozenset(atoms)
        return replace(self, atoms=atoms, numeric=numeric, opaque=(), discrete=discrete, key=hash((numeric, discrete)))


def accept_set(compiled: Compile) -> AcceptSet:
    """The accept set of a compile. Nothing is raised: what is not understood becomes :class:`Opaque`."""
    return _accept_set(compiled.guards, compiled.symbols)


@lru_cache(maxsize=1024)
def _accept_set(guards: tuple[Guard, ...], symbols: tuple[Symbol, ...]) -> AcceptSet:
    reading = _Reading(symbols)
    for guard in guards:
        reading.guard(guard)
    for symbol in symbols:
        reading.symbol(symbol)
    atoms: dict[Atom, Guard] = {}
    for atom, origin in atoms_of(guards):
        atoms.setdefault(atom, origin)
    opaque = frozenset(one.text for one in reading.opaque)
    numeric = Conjunction(_kept(frozenset(reading.conditions)), reading.sorts, _kept(opaque))
    discrete = _kept(frozenset(atoms))
    return AcceptSet(
        numeric=numeric,
        constants=_constants(reading.conditions),
        symbolic=frozenset(stable_source(source) for symbol in symbols for source in symbol.sources),
        recorded=reading.recorded,
        atoms=atoms,
        origins=reading.conditions,
        opaque=tuple(reading.opaque),
        discrete=discrete,
        key=hash((numeric, discrete)),
    )


@lru_cache(maxsize=4096)
def _kept(found: frozenset[Any]) -> frozenset[Any]:
    """The first of several equal sets, so that comparing these looks at one object and not at what is in two."""
    return found


def _constants(conditions: Mapping[Any, Guard | Symbol]) -> dict[str, Value]:
    found = {}
    for one in conditions:
        if isinstance(one, sympy.Eq) and one.lhs.is_Symbol and one.rhs.is_Rational:
            found[str(one.lhs.name)] = exact(one.rhs)
    return found


def sort_of(source: str, value_type: str = "int") -> Sort:
    """The sort of a source that is no symbol: by how it is reached, or else by the type of its constant."""
    if _EXTENT_SOURCE.search(source):
        return "extent"
    return "float" if value_type == "float" else "int"


def _sort(symbol: Symbol, source: str) -> Sort:
    """The sort of one source of a symbol; an int may share its symbol with a size."""
    if symbol.kind in ("float", "bool"):
        return symbol.kind
    if symbol.kind in ("size", "stride") and source == stable_source(symbol.sources[0]):
        return "extent"
    return sort_of(source)


class _Reading:
    """Collects the numeric conditions of one compile."""

    def __init__(self, symbols: tuple[Symbol, ...]) -> None:
        self.conditions: dict[Any, Guard | Symbol] = {}
        self.sorts: dict[str, Sort] = {}
        self.recorded: dict[str, Value] = {}
        self.opaque: list[Opaque] = []
        self._names = {symbol.name: symbol for symbol in symbols}

    def guard(self, guard: Guard) -> None:
        if guard.kind == "SHAPE":
            self._add_text(guard.text, guard)
        elif is_number(guard):
            self._add_equal(stable_source(guard.source), guard.value, guard.value_type, guard)
        elif guard.kind == "TENSOR_MATCH":
            for source, value in static_extents(guard):
                self._add_equal(source, value, "int", guard)
        else:
            for position, item in enumerate(ints_of(guard) or ()):
                self._add_equal(f"{stable_source(guard.source)}[{position}]", item, "int", guard)

    def symbol(self, symbol: Symbol) -> None:
        """Duck-shaped sources, specialisations and replacements, and the range."""
        if not symbol.sources or symbol.kind == "unbacked":
            return  # torch checks nothing of what is unbacked when it looks for a compile that fits
        first = self._of_symbol(symbol)
        for source in map(stable_source, symbol.sources[1:]):
            self._add(canonical(sympy.Eq(first, self._source(source, _sort(symbol, source)))), symbol)
        if symbol.replacement:
            self._add_number(first, sympy.Eq, symbol.replacement, symbol)
        if symbol.lower not in _UNBOUNDED:
            self._add_number(first, sympy.Ge, symbol.lower, symbol)
        if symbol.upper not in _UNBOUNDED:
            self._add_number(first, sympy.Le, symbol.upper, symbol)
        if symbol.kind == "bool":
            self._add(canonical(sympy.Le(first, 1)), symbol)
        for source in map(stable_source, symbol.sources):
            self._record(source, symbol.hint)

    def _add_text(self, text: str, origin: Guard) -> None:
        try:
            self._add(parse(text, self._look_up), origin)
        except Unparsable as error:
            self._carry(text, str(error))

    def _add_number(self, left: Any, relation: Any, text: str, origin: Symbol) -> None:
        try:
            self._add(canonical(relation(left, parse_number(text, self._look_up), evaluate=False)), origin)
        except (Unparsable, *SYMPY_ERRORS) as error:
            sign = {sympy.Eq: "==", sympy.Ge: ">=", sympy.Le: "<="}[relation]
            self._carry(f"{left} {sign} {text}", str(error))

    def _add_equal(self, source: str, value: str, value_type: str, origin: Guard) -> None:
        exactly = _literal(value)
        if exactly is None:
            self._carry(f"{source} == {value}", "not a number")
            return
        condition = fixed(self._source(source, sort_of(source, value_type)), number(exactly))
        self.conditions.setdefault(condition, origin)
        self.recorded[source] = exactly

    def _carry(self, text: str, reason: str) -> None:
        over_sources = _NAME.sub(lambda match: self._readable(match.group()), text)
        if over_sources not in {one.text for one in self.opaque}:
            self.opaque.append(Opaque(over_sources, reason))

    def _readable(self, name: str) -> str:
        symbol = self._names.get(name)
        return stable_source(symbol.sources[0]) if symbol is not None and symbol.sources else name

    def _add(self, condition: Any, origin: Guard | Symbol) -> None:
        for part in conjuncts(condition):
            if part != sympy.true:
                self.conditions.setdefault(part, origin)

    def _record(self, source: str, text: str) -> None:
        value = _literal(text)
        if value is not None:
            self.recorded[source] = value

    def _look_up(self, name: str) -> Any:
        """The symbol of a name in this compile's conditions, or of a source as torch writes it."""
        symbol = self._names.get(name)
        if symbol is not None:
            return self._of_symbol(symbol)
        if "[" not in name:
            raise KeyError(name)
        source = stable_source(name)
        return self._source(source, sort_of(source))

    def _of_symbol(self, symbol: Symbol) -> Any:
        settled = _literal(symbol.replacement)
        if settled is not None and not symbol.sources:
            return number(settled)  # a size that torch burned in and has no guard on
        if symbol.kind == "unbacked" or not symbol.sources:
            raise KeyError(symbol.name)  # no input has it
        source = stable_source(symbol.sources[0])
        return self._source(source, _sort(symbol, source))

    def _source(self, source: str, sort: Sort) -> Any:
        self.sorts.setdefault(source, sort)
        return variable(source, self.sorts[source])


def _literal(text: str) -> Value | None:
    """An int or a finite double that is written out; None for anything else."""
    try:
        return int(text) if text.lstrip("-").isdigit() else Fraction(float(text))
    except (ValueError, OverflowError):
        return None
