"""One shard of a run: how it is written, and how a CI system says which one this machine is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from testmatrix.errors import UsageError

#: A plan has a list for each shard, so that there is a limit to their number.
MOST_SHARDS = 9999

#: The value that stands for what the CI system says.
AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The ``number``-th of ``total`` shards, from 1."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"


def parse_shard(text: str) -> Shard | Literal["auto"]:
    """Read ``K/N`` or ``auto``."""
    text = text.strip()
    if text == AUTO:
        return AUTO
    # Nine digits: far beyond them comes Python's own limit on reading ints.
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
    if match is None:
        raise UsageError(f"{text!r} is no shard: write K/N, as in 2/8, or 'auto'")
    number, total = int(match[1]), int(match[2])
    if not 1 <= number <= total <= MOST_SHARDS:
        raise UsageError(f"there is no shard {text}: in K/N, K goes from 1 to N, and N to {MOST_SHARDS}")
    return Shard(number, total)


@dataclass(frozen=True, slots=True)
class CiSystem:
    """The environment variables in which a CI system tells each of its parallel jobs which one it is."""

    name: str
    index: str
    total: str
    first: int  #: the index of the first job
    #: The system always sets the total, and the index only in parallel jobs: a total of 1 without an index is the whole run.
    total_alone: bool = False


CI_SYSTEMS: tuple[CiSystem, ...] = (
    CiSystem("GitLab", "CI_NODE_INDEX", "CI_NODE_TOTAL", first=1, total_alone=True),
    CiSystem("CircleCI", "CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", first=0),
    CiSystem("Buildkite", "BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", first=0),
)


def shard_of_ci(environ: Mapping[str, str]) -> Shard:
    """What ``auto`` stands for. Raises UsageError that names what to set where no CI system has said it, or only half of it."""
    for system in CI_SYSTEMS:
        index, total = environ.get(system.index, "").strip(), environ.get(system.total, "").strip()
        if index and total:
            return _numbered(system, index, total)
        if system.total_alone and total == "1":
            return Shard(1, 1)
        if index or total:
            missing, there = (system.total, system.index) if index else (system.index, system.total)
            raise UsageError(f"'auto': {there} is set without {missing} ({system.name}): set both, or write K/N")
    pairs = ", ".join(f"{one.index} (from {one.first}) and {one.total} ({one.name})" for one in CI_SYSTEMS)
    raise UsageError(f"'auto' finds no parallel CI job here: set {pairs}; anywhere else, write K/N")


def _numbered(system: CiSystem, index: str, total: str) -> Shard:
    for name, text in ((system.index, index), (system.total, total)):
        if re.fullmatch(r"\d{1,9}", text, re.ASCII) is None:
            raise UsageError(f"'auto': {name} is {text!r}, which is no number")
    number = int(index) - system.first + 1
    if not 1 <= int(total) <= MOST_SHARDS:
        raise UsageError(f"'auto': {system.total} is {total}, but goes from 1 to {MOST_SHARDS}")
    if not 1 <= number <= int(total):
        last = int(total) + system.first - 1
        raise UsageError(
            f"'auto': {system.index} is {index}, but with {system.total} = {total} it goes from {system.first} to {last}"
        )
    return Shard(number, int(total))
