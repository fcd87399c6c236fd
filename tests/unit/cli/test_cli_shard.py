"""``testmatrix shard``: plans of what pytest collects here, and files of durations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from testmatrix.cli.main import main
from testmatrix.plugin import listing
from testmatrix.shards.durations import decode_durations, encode_durations
from testmatrix.shards.plan import plan

SUITE = """
import pytest

@pytest.mark.parametrize("n", range(4))
def test_many(n):
    raise AssertionError("only collected")

def test_one():
    pass
"""
ONE = "test_suite.py::test_one"
MANY = [f"test_suite.py::test_many[{n}]" for n in range(4)]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "test_suite.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    for name in ("TESTMATRIX", "TESTMATRIX_SHARD", "TESTMATRIX_DURATIONS", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite as pytest collects it, without the process that it takes."""
    monkeypatch.setattr("testmatrix.cli.shard.collected", lambda arguments: listing.Listing(tests=(*MANY, ONE)))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["shard", *arguments])


def refusal(*arguments: str) -> str:
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("testmatrix: ")
    return result.stderr


def durations(path: Path, **seconds: float) -> str:
    path.write_bytes(encode_durations({f"test_suite.py::{name}": value for name, value in seconds.items()}))
    return str(path)


def test_a_plan(listed: None, tmp_path: Path):
    file = durations(tmp_path / "d.json", test_one=3.0, **{"test_many[0]": 1.0})
    result = invoke("plan", "-n", "2", "--durations", file)
    assert result.exit_code == 0, result.output
    digest = plan([*MANY, ONE], {ONE: 3.0, MANY[0]: 1.0}, 2).digest
    assert result.output.splitlines() == [
        f"5 tests, 2 with a recorded duration, 3 predicted; plan {digest}",
        "",
        "    shard   tests    seconds  longest test",
        f"      1/2       2       4.00       3.00  {ONE}",
        f"      2/2       3       3.00       1.00  {MANY[0]}",
        "",
        "longest tests",
        f"      3.00  {ONE}",
        f"      1.00  {MANY[0]}",
        f"      1.00  {MANY[1]} (predicted)",
        f"      1.00  {MANY[2]} (predicted)",
        f"      1.00  {MANY[3]} (predicted)",
        "",
        "makespan 4.00, lower bound 3.50, ratio 1.143",
    ]


def test_a_plan_without_durations(listed: None):
    lines = invoke("plan", "-n", "7").output.splitlines()
    assert lines[0].startswith("5 tests, no durations; plan ")
    assert lines[2].split() == ["shard", "tests", "weight", "longest", "test"]
    assert lines[9].split() == ["7/7", "0", "0.00", "-"]
    assert "predicted" not in "".join(lines)
    assert lines[-1] == "makespan 1.00, lower bound 1.00, ratio 1.000"


def test_the_tests_of_a_shard(listed: None):
    found = [invoke("plan", "-n", "2", "--shard", number).output.splitlines() for number in ("1", "2")]
    assert sorted(found[0] + found[1]) == sorted([*MANY, ONE])
    assert all(len(tests) in (2, 3) for tests in found)


def test_as_json(listed: None, tmp_path: Path):
    file = durations(tmp_path / "d.json", test_one=3.0)
    whole = json.loads(invoke("plan", "-n", "2", "--durations", file, "--format", "json").output)
    assert (whole["format"], whole["version"], whole["tests"], whole["predicted"]) == ("testmatrix-shard-plan", 1, 5, 4)
    assert (whole["makespan"], whole["lower_bound"], whole["ratio"]) == (9.0, 7.5, 1.2)
    assert sorted(test["test"] for shard in whole["shards"] for test in shard["tests"]) == sorted([*MANY, ONE])
    assert [shard["seconds"] for shard in whole["shards"]] == [9.0, 6.0]
    second = invoke("plan", "-n", "2", "--durations", file, "--format", "json", "--shard", "2").output
    assert json.loads(second) == whole["shards"][1]


