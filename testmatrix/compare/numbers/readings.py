"""What one compile says of every number that it used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from testmatrix.compare.finding import Number
from testmatrix.compare.numbers.constants import CONSTANT_KINDS, ints_of
from testmatrix.compare.numbers.sources import is_users, size_of
from testmatrix.compare.wording import stable_source
from testmatrix.observation import Compile, Guard, Symbol

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_EQUALITY = re.compile(r"(?:Eq\((?P<symbol>[^,]+), (?P<to>-?[\d.]+)\)|(?P<source>.+) == (?P<value>-?[\d.]+))")
_KEYS = re.compile(r"(?P<source>list\(dict\.keys\(.+\)\)) == \[(?P<keys>-?\d+(?:, -?\d+)*)\]$")
_SIZES = re.compile(r"\bsize=[\[(](?P<sizes>[^\])]*)[\])]")
_NUMBER_TYPES: Mapping[str, Number] = {"int": "int", "float": "float"}
_SYMBOL_KINDS: Mapping[str, Number] = {"int": "int", "float": "float", "size": "size"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One number in one compile."""

    source: str
    number: Number
    symbolic: bool
    value: str = ""  #: the constant, or the value that the symbol was made for
    forced: bool = False  #: it was a symbol, and became a constant
    line: str = ""
    code: str = ""
    context: tuple[str, ...] = ()
    type: str = ""  #: of the tensor whose size it is, as its guard says it


def readings(compiled: Compile, members: Mapping[str, str] = MappingProxyType({})) -> Iterator[Reading]:
    """Numbers with a symbol, then those with a constant to match. ``members`` are those of enumerations, by source."""
    carried: set[tuple[str, Number]] = set()
    types = {guard.source: guard.text.partition(",")[0] for guard in compiled.guards if guard.kind == "TENSOR_MATCH"}
    for one in _of_symbols(compiled, types):
        carried.add((one.source, one.number))
        yield one
    given_up = _given_up(compiled)
    for guard in compiled.guards:
        for source, number, value in _constants(guard, members):
            if (source, number) not in carried and is_users(source):
                one = _constant(source, number, value, guard, types)
                origin = given_up.get((source, value))
                yield one if origin is None else _forced(one, origin)


def _of_symbols(compiled: Compile, types: Mapping[str, str]) -> Iterator[Reading]:
    equalities = _equalities(compiled.guards)
    constants = {guard.source: guard for guard in compiled.guards if guard.kind in CONSTANT_KINDS}
    for symbol in compiled.symbols:
        sources = [source for source in map(stable_source, symbol.sources) if is_users(source)]
        number = _number_of(symbol, sources)
        if number is None:
            continue
        value, origin = _specialised(symbol, equalities, constants)
        for source in sources:
            yield Reading(
                source=source,
                number=number,
                symbolic=not value,
                value=value or symbol.hint,
                forced=bool(value),
                line=origin.line if value else "",
                code=origin.code if value else "",
                context=origin.context if value else (),
                type=types.get(source.partition(".size()")[0], ""),
            )


def _number_of(symbol: Symbol, sources: list[str]) -> Number | None:
    """What a symbol stands for; None for a bool or a stride."""
    if symbol.kind == "unbacked":
        return "size" if sources and size_of(sources[0]) else "int"
    return _SYMBOL_KINDS.get(symbol.kind)


def _equalities(guards: Iterable[Guard]) -> dict[str, tuple[str, Guard]]:
    """(value, guard) by the symbol or source that a shape guard makes equal to a number."""
    found: dict[str, tuple[str, Guard]] = {}
    for guard in guards:
        match = _EQUALITY.fullmatch(guard.text) if guard.kind == "SHAPE" else None
        if match is not None:
            found.setdefault(match["symbol"] or match["source"], (match["to"] or match["value"], guard))
    return found


def _specialised(
    symbol: Symbol, equalities: Mapping[str, tuple[str, Guard]], constants: Mapping[str, Guard]
) -> tuple[str, Guard | Symbol]:
    """(value, origin) of a symbol that was turned into a constant: by replacement, by its range or by a guard."""
    names = (symbol.name, *symbol.sources)
    equal, guard = next((equalities[name] for name in names if name in equalities), ("", None))
    origin = guard if guard is not None and guard.line else symbol
    if _NUMBER.fullmatch(symbol.replacement):
        return symbol.replacement, origin
    if symbol.lower and symbol.lower == symbol.upper:
        return symbol.lower, origin
    if equal:
        return equal, origin
    constant = next((constants[source] for source in symbol.sources if source in constants), None)
    if constant is None:
        return "", symbol
    return constant.value, constant if constant.line else origin


def _given_up(compiled: Compile) -> dict[tuple[str, str], Guard | Symbol]:
    """What made a constant of what was to be unbacked, by source and value: a symbol of that kind does not tell its source."""
    sources = [stable_source(source) for source, by in compiled.asked if "unbacked" in by]
    if not sources:
        return {}
    equalities = _equalities(compiled.guards)
    settled = [_specialised(one, equalities, {}) for one in compiled.symbols if one.kind == "unbacked" and not one.sources]
    return {(source, value): origin for value, origin in reversed(settled) if value for source in sources}


def _forced(reading: Reading, origin: Guard | Symbol) -> Reading:
    return replace(reading, forced=True, line=origin.line, code=origin.code, context=origin.context)


def _constants(guard: Guard, members: Mapping[str, str]) -> Iterator[tuple[str, Number, str]]:
    """(source, number, value) of every number that a guard makes a constant."""
    if guard.kind == "TENSOR_MATCH":
        match = _SIZES.search(guard.text)
        source = stable_source(guard.source)
        for dim, size in enumerate(match["sizes"].split(",") if match else ()):
            if size.strip().isdigit():
                yield f"{source}.size()[{dim}]", "size", size.strip()
    elif guard.kind in CONSTANT_KINDS:
        source = stable_source(guard.source)
        number = _NUMBER_TYPES.get(guard.value_type)
        if number is not None:
            yield source, number, guard.value
        else:
            for position, value in enumerate(ints_of(guard) or ()):
                yield f"{source}[{position}]", "int", value
    elif guard.kind == "CONSTANT_SUBCLASS_MATCH" and _NUMBER.fullmatch(guard.value):
        yield stable_source(guard.source), "float" if "." in guard.value else "int", guard.value
    elif guard.kind == "DICT_KEYS_MATCH":
        for part in stable_source(guard.text).split(" and "):
            if keys := _KEYS.match(part):
                yield keys["source"], "int", keys["keys"]
    elif guard.kind == "ID_MATCH" and guard.source in members:
        yield guard.source, "int", members[guard.source]


def _constant(source: str, number: Number, value: str, guard: Guard, types: Mapping[str, str]) -> Reading:
    where = () if number == "size" else guard.context
    return Reading(
        source=source,
        number=number,
        symbolic=False,
        value=value,
        # A tensor's guard is made where the tensor is first met, which says nothing of its sizes.
        line="" if number == "size" else guard.line,
        code="" if number == "size" else guard.code,
        context=where,
        type=types.get(guard.source, "") if number == "size" else "",
    )
