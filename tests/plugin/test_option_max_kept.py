"""--testmatrix-max-kept"""

from __future__ import annotations

import pytest

SOURCE = """
def broken(graph, inputs):
    return lambda *args: [out + CHANGE if isinstance(out, torch.Tensor) else out for out in graph.forward(*args)]

def test_it():
    torch.compile(lambda x: x * 2, backend=broken)(torch.ones(1000))
"""


@pytest.mark.parametrize("kept", ["0", "100", "64MiB"])
def test_a_wrong_value_is_found_however_little_is_kept(matrix, kept):
    run = matrix(SOURCE.replace("CHANGE", "1"), f"--testmatrix-max-kept={kept}")
    assert run.findings
    assert {finding.kind for finding in run.findings} == {"output.value"}


@pytest.mark.parametrize("kept", ["0", "64MiB"])
def test_equal_values_are_quiet(matrix, kept):
    assert matrix(SOURCE.replace("CHANGE", "0"), f"--testmatrix-max-kept={kept}").clean()
