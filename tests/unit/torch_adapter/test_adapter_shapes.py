"""Symbols of every kind with their sources, bounds and replacements, and the conditions on them, by real compiles."""

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

SETTINGS = "torch._dynamo.config"


def compiled(record, function, *args, cell="dynamic", backend="eager", **settings):
    with record(cell) as recording, torch._dynamo.config.patch(assume_static_by_default=cell == "static", **settings):
        torch.compile(function, backend=backend)(*args)
    assert recording.notes == []
    return recording.compiles[0]


def by_source(found):
    return {source: symbol for symbol in found.symbols for source in symbol.sources}


def conditions(found):
    return {guard.text for guard in found.guards if guard.kind == "SHAPE"}


def bounds(symbol):
    return symbol.kind, symbol.hint, symbol.lower, symbol.upper, symbol.replacement


def test_sizes_and_ints(record):
    symbols = by_source(compiled(record, lambda x, n: x * n, torch.ones(4, 6), 5))
    assert bounds(symbols["L['x'].size()[0]"]) == ("size", "4", "2", "oo", "")
    assert bounds(symbols["L['x'].size()[1]"]) == ("size", "6", "2", "oo", "")
    assert bounds(symbols["L['n']"]) == ("int", "5", "-oo", "oo", "")


def test_a_size_that_equals_another_is_one_symbol(record):
    symbols = by_source(compiled(record, lambda x, y: x + y, torch.ones(4, 6), torch.ones(4, 6)))
    assert symbols["L['x'].size()[0]"] == symbols["L['y'].size()[0]"]
    assert symbols["L['x'].size()[0]"] != symbols["L['y'].size()[1]"]


def test_a_stride_that_is_a_size(record):
    symbols = by_source(compiled(record, lambda x: x + 1, torch.ones(4, 6)))
    assert symbols["L['x'].stride()[0]"] == symbols["L['x'].size()[1]"]


def test_a_stride_that_is_a_product(record):
    symbols = by_source(compiled(record, lambda x: x + 1, torch.ones(3, 4, 5)))
    stride = symbols["L['x'].stride()[0]"]
    factors = sorted(symbols[f"L['x'].size()[{i}]"].name for i in (1, 2))
    assert (stride.name, stride.kind, stride.hint) == ("d0", "stride", "20")
    assert sorted(stride.replacement.split("*")) == factors


def test_strides_and_offsets_of_their_own(record):
    symbols = by_source(compiled(record, lambda x: x + 1, torch.ones(4, 60)[1:, 3:20:2]))
    assert bounds(symbols["L['x'].stride()[1]"]) == ("stride", "2", "2", "oo", "")
    assert bounds(symbols["L['x'].storage_offset()"]) == ("stride", "63", "2", "oo", "")


def test_strides_of_a_tensor_that_is_no_view(record):
    symbols = by_source(compiled(record, lambda x: x + 1, torch.empty_strided((3, 5), (11, 2))))
    assert bounds(symbols["L['x'].stride()[0]"]) == ("stride", "11", "2", "oo", "")


def test_nothing_is_inferred_where_nothing_is_symbolic(record):
    assert compiled(record, lambda x: x + 1, torch.ones(3, 4, 5)[1:], cell="static").symbols == ()


def test_one_size_as_a_multiple_of_another(record):
    def halves(x, y):
        return x + 1 if x.shape[0] == y.shape[0] * 2 else x + y.sum()

    found = compiled(record, halves, torch.ones(8), torch.ones(4))
    symbols = by_source(found)
    whole, half = symbols["L['x'].size()[0]"], symbols["L['y'].size()[0]"]
    assert whole.replacement == f"2*{half.name}"
    assert f"Eq({whole.name}, 2*{half.name})" in conditions(found)
    assert whole.line == f"test_adapter_shapes.py:{halves.__code__.co_firstlineno + 1}"


def test_an_int_that_is_a_size_stays_an_int(record):
    def same(x, n):
        return x + 1 if n == x.shape[0] else x

    symbols = by_source(compiled(record, same, torch.ones(8), 8))
    assert (symbols["L['n']"].kind, symbols["L['x'].size()[0]"].kind) == ("int", "size")
    assert {symbols["L['n']"].replacement, symbols["L['x'].size()[0]"].replacement} & {one.name for one in symbols.values()}


def test_floats(record):
    found = compiled(record, lambda x, f: x * f, torch.ones(4), 2.5, specialize_float=False)
    symbol = by_source(found)["L['f']"]
    assert bounds(symbol) == ("float", "2.5", "-oo", "oo", "")
    assert f"Eq({symbol.name}, {symbol.name})" in conditions(found)  # torch rejects NaN


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-7, 1e300])
def test_a_float_burned_in_keeps_every_digit(record, value):
    burn = eval(f"lambda x, f: x + f if f == {value!r} else x")  # a variable of a closure would be a symbol, too
    found = compiled(record, burn, torch.ones(4), value, specialize_float=False)
    symbol = by_source(found)["L['f']"]
    assert float(symbol.replacement) == float(symbol.hint) == float(symbol.lower) == value
    assert conditions(found) == {f"Eq({symbol.name}, {value!r})"}


