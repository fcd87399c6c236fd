"""Where an option's value comes from, and what is said about one that cannot be used."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testmatrix.errors import UsageError
from testmatrix.options import FINDING_FAMILIES, OPTIONS, Option, Options, is_enabled, read_ini, resolve

PLUGIN = """\
import json
from testmatrix import options

def pytest_addoption(parser):
    options.add_to_parser(parser.getgroup("testmatrix").addoption, parser.addini)

def pytest_configure(config):
    ini = options.read_ini(config.getini)
    found = options.resolve(vars(config.option), {}, ini, config.rootpath)
    print("SOURCES", json.dumps({name: [s.label, s.text] for name, s in found.sources.items()}))
"""


def refusal(flags=None, environ=None, ini=None) -> str:
    with pytest.raises(UsageError) as raised:
        resolve(flags or {}, environ or {}, ini or {})
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_table_and_the_fields_are_the_same():
    fields = [field.name for field in dataclasses.fields(Options) if field.name != "sources"]
    assert [option.field for option in OPTIONS] == fields


def test_nothing_given_is_the_default_and_says_so():
    options = resolve({}, {}, {})
    assert options == Options()
    assert {source.label for source in options.sources.values()} == {"default"}


def test_names():
    by_field = {option.field: option for option in OPTIONS}
    kept, switch = by_field["max_kept"], by_field["enabled"]
    assert (kept.flag, kept.environment, kept.ini) == ("--testmatrix-max-kept", "TESTMATRIX_MAX_KEPT", "testmatrix_max_kept")
    assert (switch.flag, switch.environment, switch.ini) == ("--testmatrix", "TESTMATRIX", "testmatrix")


def test_flag_beats_environment_beats_ini():
    flags, environ, ini = {"testmatrix_grid": "a"}, {"TESTMATRIX_GRID": "b"}, {"testmatrix_grid": "c"}
    assert resolve(flags, environ, ini).grid == "a"
    assert resolve({"testmatrix_grid": None}, environ, ini).grid == "b"
    assert resolve({}, {}, ini).grid == "c"
    assert resolve({}, {"TESTMATRIX_GRID": ""}, ini).sources["grid"].label == "ini testmatrix_grid"
    assert resolve({}, environ, ini).sources["grid"].label == "environment TESTMATRIX_GRID"
    assert resolve(flags, environ, ini).sources["grid"].label == "--testmatrix-grid"


@pytest.mark.parametrize(("text", "value"), [("1", True), ("on", True), ("Yes", True), ("0", False), ("OFF", False)])
def test_switches_in_the_environment(text: str, value: bool):
    assert resolve({}, {"TESTMATRIX": text}, {}).enabled is value
    assert resolve({}, {"TESTMATRIX_ORACLE": text}, {}).oracle is value


def test_off_in_the_environment_beats_on_in_the_ini_file():
    assert not is_enabled({"testmatrix": None}, {"TESTMATRIX": "off"}, {"testmatrix": True})
    assert is_enabled({"testmatrix": None}, {}, {"testmatrix": True})
    assert is_enabled({"testmatrix": True}, {"TESTMATRIX": "off"}, {})


def test_a_plain_run_is_not_stopped_by_a_misspelt_option():
    assert not is_enabled({}, {"TESTMATRIX_GIRD": "x", "TESTMATRIX_ORACLE": "perhaps"}, {"testmatrix_x": "1"})
    with pytest.raises(UsageError, match="environment TESTMATRIX: 'perhaps' is neither"):
        is_enabled({}, {"TESTMATRIX": "perhaps"}, {})


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("1024", 1024), ("64MiB", 64 * 2**20), ("1 gib", 2**30), ("5kB", 5000), ("2KiB", 2048), ("7B", 7)],
)
def test_numbers_of_bytes(text: str, value: int):
    assert resolve({"testmatrix_max_kept": text}, {}, {}).max_kept == value


def test_fail_on():
    options = resolve({"testmatrix_fail_on": "guard, output.dtype ,warning"}, {}, {})
    assert options.fails("guard.extra", "info")
    assert options.fails("output.dtype", "info")
    assert options.fails("crash", "warning")
    assert not options.fails("output.value", "error")
    assert Options().fails("output.value", "error")
    assert not Options().fails("output.value", "warning")
    assert not resolve({"testmatrix_fail_on": "none"}, {}, {}).fails("crash", "error")


def test_outcome_does_not_include_counts():
    assert "outcome" not in FINDING_FAMILIES
    options = resolve({"testmatrix_fail_on": "outcome"}, {}, {})
    assert options.fails("outcome", "error")
    assert not options.fails("outcome.count", "info")


def test_paths_in_the_ini_file_are_relative_to_the_root_directory(tmp_path: Path):
    ini = {"testmatrix_json": "out/r.json", "testmatrix_config": "/etc/m.toml"}
    options = resolve({}, {}, ini, tmp_path)
    assert options.json == tmp_path / "out/r.json"
    assert options.config == Path("/etc/m.toml")
    assert resolve({"testmatrix_json": "r.json"}, {}, ini, tmp_path).json == Path("r.json")


def test_errors_say_where_the_value_was_given():
    assert refusal(flags={"testmatrix_oracle": "maybe"}) == "--testmatrix-oracle: 'maybe' is neither 'on' nor 'off'"
    assert refusal(environ={"TESTMATRIX_MAX_KEPT": "-1"}).startswith(
        "environment TESTMATRIX_MAX_KEPT: '-1' is no number of bytes"
    )
    assert refusal(ini={"testmatrix_max_kept": "1 TB"}).startswith("ini testmatrix_max_kept: '1 TB'")
    assert refusal(flags={"testmatrix_grid": " "}) == "--testmatrix-grid: the value is empty"
    assert refusal(flags={"testmatrix_json": ""}) == "--testmatrix-json: the value is empty"
    assert refusal(flags={"testmatrix_fail_on": "output.dtyp"}).endswith("did you mean 'output.dtype'?")
    assert refusal(flags={"testmatrix_fail_on": "none,error"}).endswith("it names no kind")
    assert refusal(flags={"testmatrix_fail_on": "error,"}).endswith("empty kind in 'error,'")


def test_unknown_variables_and_ini_keys_are_refused():
    assert refusal(environ={"TESTMATRIX_GIRD": "x"}) == (
        "unknown environment variable TESTMATRIX_GIRD: did you mean 'TESTMATRIX_GRID'?"
    )
    assert refusal(ini={"testmatrix_fail-on": ""}) == "unknown ini key testmatrix_fail-on: did you mean 'testmatrix_fail_on'?"
    resolve({}, {"TESTMATRIXES": "not ours"}, {})


def test_ini_keys_that_are_not_ours_are_left_alone():
    present = ["testpaths", "testmatrix_grd", "testmatrix-grid", "testmatrix_grid", "testmatrixes"]
    found = read_ini(lambda name: "x" if name == "testmatrix_grid" else None, present)
    assert found["testmatrix_grid"] == "x"
    assert set(found) - {option.ini for option in OPTIONS} == {"testmatrix_grd", "testmatrix-grid"}


def test_located():
    options = resolve({}, {"TESTMATRIX_GRID": "x"}, {})
    assert str(options.located("grid", UsageError("no"))) == "environment TESTMATRIX_GRID: no"
    assert str(options.located("cells", UsageError("no"))) == "no"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.field)
def test_help_is_a_sentence_for_argparse_and_for_the_reference(option: Option):
    assert option.help[0].islower()
    assert not option.help.endswith(".")
    assert "%" not in option.help


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "declares.py").write_text(PLUGIN)
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestmatrix_control = off\ntestmatrix_json = r.json\n")
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    package = Path(__file__).parents[2]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("TESTMATRIX", "PYTEST"))}
    # Without entry points: an installed plugin of ours would declare the options a second time.
    environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join([str(project), str(package)])}
    command = [sys.executable, "-m", "pytest", "-p", "declares", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)


def test_pytest_takes_the_options(project: Path):
    """The bare switch is no abbreviation of the other flags, and takes no value from the paths after it."""
    ran = run(project, "--testmatrix", "test_it.py", "--testmatrix-grid=unspec", "-q", "-s")
    assert ran.returncode == 0, ran.stderr
    assert '"enabled": ["--testmatrix", "on"], "grid": ["--testmatrix-grid", "unspec"]' in ran.stdout
    assert '"control": ["ini testmatrix_control", "off"]' in ran.stdout
    assert "1 passed" in ran.stdout


def test_pytest_shows_them_in_its_help(project: Path):
    ran = run(project, "--help")
    assert all(option.flag in ran.stdout for option in OPTIONS)
    assert "did you mean" not in ran.stdout
