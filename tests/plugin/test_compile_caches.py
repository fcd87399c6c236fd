"""Two cells that compile the same thing share no compile cache of torch's; what the C++ compiler made may be shared."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

#: Notes, at the end of the test, what torch's caches say and which files of the cell's directory there are.
SUITE = """
import json
import os
from torch._dynamo.utils import counters

def region(x, n):
    return x.sin() * n

def test_it():
    x = torch.linspace(0, 1, 40)
    fast = torch.compile(region, backend="inductor")
    for n in (3, 4):
        torch.testing.assert_close(fast(x, n), region(x, n))
    directory = os.environ["TORCHINDUCTOR_CACHE_DIR"]
    hits = {f"{kind}.{name}": n for kind, counts in counters.items() for name, n in counts.items() if name.endswith("_hit")}
    built = [name for _, _, names in os.walk(directory) for name in names if name.endswith("main.so")]
    with open("seen", "a") as stream:
        print(json.dumps([directory, hits, built]), file=stream)
"""


def seen(pytester: pytest.Pytester) -> list[Any]:
    return [json.loads(line) for line in (pytester.path / "seen").read_text().splitlines()]


@pytest.mark.parametrize("ccache", [True, False])
def test_every_cell_compiles_for_itself(
    matrix: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, ccache: bool
) -> None:
    monkeypatch.delenv("CCACHE_DISABLE", raising=False)
    if not ccache:
        monkeypatch.setenv("CCACHE_DISABLE", "1")
    run = matrix(SUITE, "--testmatrix-oracle=off")
    assert run.exit == 0, run.text
    noted = seen(pytester)
    assert len({directory for directory, _, _ in noted}) == 4
    assert [hits for _, hits, _ in noted] == [{}] * 4
    # Two values burned in are two kernels, the symbol is one.
    assert [len(built) for _, _, built in noted] == [2, 2, 2, 1]
    assert not any(os.path.exists(directory) for directory, _, _ in noted)


def test_a_test_that_writes_to_no_cache_has_no_directory_made(matrix: Any, pytester: pytest.Pytester) -> None:
    run = matrix("""
import os

def test_it():
    with open("seen", "a") as stream:
        print(os.path.exists(os.path.dirname(os.environ["TORCHINDUCTOR_CACHE_DIR"])), file=stream)
""")
    assert run.exit == 0, run.text
    assert (pytester.path / "seen").read_text().split() == ["False"]


def test_a_test_sees_the_compiler_that_it_would_see_without(matrix: Any) -> None:
    run = matrix("""
import torch._inductor.config
from torch._inductor.cpp_builder import get_cpp_compiler

def test_it():
    assert torch._inductor.config.cpp.cxx == (None, "g++")
    assert get_cpp_compiler() == "g++"
""")
    assert run.exit == 0, run.text


def test_the_compiler_that_a_test_chooses_is_run(matrix: Any, pytester: pytest.Pytester) -> None:
    compiler = pytester.path / "chosen-g++"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> "{pytester.path}/log"\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    run = matrix(
        f"""
import torch._inductor.config as config

@config.patch({{"cpp.cxx": (None, {str(compiler)!r}), "cpp_cache_precompile_headers": False, "cpp.vec_isa_ok": False}})
def test_it():
    fast = torch.compile(lambda x: x.sin() + 1, backend="inductor")
    torch.testing.assert_close(fast(torch.ones(3)), torch.ones(3).sin() + 1)
""",
        "--testmatrix-cells=static-specialize",
    )
    assert run.exit == 0, run.text
    log = (pytester.path / "log").read_text().splitlines()
    assert any("main.cpp" in line for line in log)
    assert any("main.so" in line for line in log)


@pytest.mark.parametrize("arguments", [(), ("-n", "2")])
def test_no_temporary_directory_stays(matrix: Any, pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    temporary = pytester.mkdir("temporary")
    pytester.makeconftest(f"import tempfile\ntempfile.tempdir = {str(temporary)!r}")
    run = matrix(
        """
import os

@pytest.mark.parametrize("n", range(3))
def test_it(n):
    torch.compile(lambda x: x + n, backend="eager")(torch.ones(2))
    os.makedirs(os.environ["TORCHINDUCTOR_CACHE_DIR"], exist_ok=True)
    with open("seen", "a") as stream:
        print(os.environ["TORCHINDUCTOR_CACHE_DIR"], file=stream)
""",
        *arguments,
        subprocess=True,
    )
    assert run.exit == 0, run.text
    roots = {Path(line).relative_to(temporary).parts[0] for line in (pytester.path / "seen").read_text().split()}
    assert all(root.startswith("testmatrix-") for root in roots)
    assert list(temporary.iterdir()) == []
