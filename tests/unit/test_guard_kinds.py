"""The table of guard kinds; that it is complete is tested against torch."""

import pytest

from testmatrix.guard_kinds import KINDS, category


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("SHAPE", "numeric"),
        ("EQUALS_MATCH", "constant"),
        ("TENSOR_MATCH", "tensor"),
        ("TYPE_MATCH", "type"),
        ("CLOSURE_MATCH", "identity"),
        ("SEQUENCE_LENGTH", "structure"),
        ("DUPLICATE_INPUT", "aliasing"),
        ("GLOBAL_STATE", "process"),
        ("OPAQUE_OBJ_GUARD_FN_MATCH", "opaque"),
        ("OF_ANOTHER_VERSION", "unknown"),
        ("", "unknown"),
    ],
)
def test_category(kind, expected):
    assert category(kind) == expected


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_kinds_say_in_one_line_what_they_check(kind):
    assert kind.category != "unknown"
    assert kind.checks
    assert "\n" not in kind.checks
    assert not kind.checks.endswith(".")