def test_no_bool_is_a_symbol(record):
    found = compiled(record, lambda x, b: x + 1 if b else x, torch.ones(4), True)
    assert list(by_source(found)) == ["L['x'].size()[0]"]
    assert {guard.value for guard in found.guards if guard.source == "L['b']" and guard.kind == "CONSTANT_MATCH"} == {"True"}


@pytest.mark.parametrize(
    ("function", "dtype", "name", "lower", "upper"),
    [
        (lambda x: torch.ones(3) * x.sum().item(), torch.float32, "zuf0", "-oo", "oo"),
        (lambda x: torch.ones(3) * x.sum().item(), torch.int64, "u0", "-oo", "oo"),
        (lambda x: x * (x.sum() > 2).item(), torch.float32, "u0", "0", "1"),
        (lambda x: x.nonzero() + 1, torch.float32, "u0", "0", str(2**63 - 2)),
    ],
)
def test_values_that_only_the_run_knows(record, function, dtype, name, lower, upper):
    settings = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    found = compiled(record, function, torch.ones(4, dtype=dtype), **settings)
    (symbol,) = [symbol for symbol in found.symbols if symbol.kind == "unbacked"]
    assert (symbol.name, symbol.sources, bounds(symbol)) == (name, (), ("unbacked", "", lower, upper, ""))


def test_nested_tensors(record):
    parts = [torch.ones(2, 4), torch.ones(3, 4)]
    found = compiled(record, lambda x: x * 2, torch.nested.nested_tensor(parts, layout=torch.jagged))
    symbols = by_source(found)
    assert bounds(symbols["L['x'].size()[0]"])[:3] == ("size", "2", "2")
    assert (symbols["L['x'].size()[1]"].kind, symbols["L['x'].size()[1]"].hint) == ("size", "nested")
    assert symbols["L['x']._values.size()[0]"].hint == "5"
    assert symbols["L['x']._offsets.size()[0]"].replacement == symbols["L['x'].size()[0]"].name + " + 1"
    assert not [source for source in symbols if "ephemeral" in source]
    assert not [text for text in conditions(found) for symbol in found.symbols if not symbol.sources and symbol.name in text]


def test_nested_tensors_are_the_same_whatever_ran_before(record):
    def once():
        nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
        return compiled(record, lambda x: x * 2, nested)

    assert once().symbols == once().symbols


def test_sizes_inside_a_subclass(record):
    symbols = by_source(compiled(record, lambda x: x * 2, TwoTensor(torch.ones(4, 6), torch.ones(4, 6))))
    assert symbols["L['x'].a.size()[0]"] == symbols["L['x'].size()[0]"]
    assert symbols["L['x'].b.stride()[0]"] == symbols["L['x'].size()[1]"]


def test_a_range_that_was_asked_for(record):
    x = torch.ones(4)
    torch._dynamo.mark_dynamic(x, 0, min=3, max=64)
    symbol = by_source(compiled(record, lambda x: x + 1, x))["L['x'].size()[0]"]
    assert (symbol.lower, symbol.upper) == ("3", "64")


def test_a_constant_that_torch_does_not_check_is_no_condition(record):
    def burn(x):
        return x + 1 if x.shape[1] == 5 and x.storage_offset() == 12 else x

    symbols = by_source(compiled(record, burn, torch.ones(6, 12)[1:].t()[:, :5]))
    assert symbols["L['x'].size()[1]"].replacement == "5"
    assert not {source for source in symbols if source.endswith(".storage_offset()")}


def test_conditions_on_numbers(record):
    def branch(x, n):
        return x + 1 if x.shape[0] % 4 == 0 and (n // 3) * 2 > 3 and (n & 3) == 3 else x

    found = compiled(record, branch, torch.ones(8), 7)
    symbols = by_source(found)
    n, size = symbols["L['n']"].name, symbols["L['x'].size()[0]"].name
    assert {f"Eq(Mod({size}, 4), 0)", f"Eq(BitwiseFn_bitwise_and({n}, 3), 3)", f"2*(FloorDiv({n}, 3)) > 3"} <= conditions(found)


def test_what_is_left_to_an_earlier_compile(record):
    settings = {"automatic_dynamic_exclusion_guard": True, "automatic_dynamic_shapes": True}
    with record("static") as recording, torch._dynamo.config.patch(**settings):
        fast = torch.compile(lambda x: x + 1, backend="eager")
        fast(torch.ones(4))
        fast(torch.ones(5))
    name = by_source(recording.compiles[1])["L['x'].size()[0]"].name
    assert conditions(recording.compiles[1]) == {f"Ne({name}, 4)"}
