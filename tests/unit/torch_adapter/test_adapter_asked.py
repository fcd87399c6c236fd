"""What a suite asked to be a symbol, and what torch makes of it: recorded as (source, asked by)."""

import pytest
import torch
from torch._dynamo.decorators import mark_unbacked

from testmatrix.torch_adapter import asked

SIZE, INT = "L['x'].size()[0]", "L['n']"


def free(x):
    return x + 1


def compared(x):
    return x + 1 if x.shape[0] == 4 else x


def looped(x):
    for i in range(x.shape[0]):
        x = x + i
    return x


def marked(mark, size=4, **options):
    x = torch.ones(size, 3)
    mark(x, 0, **options)
    return x


def recorded(record, function, *args, cell="dynamic", **settings):
    with record(cell) as recording, torch.compiler.config.patch(**settings):
        torch.compile(function, backend="eager")(*args)
    return recording.compiles


def symbol_of(found, source):
    return next((symbol for symbol in found.symbols if source in symbol.sources), None)


STRICT = {"strict": True}
MARKS = [
    (torch._dynamo.mark_dynamic, {}, "mark_dynamic"),
    (torch._dynamo.maybe_mark_dynamic, {}, "maybe_mark_dynamic"),
    (mark_unbacked, {}, "mark_unbacked"),
    (mark_unbacked, STRICT, "mark_unbacked(strict=True)"),
]


@pytest.mark.parametrize("cell", ["static", "dynamic"])
@pytest.mark.parametrize(("mark", "options", "name"), MARKS)
def test_marked_and_carried(record, mark, options, name, cell):
    (found,) = recorded(record, free, marked(mark, **options), cell=cell)
    assert found.asked == ((SIZE, name),)
    assert symbol_of(found, SIZE).replacement == ""
    assert symbol_of(found, SIZE).kind == ("unbacked" if name == "mark_unbacked" else "size")


def test_marks_are_part_of_the_tensors_guard(record):
    (found,) = recorded(record, free, marked(torch._dynamo.mark_dynamic))
    (guard,) = [guard for guard in found.guards if guard.kind == "TENSOR_MATCH"]
    assert guard.text.endswith(", mark_dynamic=[0]")


@pytest.mark.parametrize("cell", ["static", "dynamic"])
@pytest.mark.parametrize("function", [compared, looped])
@pytest.mark.parametrize(("mark", "options"), [(torch._dynamo.mark_dynamic, {}), (mark_unbacked, STRICT)])
def test_a_demand_that_is_not_met_raises(record, mark, options, function, cell):
    with record(cell) as recording, pytest.raises(Exception, match="Constraints violated"):
        torch.compile(function, backend="eager")(marked(mark, **options))
    (failed,) = recording.failed_compiles
    assert failed.exception.type.endswith("ConstraintViolationError")
    assert f"You marked {SIZE} as dynamic" in failed.exception.message
    assert recording.compiles == []


@pytest.mark.parametrize("cell", ["static", "dynamic"])
@pytest.mark.parametrize("function", [compared, looped])
def test_a_wish_that_is_not_met_is_passed_over_in_silence(record, function, cell):
    (found,) = recorded(record, function, marked(torch._dynamo.maybe_mark_dynamic), cell=cell)
    assert found.asked == ((SIZE, "maybe_mark_dynamic"),)
    assert symbol_of(found, SIZE).replacement == "4"
    assert symbol_of(found, SIZE).code


@pytest.mark.parametrize("cell", ["static", "dynamic"])
def test_unbacked_sizes_break_the_graph_instead(record, cell):
    first, *_ = recorded(record, compared, marked(mark_unbacked), cell=cell)
    assert first.asked == ((SIZE, "mark_unbacked"),)
    assert symbol_of(first, SIZE).replacement == ""
    assert first.breaks


@pytest.mark.parametrize("cell", ["static", "dynamic"])
@pytest.mark.parametrize("mark", [torch._dynamo.mark_dynamic, torch._dynamo.maybe_mark_dynamic])
def test_a_marked_size_of_one_is_burned_in_in_silence(record, mark, cell):
    (found,) = recorded(record, free, marked(mark, size=1), cell=cell)
    assert found.asked == ((SIZE, mark.__name__),)
    assert symbol_of(found, SIZE) is None


