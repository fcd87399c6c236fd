"""The kinds of guards that torch makes, and what each checks.

A kind is the name of the method of ``torch._dynamo.guards.GuardBuilder`` that makes the guard. Some that torch installs by other
ways have names of this project's: :data:`NOT_BUILT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Category = Literal["numeric", "constant", "tensor", "type", "identity", "structure", "aliasing", "process", "opaque", "unknown"]


@dataclass(frozen=True, slots=True)
class GuardKind:
    name: str
    category: Category
    checks: str  #: what is checked, to be read after "the guard checks"


_ALL = (
    GuardKind("SHAPE", "numeric", "a condition on sizes, strides, ints and floats that are carried as symbols"),
    GuardKind("SHAPE_ENV", "numeric", "all conditions on symbols together; recorded one by one, as SHAPE and as ranges"),
    GuardKind("EQUALS_MATCH", "constant", "that a value equals a constant and is of its type"),
    GuardKind(
        "CONSTANT_MATCH", "constant", "that a value is a constant: a number, text, a bool, None, or the code of a function"
    ),
    GuardKind("CONSTANT_SUBCLASS_MATCH", "constant", "that a value of a class derived from int, float or str equals a constant"),
    GuardKind("BOOL_MATCH", "constant", "that a value is True, or False"),
    GuardKind("NONE_MATCH", "constant", "that a value is None"),
    GuardKind("RANGE_ITERATOR_MATCH", "constant", "start, stop and step of an iterator over a range"),
    GuardKind("COUNT_ITERATOR_MATCH", "constant", "position and step of itertools.count"),
    GuardKind(
        "TENSOR_MATCH", "tensor", "class, dispatch keys, dtype, device, requires_grad, fixed sizes and strides, marked dimensions"
    ),
    GuardKind("TENSOR_SUBCLASS_METADATA_MATCH", "tensor", "the metadata that a subclass of Tensor flattens to"),
    GuardKind("DTENSOR_SPEC_MATCH", "tensor", "mesh and placements of a distributed tensor"),
    GuardKind("DISPATCH_KEY_SET_MATCH", "tensor", "a set of dispatch keys"),
    GuardKind("TYPE_MATCH", "type", "the exact type of a value"),
    GuardKind("FAKE_SCRIPT_TYPE_MATCH", "type", "the type of a script object, or of what a fake one stands for"),
    GuardKind("ID_MATCH", "identity", "that a value is the very same object"),
    GuardKind("CLASS_MATCH", "identity", "that a value is the very same class"),
    GuardKind("FUNCTION_MATCH", "identity", "that a value is the very same function"),
    GuardKind("CLOSURE_MATCH", "identity", "that a function has the very same code"),
    GuardKind("BUILTIN_MATCH", "identity", "that a value is the very same builtin"),
    GuardKind("MODULE_MATCH", "identity", "that a value is the very same Python module"),
    GuardKind("NN_MODULE", "identity", "that a value is the very same nn.Module"),
    GuardKind("SEQUENCE_LENGTH", "structure", "type and length of a sequence, or the length of a dictionary"),
    GuardKind("TUPLE_ITERATOR_LEN", "structure", "how many elements an iterator over a tuple has left"),
    GuardKind("DICT_KEYS_MATCH", "structure", "the keys of a dictionary"),
    GuardKind("MAPPING_KEYS_CHECK", "structure", "the keys of a mapping proxy, in order"),
    GuardKind("DICT_VERSION", "structure", "that a dictionary has not been changed"),
    GuardKind("DICT_CONTAINS", "structure", "that a dictionary has a key"),
    GuardKind("DICT_NOT_CONTAINS", "structure", "that a dictionary lacks a key"),
    GuardKind("SET_CONTAINS", "structure", "that a set has an element"),
    GuardKind("SET_NOT_CONTAINS", "structure", "that a set lacks an element"),
    GuardKind("HASATTR", "structure", "that an object has, or lacks, an attribute"),
    GuardKind("NOT_PRESENT_IN_GENERIC_DICT", "structure", "that an instance's own dictionary lacks an attribute"),
    GuardKind(
        "EMPTY_NN_MODULE_HOOKS_DICT", "structure", "that a module has no hooks of a kind; skipped unless torch is told otherwise"
    ),
    GuardKind("NOT_NONE_MATCH", "structure", "that there is a tensor"),
    GuardKind("WEAKREF_ALIVE", "structure", "that what a weak reference refers to is still there"),
    GuardKind("DUPLICATE_INPUT", "aliasing", "that two sources are the same object"),
    GuardKind("NO_TENSOR_ALIASING", "aliasing", "that a tensor is none of the others with this guard"),
    GuardKind("STORAGE_OVERLAPPING", "aliasing", "which tensors' memory overlaps"),
    GuardKind("OPAQUE_OBJ_GUARD_FN_MATCH", "opaque", "values that an object's own guard function returns"),
    GuardKind("GLOBAL_STATE", "process", "grad mode, autocast, default dtype, determinism and other switches of the process"),
    GuardKind("GRAD_MODE", "process", "whether gradients are recorded"),
    GuardKind("DETERMINISTIC_ALGORITHMS", "process", "whether deterministic algorithms are asked for"),
    GuardKind("DEFAULT_DEVICE", "process", "the device on which tensors are made"),
    GuardKind("TORCH_FUNCTION_STATE", "process", "the classes of the active torch function modes"),
    GuardKind("AUTOGRAD_SAVED_TENSORS_HOOKS", "process", "hooks on what autograd saves, where they are traced"),
    GuardKind("FUNCTORCH_STACK_MATCH", "process", "the functional transforms around the call"),
    GuardKind("DUAL_LEVEL", "process", "the level of forward-mode differentiation"),
    GuardKind("FSDP_TRAINING_STATE", "process", "the state of training of fully sharded modules"),
)

KINDS = MappingProxyType({kind.name: kind for kind in _ALL})

#: Kinds that no method of the guard builder is named after.
NOT_BUILT = frozenset({"SHAPE", "NO_TENSOR_ALIASING", "STORAGE_OVERLAPPING"})


def category(kind: str) -> Category:
    """The category of a kind; ``unknown`` for one that is not in the table."""
    found = KINDS.get(kind)
    return "unknown" if found is None else found.category
