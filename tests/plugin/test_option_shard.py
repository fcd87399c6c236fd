"""--testmatrix-shard and --testmatrix-durations"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter

import pytest

from testmatrix.plugin.listing import collected
from testmatrix.shards.durations import encode_durations, read_durations
from testmatrix.shards.plan import plan

SOURCE = """
@pytest.mark.parametrize("n", range(6))
def test_many(n):
    pass

def test_fails():
    assert 0

class TestMore:
    @pytest.mark.slow
    def test_it(self):
        pass
"""
NAMES = ["test_fails", "test_it", *(f"test_many[{n}]" for n in range(6))]
INI = "[pytest]\nmarkers = slow\n"


@pytest.fixture(autouse=True)
def without_ci(monkeypatch):
    for name in ("CI_NODE_INDEX", "CI_NODE_TOTAL", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def shards(matrix, pytester):
    """Runs every one of so many shards."""
    pytester.makeini(INI)

    def run(total, *options, **given):
        return [matrix(SOURCE, f"--testmatrix-shard={k}/{total}", *options, **given) for k in range(1, total + 1)]

    return run


def names(runs):
    """How often each test was run."""
    return Counter(name for run in runs for name in run.tests)


def plans(runs):
    return {found for run in runs for found in re.findall(r"\(plan (\w+)\)", run.text)}


def test_each_test_is_run_in_one_shard(shards):
    runs = shards(3)
    assert names(runs) == Counter(NAMES)
    assert [run.read.run.shard for run in runs] == ["1/3", "2/3", "3/3"]
    assert [run.outcomes["deselected"] for run in runs] == [len(NAMES) - len(run.tests) for run in runs]
    assert sorted(len(run.tests) for run in runs) == [2, 3, 3]
    assert sorted(run.exit for run in runs) == [0, 0, 1]
    assert len(plans(runs)) == 1
    runs[0].result.stdout.fnmatch_lines([f"testmatrix: shard 1/3 has {len(runs[0].tests)} of 8 tests (plan ????????)"])


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        (["-k", "many and not 5"], NAMES[2:7]),
        (["-k", "many and (0 or 2 or 4)"], [NAMES[2], NAMES[4], NAMES[6]]),  # one shard's, were all planned
        (["-m", "slow"], ["test_it"]),
        (["--deselect", "test_suite.py::test_fails"], NAMES[1:]),
        (["test_suite.py::test_many"], NAMES[2:]),
        (["-x"], NAMES),
        (["--ff"], NAMES),
        (["--nf"], NAMES),
        (["-p", "no:cacheprovider"], NAMES),
        (["-p", "no:terminal"], NAMES),
    ],
    ids=lambda value: " ".join(value) if value and value[0].startswith("-") else "",
)
def test_within_what_the_command_selects(shards, options, selected):
    runs = shards(2, *options)
    # The one that fails is the last of its shard in which nothing is lost by -x.
    expected = Counter(selected)
    if "-x" in options:
        assert names(runs) <= expected
        assert names(runs)["test_fails"] == 1
    else:
        assert names(runs) == expected
        assert abs(len(runs[0].tests) - len(runs[1].tests)) <= 1


def test_it_is_what_the_durations_say(shards, pytester):
    recorded = {f"test_suite.py::test_many[{n}]": 1.0 for n in range(5)} | {"test_suite.py::TestMore::test_it": 5.0}
    (pytester.path / "d.json").write_bytes(encode_durations(recorded))
    runs = shards(2, "--testmatrix-durations=d.json")
    assert names(runs) == Counter(NAMES)
    (long,) = [run for run in runs if "test_it" in run.tests]
    assert len(long.tests) < len(NAMES) / 2
    assert re.search(r"shard 1/2 has \d of 8 tests, \d\.\d of 12\.0 s expected \(plan", runs[0].text)


def test_a_report_is_as_good_as_a_file_of_durations(shards, matrix, pytester):
    first = matrix(SOURCE)
    kept = pytester.path / "first.json"
    (pytester.path / "report.json").rename(kept)
    seconds = read_durations(kept)
    assert len(first.tests) == len(seconds) == len(NAMES)
    (pytester.path / "d.json").write_bytes(encode_durations(seconds))
    assert plans(shards(2, f"--testmatrix-durations={kept}")) == plans(shards(2, "--testmatrix-durations=d.json"))


def test_the_command_lists_what_a_shard_runs(shards, pytester):
    (pytester.path / "d.json").write_bytes(encode_durations({"test_suite.py::test_fails": 3.0}))
    runs = shards(2, "--testmatrix-durations=d.json")
    listing = collected(["--testmatrix-durations=d.json"])
    planned = plan(listing.tests, read_durations(pytester.path / listing.durations), 2)
    assert [planned.names(k) for k in (1, 2)] == [frozenset(test.test for test in run.read.tests) for run in runs]
    assert plans(runs) == {planned.digest}


def test_no_shard_and_one_shard_run_everything(matrix, pytester):
    pytester.makeini(INI)
    assert names([matrix(SOURCE)]) == names([matrix(SOURCE, "--testmatrix-shard=1/1")]) == Counter(NAMES)
    assert matrix(SOURCE).read.run.shard == ""


def test_auto(shards, matrix, monkeypatch, pytester):
    pytester.makeini(INI)
    monkeypatch.setenv("CIRCLE_NODE_INDEX", "1")
    monkeypatch.setenv("CIRCLE_NODE_TOTAL", "2")
    run = matrix(SOURCE, "--testmatrix-shard=auto")
    assert run.read.run.shard == "2/2"
    assert set(run.tests) == set(shards(2)[1].tests)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("shard=0/3", ["--testmatrix-shard: there is no shard 0/3"]),
        ("shard=4/3", ["--testmatrix-shard: there is no shard 4/3"]),
        ("shard=half", ["--testmatrix-shard: 'half' is no shard", "2/8"]),
        ("shard=", ["--testmatrix-shard"]),
        ("shard=auto", ["--testmatrix-shard: 'auto'", "CI_NODE_INDEX", "CIRCLE_NODE_TOTAL", "BUILDKITE_PARALLEL_JOB"]),
        ("durations=none.json", ["--testmatrix-durations: none.json cannot be read"]),
        ("durations=test_suite.py", ["--testmatrix-durations: test_suite.py holds no durations"]),
    ],
)
def test_what_cannot_be_used(matrix, option, words):
    refused(matrix(SOURCE, f"--testmatrix-{option}"), *words)


@pytest.mark.parametrize("option", ["shard=auto", "durations=none.json"])
def test_what_cannot_be_used_with_workers(matrix, option):
    refused(matrix(SOURCE, f"--testmatrix-{option}", "-n1", subprocess=True), f"--testmatrix-{option.partition('=')[0]}")


def refused(run, *words):
    assert run.exit == 4
    assert run.report is None
    said = [line for line in run.result.errlines if line.strip()]
    assert len(said) == 1
    assert [word for word in ["ERROR: testmatrix: ", *words] if word not in said[0]] == []


def test_a_shard_without_tests_is_fine(shards, matrix, pytester):
    runs = shards(3, "-k", "fails or TestMore")
    assert sorted(len(run.tests) for run in runs) == [0, 1, 1]
    (empty,) = [run for run in runs if not run.tests]
    assert empty.exit == empty.read.summary.exit == 0


def test_no_test_at_all_is_not(shards):
    assert [run.exit for run in shards(2, "-k", "nothing_like_it")] == [5, 5]


def test_workers(shards, pytester):
    (pytester.path / "d.json").write_bytes(encode_durations({"test_suite.py::test_fails": 3.0}))
    runs = shards(2, "-n", "2", "--testmatrix-durations=d.json", subprocess=True)
    assert names(runs) == Counter(NAMES)
    assert [set(run.tests) for run in runs] == [set(run.tests) for run in shards(2, "--testmatrix-durations=d.json")]
    assert [run.read.run.shard for run in runs] == ["1/2", "2/2"]


def test_a_shard_without_tests_is_fine_with_workers(shards):
    runs = shards(2, "-n", "2", "-k", "fails", subprocess=True)
    assert sorted((len(run.tests), run.exit) for run in runs) == [(0, 0), (1, 1)]


#: Three in a file, so that not all that fail are in the same one of two shards.
SOME_FAIL = """
def test_bad():
    assert 0

