"""The README's commands can be read by a shell and by the programs that they call, and what it refers to exists."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from testmatrix.cli.main import main as cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line.strip()]
LINKS = sorted(set(re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", README)))


def words_after(program):
    """Arguments of every call of a program in the README."""
    for command in COMMANDS:
        for part in re.split(r"&&|\|\||;|\|", command):
            words = shlex.split(part, comments=True)
            if words and Path(words[0]).name == program:
                yield words[1:]


def test_there_are_commands():
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
def test_shell_parses_it(command):
    assert subprocess.run(["sh", "-n", "-c", command], capture_output=True, text=True).stderr == ""


@pytest.mark.parametrize("link", LINKS)
def test_referenced_file_exists(link):
    assert (ROOT / link).exists()


def test_tox_environments_exist():
    named = {words[words.index("-e") + 1] for words in words_after("tox")}
    text = (ROOT / "tox.ini").read_text(encoding="utf-8")
    assert named == {"grid", "tests"}
    assert all(f"[testenv:{name}]" in text for name in named)


def test_installed_distribution_is_ours():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    installed = [words[-1] for words in words_after("pip") if words[0] == "install" and words[-1] != "tox"]
    assert installed
    assert all(f'name = "{name}"' in text for name in installed)


def test_pytest_flags_are_the_plugins(pytestconfig):
    from testmatrix.options import OPTIONS

    known = {option.flag for option in OPTIONS}
    flags = {word.partition("=")[0] for words in words_after("pytest") for word in words if word.startswith("--testmatrix")}
    assert flags
    assert flags <= known


def test_commands_of_ours_exist():
    assert all(words[0] in cli.commands for words in words_after("testmatrix"))
