"""The tutorial's suite passes bare and shows what the tutorial says, line by line."""

import re
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial" / "first-run.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.S)


def pytest(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "test_price.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_the_tutorial_holds(tmp_path: Path) -> None:
    (suite,) = blocks("python")
    (tmp_path / "test_price.py").write_text(suite, encoding="utf-8")
    bare = pytest(tmp_path)
    assert bare.returncode == 0, bare.stdout
    matrix = pytest(tmp_path, "--testmatrix")
    assert matrix.returncode == 1, matrix.stdout
    shown = [line.strip() for line in matrix.stdout.splitlines()]
    for line in "".join(blocks("text")).splitlines():
        assert any(one.startswith(line.strip()) for one in shown), f"{line!r} is not in:\n{matrix.stdout}"
    assert shown[-1].startswith("ints: ")
