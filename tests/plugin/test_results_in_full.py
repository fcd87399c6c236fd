"""Differences of results that are long, deep, objects of the suite, or in another order."""

from __future__ import annotations

import pytest

SUITE = """
class Point:
    def __init__(self, x):
        self.x = x

def wrong():
    return int(torch.compiler.is_compiling()) * WRONG

def nested(inner):
    for _ in range(12):
        inner = [inner]
    return inner

def results():
    yield lambda: [0] * 4321 + [wrong()] + [0] * 678
    yield lambda: nested(1 + wrong())
    yield lambda: Point(1 + wrong())
    yield lambda: {"a": 1, "b": 2} if not wrong() else {"b": 2, "a": 1}

@pytest.mark.parametrize("result", results())
def test_result(result):
    compiled(result)()
"""


@pytest.mark.parametrize("wrong", [0, 1])
def test_results(matrix, wrong):
    run = matrix(f"WRONG = {wrong}\n{SUITE}")
    found = [finding for finding in run.findings if finding.kind.startswith("output.")]
    assert {finding.test.rpartition("::")[2] for finding in found} == (set(run.tests) if wrong else set()), run.text
    assert not [note for note in run.read.notes if note.kind == "recorder"]
