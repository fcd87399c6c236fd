"""The axis rule: what of a difference between two accept sets the axes in which their cells differ explain.

An axis may change how the numbers that it governs are carried: as constants or as symbols. So the constants of one side are put
into the other, where it carries them as symbols; what is left must be the same. What then lets more through than it should is
missing, what lets less through is extra, and an input that only one of the two accepts shows it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from testmatrix.compare.algebra.conjunction import Conjunction, put_in, substituted, without
from testmatrix.compare.algebra.functions import number
from testmatrix.compare.algebra.normal import fixed
from testmatrix.compare.algebra.relation import LIMIT, Relation, RelationKind, Witness, relate
from testmatrix.compare.algebra.variables import Assignment, Sort, Value, variable
from testmatrix.compare.guards.accept import AcceptSet, accept_set
from testmatrix.compare.guards.discrete import IMPLY_TYPE, Atom
from testmatrix.compare.guards.readable import readable, readable_number
from testmatrix.compare.guards.strides import with_consistent_strides
from testmatrix.compare.numbers.constants import CONSTANT_KINDS
from testmatrix.guard_kinds import category
from testmatrix.observation import Compile, Guard, Symbol

_NUMERIC_TYPES = {"int": "ints", "float": "floats"}
_STRIDES = re.compile(r"\.stride\(\)\[\d+\]$|\.stride\(\d+\)$|\.storage_offset\(\)$")
#: Sources inside torch and Python: which of them a trace touches depends on how torch spells an operation on symbols.
_INTERNAL = re.compile(
    r"^__import__\(|^G\['__(import_torch|builtins_dict|import_builtins|import_operator|import_math|import_itertools)"
)
#: Defaults of a function: a trace looks at those that it folds constants with, which are fewer where numbers are symbols.
_DEFAULT = re.compile(r"\.__(?:kw)?defaults__\[[^\]]*\]$")
_EXTENTS = re.compile(r"\.(?:shape|size\(\))$")


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardDifference:
    """What one compile checks, the other does not, and no axis explains."""

    kind: Literal["guard.missing", "guard.extra"]
    source: str
    guard: str  #: torch's name of the guard's kind
    text: str  #: the condition, over sources
    witness: tuple[tuple[str, str], ...] = ()  #: source and value; an input that the side without the condition accepts alone
    values: Mapping[str, Value] = field(default_factory=dict)  #: the witness of a condition on numbers, as numbers
    origin: Guard | Symbol | None = None  #: what made the condition, with the user's line

    @property
    def line(self) -> str:
        return self.origin.line if self.origin is not None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardComparison:
    """How a compile's guards compare with a reference's, once the constants that the axes explain are put in."""

    #: What the compile's accept set is, compared with the reference's.
    relation: RelationKind
    differences: tuple[GuardDifference, ...] = ()
    #: Conditions that one side has alone and that were not decided within the limit.
    undecided: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()  #: what was left out of the comparison, and why
    constants: Mapping[str, Value] = field(default_factory=dict)  #: what was put in


_EQUAL = GuardComparison(relation="equal")


def compare_guards(
    reference: Compile,
    other: Compile,
    governed: frozenset[str],
    *,
    same_inputs: bool = True,
    wrongly: Compile | None = None,
    versions: tuple[str, str] = ("", ""),
    limit: float = LIMIT,
    ask_z3: bool = True,
) -> GuardComparison:
    """What ``other`` no longer checks (missing) or checks beyond ``reference`` (extra), apart from what ``governed`` explains.

    Compiles that were not made for the ``same_inputs`` met other objects in other states: of these, only conditions on numbers
    that both look at are compared. ``wrongly`` is a compile whose inputs ``other`` took although its graph is none for them: that
    it carries the numbers that are others there as symbols explains nothing then. ``versions`` are the torch versions that made
    the two. Where they differ, what only one of them may have is set aside.
    """
    if reference.guards == other.guards and reference.symbols == other.symbols:
        return _EQUAL
    left, right = accept_set(reference), accept_set(other)
    if left.is_same(right):
        return _EQUAL
    set_aside: tuple[str, ...] = ()
    if versions[0] != versions[1]:
        set_aside = _not_shared(left, right, versions)
        left, right = left.understood(), right.understood()
    kinds = governed_kinds(governed)
    taken = accept_set(wrongly).recorded if wrongly is not None else {}
    left, right = (projected(one, beside, kinds, every=not same_inputs) for one, beside in ((left, right), (right, left)))
    shared = shared_constants(left, right, kinds)
    constants = {source: value for source, value in shared.items() if taken.get(source, value) == value}
    relation = _numeric_relation(left, right, {**right.recorded, **taken, **constants}, constants, limit, ask_z3)
    differences = (
        *_numeric_difference("guard.missing", relation.right_only, left),
        *_numeric_difference("guard.extra", relation.left_only, right),
        *(_discrete_differences("guard.missing", left, right, kinds) if same_inputs else ()),
        *(_discrete_differences("guard.extra", right, left, kinds) if same_inputs else ()),
    )
    return GuardComparison(
        relation=_joint(relation.kind, {one.kind for one in differences}),
        differences=differences,
        undecided=_alone(left, right) if relation.kind == "undecided" else (),
        set_aside=set_aside,
        constants=constants,
    )


def _not_shared(left: AcceptSet, right: AcceptSet, versions: tuple[str, str]) -> tuple[str, ...]:
    """What cannot be compared between two versions of torch: kinds that this one does not know, and texts that it cannot read."""
    unknown = sorted({atom.kind for atom in (*left.atoms, *right.atoms) if category(atom.kind) == "unknown"})
    between = f"between torch {versions[0] or '?'} and {versions[1] or '?'}"
    said = [f"guards of kind {kind} are not known here and were not compared {between}" for kind in unknown]
    said += [
        f"a condition that was not understood was not compared {between}: {one.text}" for one in (*left.opaque, *right.opaque)
    ]
    return tuple(said)


def _numeric_relation(
    reference: AcceptSet,
    other: AcceptSet,
    recorded: Assignment,
    constants: Mapping[str, Value],
    limit: float,
    ask_z3: bool,
) -> Relation:
    sorts = joint_sorts(reference.numeric.sorts, other.numeric.sorts)
    left, right = (specialised(one, constants, sorts) for one in (reference, other))
    relation = relate(left, right, recorded={**reference.recorded, **recorded}, limit=limit, ask_z3=ask_z3)
    return replace(
        relation,
        left_only=relation.left_only and with_consistent_strides(relation.left_only, left),
        right_only=relation.right_only and with_consistent_strides(relation.right_only, right),
    )


def _numeric_difference(
    kind: Literal["guard.missing", "guard.extra"], witness: Witness | None, having: AcceptSet
) -> Iterator[GuardDifference]:
    if witness is None:
        return
    condition = witness.rejected_by
    origin = having.origins.get(condition)
    yield GuardDifference(
        kind=kind,
        source=", ".join(sorted(str(symbol.name) for symbol in condition.free_symbols)),
        guard=origin.kind if isinstance(origin, Guard) else "range",
        text=readable(condition),
        witness=tuple((source, readable_number(value)) for source, value in witness.values),
        values=dict(witness.values),
        origin=origin,
    )


def _discrete_differences(
    kind: Literal["guard.missing", "guard.extra"], having: AcceptSet, lacking: AcceptSet, kinds: frozenset[str]
) -> Iterator[GuardDifference]:
    numbers = having.numeric.sorts.keys() | lacking.numeric.sorts.keys()
    for atom, origin in having.atoms.items():
        if atom not in lacking.atoms and not _is_explained(atom, origin, lacking, numbers, kinds):
            yield GuardDifference(
                kind=kind, source=atom.source, guard=atom.kind, text=atom.payload, witness=_otherwise(atom, origin), origin=origin
            )


#: What an input is that a discrete condition rejects, where no value of it can be named.
_OTHERWISE: Mapping[str, str] = {
    "tensor": "a tensor of another class, dtype, device or layout",
    "type": "an object of another type",
    "identity": "another object",
    "structure": "one of another length, or with other keys",
    "DUPLICATE_INPUT": "an object of its own",
    "NO_TENSOR_ALIASING": "the same tensor as another argument",
    "aliasing": "a set of tensors that overlap in another way",
    "process": "another state of the process",
}


def _otherwise(atom: Atom, origin: Guard) -> tuple[tuple[str, str], ...]:
    """An input that an atom rejects: a value of the same type where there is one to name, or else what it would have to be."""
    if origin.kind in CONSTANT_KINDS and origin.value_type == "bool":
        return ((atom.source, str(origin.value != "True")),)
    if origin.kind in CONSTANT_KINDS and origin.value_type == "str" and origin.value:
        return ((atom.source, f"{origin.value[:-1]}_{origin.value[-1]}"),)
    other = _OTHERWISE.get(atom.kind) or _OTHERWISE.get(category(atom.kind), "another value")
    return ((atom.source or atom.kind, other),)


def _joint(numeric: RelationKind, kinds: set[str]) -> RelationKind:
    """The relation of whole sets: the numeric part's, and that of what else is missing or extra."""
    if numeric == "undecided":
        return "undecided"
    wider, narrower = "guard.missing" in kinds, "guard.extra" in kinds
    return "neither" if wider and narrower else "wider" if wider else "narrower" if narrower else "equal"


