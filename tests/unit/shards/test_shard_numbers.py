"""``K/N`` and ``auto``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.errors import UsageError
from testmatrix.options import resolve
from testmatrix.shards.shard import AUTO, CI_SYSTEMS, MOST_SHARDS, Shard, parse_shard, shard_of_ci


@pytest.mark.parametrize(
    ("text", "number", "total"), [("1/1", 1, 1), ("2/8", 2, 8), (" 08/12 ", 8, 12), ("9999/9999", 9999, 9999)]
)
def test_a_shard(text: str, number: int, total: int):
    shard = parse_shard(text)
    assert shard == Shard(number, total)
    assert parse_shard(str(shard)) == shard


def test_auto():
    assert parse_shard(" auto ") == AUTO


@pytest.mark.parametrize("text", ["", "3", "1/", "/2", "1/2/3", "a/b", "-1/2", "1.0/2", "1 / 2", "²/3", "AUTO", "1/99999999999"])
def test_what_is_no_shard(text: str):
    with pytest.raises(UsageError, match="is no shard: write K/N, as in 2/8, or 'auto'"):
        parse_shard(text)


@pytest.mark.parametrize("text", ["0/2", "3/2", "0/0", "1/10000"])
def test_a_shard_that_there_is_not(text: str):
    with pytest.raises(UsageError, match=f"there is no shard {text}: .* N to {MOST_SHARDS}"):
        parse_shard(text)


def test_the_error_says_where_it_was_given():
    with pytest.raises(UsageError, match=r"^environment TESTMATRIX_SHARD: there is no shard 9/8"):
        resolve({}, {"TESTMATRIX_SHARD": "9/8"}, {})
    assert resolve({"testmatrix_shard": "2/8"}, {}, {}).shard == Shard(2, 8)
    assert resolve({}, {}, {}).shard is None


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "4"}, Shard(1, 4)),
        ({"CI_NODE_INDEX": "4", "CI_NODE_TOTAL": "4"}, Shard(4, 4)),
        ({"CI_NODE_TOTAL": "1"}, Shard(1, 1)),
        ({"CIRCLE_NODE_INDEX": "0", "CIRCLE_NODE_TOTAL": "4"}, Shard(1, 4)),
        ({"CIRCLE_NODE_INDEX": "3", "CIRCLE_NODE_TOTAL": "4"}, Shard(4, 4)),
        ({"BUILDKITE_PARALLEL_JOB": "0", "BUILDKITE_PARALLEL_JOB_COUNT": "2"}, Shard(1, 2)),
        ({"BUILDKITE_PARALLEL_JOB": "1", "BUILDKITE_PARALLEL_JOB_COUNT": "2"}, Shard(2, 2)),
        ({"CI_NODE_INDEX": "", "CI_NODE_TOTAL": "", "CIRCLE_NODE_INDEX": "1", "CIRCLE_NODE_TOTAL": "2"}, Shard(2, 2)),
    ],
)
def test_what_a_ci_system_says(environ: dict[str, str], expected: Shard):
    assert shard_of_ci({"CI": "true", **environ}) == expected


@given(st.sampled_from(CI_SYSTEMS), st.integers(1, 50))
def test_the_jobs_of_a_ci_system_are_all_shards(system, total: int):
    jobs = range(system.first, system.first + total)
    found = [shard_of_ci({system.index: str(index), system.total: str(total)}) for index in jobs]
    assert found == [Shard(number, total) for number in range(1, total + 1)]


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"CI": "true"}, ["CI_NODE_INDEX (from 1)", "CIRCLE_NODE_INDEX (from 0)", "BUILDKITE_PARALLEL_JOB_COUNT", "K/N"]),
        ({"CI_NODE_TOTAL": "4"}, ["CI_NODE_TOTAL is set without CI_NODE_INDEX (GitLab)"]),
        ({"CIRCLE_NODE_INDEX": "1"}, ["CIRCLE_NODE_INDEX is set without CIRCLE_NODE_TOTAL"]),
        ({"CI_NODE_INDEX": "0", "CI_NODE_TOTAL": "4"}, ["CI_NODE_INDEX is 0", "from 1 to 4"]),
        ({"CI_NODE_INDEX": "5", "CI_NODE_TOTAL": "4"}, ["CI_NODE_INDEX is 5", "from 1 to 4"]),
        ({"CIRCLE_NODE_INDEX": "4", "CIRCLE_NODE_TOTAL": "4"}, ["CIRCLE_NODE_INDEX is 4", "from 0 to 3"]),
        ({"CIRCLE_NODE_INDEX": "-1", "CIRCLE_NODE_TOTAL": "4"}, ["CIRCLE_NODE_INDEX is '-1', which is no number"]),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "four"}, ["CI_NODE_TOTAL is 'four', which is no number"]),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "0"}, ["CI_NODE_TOTAL is 0", "from 1 to 9999"]),
        ({"CI_NODE_INDEX": "1", "CI_NODE_TOTAL": "10000"}, ["CI_NODE_TOTAL is 10000"]),
    ],
)
def test_what_it_says_that_is_no_shard(environ: dict[str, str], words: list[str]):
    with pytest.raises(UsageError) as raised:
        shard_of_ci(environ)
    line = str(raised.value)
    assert "\n" not in line
    assert line.startswith("'auto'")
    assert [word for word in words if word not in line] == []
