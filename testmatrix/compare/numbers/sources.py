"""What the name of a source says of where a number comes from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from testmatrix.compare.wording import stable_source
from testmatrix.observation import Leaf

#: Sources inside torch and Python are no numbers of the user's, nor is what a view was taken of, which torch looks up by itself.
_INTERNAL = re.compile(r"^__import__\(|^G\['torch'\]|^G\['__(import_|builtins)|^utils_device|__import_torch|\._base\b")
#: Extents other than sizes: they follow from sizes, and are no rows of their own.
_EXTENT = re.compile(r"\.stride\(\)|\.storage_offset\(\)|\.ndim$|\.(?:size|stride)\(\d+\)|\.shape\[")
#: What 0-d tensors hold: torch makes a symbol of it for every one of ints, used or not and whatever the settings are. A scalar of
#: numpy's is one of those, too, but was no tensor to the user.
_ITEM = re.compile(r"^(?!___from_numpy\().*\.item\(\)$")
_SIZE = re.compile(r"^(?P<tensor>.+)\.size\(\)\[(?P<dim>\d+)\]$")
#: What a conversion was applied to: ``int(L['n'])``, ``___from_numpy(L['n']).item()``.
_INNER = re.compile(r"\((?P<inner>[LGC]\[.*\])\)(?:\.item\(\))?$")
_KEYS = re.compile(r"^list\(dict\.keys\(")
_ROOT = re.compile(r"^[LGC]\['[^']*'\]$")
_LAST = re.compile(r"^(?P<parent>.+?)(?P<last>\.\w+|\[[^\[\]]*\])$")
#: What only a module has among what a guard is on: ``L['fn'].training``, ``L['self']._modules``.
_MODULE = re.compile(r"^(?P<module>.+)(?:\.|\.__dict__\[')(?:training|_modules|_parameters|_buffers|_forward_hooks)(?:'\])?$")
_MODULE_ENDS = ("training", "_modules", "_parameters", "_buffers", "_forward_hooks", "']")
_NAME = re.compile(r"\['([A-Za-z_]\w*)'\]|\.([A-Za-z_]\w*)")
#: A class of the user's that is derived from ``int`` or ``float``.
SUBCLASS = "number of a subclass"
_LITERAL = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
#: Of an ``IntEnum`` or of another enumeration: what is recorded of one does not tell.
ENUM_MEMBER = "enum member"
_ITEMS_OF = {"list": "list value", "tuple": "tuple value", "dict": "dict value", "torch.Size": "torch.Size"}
_WRITTEN = (
    (re.compile(r"__defaults__|__kwdefaults__"), "default argument"),
    (_KEYS, "dict key"),
    (re.compile(r"\.__closure__\[|\.cell_contents\b"), "closure"),
    (re.compile(r"^___from_numpy\("), "numpy scalar"),
    (re.compile(r"\btype\(.+\)\.__(?:dict|mro)__"), "class attribute"),
    (re.compile(r"^G\["), "global"),
    (re.compile(r"\._modules\b"), "module attribute"),
    (re.compile(r"\['___stack\d+'\]"), "local after a graph break"),
)


def is_users(source: str) -> bool:
    return not _INTERNAL.search(source) and not _EXTENT.search(source) and not _ITEM.match(source)


def as_guarded(path: str) -> str:
    """The source under which Dynamo guards a recorded number: variables of a closure are locals to it."""
    return stable_source(f"L{path[1:]}" if path.startswith("C[") else path)


def size_of(source: str) -> tuple[str, int] | None:
    """(tensor, dimension) of a size: ``L['x'].size()[0]``; None for what is none."""
    match = _SIZE.match(source)
    return (match["tensor"], int(match["dim"])) if match else None


def converted(source: str) -> str:
    """What a source was converted from, or the source itself."""
    match = None if _KEYS.match(source) else _INNER.search(source)
    return match["inner"] if match else source


def names_in(source: str) -> tuple[str, ...]:
    """Names by which a line of code may call a source, the most telling first: ``calls``, ``self`` for ``L['self'].calls``."""
    found = [one or other for one, other in _NAME.findall(source)]
    return tuple(name for name in reversed(found) if not name.startswith("__") and name not in ("size", "item", "_modules"))


def module_of(source: str) -> str:
    """The module that a source tells of by what it is on; empty where it doesn't."""
    match = _MODULE.match(source) if source.endswith(_MODULE_ENDS) else None
    return match["module"] if match else ""