def _alone(left: AcceptSet, right: AcceptSet) -> tuple[str, ...]:
    alone = left.numeric.conditions ^ right.numeric.conditions
    return (*map(readable, sorted(alone, key=str)), *sorted(left.numeric.opaque ^ right.numeric.opaque))


def governed_kinds(governed: frozenset[str]) -> frozenset[str]:
    """The kinds of numbers that axes may carry differently: ``ints``, ``sizes``, ``strides``, ``floats``."""
    if "backend" in governed:  # a backend adds guards on every number that it looks at while it compiles
        return governed | {"ints", "sizes", "strides", "floats"}
    # Dynamo carries floats as symbols only where it may carry sizes.
    return governed | {"floats"} if "sizes" in governed else governed


def kind_of(source: str, accepting: AcceptSet) -> str:
    """What kind of number a source is."""
    sort = accepting.numeric.sorts.get(source, "int")
    if sort == "extent":
        return "strides" if _STRIDES.search(source) else "sizes"
    return {"int": "ints", "float": "floats", "bool": "bools"}[sort]


def projected(accepting: AcceptSet, other: AcceptSet, kinds: frozenset[str], *, every: bool = False) -> AcceptSet:
    """A set without the numbers of governed kinds (or ``every`` number) that the other side does not look at.

    Whether a cell looks at a number that an axis governs is the axis's doing, too. What the conditions ask of the others,
    whatever such a number is, stays; where no equation says that, it is what they ask for the recorded value.
    """
    conditions, sorts = accepting.numeric.conditions, dict(accepting.numeric.sorts)
    for source in sorted(sorts.keys() - other.numeric.sorts.keys()):
        if not every and kind_of(source, accepting) not in kinds:
            continue
        symbol, recorded = variable(source, sorts[source]), accepting.recorded.get(source)
        left = without(conditions, symbol)
        if left is None and recorded is not None:
            left = put_in(conditions, symbol, number(recorded))
        if left is not None:
            conditions = left
            del sorts[source]
    if len(sorts) == len(accepting.numeric.sorts):
        return accepting
    constants = {source: value for source, value in accepting.constants.items() if source in sorts}
    return replace(accepting, numeric=replace(accepting.numeric, conditions=conditions, sorts=sorts), constants=constants)


