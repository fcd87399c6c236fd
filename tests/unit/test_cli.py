"""The ``testmatrix`` command: exit status, and one line for what is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testmatrix import __version__, reference
from testmatrix.cli import config, doctor
from testmatrix.cli.main import main
from testmatrix.errors import EnvironmentUnusable, UsageError
from testmatrix.options import resolve

DOCS = Path(__file__).parents[2] / "docs" / "reference"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project directory, in which pytest's part of ``testmatrix config`` is left out."""

    def effective(pytest_args: tuple[str, ...], grid: str | None) -> config.Effective:
        flags = {"testmatrix_grid": grid, "testmatrix_cells": pytest_args[0] if pytest_args else None}
        return config.Effective(resolve(flags, {"TESTMATRIX_ORACLE": "off"}, {}), tmp_path)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "effective", effective)
    return tmp_path


def test_help_and_version():
    assert invoke("--version").output.strip().endswith(__version__)
    shown = invoke("--help").output
    assert all(name in shown for name in ("config", "doctor", "report", "run"))


def test_an_unknown_command_is_a_usage_error():
    assert invoke("confg").exit_code == 2


def test_config_shows_values_with_their_origins_and_the_cells(project: Path):
    (project / "testmatrix.toml").write_text(
        "[axes.mine]\ngoverns=[]\n[axes.mine.values.v]\nenvironment={A='1'}\ncontext='a:b'\n"
    )
    result = invoke("config", "--grid", "default mine=v backend=eager")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert ["--testmatrix-oracle", "off", "environment", "TESTMATRIX_ORACLE"] in lines
    assert ["mine", "v", "testmatrix.toml:", "axes.mine"] in lines
    row = next(line for line in lines if line and line[0] == "static-specialize-eager-v")
    assert row[1:] == [
        "control",
        "torch._dynamo.config.assume_static_by_default=True",
        "torch._dynamo.config.automatic_dynamic_shapes=False",
        "torch._dynamo.config.specialize_int=True",
        "backend=eager",
        "$A=1",
        "a:b",
    ]


def test_config_marks_cells_that_are_not_selected(project: Path):
    shown = invoke("config", "--", "dynamic-*").output
    assert [line.split()[1:3] for line in shown.splitlines() if line.startswith("  static-")] == [["not", "selected"]] * 2


def test_config_refuses_in_one_line(project: Path):
    result = invoke("config", "--grid", "shape=static")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == ("testmatrix: --testmatrix-grid: unknown axis 'shape' in 'shape=static': did you mean 'shapes'?\n")


def test_config_needs_the_plugin(tmp_path: Path):
    """In a process of its own, where pytest reads a real command line and ini file."""
    program = "from testmatrix.cli.main import main; main()"
    command = [sys.executable, "-c", program, "config", "-p", "no:testmatrix"]
    environ = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 3, ran.stderr
    assert ran.stderr.startswith("testmatrix: pytest does not load the plugin: ")
    ran = subprocess.run([*command, "--no-such"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "testmatrix: pytest cannot start here (status 4)" in ran.stderr


@pytest.mark.parametrize(("status", "mapped"), [(0, 0), (1, 1), (2, 1), (3, 3), (4, 2), (5, 2), (-11, 3), (77, 3)])
def test_run_maps_the_status_of_pytest(status: int, mapped: int, monkeypatch: pytest.MonkeyPatch):
    commands: list[list[str]] = []

    def call(command: list[str]) -> int:
        commands.append(command)
        return status

    monkeypatch.setattr(subprocess, "call", call)
    assert invoke("run", "-q", "tests", "--testmatrix-grid", "unspec", "-k", "a or b").exit_code == mapped
    assert commands == [
        [sys.executable, "-m", "pytest", "--testmatrix", "-q", "tests", "--testmatrix-grid", "unspec", "-k", "a or b"]
    ]


def checks(*found: doctor.Check):
    return tuple(lambda check=check: check for check in found)


def test_doctor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "CHECKS", checks(doctor.Check("torch", True, "2.13")))
    result = invoke("doctor")
    assert (result.exit_code, result.output.split()) == (0, ["ok", "torch", "2.13"])
    monkeypatch.setattr(doctor, "CHECKS", checks(doctor.Check("torch", True, "2"), doctor.Check("hooks", False, "x is missing")))
    result = invoke("doctor")
    assert result.exit_code == 3
    assert "PROBLEM  hooks      x is missing" in result.output
    assert result.stderr == "testmatrix: 1 of 2 checks failed: see above\n"


def test_doctor_without_a_compiler_or_a_writable_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert not doctor._compiler().fine
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    assert not doctor._cache().fine


def test_doctor_says_what_torch_lacks(monkeypatch: pytest.MonkeyPatch):
    class Capabilities:
        lines: tuple[str, ...] = ()
        error: Exception | None = None

        def missing(self) -> tuple[str, ...]:
            if self.error is not None:
                raise self.error
            return self.lines

    stand_in = Capabilities()
    monkeypatch.setitem(sys.modules, "testmatrix.torch_adapter.capabilities", stand_in)  # type: ignore[arg-type]
    assert doctor._hooks() == doctor.Check("hooks", True, "all there")
    stand_in.lines = ("a is missing", "b is missing")
    assert doctor._hooks() == doctor.Check("hooks", False, "a is missing; b is missing")
    stand_in.error = EnvironmentUnusable("torch is missing")
    assert doctor._hooks() == doctor.Check("hooks", False, "torch is missing")


@pytest.mark.parametrize(("error", "status"), [(UsageError("bad"), 2), (EnvironmentUnusable("bad"), 3)])
def test_any_command_may_raise_ours(error: Exception, status: int, monkeypatch: pytest.MonkeyPatch):
    def call(command: list[str]) -> int:
        raise error

    monkeypatch.setattr(subprocess, "call", call)
    result = invoke("run")
    assert (result.exit_code, result.stdout, result.stderr) == (status, "", "testmatrix: bad\n")


def test_the_command_imports_no_torch():
    program = "import sys, testmatrix.cli.main; sys.exit('torch' in sys.modules)"
    environ = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""}
    assert subprocess.run([sys.executable, "-c", program], env=environ, check=False).returncode == 0


@pytest.mark.parametrize("name", reference.pages())
def test_the_reference_is_up_to_date(name: str):
    assert (DOCS / name).read_text(encoding="utf-8") == reference.pages()[name], "run python -m testmatrix.reference"


def test_the_reference_notices_stale_pages(tmp_path: Path):
    runner = CliRunner()
    assert runner.invoke(reference.main, ["--check", str(tmp_path)]).exit_code == 1
    assert list(tmp_path.iterdir()) == []
    assert runner.invoke(reference.main, [str(tmp_path)]).exit_code == 0
    assert runner.invoke(reference.main, ["--check", str(tmp_path)]).exit_code == 0
    (tmp_path / "grid.md").write_text("old")
    assert runner.invoke(reference.main, ["--check", str(tmp_path)]).exit_code == 1
