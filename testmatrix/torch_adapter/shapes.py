"""The numeric side of one compile's guards: symbols and the conditions on them, as the shape environment has them.

``ShapeEnv.guards`` alone is not what torch checks. To it come, all recorded here: ranges, replacements and sources that share a
symbol (with the symbols); what torch infers instead of giving it a symbol, as the stride of a contiguous tensor (symbols with
nothing but a replacement); that floats are not NaN; and the values left to an earlier compile. Conditions on symbols that no
input has are not checked by torch, and not recorded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import sympy
import torch

from testmatrix.observation import Guard, Symbol
from testmatrix.torch_adapter import places
from testmatrix.torch_adapter.expressions import NESTED, bound_of, text_of
from testmatrix.torch_adapter.guard_text import plain

Kind = Literal["size", "stride", "int", "float", "bool", "unbacked"]


def conditions(shape_env: Any) -> Iterator[Guard]:
    """SHAPE guards over the names of :func:`symbols`."""
    checked = [symbol for symbol, sources in shape_env.var_to_sources.items() if _named(sources)]
    for guard in shape_env.guards:
        if guard.expr.free_symbols <= set(checked):
            yield _condition(text_of(guard.expr), _place_of(shape_env, guard))
    for symbol in checked:
        if kind_of(symbol, ()) == "float" and symbol not in shape_env.replacements:
            yield _condition(f"Eq({symbol}, {symbol})")  # which NaN does not; sympy would make it True
    excluded = _excluded(shape_env, checked)
    if excluded:
        yield _condition(excluded)


def _place_of(shape_env: Any, guard: Any) -> places.Place:
    """Where the user's code made a condition; its own text names torch's code where a module of torch's made it."""
    if isinstance(guard.expr, sympy.Eq):
        for symbol in guard.expr.free_symbols if guard.expr.rhs.is_number else ():
            place = _specialised_at(shape_env, symbol)
            if place.line:
                return place
    return places.of_shape_location(guard.sloc)


def _specialised_at(shape_env: Any, symbol: Any) -> places.Place:
    """Where a symbol was turned into a constant."""
    stacks = getattr(shape_env, "specialization_stacks", {})
    found = (stacks[source] for source in shape_env.var_to_sources.get(symbol, ()) if source in stacks)
    return places.of_stack(next(found, None))


def _settled_at(shape_env: Any, symbol: Any) -> places.Place:
    """Where a symbol was turned into a constant, or replaced by others, or else first used."""
    ranges = getattr(shape_env, "var_to_range_sloc", {}).get(symbol)
    slocs = (getattr(shape_env, "replacements_slocs", {}).get(symbol), getattr(ranges, "upper", None))
    found = (place for place in (_specialised_at(shape_env, symbol), *map(places.of_shape_location, slocs)) if place.line)
    return next(found, places.NOWHERE)


def _condition(text: str, place: places.Place = places.NOWHERE) -> Guard:
    return Guard(kind="SHAPE", source="", text=text, line=place.line, code=place.code, context=place.context)


def _excluded(shape_env: Any, checked: Collection[Any]) -> str:
    """What automatic dynamic shapes leave to the compile before, where torch is told to."""
    from torch._dynamo import config

    if not getattr(config, "automatic_dynamic_exclusion_guard", False) or config.enable_compiler_collectives:
        return ""
    pairs = [(symbol, value) for symbol, value in shape_env.exclusion_constraints if symbol in checked]
    if all(shape_env.backed_var_to_val.get(symbol) == value for symbol, value in pairs):
        return ""
    return " | ".join(f"Ne({symbol}, {value})" for symbol, value in pairs)


def symbols(shape_env: Any, tensors: Collection[str]) -> Iterator[Symbol]:
    """Symbols with the sources that share them, those that no input has (``u0``), and inferred sizes and strides (``d0``).

    Extents that turned out constant are checked with the tensors that have a guard, and of others not at all.
    """
    known, inferred = sources_of(shape_env)
    replacements = [shape_env.replacements.get(symbol, symbol) for symbol, sources in known.items() if sources]
    needed = {symbol for expression in (*replacements, *inferred.values()) for symbol in expression.free_symbols}
    for symbol, sources in known.items():
        if sources or symbol in needed or _is_unbacked(symbol):
            constant = symbol in shape_env.replacements and shape_env.replacements[symbol].is_number
            checked = [source for source in sources if not constant or not _is_extent(source) or _tensor_of(source) in tensors]
            yield _symbol(shape_env, symbol, tuple(map(plain, checked)), kind_of(symbol, sources))
    for number, (source, value) in enumerate(inferred.items()):
        yield _inferred(shape_env, f"d{number}", plain(source), value)