def shared_constants(reference: AcceptSet, other: AcceptSet, kinds: frozenset[str]) -> dict[str, Value]:
    """The constants of governed kinds that both sides are to have before they are related.

    That is what one side has as a constant and the other carries as a symbol; constants that differ are a difference.
    """
    found: dict[str, Value] = {}
    for having, lacking in ((reference, other), (other, reference)):
        for source in having.numeric.sorts:
            value = having.constants.get(source)
            carried = source in lacking.numeric.sorts and lacking.constants.get(source, value) == value
            if carried and value is not None and kind_of(source, having) in kinds:
                found.setdefault(source, value)
    return found


#: Which sort a source has that the two sides know as different ones: the last of these.
_PRECEDENCE: tuple[Sort, ...] = ("bool", "int", "float", "extent")


def joint_sorts(left: Mapping[str, Sort], right: Mapping[str, Sort]) -> dict[str, Sort]:
    """The sorts of all sources; one that is a size to one side is a size, and one that is a float to one side no int."""
    joint = {**left, **right}
    for source in left.keys() & right.keys():
        joint[source] = max(left[source], right[source], key=_PRECEDENCE.index)
    return joint


def specialised(accepting: AcceptSet, constants: Mapping[str, Value], sorts: Mapping[str, Sort]) -> Conjunction:
    """The numeric part with constants put in for sources, which are of the sorts given."""
    equations = frozenset(fixed(variable(source, sorts[source]), number(value)) for source, value in constants.items())
    own = accepting.numeric.sorts
    renamed = {variable(name, sort): variable(name, sorts[name]) for name, sort in own.items() if sort != sorts[name]}
    conditions = accepting.numeric.conditions
    if renamed:
        conditions = substituted(conditions, renamed)
    return replace(accepting.numeric, sorts=sorts, conditions=conditions | equations)


def _is_explained(atom: Atom, origin: Guard, lacking: AcceptSet, numbers: Collection[str], kinds: frozenset[str]) -> bool:
    """Whether the axes, or another guard of the other side, explain that an atom is on one side only."""
    torchs_own = atom.kind == "MODULE_MATCH" and atom.payload.partition(".")[0] == "torch"
    if kinds and (torchs_own or _INTERNAL.match(atom.source) or _DEFAULT.search(atom.source)):
        return True
    if "sizes" in kinds and _EXTENTS.search(atom.source):
        return True  # how sizes are handed on: as one constant, or one by one
    governed_number = _numeric_type(origin) in kinds or ("RANGE" in atom.kind and "ints" in kinds)
    if governed_number or (kinds and atom.source in numbers and atom.kind in CONSTANT_KINDS | {"TYPE_MATCH"}):
        return True
    return atom.kind == "TYPE_MATCH" and any(other.source == atom.source and other.kind in IMPLY_TYPE for other in lacking.atoms)


def _numeric_type(guard: Guard) -> str:
    """``ints`` or ``floats`` for a guard on the type or value of a number, else empty."""
    if guard.kind != "TYPE_MATCH":
        return _NUMERIC_TYPES.get(guard.value_type, "")
    named = re.search(r"(?:<class ')?\b(int|float)(?:'>)?$", guard.text)
    return _NUMERIC_TYPES[named.group(1)] if named else ""
