"""Axes, cells, grids: what is understood, what is refused, and what the refusal says."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.errors import UsageError
from testmatrix.grid import (
    AXES,
    PRESETS,
    Axis,
    AxisValue,
    Cell,
    Grid,
    Setting,
    control_pair,
    parse_grid,
    select_cells,
    with_backends,
)

DYNAMO = "torch._dynamo.config"
TUNING = Axis(
    "tuning",
    (
        AxisValue("off"),
        AxisValue("max", (Setting("torch._inductor.config", "max_autotune", True),), (("A", "1"),), "pkg.mod:tuned"),
    ),
    frozenset(),
)


def names(grid: Grid) -> list[str]:
    return [cell.name for cell in grid.cells]


def settings(value: AxisValue) -> dict[str, object]:
    return {setting.path: setting.value for setting in value.settings}


def test_builtin_axes_set_what_the_design_says():
    shapes, ints, floats, backend = AXES
    static, auto, dynamic = shapes.values
    assert settings(static) == {f"{DYNAMO}.assume_static_by_default": True, f"{DYNAMO}.automatic_dynamic_shapes": False}
    assert settings(auto) == {f"{DYNAMO}.assume_static_by_default": True, f"{DYNAMO}.automatic_dynamic_shapes": True}
    assert settings(dynamic) == {f"{DYNAMO}.assume_static_by_default": False}
    assert [settings(value) for value in ints.values] == [{f"{DYNAMO}.specialize_int": on} for on in (True, False)]
    assert [settings(value) for value in floats.values] == [{f"{DYNAMO}.specialize_float": on} for on in (True, False)]
    assert [value.backend for value in backend.values] == ["eager", "aot_eager", "inductor"]
    assert all(axis.builtin for axis in AXES)


def test_default_grid_has_four_cells_in_order():
    grid = parse_grid("default")
    assert names(grid) == ["static-specialize", "static-unspecialize", "dynamic-specialize", "dynamic-unspecialize"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_parses_and_its_cells_have_distinct_names(name: str):
    grid = parse_grid(name)
    assert grid.text == PRESETS[name]
    assert len(set(names(grid))) == len(grid.cells)


def test_order_of_writing_does_not_matter():
    assert parse_grid("ints=unspecialize,specialize shapes=dynamic,static") == parse_grid("default")


def test_axes_left_out_are_not_varied():
    grid = parse_grid("ints=unspecialize")
    assert [setting.path for setting in grid.settings_of(grid.cells[0])] == [f"{DYNAMO}.specialize_int"]
    assert grid.cells[0].value("shapes") is None


def test_a_preset_may_be_extended():
    assert names(parse_grid("unspec backend=inductor")) == ["dynamic-unspecialize-inductor"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("shape=static", "unknown axis 'shape' in 'shape=static': did you mean 'shapes'?"),
        ("shapes=statik", "axis 'shapes' has no value 'statik': did you mean 'static'?"),
        ("shapes=zzz", "axis 'shapes' has no value 'zzz': valid: auto, dynamic, static"),
        ("shapes", "'shapes' in grid 'shapes' is an axis: write shapes=static,auto,dynamic, or some of these values"),
        ("default backend", "'backend' in grid 'default backend' is an axis: write backend=eager,aot_eager,inductor, or some"),
        ("dynamic", "'dynamic' in grid 'dynamic' is a value of the axis 'shapes': write shapes=dynamic"),
        ("defualt", "unknown preset 'defualt' in grid 'defualt': did you mean 'default'?"),
        ("shapes=static shapes=dynamic", "axis 'shapes' is given twice"),
        ("unspec ints=specialize", "axis 'ints' is given twice"),
        ("shapes=static,static", "value 'static' is given twice in 'shapes=static,static'"),
        ("shapes=", "empty value in 'shapes='"),
        ("shapes=static,,dynamic", "empty value in 'shapes=static,,dynamic'"),
        ("shapes=static, dynamic", "empty value in 'shapes=static,'"),
        ("shapes=static ,dynamic", "',dynamic' in grid 'shapes=static ,dynamic' belongs to no axis"),
        ("shapes=static=dynamic", "axis 'shapes' has no value 'static=dynamic'"),
        ("=static", "unknown axis ''"),
        ("", "the grid is empty"),
        ("  ", "the grid is empty"),
    ],
)
def test_bad_grids_are_refused_in_one_line(text: str, says: str):
    with pytest.raises(UsageError) as raised:
        parse_grid(text)
    assert str(raised.value).startswith(says)
    assert "\n" not in str(raised.value)


def test_axes_that_set_the_same_thing_are_refused_together_only():
    clash = Axis("mine", (AxisValue("on", (Setting(DYNAMO, "specialize_int", False),)),), frozenset({"ints"}))
    parse_grid("mine=on", (*AXES, clash))
    with pytest.raises(UsageError, match=r"axes 'ints' and 'mine' both set torch\._dynamo\.config\.specialize_int"):
        parse_grid("ints=specialize mine=on", (*AXES, clash))


def test_what_a_cell_sets():
    grid = parse_grid("ints=specialize backend=aot_eager tuning=off,max", (*AXES, TUNING))
    off, maximal = grid.cells
    assert maximal.name == "specialize-aot_eager-max"
    assert grid.settings_of(maximal) == (
        Setting(DYNAMO, "specialize_int", True),
        Setting("torch._inductor.config", "max_autotune", True),
    )
    assert (grid.environment_of(off), grid.environment_of(maximal)) == ({}, {"A": "1"})
    assert (grid.contexts_of(off), grid.contexts_of(maximal)) == ((), ("pkg.mod:tuned",))
    assert grid.backend_of(off) == "aot_eager"
    assert grid.setting_paths == {f"{DYNAMO}.specialize_int", "torch._inductor.config.max_autotune"}


def test_no_backend_unless_the_grid_varies_it():
    grid = parse_grid("default")
    assert grid.backend_of(grid.cells[0]) is None


def test_differing_axes_and_what_they_govern():
    grid = parse_grid("default backend=eager,inductor")
    cell = grid.cell
    assert grid.differing(cell("static-specialize-eager"), cell("static-specialize-eager")) == ()
    assert grid.governed(cell("static-specialize-eager"), cell("static-unspecialize-eager")) == {"ints"}
    assert grid.governed(cell("static-specialize-eager"), cell("static-specialize-inductor")) == {"backend"}
    assert {"sizes", "strides", "ints"} <= grid.governed(cell("static-specialize-eager"), cell("dynamic-specialize-eager"))


def test_a_cell_is_never_called_like_the_oracle():
    grid = parse_grid("backend=eager,inductor")
    assert names(grid) == ["backend=eager", "inductor"]
    assert grid.cell("backend=eager") == grid.cells[0]
    with pytest.raises(UsageError, match=r"'eager' is the oracle, no cell of the grid: .*--testmatrix-oracle"):
        grid.cell("eager")


def test_cells_hash_and_print():
    assert len({Cell((("ints", "specialize"),)), Cell((("ints", "specialize"),))}) == 1
    assert str(parse_grid("unspec").cells[0]) == "dynamic-unspecialize"


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("dynamic-unspecialize", ["dynamic-unspecialize"]),
        ("dynamic-unspecialize,static-specialize", ["static-specialize", "dynamic-unspecialize"]),
        ("static-*", ["static-specialize", "static-unspecialize"]),
        ("*-unspec*, static-specialize,", ["static-specialize", "static-unspecialize", "dynamic-unspecialize"]),
        ("[sd]*-specialize,static-specialize", ["static-specialize", "dynamic-specialize"]),
    ],
)
def test_selected_cells_come_in_grid_order(text: str, chosen: list[str]):
    assert [cell.name for cell in select_cells(parse_grid("default"), text)] == chosen


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dynamic-unspecialise", "did you mean 'dynamic-unspecialize'?"),
        ("static-*,auto-*", "no cell matches 'auto-*'"),
        ("", "no cell is selected"),
        (" , ", "no cell is selected"),
    ],
)
def test_cells_that_do_not_exist_are_refused(text: str, says: str):
    with pytest.raises(UsageError) as raised:
        select_cells(parse_grid("default"), text)
    assert says in str(raised.value)


def test_backends_are_added_once():
    assert with_backends(parse_grid("unspec"), "inductor,eager").text == "shapes=dynamic ints=unspecialize backend=eager,inductor"
    with pytest.raises(UsageError, match="did you mean 'inductor'"):
        with_backends(parse_grid("unspec"), "inductr")
    with pytest.raises(UsageError, match="already varies the backend"):
        with_backends(parse_grid("backends"), "eager")


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("default", ("static-specialize", "static-unspecialize")),
        ("full", ("static-specialize-specialize", "static-unspecialize-specialize")),
        ("default backend=eager,inductor", ("static-specialize-eager", "static-unspecialize-eager")),
        ("auto", None),
        ("unspec", None),
        ("ints=specialize,unspecialize", None),
        ("shapes=static,dynamic ints=specialize", None),
    ],
)
def test_control_pair(text: str, pair: tuple[str, str] | None):
    found = control_pair(parse_grid(text))
    assert pair == (found and tuple(cell.name for cell in found))


WORDS = st.text(alphabet="abeginrstuz_09", min_size=1, max_size=6)


@st.composite
def grids(draw: st.DrawFn) -> tuple[Grid, tuple[Axis, ...]]:
    """A grid over the built-in axes and some others, with all axes it was chosen from."""
    others = [name for name in draw(st.lists(WORDS, unique=True, max_size=3)) if name not in {axis.name for axis in AXES}]
    more = tuple(
        Axis(name, tuple(AxisValue(word) for word in draw(st.lists(WORDS, unique=True, min_size=1, max_size=3))), frozenset())
        for name in others
    )
    axes = (*AXES, *more)
    chosen = draw(st.sets(st.sampled_from(axes), min_size=1))
    restricted = []
    for axis in axes:
        if axis in chosen:
            values = draw(st.sets(st.sampled_from(axis.values), min_size=1))
            restricted.append(
                Axis(axis.name, tuple(v for v in axis.values if v in values), axis.governs, axis.builtin, axis.summary)
            )
    return Grid(tuple(restricted)), axes


@given(grids())
def test_a_grid_survives_being_written_and_parsed(drawn: tuple[Grid, tuple[Axis, ...]]):
    grid, axes = drawn
    assert parse_grid(grid.text, axes) == grid


@given(grids(), st.randoms())
def test_a_shuffled_grid_is_the_same(drawn: tuple[Grid, tuple[Axis, ...]], random: object):
    grid, axes = drawn
    words = []
    for word in grid.text.split():
        name, _, values = word.partition("=")
        shuffled = values.split(",")
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        words.append(f"{name}={','.join(shuffled)}")
    random.shuffle(words)  # type: ignore[attr-defined]
    assert parse_grid(" ".join(words), axes) == grid


@given(grids())
def test_names_of_cells_are_unambiguous_and_select_one_cell_each(drawn: tuple[Grid, tuple[Axis, ...]]):
    grid, _ = drawn
    assert len({cell.name for cell in grid.cells}) == len(grid.cells)
    for cell in grid.cells:
        assert select_cells(grid, cell.name) == (cell,)
    assert select_cells(grid, "*") == grid.cells


@given(grids())
def test_governed_is_empty_for_equal_cells_and_symmetric(drawn: tuple[Grid, tuple[Axis, ...]]):
    grid, _ = drawn
    for first, second in product(grid.cells[:6], repeat=2):
        assert grid.governed(first, second) == grid.governed(second, first)
        assert first != second or grid.governed(first, second) == frozenset()


@given(st.text(max_size=40))
def test_any_text_is_a_grid_or_a_usage_error(text: str):
    try:
        grid = parse_grid(text)
    except UsageError:
        return
    assert parse_grid(grid.text) == grid
