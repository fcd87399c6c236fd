"""The pairs of compiles that a matrix run compares, kept in a file: what the benchmark of comparing guards measures.

A file is gzipped JSON. A compile that is in several pairs is written once, while those of two cells are apart even where they
agree: a run compares what two cells recorded by themselves.
"""

from __future__ import annotations

import gzip
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from testmatrix.compare.pairing import Pair, paired_compiles
from testmatrix.compare.pins import comparable
from testmatrix.grid import Grid
from testmatrix.observation import ORACLE, Compile, Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPair:
    """Two compiles of one frame for the same inputs, in two cells."""

    test: str
    cells: tuple[str, str]
    governed: frozenset[str]  #: what the axes between the two cells explain
    versions: tuple[str, str]  #: of torch
    reference: int  #: place among the compiles that were kept
    other: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What one matrix run leaves to measure."""

    compiles: tuple[Compile, ...]
    pairs: tuple[ComparedPair, ...]
    tests: int
    wall: float  #: seconds that the run took
    spent: dict[str, float]  #: seconds of it, by what they went into
    python: str
    torch: str


class _Places:
    """Compiles in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.compiles: list[Compile] = []
        self._places: dict[int, int] = {}

    def of(self, compiled: Compile) -> int:
        if id(compiled) not in self._places:
            self._places[id(compiled)] = len(self.compiles)
            self.compiles.append(compiled)
        return self._places[id(compiled)]


def without_values(observation: Observation) -> Observation:
    """The observation without what pairing does not look at, which is what takes memory."""
    calls = tuple(
        replace(call, arguments=(), state=(), result=(), after=(), float64=(), as_compiling=()) for call in observation.regions
    )
    return replace(observation, regions=calls, gradients=())


def keep(tests: Iterable[tuple[Mapping[str, Observation], Grid]], *, wall: float, spent: Mapping[str, float]) -> Kept:
    """The pairs of every two cells of each test that may be compared; a run compares a cell with the first such cell only."""
    places = _Places()
    pairs: list[ComparedPair] = []
    versions: set[str] = set()
    count = 0
    for observations, grid in tests:
        count += 1
        for reference, run in _cells(observations, grid):
            versions |= {reference.torch, run.torch}
            governed = frozenset[str](grid.governed(grid.cell(reference.cell), grid.cell(run.cell)))
            for pair in _pairs(reference, run, grid):
                pairs.append(
                    ComparedPair(
                        test=run.test,
                        cells=(reference.cell, run.cell),
                        governed=governed,
                        versions=(reference.torch, run.torch),
                        reference=places.of(pair.reference),
                        other=places.of(pair.other),
                    )
                )
    return Kept(
        compiles=tuple(places.compiles),
        pairs=tuple(pairs),
        tests=count,
        wall=wall,
        spent=dict(spent),
        python=platform.python_version(),
        torch=", ".join(sorted(versions)),
    )


def _cells(observations: Mapping[str, Observation], grid: Grid) -> Iterator[tuple[Observation, Observation]]:
    runs = [one for cell, one in observations.items() if cell != ORACLE and not one.same_as]
    for position, run in enumerate(runs):
        yield from ((reference, run) for reference in runs[:position] if comparable(grid, reference, run))


def _pairs(reference: Observation, run: Observation, grid: Grid) -> Iterator[Pair]:
    """Those that a run would compare, too: a graph that ends elsewhere is another finding."""
    for pair in paired_compiles(reference, run):
        if comparable(grid, reference, run, pair.call.region) and pair.reference.breaks == pair.other.breaks:
            yield pair


def save(kept: Kept, path: Path) -> None:
    path.write_bytes(gzip.compress(msgspec.json.encode(kept), compresslevel=1))


def load(path: Path) -> Kept:
    """Read a file. Raises OSError and msgspec.MsgspecError where it is none."""
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=Kept)
