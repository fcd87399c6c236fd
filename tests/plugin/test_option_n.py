"""-n N: what workers of pytest-xdist do together is what one process does, and who does what."""

from __future__ import annotations

import json

from testmatrix.report.model import encode
from testmatrix.shards.durations import encode_durations

#: Two modules with findings of several kinds, ints and floats, notes, and every outcome that a test has.
DIFFERENT = """
import torch._dynamo

def off_by_one(graph, inputs):
    return lambda *args: [out + 1 if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def sees_the_cell():
    return torch._dynamo.config.assume_static_by_default

@pytest.fixture(scope="module", params=[2, 3])
def size(request):
    return request.param

@pytest.mark.parametrize("n", range(3))
def test_value(n):
    torch.compile(lambda x: x * n, backend=off_by_one)(torch.ones(2))

def test_value_of_one_cell():
    compiled(lambda x, n: x + n + (0 if sees_the_cell() else 1))(torch.ones(2), 3)

def test_outcome():
    assert sees_the_cell()

def test_fails_everywhere():
    compiled(lambda x, n: x + n)(torch.ones(2), 3)
    raise ValueError("as ever")

class TestInts:
    @pytest.mark.parametrize("n", [4, 5, 6])
    def test_symbol(self, n, size):
        function = compiled(lambda x, n: x * n)
        for number in (n, n + 1):
            function(torch.ones(size), number)

    def test_constant(self):
        function = compiled(lambda x, n: x.sum(dim=n))
        for number in (0, 1):
            function(torch.ones(2, 2, 2), number)

    def test_float(self):
        function = compiled(lambda x, number: x * number)
        for number in (0.5, 1.5):
            function(torch.ones(3), number)
"""
OTHER = """
import pytest
import torch

@pytest.fixture
def broken():
    raise OSError("no such thing")

def test_error(broken):
    pass

@pytest.mark.skip(reason="not here")
def test_skipped():
    pass

@pytest.mark.xfail(strict=True)
def test_expected():
    assert torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1)).item() == 3

def test_unstable():
    with open("runs", "a+b") as file:  # what is in memory would be put back
        first = file.tell() == 0
        file.write(b".")
    torch.compile(lambda x: x + 1, backend=lambda graph, inputs: (lambda x: [x]) if first else graph.forward)(torch.ones(1))

def test_breaks():
    def function(x):
        print("here")
        return x + 1
    torch.compile(function, backend="eager")(torch.ones(1))

@pytest.mark.parametrize("n", range(5))
def test_quiet(n):
    pass
"""
PARAMETERS = "\n".join(f"@pytest.mark.parametrize('n', range(12))\ndef test_{name}(n):\n    pass\n" for name in "ab")


def same_for_all(report):
    """The report's text without what no two runs have in common: which run it is, and times."""
    told = json.loads(encode(report))
    for name in ("id", "started"):
        assert told["run"].pop(name)
    for test in told["tests"]:
        for cell in test["cells"].values():
            cell.pop("duration")
    told["summary"].pop("wall")
    return json.dumps(told, indent=1)


def test_the_report_is_that_of_one_process(matrix, pytester):
    durations = {"test_other.py::test_breaks": 9.0, "test_suite.py::TestInts::test_float": 5.0, "gone.py::test_it": 70.0}
    (pytester.path / "d.json").write_bytes(encode_durations(durations))
    files = {"test_other.py": OTHER}
    alone = matrix(DIFFERENT, files=files, subprocess=True)
    assert len(set(alone.kinds)) >= 4, alone.kinds
    assert "unstable" in {finding.verdict for finding in alone.findings}
    assert alone.read.ints
    assert alone.read.numbers
    for options in (["--testmatrix-durations=d.json"], ["--dist", "worksteal"]):
        (pytester.path / "runs").unlink()
        spread = matrix(DIFFERENT, "-n", "2", "-v", *options, files=files, subprocess=True)
        assert ("LongestFirstScheduling" in spread.text) is ("worksteal" not in options)
        assert same_for_all(spread.read).splitlines() == same_for_all(alone.read).splitlines()
        assert spread.exit == alone.exit == 1
        assert spread.outcomes == alone.outcomes
        assert spread.result.outlines[-1] == alone.result.outlines[-1]


def ended(run):
    """Workers, each with the names of its tests in the order in which it ended them."""
    done = {}
    for line in run.result.outlines:
        if line.startswith("[gw") and "PASSED" in line:
            done.setdefault(line[: line.index("]")], []).append(line.rpartition("::")[2].strip())
    return done


def test_long_tests_are_first(matrix, pytester):
    durations = {f"test_suite.py::test_{name}[{n}]": 0.01 for name in "ab" for n in range(12)}
    durations["test_suite.py::test_b[11]"] = durations["test_suite.py::test_b[5]"] = 5.0
    (pytester.path / "d.json").write_bytes(encode_durations(durations))
    run = matrix(PARAMETERS, "-n", "2", "-v", "--testmatrix-durations=d.json", subprocess=True)
    assert "scheduling tests via LongestFirstScheduling" in run.text
    done = ended(run)
    assert sum(map(len, done.values())) == 24
    assert {tests[0] for tests in done.values()} == {"test_b[5]", "test_b[11]"}, "whoever was faster"


def test_a_plain_run_is_scheduled_by_xdist(matrix, pytester):
    pytester.makepyfile(test_suite="import pytest\n" + PARAMETERS)
    result = pytester.runpytest_subprocess("-n", "2", "-v")
    result.assert_outcomes(passed=24)
    result.stdout.fnmatch_lines(["*scheduling tests via LoadScheduling"])


def test_without_xdist_nothing_is_missed(matrix):
    run = matrix(PARAMETERS, "-p", "no:xdist", subprocess=True)
    assert run.outcomes["passed"] == 24


def test_bad_durations_are_said_once(matrix):
    run = matrix(PARAMETERS, "-n", "2", "--testmatrix-durations=missing.json", subprocess=True)
    assert run.exit == 4
    assert len([line for line in run.text.splitlines() if "missing.json" in line]) == 1


def test_it_stops_where_it_is_told_to(matrix):
    run = matrix("@pytest.mark.parametrize('n', range(40))\ndef test_it(n):\n    assert 0\n", "-n", "2", "-x", subprocess=True)
    assert run.exit in (1, 2)
    assert 1 <= run.outcomes["failed"] < 10
    assert len(run.read.tests) == run.outcomes["failed"]