def test_good():
    pass

def test_later():
    pass
"""
FAILING = {f"test_{letter}.py": SOME_FAIL for letter in "abcd"}


def failed(run):
    return {test.test for test in run.read.tests if any(cell.outcome == "failed" for cell in test.cells.values())}


def test_last_failed_where_each_shard_kept_its_own(matrix, pytester):
    """Each machine knows of its own failures only, and runs all of these again."""
    for k in (1, 2):
        options = [f"--testmatrix-shard={k}/2", "-o", f"cache_dir=cache{k}"]
        first = matrix("", *options, files=FAILING)
        again = matrix("", *options, "--lf")
        assert len(failed(first)) == 2
        assert {test.test for test in again.read.tests} == failed(first)


def test_last_failed_where_shards_have_it_in_common(matrix, pytester):
    matrix("", files=FAILING)
    cache = pytester.path / ".pytest_cache" / "v" / "cache" / "lastfailed"
    before = json.loads(cache.read_text())
    assert len(before) == 4
    runs = [matrix("", f"--testmatrix-shard={k}/8", "--lf") for k in range(1, 9)]
    assert Counter(test.test for run in runs for test in run.read.tests) == Counter(before)
    assert {run.exit for run in runs if not run.tests} == {0}


def test_stepwise_goes_on_within_the_shard(matrix):
    whole = [test.test for test in matrix("", "--testmatrix-shard=2/2", files=FAILING).read.tests]
    first, again = (matrix("", "--testmatrix-shard=2/2", "--sw") for _ in range(2))
    (stopped_at,) = failed(first)
    assert [test.test for test in first.read.tests] == whole[: whole.index(stopped_at) + 1]
    assert whole.index(stopped_at) > 0
    assert [test.test for test in again.read.tests] == [stopped_at]


def test_the_rerun_of_a_finding_is_of_no_shard(matrix, pytester):
    source = """
