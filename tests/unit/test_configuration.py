"""The project's file: what is read from it, and how each way of getting it wrong is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from testmatrix import configuration
from testmatrix.errors import UsageError
from testmatrix.grid import AXES, PRESETS, Setting, parse_grid
from testmatrix.options import Options, resolve

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
VALUE = "[axes.a]\ngoverns = []\n[axes.a.values.v]\n"


@pytest.fixture(autouse=True)
def _in_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)


def load(text: str, name: str = "testmatrix.toml") -> configuration.Configuration:
    path = Path.cwd() / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return configuration.load(path)


def refusal(text: str, name: str = "testmatrix.toml") -> str:
    with pytest.raises(UsageError) as raised:
        load(text, name)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def examples() -> list[str]:
    return re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_of_the_documentation_are_valid():
    own, pyproject = examples()
    found = load(own)
    assert [axis.name for axis in found.axes] == [axis.name for axis in AXES] + ["tuning", "threads"]
    tuning, threads = found.axes[-2:]
    off, maximal = tuning.values
    assert (off.settings, tuning.governs, tuning.builtin) == ((), frozenset(), False)
    assert maximal.settings == (
        Setting("torch._inductor.config", "max_autotune", True),
        Setting("torch._inductor.config", "triton.cudagraphs", False),
    )
    assert threads.values[0].environment == (("OMP_NUM_THREADS", "1"),)
    assert threads.values[1].context == "mypackage.testing:limited_threads"
    assert len(parse_grid("tuned", found.axes, found.presets).cells) == 2
    assert len(parse_grid("wide", found.axes, found.presets).cells) == 8

    found = load(pyproject, "pyproject.toml")
    assert found.axes[-1].governs == {"ints", "sizes"}
    assert [cell.name for cell in parse_grid("inlining", found.axes, found.presets).cells] == [
        "dynamic-unspecialize-on",
        "dynamic-unspecialize-off",
    ]


def test_origins_name_the_file_and_the_key():
    axis = load(VALUE + 'settings = {"torch._dynamo.config.verbose" = true}').axes[-1]
    assert axis.origin == "testmatrix.toml: axes.a"
    assert axis.values[0].settings[0].origin == 'testmatrix.toml: axes.a.values.v.settings."torch._dynamo.config.verbose"'


def test_unquoted_paths_mean_the_same():
    axis = load(VALUE + "settings.torch._inductor.config.triton.cudagraphs = true").axes[-1]
    assert axis.values[0].settings == (Setting("torch._inductor.config", "triton.cudagraphs", True),)


@pytest.mark.parametrize(
    ("path", "module", "name"),
    [
        ("torch.fx.experimental._config.use_duck_shape", "torch.fx.experimental._config", "use_duck_shape"),
        ("torch._inductor.config.cpp.config", "torch._inductor.config", "cpp.config"),
    ],
)
def test_where_a_module_ends(path: str, module: str, name: str):
    assert load(VALUE + f'settings = {{"{path}" = 1}}').axes[-1].values[0].settings == (Setting(module, name, 1),)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = ", 1), ("[axes]\n\nx = [1,\n", 3), ("[axes.a]\nb = 1\nb = 2\n", 3), ("\n\n[axes\n", 3), ("", 1)],
)
def test_text_that_is_no_toml_is_refused_with_its_line(text: str, line: int):
    if not text:
        assert load(text).axes == AXES
        return
    assert refusal(text).startswith(f"testmatrix.toml:{line}: not valid TOML: ")


def test_other_encodings_are_refused_with_the_line(tmp_path: Path):
    (tmp_path / "testmatrix.toml").write_bytes(b'[presets]\nx = "\xff"\n')
    with pytest.raises(UsageError, match=r"^testmatrix\.toml:2: not UTF-8 text$"):
        configuration.load(tmp_path / "testmatrix.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[axis.a]", "testmatrix.toml: unknown key 'axis': did you mean 'axes'?"),
        ("axes = 1", "testmatrix.toml: axes: must be a table, not an integer"),
        ("[axes]\na = 'x'", "testmatrix.toml: axes.a: must be a table, not a string"),
        ("[axes.shapes]", "testmatrix.toml: axes.shapes: the axis 'shapes' is built in: give yours another name"),
        ("[axes.a-b]", "testmatrix.toml: axes.\"a-b\": 'a-b' cannot name an axis: use letters, digits and underscores"),
        ("[axes.'']", "testmatrix.toml: axes.\"\": '' cannot name an axis"),
        ("[axes.a]\ngoverns = []", "testmatrix.toml: axes.a: the axis has no values: add a table [axes.a.values.NAME]"),
        ("[axes.a.values.v]", "testmatrix.toml: axes.a: governs is missing"),
        (
            "[axes.a]\ngoverns = 'ints'\n[axes.a.values.v]",
            "testmatrix.toml: axes.a.governs: must be an array of strings, not a str",
        ),
        (
            "[axes.a]\ngoverns = ['int']\n[axes.a.values.v]",
            "testmatrix.toml: axes.a.governs: unknown 'int': did you mean 'ints'?",
        ),
        ("[axes.a]\ngoverns = [1]\n[axes.a.values.v]", "testmatrix.toml: axes.a.governs: must be a string, not an integer"),
        ("[axes.a]\ngoverns = ['backend']\n[axes.a.values.v]", "testmatrix.toml: axes.a.governs: unknown 'backend'"),
        ("[axes.a]\ngovern = []", "testmatrix.toml: axes.a: unknown key 'govern': did you mean 'governs'?"),
        ("[axes.a]\ngoverns = []\n[axes.a.values.'x,y']", "testmatrix.toml: axes.a.values.\"x,y\": 'x,y' cannot name a value"),
        (VALUE + "setting = {}", "testmatrix.toml: axes.a.values.v: unknown key 'setting': did you mean 'settings'?"),
        (VALUE + "settings = 1", "testmatrix.toml: axes.a.values.v.settings: must be a table, not an integer"),
        (VALUE + "settings = {'os.environ' = 1}", "testmatrix.toml: axes.a.values.v.settings.\"os.environ\": 'os.environ' is no"),
        (
            VALUE + "settings = {'config.x' = 1}",
            "testmatrix.toml: axes.a.values.v.settings.\"config.x\": 'config.x' is no setting",
        ),
        (VALUE + "settings = {'torch.config.x' = []}", 'testmatrix.toml: axes.a.values.v.settings."torch.config.x": must be a'),
        (VALUE + "environment = {A = 1}", "testmatrix.toml: axes.a.values.v.environment.A: must be a string, not an integer"),
        (VALUE + "environment = {'A B' = '1'}", "testmatrix.toml: axes.a.values.v.environment.\"A B\": 'A B' cannot name an"),
        (VALUE + "environment = {TESTMATRIX = '1'}", "testmatrix.toml: axes.a.values.v.environment.TESTMATRIX: options of the"),
        (VALUE + "context = 'a.b'", "testmatrix.toml: axes.a.values.v.context: 'a.b' names no context manager"),
        (VALUE + "context = 1", "testmatrix.toml: axes.a.values.v.context: must be a string, not an integer"),
        ("[presets]\np = 1", "testmatrix.toml: presets.p: must be a string, not an integer"),
        ("[presets]\np = 'shape=static'", "testmatrix.toml: presets.p: unknown axis 'shape' in 'shape=static': did you mean"),
        ("[presets]\ndefault = 'unspec'", "testmatrix.toml: presets.default: the preset 'default' is built in"),
        ("[presets]\np = ''", "testmatrix.toml: presets.p: the grid is empty"),
        ("[presets]\n'a=b' = 'unspec'", "testmatrix.toml: presets.\"a=b\": 'a=b' cannot name a preset"),
    ],
)
def test_what_is_wrong_is_said_with_the_key(text: str, says: str):
    assert refusal(text).startswith(says)


def test_keys_in_pyproject_are_written_in_full():
    assert refusal("[tool.testmatrix]\naxis = 1", "pyproject.toml").startswith(
        "pyproject.toml: tool.testmatrix: unknown key 'axis'"
    )
    assert refusal("tool = 1", "pyproject.toml") == "pyproject.toml: tool: must be a table, not an integer"


def test_a_file_below_the_current_directory_is_named_from_there():
    assert refusal("x = 1", "conf/m.toml").startswith("conf/m.toml: unknown key 'x'")


def test_where_the_file_is_looked_for(tmp_path: Path):
    assert configuration.read(Options(), tmp_path) == configuration.Configuration()
    load("[tool.other]\n", "pyproject.toml")
    assert configuration.read(Options(), tmp_path) == configuration.Configuration()
    load("[tool.testmatrix.presets]\np = 'unspec'", "pyproject.toml")
    assert configuration.read(Options(), tmp_path).presets == {**PRESETS, "p": PRESETS["unspec"]}
    load("[presets]\nq = 'unspec'")
    found = configuration.read(Options(), tmp_path)
    assert found.path == tmp_path / "testmatrix.toml"
    assert "p" not in found.presets
    load("[presets]\nr = 'unspec'", "other.toml")
    assert "r" in configuration.read(Options(config=tmp_path / "other.toml"), tmp_path).presets


def test_a_file_that_was_named_has_to_be_there(tmp_path: Path):
    options = resolve({"testmatrix_config": "gone.toml"}, {}, {})
    with pytest.raises(UsageError, match=r"^--testmatrix-config: gone\.toml cannot be read: No such file or directory$"):
        configuration.read(options, tmp_path)
    options = resolve({}, {"TESTMATRIX_CONFIG": str(tmp_path)}, {})
    with pytest.raises(UsageError, match=r"^environment TESTMATRIX_CONFIG: .* cannot be read: Is a directory$"):
        configuration.read(options, tmp_path)
    load("[tool.other]\n", "pyproject.toml")
    options = resolve({"testmatrix_config": "pyproject.toml"}, {}, {})
    with pytest.raises(UsageError, match=r"^--testmatrix-config: pyproject\.toml has no table \[tool\.testmatrix\]$"):
        configuration.read(options, tmp_path)


def test_plan():
    options = Options(grid="unspec", backend="inductor,eager", cells="*-eager")
    plan = configuration.plan(options, configuration.Configuration())
    assert [cell.name for cell in plan.grid.cells] == ["dynamic-unspecialize-eager", "dynamic-unspecialize-inductor"]
    assert [cell.name for cell in plan.cells] == ["dynamic-unspecialize-eager"]
    assert configuration.plan(Options(), configuration.Configuration()).cells == parse_grid("default").cells


@pytest.mark.parametrize(
    ("flags", "environ", "says"),
    [
        ({"testmatrix_grid": "shape=static"}, {}, "--testmatrix-grid: unknown axis 'shape'"),
        ({}, {"TESTMATRIX_CELLS": "x-y"}, "environment TESTMATRIX_CELLS: unknown cell 'x-y'"),
        ({"testmatrix_grid": "backends"}, {"TESTMATRIX_BACKEND": "eager"}, "environment TESTMATRIX_BACKEND: grid"),
    ],
)
def test_plan_says_which_option_is_wrong(flags: dict[str, str], environ: dict[str, str], says: str):
    with pytest.raises(UsageError) as raised:
        configuration.plan(resolve(flags, environ, {}), configuration.Configuration())
    assert str(raised.value).startswith(says)