def sources_of(shape_env: Any) -> tuple[dict[Any, list[str]], dict[str, Any]]:
    """Sources of every symbol, as torch writes them, and the expressions of those inputs that have none of their own.

    Sources of unbacked symbols are known by the inputs alone.
    """
    known = {symbol: _named(sources) for symbol, sources in shape_env.var_to_sources.items()}
    for symbol in shape_env.var_to_range:
        if _is_unbacked(symbol):
            known.setdefault(symbol, [])
    named = {source for sources in known.values() for source in sources}
    inferred = {}
    for source, value in _inputs(shape_env):
        if source in named:
            continue
        if value.is_Symbol:
            known.setdefault(value, []).append(source)
            named.add(source)
        else:
            inferred[source] = value
    return known, inferred


def _symbol(shape_env: Any, symbol: Any, sources: tuple[str, ...], kind: Kind) -> Symbol:
    bounds = shape_env.var_to_range.get(symbol)
    replacement = shape_env.replacements.get(symbol)
    if bounds is not None and bounds.lower == bounds.upper and replacement is None:
        replacement = bounds.lower
    place = _settled_at(shape_env, symbol)
    hint = shape_env.backed_var_to_val.get(symbol)
    return Symbol(
        name=str(symbol),
        sources=sources,
        kind=kind,
        hint="" if hint is None else text_of(hint),
        lower=bound_of(bounds.lower) if bounds is not None else "",
        upper=bound_of(bounds.upper) if bounds is not None else "",
        replacement="" if replacement is None else text_of(replacement),
        line=place.line,
        code=place.code,
        context=place.context,
    )


def _inferred(shape_env: Any, name: str, source: str, value: Any) -> Symbol:
    hint = text_of(value.xreplace(shape_env.backed_var_to_val))
    return Symbol(
        name=name,
        sources=(source,),
        kind="stride" if _is_stride(source) else "size",
        hint="" if NESTED in hint else hint,
        replacement=text_of(value),
    )


def _named(sources: Any) -> list[str]:
    """Sources that torch can look at when it checks guards; not those of values on the way."""
    return list(dict.fromkeys(str(source.name) for source in sources if not _is_passing(source)))


def _is_passing(source: Any) -> bool:
    return bool(source.is_ephemeral()) if hasattr(source, "is_ephemeral") else False


def _inputs(shape_env: Any) -> Iterator[tuple[str, Any]]:
    """(source, expression) of every symbolic number, size, stride and offset among the inputs."""
    with torch._C.DisableTorchFunction():
        for tracked in getattr(shape_env, "tracked_fakes", None) or ():
            if not _is_passing(tracked.source):
                for source, value in _numbers_of(tracked):
                    expression = getattr(getattr(value, "node", None), "expr", None)
                    if isinstance(expression, sympy.Expr) and not expression.is_number:
                        yield source, expression


def _numbers_of(tracked: Any) -> Iterator[tuple[str, object]]:
    if not isinstance(tracked.fake, torch.Tensor):
        yield tracked.source.name, tracked.fake
        return
    for name, tensor in _plain_tensors(tracked):
        yield from _extents(name, tensor)


def _plain_tensors(tracked: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """An input, or for a subclass that wraps others what torch looks at of it."""
    inner = getattr(tracked.symbolic_context, "inner_contexts", None)
    if inner is None or getattr(tracked.symbolic_context, "track_outer_size_stride", True):
        yield tracked.source.name, tracked.fake
    for attribute in inner or ():
        value = getattr(tracked.fake, attribute, None)
        if isinstance(value, torch.Tensor):
            yield f"{tracked.source.name}.{attribute}", value


def _extents(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, object]]:
    for i, value in enumerate(tensor.size()):
        yield f"{name}.size()[{i}]", value
    if tensor.layout in (torch.strided, torch.jagged):
        for i, value in enumerate(tensor.stride()):
            yield f"{name}.stride()[{i}]", value
        yield f"{name}.storage_offset()", tensor.storage_offset()


def ints(shape_env: Any) -> Iterator[tuple[str, int | None]]:
    """(source, hint) of the ints and floats that have a symbol, floats without a hint; sources as torch writes them."""
    for symbol, sources in sources_of(shape_env)[0].items():
        hint = shape_env.backed_var_to_val.get(symbol)
        for source in sources:
            kind = kind_of(symbol, (source,))
            if kind in ("int", "float", "unbacked") and not _is_extent(source):
                yield source, None if hint is None or kind == "float" else int(hint)


def _is_extent(source: str) -> bool:
    return ".size()[" in source or _is_stride(source)


def _is_unbacked(symbol: Any) -> bool:
    return str(symbol).startswith(("u", "zuf"))


def _tensor_of(source: str) -> str:
    """The tensor of which a source is a size or stride; nothing for an offset, which torch does not check."""
    return "" if source.endswith(".storage_offset()") else re.sub(r"\.(?:size|stride)\(\)\[\d+\]$", "", source)


def _is_stride(source: str) -> bool:
    return ".stride()" in source or source.endswith(".storage_offset()")


def kind_of(symbol: Any, sources: Sequence[str]) -> Kind:
    if _is_unbacked(symbol):
        return "unbacked"
    if str(symbol).startswith("z"):
        return "float"
    if not sources or not _is_extent(sources[0]):
        return "int"  # whatever torch found to equal it
    return "size" if any(".size()[" in source for source in sources) else "stride"