def test_both_marks_on_one_dimension(record):
    x = marked(torch._dynamo.mark_dynamic)
    torch._dynamo.maybe_mark_dynamic(x, [0, 1])
    (found,) = recorded(record, free, x)
    assert found.asked == ((SIZE, "mark_dynamic"), (SIZE, "maybe_mark_dynamic"), ("L['x'].size()[1]", "maybe_mark_dynamic"))


def multiplied(x, n):
    return x * n


def ranged(x, n):
    for i in range(n):
        x = x + i
    return x


def reduced(x, n):
    return x.sum(dim=n)


def matched(x, n):
    return x + 1 if n == 5 else x * n


def indexed(x, n):
    return x * [1, 2, 3, 4, 5, 6][n]


@pytest.mark.parametrize("cell", ["static", "dynamic"])
def test_a_named_int_is_carried_in_every_cell(record, cell):
    (found,) = recorded(record, multiplied, torch.ones(3, 3), 5, cell=cell, dynamic_sources=INT)
    assert found.asked == ((INT, "dynamic_sources"),)
    assert (symbol_of(found, INT).kind, symbol_of(found, INT).replacement) == ("int", "")


@pytest.mark.parametrize(
    ("function", "value", "cell"),
    [
        *((function, value, cell) for function, value in ((ranged, 5), (reduced, 1)) for cell in ("static", "dynamic")),
        *((matched, 5, "dynamic"), (indexed, 3, "dynamic")),
    ],
)
def test_a_named_int_that_is_burned_in_after_all(record, function, value, cell):
    (found,) = recorded(record, function, torch.ones(3, 3), value, cell=cell, dynamic_sources=INT)
    assert found.asked == ((INT, "dynamic_sources"),)
    assert symbol_of(found, INT).replacement == str(value)
    assert symbol_of(found, INT).line.startswith("test_adapter_asked.py:")


@pytest.mark.parametrize("setting", ["dynamic_sources", "unbacked_sources"])
def test_named_sizes(record, setting):
    for named in ("L['x']:0", r"L\['x.*:0", "L['other'], L['x']:0 "):
        (found,) = recorded(record, free, torch.ones(4, 3), cell="static", **{setting: named})
        assert found.asked == ((SIZE, setting),)
    (found,) = recorded(record, free, torch.ones(4, 3), cell="static", **{setting: "L['x']"})
    assert [source for source, _ in found.asked] == [SIZE, "L['x'].size()[1]"]


def test_a_named_int_of_which_only_the_run_knows(record):
    (found,) = recorded(record, multiplied, torch.ones(3), 5, unbacked_sources=INT)
    assert found.asked == ((INT, "unbacked_sources"),)
    assert symbol_of(found, INT).kind == "unbacked"


def test_named_values(record):
    (found,) = recorded(record, multiplied, torch.ones(7, 3), 7, cell="dynamic", dynamic_values="7, 9")
    assert found.asked == ((INT, "dynamic_values"), (SIZE, "dynamic_values"))


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = 5
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.scale + self.weight


def test_named_attributes_and_parameters(record):
    (found,) = recorded(record, Scaled(), torch.ones(2, 4), dynamic_sources=r"L\['self'\].*")
    sources = {source for source, _ in found.asked}
    assert sources == {"L['self'].scale", "L['self']._parameters['weight'].size()[0]"}


def test_only_what_the_frame_uses(record):
    def unused(x, y, n):
        return x + 1

    (found,) = recorded(record, unused, torch.ones(4), marked(torch._dynamo.mark_dynamic), 5, dynamic_sources="L['n'], L['z']")
    assert found.asked == ()


def test_nothing_asked(record):
    (found,) = recorded(record, multiplied, torch.ones(4), 5)
    assert found.asked == ()


def test_dimensions_that_torch_marks_inside_nested_tensors(record):
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
    (found,) = recorded(record, lambda x: x * 2, nested)
    assert found.asked == ()


def test_a_pattern_that_is_none():
    named = asked.of([], [("L['n']", 5)])
    assert named == ()
    with torch.compiler.config.patch(dynamic_sources="L['n'](, L['n']"):
        assert asked.of([], [("L['n']", 5)]) == (("L['n']", "dynamic_sources"),)
