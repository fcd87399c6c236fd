import pytest

from testmatrix.triage.verdicts import joint_verdict


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["unstable"], "unstable"),
        (["unstable", "new"], "new"),
        (["known", "unstable"], "known"),
        (["known", "new"], "new"),
    ],
)
def test_the_most_pressing_verdict_counts(verdicts, expected):
    assert joint_verdict(verdicts) == expected
