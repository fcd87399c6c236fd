import itertools

import pytest

from testmatrix.compare.finding import Finding
from testmatrix.report.build import finding_entries
from testmatrix.triage.causes import digest, fingerprint, group_causes


def finding(**changes):
    fields = {
        "test": "a.py::test_a[3]",
        "kind": "output.value",
        "severity": "error",
        "cells": ("dynamic-unspecialize",),
        "reference": "eager",
        "summary": "result: 1 in eager, 2 in dynamic-unspecialize",
        "signature": "value of round()",
        "frame": "model.py:12 in scale",
    }
    return Finding(**{**fields, **changes})


def grouped(findings):
    return group_causes(finding_entries(findings))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"test": "b.py::test_renamed"}, id="another test"),
        pytest.param({"frame": "model.py:99 in scale"}, id="the line moved"),
        pytest.param({"frame": "moved/model.py:12 in scale"}, id="the file moved"),
        pytest.param({"summary": "result: 3 in eager, 4 in dynamic-unspecialize"}, id="other values"),
        pytest.param({"cells": ("dynamic-specialize",)}, id="another cell"),
        pytest.param({"unstable": True}, id="did not repeat"),
    ],
)
def test_what_a_fingerprint_leaves_out(changes):
    assert fingerprint(finding(**changes)) == fingerprint(finding())


@pytest.mark.parametrize(
    "changes", [{"kind": "output.dtype"}, {"signature": "value of floor()"}, {"frame": "model.py:12 in shift"}, {"frame": ""}]
)
def test_what_a_fingerprint_depends_on(changes):
    assert fingerprint(finding(**changes)) != fingerprint(finding())


def test_a_frame_in_the_test_itself_does_not_tie_the_cause_to_the_tests_name():
    first = finding(frame="a.py:3 in test_a")
    renamed = finding(test="a.py::Suite::test_b", frame="a.py:3 in Suite.test_b")
    inner = finding(frame="a.py:3 in test_a.<locals>.f")

    assert fingerprint(first) == fingerprint(renamed) == fingerprint(inner)


def test_parts_of_a_digest_are_kept_apart():
    assert digest("ab", "c") != digest("a", "bc")
    assert digest("a", "") != digest("a")
    digest("\ud800")  # a message may hold anything


def test_findings_of_one_cause_come_together():
    (cause,) = grouped([finding(test="a.py::b"), finding(test="a.py::a"), finding(test="a.py::a", cells=("dynamic-specialize",))])

    assert cause.tests == ("a.py::a", "a.py::b")
    assert [each.test for each in cause.findings] == ["a.py::a", "a.py::a", "a.py::b"]
    assert (cause.kind, cause.severity, cause.verdict) == ("output.value", "error", "new")


def test_the_order_of_findings_changes_nothing():
    findings = [
        finding(severity="warning", signature="w"),
        finding(test="b"),
        finding(unstable=True, signature="u"),
        finding(kind="outcome"),
        finding(),
    ]
    expected = grouped(findings)

    assert all(grouped(order) == expected for order in itertools.permutations(findings))


def test_causes_come_gravest_first_and_unstable_ones_last():
    causes = grouped(
        [
            finding(severity="info", signature="i"),
            finding(unstable=True, signature="u"),
            finding(severity="warning", signature="w"),
            finding(),
        ]
    )

    assert [(cause.severity, cause.verdict) for cause in causes] == [
        ("error", "new"),
        ("warning", "new"),
        ("info", "new"),
        ("error", "unstable"),
    ]


def test_a_cause_is_unstable_only_where_all_of_its_findings_are():
    (cause,) = grouped([finding(unstable=True, test="a", summary="now and then"), finding(test="b", summary="always")])

    assert cause.verdict == "new"
    assert cause.summary == "always", "what repeats stands for the cause"


def test_a_cause_is_as_severe_as_its_most_severe_finding():
    (cause,) = grouped([finding(severity="warning", test="a"), finding(severity="error", test="b")])

    assert cause.severity == "error"


def test_no_findings_no_causes():
    assert grouped([]) == ()


def test_numbers_that_are_burned_in_come_after_all_other_warnings() -> None:
    kinds = ("guard.specialized", "compile.break", "guard.missing")
    found = [finding(kind=kind, severity="warning", signature=kind) for kind in kinds]
    assert [cause.kind for cause in grouped(found)] == ["guard.missing", "compile.break", "guard.specialized"]
