"""--testmatrix-config, and where a configuration is found without it"""

from __future__ import annotations

import pytest

SOURCE = """
def test_it():
    compiled(lambda x, n: x + n)(torch.ones(2), 2)
"""

AXIS = """
[axes.limit]
governs = []
[axes.limit.values.low.settings]
"torch._dynamo.config.recompile_limit" = 4
[axes.limit.values.high.settings]
"torch._dynamo.config.recompile_limit" = 16

[presets]
limits = "unspec limit=low,high"
"""

PYPROJECT = AXIS.replace("[axes", "[tool.testmatrix.axes").replace("[presets", "[tool.testmatrix.presets")


@pytest.mark.parametrize(
    ("name", "text", "flag"),
    [
        ("testmatrix.toml", AXIS, None),
        ("pyproject.toml", PYPROJECT, None),
        ("elsewhere.toml", AXIS, "elsewhere.toml"),
        ("sub/pyproject.toml", PYPROJECT, "sub/pyproject.toml"),
    ],
)
def test_where_it_is_found(matrix, name, text, flag):
    given = [] if flag is None else [f"--testmatrix-config={flag}"]
    run = matrix(SOURCE, "--testmatrix-grid=limits", *given, files={name: text})
    assert run.exit == 0, run.text
    assert run.read.run.cells == ("dynamic-unspecialize-low", "dynamic-unspecialize-high")
