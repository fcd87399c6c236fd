"""Durations: read from reports and from a file of their own, damaged or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testmatrix.errors import UsageError
from testmatrix.report import model
from testmatrix.shards import durations
from testmatrix.shards.durations import combine, decode_durations, encode_durations, read_durations
from testmatrix.store import records

ROOT = Path(__file__).resolve().parents[3]

recorded = st.dictionaries(st.text(max_size=20), st.floats(0, 1e6).map(lambda seconds: round(seconds, 6)), max_size=20)


def report(*tests: records.TestResult) -> bytes:
    run = records.Run(id="1", started="", torch="2.13.0", python="3.11", platform="", grid={}, cells=())
    return model.encode(
        model.Report(run=run, tests=tests, summary=model.Summary(tests=len(tests), cells_run=0, cells_collapsed=0))
    )


def cell(duration: float, same_as: str = "") -> records.CellResult:
    return records.CellResult(outcome="passed", duration=duration, same_as=same_as)


def refusal(data: bytes) -> str:
    with pytest.raises(UsageError) as raised:
        decode_durations(data, "d.json")
    line = str(raised.value)
    assert "\n" not in line
    assert line.startswith("d.json ")
    return line


def test_a_report_counts_the_cells_that_were_run_and_the_oracle():
    cells = {"static": cell(2.0), "dynamic": cell(2.0, same_as="static"), "eager": cell(0.5)}
    data = report(records.TestResult(test="t.py::a", cells=cells), records.TestResult(test="t.py::b", cells={}))
    assert decode_durations(data, "r.json") == {"t.py::a": 2.5, "t.py::b": 0.0}


def test_the_format_of_reports_is_the_one_that_is_written():
    assert (durations.REPORT_FORMAT, durations.REPORT_VERSION) == (model.FORMAT, model.VERSION)


@given(recorded)
def test_a_file_is_read_back_and_is_the_same_however_it_came_about(values: dict[str, float]):
    data = encode_durations(values)
    assert decode_durations(data, "") == values
    assert encode_durations(dict(reversed(values.items()))) == data


def test_a_file_has_one_test_a_line_in_order():
    lines = encode_durations({"b": 2.0, "a": 0.12345678}).decode().splitlines()
    assert [line.strip() for line in lines if '": 0' in line or '": 2' in line] == ['"a": 0.123457,', '"b": 2.0']


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "holds no durations"),
        (b"{", "holds no durations"),
        (b"[]", "holds no durations"),
        (b"\xff", "holds no durations"),
        (b"[" * 100_000, "holds no durations"),
        (b'{"format": "other", "version": 1}', "format 'other'"),
        (b'{"format": "testmatrix-durations", "version": 2, "durations": {}}', "version 2, but 1 is read here"),
        (b'{"format": "testmatrix-report", "version": 9}', "version 9, but 1 is read here"),
        (b'{"format": "testmatrix-durations", "version": 1}', "damaged"),
        (b'{"format": "testmatrix-durations", "version": 1, "durations": {"a": "1"}}', "damaged"),
        (b'{"format": "testmatrix-durations", "version": 1, "durations": {"a": -1}}', "damaged ('a' took -1.0 seconds)"),
        (b'{"format": "testmatrix-durations", "version": 1, "durations": {"a": 1e999}}', "d.json"),
        (b'{"format": "testmatrix-report", "version": 1, "tests": [{"test": "a"}]}', "damaged"),
        (
            b'{"format": "testmatrix-report", "version": 1, "tests": [{"test": "a", "cells": {"b": {"duration": "nan"}}}]}',
            "damaged",
        ),
    ],
)
def test_what_is_damaged_is_said_in_a_line(data: bytes, says: str):
    line = refusal(data)
    assert says in line


def test_every_cut_of_a_file_is_refused():
    data = encode_durations({"t.py::a": 1.0, "t.py::b": 2.5}).rstrip()
    for length in range(len(data)):
        refusal(data[:length])


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(UsageError, match=r"cannot be read \(no such file or directory\): name a report"):
        read_durations(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read_durations(tmp_path)


def test_of_several_the_median_counts():
    sources = [{"a": 1.0, "b": 1.0}, {"a": 9.0}, {"a": 2.0, "c": 4.0}]
    assert combine(sources) == combine(reversed(sources)) == {"a": 2.0, "b": 1.0, "c": 4.0}
    assert list(combine([{"b": 1.0}, {"a": 1.0}])) == ["a", "b"]
    assert combine([]) == {}


def test_reading_needs_no_torch(tmp_path: Path):
    path = tmp_path / "report.json"
    path.write_bytes(report(records.TestResult(test="t", cells={"eager": cell(1.5)})))
    program = (
        "import sys, json, pathlib\n"
        "from testmatrix.shards import plan, shard\n"
        "from testmatrix.shards.durations import read_durations\n"
        f"print(json.dumps([read_durations(pathlib.Path({str(path)!r})), 'torch' in sys.modules, 'pytest' in sys.modules]))"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [{"t": 1.5}, False, False]
