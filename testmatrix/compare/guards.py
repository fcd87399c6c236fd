"""Guard sets in a normal form, and what of a difference between two of them the axes do not explain.

A guard set falls into a numeric part, which axes may govern, and discrete atoms, which none does. The numeric part is compared
as a whole: as soon as an axis governs anything in it, the rest may follow from that (``n`` as a constant gives other size
guards than ``n`` as a symbol), and the difference counts as explained. Comparing accept sets narrows that down.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from testmatrix.compare.wording import stable_source
from testmatrix.observation import Compile, Guard, Symbol

NumericKind = Literal["ints", "sizes", "strides", "floats"]

CONSTANT_KINDS = frozenset({"EQUALS_MATCH", "CONSTANT_MATCH"})
_NUMERIC_TYPES: dict[str, NumericKind] = {"int": "ints", "float": "floats"}
_SYMBOL_KINDS: dict[str, NumericKind] = {"size": "sizes", "stride": "strides", "float": "floats"}
#: Guards that settle the type of their source, so that a type guard beside them adds nothing.
_IMPLY_TYPE = CONSTANT_KINDS | {
    *("TENSOR_MATCH", "ID_MATCH", "CLASS_MATCH", "FUNCTION_MATCH", "BUILTIN_MATCH", "MODULE_MATCH", "SEQUENCE_LENGTH")
}
#: Sequences of ints that a constant may hold as a whole, and another cell element by element.
_SEQUENCES = frozenset({"torch.Size", "tuple", "list"})
_INTS = re.compile(r"(?:torch\.Size)?[(\[]+(?P<items>(?:-?\d+(?:, -?\d+)*)?),?[)\]]+")
_LENGTH = re.compile(r"(?:not \S+|len\(.+?\) == (?P<length>\d+))(?= and |$)")
#: Sources inside torch and Python: which of them a trace touches depends on how torch spells an operation on symbols.
_INTERNAL = re.compile(
    r"^__import__\(|^G\['__(import_torch|builtins_dict|import_builtins|import_operator|import_math|import_itertools)"
)
#: Defaults of a function: a trace looks at those that it folds constants with, which are fewer where numbers are symbols.
_DEFAULT = re.compile(r"\.__(?:kw)?defaults__\[[^\]]*\]$")
_EXTENT = re.compile(r"\b(size|stride)=([\[(])([^\])]*)[\])]")
_EXTENT_SOURCE = re.compile(r"\.(size|stride)\(\)\[\d+\]|\.(size|stride)\(\d+\)|\.shape\[\d+\]|\.storage_offset\(\)")
_EXTENTS = re.compile(r"\.(?:shape|size\(\))$")
_NUMBERED_ID = re.compile(r"(___check_(?:type|obj)_id\(.*?), \d+\)")
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Atom:
    """One condition of a guard set, free of symbols."""

    source: str
    kind: str
    payload: str


@dataclass(frozen=True, slots=True)
class Numeric:
    """One condition on numbers: an expression over sources."""

    expression: str
    sources: tuple[str, ...]
    kinds: frozenset[NumericKind]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardSet:
    """A guard set in normal form. The guards that conditions came from are kept for saying where."""

    numeric: Mapping[Numeric, Guard | None] = field(default_factory=dict)
    atoms: Mapping[Atom, Guard] = field(default_factory=dict)

    @property
    def kinds(self) -> frozenset[NumericKind]:
        """What kinds of numbers the set speaks of."""
        return frozenset(kind for numeric in self.numeric for kind in numeric.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDifference:
    """A condition that one compile checks, the other does not, and no axis explains."""

    kind: Literal["guard.missing", "guard.extra"]
    source: str
    guard: str  #: torch's name of the guard's kind
    text: str
    line: str = ""


def compare_guards(reference: Compile, other: Compile, governed: frozenset[str]) -> tuple[GuardDifference, ...]:
    """What ``other`` no longer checks (missing) or checks beyond ``reference`` (extra), apart from what ``governed`` explains."""
    if reference.guards == other.guards and reference.symbols == other.symbols:
        return ()
    left, right = normal_form(reference), normal_form(other)
    if left.numeric.keys() == right.numeric.keys() and left.atoms.keys() == right.atoms.keys():
        return ()
    explained = _explained_kinds(governed)
    return (
        *_differences("guard.missing", left, right, explained),
        *_differences("guard.extra", right, left, explained),
    )


def _explained_kinds(governed: frozenset[str]) -> frozenset[str]:
    if "backend" in governed:  # a backend adds guards on every number that it looks at while it compiles
        return governed | {"ints", "sizes", "strides", "floats"}
    # Dynamo carries floats as symbols only where it may carry sizes.
    return governed | {"floats"} if "sizes" in governed else governed


def _differences(
    kind: Literal["guard.missing", "guard.extra"], having: GuardSet, lacking: GuardSet, explained: frozenset[str]
) -> Iterator[GuardDifference]:
    if not explained & (having.kinds | lacking.kinds):
        lacked = {numeric.expression for numeric in lacking.numeric}
        for numeric, guard in having.numeric.items():
            if numeric.expression not in lacked:
                yield GuardDifference(
                    kind=kind,
                    source=", ".join(numeric.sources),
                    guard=guard.kind if guard else "range",
                    text=numeric.expression,
                    line=guard.line if guard else "",
                )
    numeric_sources = {source for numeric in (*having.numeric, *lacking.numeric) for source in numeric.sources}
    for atom, origin in having.atoms.items():
        if atom not in lacking.atoms and not _atom_explained(atom, origin, lacking, numeric_sources, explained):
            yield GuardDifference(kind=kind, source=atom.source, guard=atom.kind, text=atom.payload, line=origin.line)


def _atom_explained(atom: Atom, origin: Guard, lacking: GuardSet, numeric_sources: set[str], explained: frozenset[str]) -> bool:
    torchs_own = atom.kind == "MODULE_MATCH" and atom.payload.partition(".")[0] == "torch"
    if explained and (torchs_own or _INTERNAL.match(atom.source) or _DEFAULT.search(atom.source)):
        return True
    if "sizes" in explained and _EXTENTS.search(atom.source):
        return True  # how sizes are handed on: as one constant, or one by one
    governed_number = _numeric_type(origin) in explained or ("RANGE" in atom.kind and "ints" in explained)
    if governed_number or (explained and atom.source in numeric_sources and atom.kind in CONSTANT_KINDS | {"TYPE_MATCH"}):
        return True
    return atom.kind == "TYPE_MATCH" and any(other.source == atom.source and other.kind in _IMPLY_TYPE for other in lacking.atoms)


def _numeric_type(guard: Guard) -> str:
    """``ints`` or ``floats`` for a guard on the type or value of a number, else empty."""
    if guard.kind != "TYPE_MATCH":
        return _NUMERIC_TYPES.get(guard.value_type, "")
    named = re.search(r"(?:<class ')?\b(int|float)(?:'>)?$", guard.text)
    return _NUMERIC_TYPES[named.group(1)] if named else ""


def normal_form(compiled: Compile) -> GuardSet:
    """The guard set without order, symbols, ids and what other guards of the set imply."""
    return _normal_form(compiled.guards, compiled.symbols)


@lru_cache(maxsize=1024)
def _normal_form(guards: tuple[Guard, ...], symbols: tuple[Symbol, ...]) -> GuardSet:
    names = {symbol.name: symbol for symbol in symbols}
    numeric: dict[Numeric, Guard | None] = {}
    atoms: dict[Atom, Guard] = {}
    typed = {stable_source(guard.source) for guard in guards if guard.kind in _IMPLY_TYPE}
    for guard in guards:
        source = stable_source(guard.source)
        if guard.kind == "SHAPE":
            numeric.setdefault(_shape_condition(guard, names), guard)
        elif guard.kind in CONSTANT_KINDS and guard.value_type in _NUMERIC_TYPES:
            numeric.setdefault(_equality(source, guard.value, _NUMERIC_TYPES[guard.value_type]), guard)
        elif guard.kind == "TYPE_MATCH" and source in typed:
            continue
        elif guard.kind == "SEQUENCE_LENGTH":
            checked = _LENGTH.sub(_length, guard.text, count=1)
            atoms.setdefault(Atom(source, guard.kind, _payload(checked)), guard)
        elif guard.kind in CONSTANT_KINDS and (items := ints_of(guard)) is not None:
            # In a cell that carries ints, the same is checked element by element.
            checked = f"length {len(items)} and {guard.value_type}"
            atoms.setdefault(Atom(source, "SEQUENCE_LENGTH", _payload(checked)), guard)
            for position, item in enumerate(items):
                numeric.setdefault(_equality(f"{source}[{position}]", item, "ints"), guard)
        elif guard.kind == "TENSOR_MATCH":
            for condition in _static_extents(source, guard.text):
                numeric.setdefault(condition, guard)
            atoms.setdefault(Atom(source, guard.kind, _EXTENT.sub("", guard.text)), guard)
        elif source or guard.kind not in _AMBIENT:
            atoms.setdefault(Atom(source, guard.kind, _payload(guard.text)), guard)
    for symbol in symbols:
        for condition in _symbol_conditions(symbol):
            numeric.setdefault(condition, None)
    return GuardSet(numeric=numeric, atoms=atoms)


#: Guards on the state of the process, in every compile; their text differs by machine.
_AMBIENT = frozenset({"SHAPE_ENV", "GLOBAL_STATE", "DETERMINISTIC_ALGORITHMS", "DEFAULT_DEVICE", "TORCH_FUNCTION_STATE"})


def _payload(text: str) -> str:
    parts = _NUMBERED_ID.sub(r"\1)", stable_source(text)).split(" and ")
    return " and ".join(sorted(set(parts)))  # torch repeats some checks once for every place that asked for them


def ints_of(guard: Guard) -> list[str] | None:
    """The elements of a constant that is a sequence of ints; None for any other."""
    match = _INTS.fullmatch(guard.value) if guard.value_type in _SEQUENCES else None
    if match is None:
        return None
    return match["items"].split(", ") if match["items"] else []


def _length(match: re.Match[str]) -> str:
    return f"length {match['length'] or 0}"


def _equality(source: str, value: str, kind: NumericKind) -> Numeric:
    return Numeric(f"{source} == {value}", (source,), frozenset({kind}))


def _static_extents(source: str, text: str) -> Iterator[Numeric]:
    """Sizes and strides that a tensor guard fixes, as equalities: ``size=[8, None]`` -> ``x.size()[0] == 8``."""
    for match in _EXTENT.finditer(text):
        kind: NumericKind = "sizes" if match.group(1) == "size" else "strides"
        for position, entry in enumerate(match.group(3).split(",")):
            if entry.strip().isdigit():
                yield _equality(f"{source}.{match.group(1)}()[{position}]", entry.strip(), kind)


def _symbol_conditions(symbol: Symbol) -> Iterator[Numeric]:
    """Duck-shaped sources, specialisations, and ranges that are tighter than the kind of symbol has by itself."""
    kinds = frozenset({_SYMBOL_KINDS.get(symbol.kind, "ints")})
    sources = tuple(stable_source(source) for source in symbol.sources)
    for source in sources[1:]:
        yield Numeric(f"{min(sources[0], source)} == {max(sources[0], source)}", (sources[0], source), kinds)
    if not sources:
        return
    if re.fullmatch(r"-?\d+(\.\d+)?", symbol.replacement):
        yield Numeric(f"{sources[0]} == {symbol.replacement}", sources[:1], kinds)
    else:
        yield Numeric(f"{symbol.lower or '-oo'} <= {sources[0]} <= {symbol.upper or 'oo'}", sources[:1], kinds)


def _shape_condition(guard: Guard, symbols: Mapping[str, Symbol]) -> Numeric:
    used = [symbols[name] for name in dict.fromkeys(_NAME.findall(guard.text)) if name in symbols]
    renaming = {symbol.name: stable_source(symbol.sources[0]) for symbol in used if symbol.sources}
    kinds = frozenset(_SYMBOL_KINDS.get(symbol.kind, "ints") for symbol in used)
    if not used:  # already over sources
        kinds = frozenset({"sizes" if _EXTENT_SOURCE.search(guard.text) else "ints"})
    return Numeric(_canonical(guard.text, tuple(sorted(renaming.items()))), tuple(sorted(renaming.values())), kinds)


@lru_cache(maxsize=4096)
def _canonical(text: str, renaming: tuple[tuple[str, str], ...]) -> str:
    """The expression over sources, in an order that does not depend on how the symbols were called.

    sympy sorts operands by name, so that the names have to be exchanged before it prints.
    """
    import sympy

    names = dict(renaming)
    symbols = {name: sympy.Symbol(source, integer=True) for name, source in renaming}
    functions = {name: sympy.Function(name) for name in _NAME.findall(text) if name not in names and not hasattr(sympy, name)}
    try:
        return str(sympy.sympify(text, locals={**functions, **symbols}))
    except Exception:  # sympify raises what evaluating the text raises; such a guard is carried as text
        return _NAME.sub(lambda match: names.get(match.group(), match.group()), text)