def test_it_asks_pytest(suite: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither verbosity nor a shard in the environment changes what is planned; the arguments do."""
    (suite / "pytest.ini").write_text("[pytest]\naddopts = -qqq\n")
    monkeypatch.setenv("TESTMATRIX", "on")
    monkeypatch.setenv("TESTMATRIX_SHARD", "auto")
    result = invoke("plan", "-n", "1", "--shard", "1", "test_suite.py", "-k", "not 2")
    assert result.exit_code == 0, result.output
    assert result.output.splitlines() == [*MANY[:2], MANY[3], ONE]


def test_durations_are_those_of_a_run_here(suite: Path, monkeypatch: pytest.MonkeyPatch):
    durations(suite / "d.json", test_one=7.5)
    (suite / "pytest.ini").write_text("[pytest]\ntestmatrix_durations = d.json\n")
    (suite / "below").mkdir()
    monkeypatch.chdir(suite / "below")
    assert "7.50  test_suite.py::test_one\n" in invoke("plan", "-n", "2", "..").output


@pytest.mark.parametrize(
    ("files", "arguments", "says"),
    [
        ({"test_broken.py": "import no_such_module\n"}, [], "test_broken.py cannot be collected (ModuleNotFoundError: "),
        ({"test_broken.py": "def f(:\n"}, [], "test_broken.py cannot be collected (SyntaxError: "),
        (
            {"test_b.py": "import nix\n", "test_c.py": "import nix\n"},
            [],
            "test_b.py cannot be collected (ModuleNotFoundError: No module named 'nix'), and 1 more",
        ),
        ({"conftest.py": "import no_such_module\n"}, [], "pytest cannot collect here (ModuleNotFoundError: "),
        ({}, ["nowhere.py"], "pytest cannot collect here (file or directory not found: nowhere.py)"),
        ({}, ["--", "--no-such"], "pytest cannot collect here (unrecognized arguments: --no-such)"),
        ({}, ["-p", "no:testmatrix"], "pytest cannot collect here (unrecognized arguments: --testmatrix-shard=1/1)"),
        ({}, ["-k", "nothing_like_it"], "no test is collected: name a path"),
    ],
)
def test_what_cannot_be_collected(suite: Path, files: dict[str, str], arguments: list[str], says: str):
    for name, text in files.items():
        (suite / name).write_text(text)
    assert refusal("plan", "-n", "2", *arguments).startswith(f"testmatrix: {says}")


def test_a_misspelt_variable(suite: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TESTMATRIX_SHARDS", "8")
    assert "unknown environment variable TESTMATRIX_SHARDS: did you mean 'TESTMATRIX_SHARD'?" in refusal("plan", "-n", "2")


def test_a_plan_that_cannot_be(listed: None, tmp_path: Path):
    assert "--shard: there is no shard 3 of 2" in refusal("plan", "-n", "2", "--shard", "3")
    assert "cannot be read" in refusal("plan", "-n", "2", "--durations", str(tmp_path / "none.json"))
    for wrong in (["plan"], ["plan", "-n", "0"], ["plan", "-n", "10000"], ["plan", "-n", "2", "--shard", "0"]):
        assert invoke(*wrong).exit_code == 2


def test_durations_of_several_files(tmp_path: Path):
    first = durations(tmp_path / "a.json", test_one=1.0, test_gone=9.0)
    second = durations(tmp_path / "b.json", test_one=3.0)
    output = tmp_path / "all.json"
    assert invoke("durations", "-o", str(output), first, second).exit_code == 0
    expected = {"test_suite.py::test_gone": 9.0, ONE: 2.0}
    assert decode_durations(output.read_bytes(), "") == expected
    assert invoke("durations", second, first).output == output.read_text()
    assert invoke("durations", "-o", first, first).exit_code == 0
    assert decode_durations(Path(first).read_bytes(), "")[ONE] == 1.0


def test_durations_of_nothing():
    assert decode_durations(invoke("durations").output.encode(), "") == {}


def test_durations_that_cannot_be_read_or_written(tmp_path: Path):
    good = durations(tmp_path / "a.json", test_one=1.0)
    (tmp_path / "bad.json").write_text("{")
    output = tmp_path / "all.json"
    assert "bad.json holds no durations" in refusal("durations", "-o", str(output), good, str(tmp_path / "bad.json"))
    assert not output.exists()
    assert "--output: cannot write" in refusal("durations", "-o", str(tmp_path / "no" / "folder.json"), good)
