"""Findings and causes by id."""

import pytest
from report_results import finding, run

from testmatrix.errors import UsageError
from testmatrix.report.build import build_report
from testmatrix.report.model import Report
from testmatrix.report.show.lookup import find

TWINS = [finding(summary="a"), finding(summary="b"), finding(test="a.py::test_b", kind="output.shape")]


@pytest.fixture
def report():
    return build_report(run(), [], findings=TWINS)


def renamed(report: Report, ids: list[str]) -> Report:
    """The report with other ids of findings."""
    findings = (
        type(one)(**{**{name: getattr(one, name) for name in one.__struct_fields__}, "id": id_})
        for one, id_ in zip(report.findings, ids, strict=True)
    )
    return Report(run=report.run, findings=tuple(findings), causes=report.causes, summary=report.summary)


def test_by_whole_id(report):
    assert [find(report, one.id, "r.json") for one in report.findings] == list(report.findings)
    assert [find(report, one.cause, "r.json") for one in report.causes] == list(report.causes)


def test_by_a_start(report):
    shape = next(one for one in report.findings if one.kind == "output.shape")

    assert find(report, shape.id[:4], "r.json") == shape
    assert find(report, report.causes[0].cause[:6], "r.json") == report.causes[0]


def test_a_whole_id_may_be_the_start_of_another(report):
    first, second = (one for one in report.findings if one.kind == "output.dtype")

    assert second.id == f"{first.id}-2"
    assert find(report, first.id, "r.json") == first


def test_an_ambiguous_start_lists_the_candidates(report):
    first = next(one for one in report.findings if one.kind == "output.dtype")

    with pytest.raises(UsageError) as error:
        find(report, first.id[:7], "r.json")
    assert str(error.value) == (
        f"'{first.id[:7]}' may be each of {first.id} (a finding, output.dtype), {first.id}-2 (a finding, output.dtype): "
        "give more characters"
    )


def test_many_candidates_are_one_line():
    findings = [finding(summary=str(n)) for n in range(40)]

    with pytest.raises(UsageError, match=r"^[^\n]*, 32 more: give more characters$"):
        find(build_report(run(), [], findings=findings), build_report(run(), [], findings=findings).findings[0].id[:5], "r.json")


def test_an_unknown_id_names_the_nearest(report):
    report = renamed(report, ["1234567890", "abcdefabcd", "ffffffffff"])

    with pytest.raises(UsageError, match=r"^r\.json has no finding and no cause '1234567999': did you mean '1234567890'\?$"):
        find(report, "1234567999", "r.json")


def test_a_report_without_findings():
    with pytest.raises(UsageError, match=r"^r\.json has no finding and no cause 'abcd': there are none$"):
        find(build_report(run(), []), "abcd", "r.json")


@pytest.mark.parametrize("word", ["", "a", "abc"])
def test_too_short_a_start(report, word):
    with pytest.raises(UsageError, match="too short: give at least 4 characters"):
        find(report, word, "r.json")
