"""Torch's private names are touched by ``testmatrix.torch_adapter`` only: another torch version must break one place.

Import-linter cannot say this, since it takes an external package as a whole.
"""

import ast
from pathlib import Path

import pytest

import testmatrix

PACKAGE = Path(testmatrix.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "torch_adapter" not in path.relative_to(PACKAGE).parts)


def private_names(source):
    """Dotted torch names with a private part that a module imports or reaches through attributes; text is data."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            found.add(ast.unparse(node))
    return sorted(name for name in found if name.startswith("torch.") and any(map(is_private, name.split("."))))


def is_private(part):
    return part.startswith("_") and not part.startswith("__")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_adapter_touches_private_names(path):
    assert private_names(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch._dynamo", ["torch._dynamo"]),
        ("import torch._dynamo.config as c", ["torch._dynamo.config"]),
        ("from torch import _dynamo", ["torch._dynamo"]),
        ("from torch._inductor import config", ["torch._inductor.config"]),
        ("import torch\ntorch._dynamo.reset()", ["torch._dynamo", "torch._dynamo.reset"]),
        ("import torch\ntorch.fx._utils", ["torch.fx._utils"]),
        ("import torch\nprint(torch.__version__, torch.compile)", []),
        ("setting = 'torch._dynamo.config'", []),
        ("from testmatrix.torch_adapter import reset", []),
    ],
)
def test_what_counts_as_touching(source, expected):
    assert private_names(source) == expected