def kind_of(source: str, leaves: Mapping[str, Leaf], modules: Collection[str] = (), resumed: bool = False) -> str:
    """What kind of source an int or a float has, from its name and the types of what was recorded on the way to it.

    ``leaves`` are those of the region's calls by path, ``modules`` sources that are modules, and ``resumed`` tells a frame that
    goes on after a graph break.
    """
    written = next((kind for pattern, kind in _WRITTEN if pattern.search(source)), "")
    own = leaves.get(converted(source))
    if own is not None and (typed := _kind_of_type(own)):
        return typed
    if written:
        return written
    if _ROOT.match(source):
        if source in leaves:
            return "argument"
        return "local after a graph break" if resumed else "closure"
    return _kind_of_part(source, leaves, modules)


def kind_of_size(source: str, types: Mapping[str, str]) -> str:
    """The same for a size; ``types`` are those of tensors by source."""
    tensor = source.partition(".size()")[0]
    if types.get(tensor, "").rpartition(".")[2] in ("Parameter", "Buffer"):
        return f"size of a {types[tensor].rpartition('.')[2]}".replace("Buffer", "buffer")
    if "._parameters[" in tensor:
        return "size of a Parameter"
    if "._buffers[" in tensor:
        return "size of a buffer"
    return "size of a global tensor" if tensor.startswith("G[") else "size of a tensor"


def _kind_of_type(leaf: Leaf) -> str:
    if leaf.type.startswith("numpy."):
        return "numpy scalar"
    if leaf.type.rpartition(".")[2] == "DynamicInt":
        return "DynamicInt"
    if leaf.type not in ("int", "float") and _LITERAL.fullmatch(leaf.value) and not leaf.type.startswith("torch."):
        return SUBCLASS
    return ENUM_MEMBER if is_enum_member(leaf) else ""


def is_enum_member(leaf: Leaf) -> bool:
    """Whether a value is a member of an enumeration: ``Level.LOW``."""
    name = leaf.type.rpartition(".")[2]
    return leaf.value.startswith(f"{name}.") and leaf.value[len(name) + 1 :].isidentifier()


def _kind_of_part(source: str, leaves: Mapping[str, Leaf], modules: Collection[str]) -> str:
    match = _LAST.match(source)
    if match is None:
        return "other"
    if any(outer in modules or f"{outer}.training" in leaves for outer in _outer(source)):
        return "module attribute"
    parent = leaves.get(match["parent"])
    if ".keywords" in source or ".args[" in source or (parent is not None and parent.type == "functools.partial"):
        return "partial"
    if match["last"].startswith("."):
        # A dataclass's fields are recorded as those of a container, other objects' attributes are not counted.
        return "dataclass field" if parent is not None and parent.value.startswith("len=") else "object field"
    if parent is None:
        return "dict value" if match["last"].startswith("['") else "list value"
    return _ITEMS_OF.get(parent.type, f"{parent.type.rpartition('.')[2]} value")


def _outer(source: str) -> Iterator[str]:
    """What a source is a part of, from the inside out."""
    match = _LAST.match(source)
    while match is not None:
        yield match["parent"]
        match = _LAST.match(match["parent"])


def is_attribute(source: str) -> bool:
    """Whether a source is, or is inside of, an attribute of an object."""
    return any(match and match["last"].startswith(".") for match in map(_LAST.match, (source, *_outer(source))))