def test_other():
    pass

def test_differs():
    compiled(lambda x: x + 1)(torch.ones(2))
    assert torch.compiler.is_compiling() or torch._dynamo.config.specialize_int
"""
    runs = [matrix(source, f"--testmatrix-shard={k}/2", "--testmatrix-cells=dynamic-*") for k in (1, 2)]
    (finding,) = [finding for run in runs for finding in run.findings if finding.kind == "outcome"]
    assert "shard" not in finding.rerun
    result = pytester.runpytest_inprocess(*shlex.split(finding.rerun)[1:])
    assert result.parseoutcomes() == {"failed": 1}


def test_without_the_matrix_nothing_is_deselected(pytester):
    pytester.makepyfile("def test_a(): pass\ndef test_b(): pass")
    result = pytester.runpytest_inprocess("--testmatrix-shard=1/2", "--testmatrix-durations=none.json")
    assert result.parseoutcomes() == {"passed": 2}


def test_collect_only(shards):
    runs = shards(2, "--collect-only", "-q")
    listed = [line.rpartition("::")[2] for run in runs for line in run.result.outlines if "::" in line]
    assert sorted(listed) == NAMES
    assert {run.exit for run in runs} == {0}


def test_a_file_that_breaks_at_import_breaks_every_shard(shards):
    runs = shards(2, files={"test_broken.py": "raise RuntimeError('at import')\n"})
    assert [run.exit for run in runs] == [2, 2]
