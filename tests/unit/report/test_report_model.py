import json

import pytest
from report_results import finding, int_row, result, run

from testmatrix.errors import UsageError
from testmatrix.report.build import build_report
from testmatrix.report.model import decode, encode


@pytest.fixture
def report():
    return build_report(run(), [result()], ints=[int_row()], findings=[finding(evidence={"a": [1, {"b": None}]})], wall=1.5)


def test_what_is_written_is_read_back(report):
    assert decode(encode(report)) == report


def test_keys_are_those_of_version_1(report):
    data = json.loads(encode(report))

    assert data["format"] == "testmatrix-report"
    assert data["version"] == 1
    assert set(data["run"]) == {"id", "started", "torch", "python", "platform", "grid", "cells", "oracle", "shard"}
    (test,) = data["tests"]
    assert set(test) == {"test", "cells", "position"}
    assert set(test["cells"]["eager"]) == {"outcome", "duration", "same_as", "compiles", "breaks", "regions", "pinned"}
    (row,) = data["ints"]
    assert set(row) == {"test", "region", "source", "kind", "cells"}
    assert set(row["cells"]["dynamic-unspecialize"]) == {"state", "value", "reason", "line", "compiles"}
    (one,) = data["findings"]
    names = {"id", "test", "kind", "severity", "cells", "reference", "summary", "evidence", "cause", "verdict", "rerun"}
    assert set(one) == names
    (cause,) = data["causes"]
    assert set(cause) == {"cause", "kind", "summary", "findings", "tests", "verdict"}
    assert set(data["summary"]) == {"tests", "cells_run", "cells_collapsed", "findings", "ints", "wall", "exit"}
    assert data["summary"]["ints"] == {"reached": 1, "symbolic": 1}


def test_unknown_keys_are_ignored(report):
    data = json.loads(encode(report))
    data["later"] = {"x": 1}
    data["findings"][0]["later"] = [1]
    data["run"]["later"] = None

    assert decode(json.dumps(data).encode()) == report


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no JSON report"),
        (b"{", "no JSON report"),
        (b"\xff\xfe", "no JSON report"),
        (b"[1]", "no JSON report"),
        (b"{}", "format ''"),
        (b'{"format": "junit"}', "format 'junit'"),
        (b'{"format": "testmatrix-report", "version": 2}', "version 2, but 1 is read here"),
        (b'{"format": "testmatrix-report", "version": 1}', "damaged report"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(data, says):
    with pytest.raises(UsageError, match=says) as caught:
        decode(data, "old.json")
    message = str(caught.value)
    assert message.startswith("old.json ")
    assert "\n" not in message
