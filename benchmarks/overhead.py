"""What a matrix run costs against bare runs of the same suite: ratios within one go, medians of several repeats."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_SUITE = ("suites/test_promotion.py",)
_DYNAMO = "torch._dynamo.config"
_STATIC = [[_DYNAMO, "assume_static_by_default", True], [_DYNAMO, "automatic_dynamic_shapes", False]]
_DYNAMIC = [[_DYNAMO, "assume_static_by_default", False]]
CELLS = {
    f"{shapes}-{ints}": [*settings, [_DYNAMO, "specialize_int", ints == "specialize"]]
    for shapes, settings in (("static", _STATIC), ("dynamic", _DYNAMIC))
    for ints in ("specialize", "unspecialize")
}


@dataclass(frozen=True, slots=True)
class Measured:
    wall: float  #: seconds
    memory: float  #: peak resident size in MiB


def run(arguments: list[str], environment: Mapping[str, str]) -> Measured:
    """One pytest process with a compile cache of its own. Failing tests are part of the suite's behaviour and do not matter."""
    with tempfile.TemporaryDirectory() as cache:
        variables = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": cache,
            "TESTMATRIX_STORE": os.path.join(cache, "store"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]),
            **environment,
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        started = time.perf_counter()
        process = os.posix_spawn(
            sys.executable,
            command,
            variables,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
        )
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"pytest ended with status {os.waitstatus_to_exitcode(status)}: {' '.join(command)}")
    return Measured(wall, usage.ru_maxrss / 1024)


def bare(suite: list[str], cell: str) -> Measured:
    return run(["-p", "ambient", *suite], {"BENCHMARK_SETTINGS": json.dumps(CELLS[cell])})


def one_cell(suite: list[str], cell: str) -> Measured:
    arguments = ["--testmatrix", f"--testmatrix-cells={cell}", "--testmatrix-oracle=off", "--testmatrix-control=off"]
    return run([*arguments, *suite], {})


def whole_matrix(suite: list[str]) -> tuple[Measured, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "where.json"
        measured = run(["--testmatrix", "-p", "where", *suite], {"BENCHMARK_WHERE": str(where)})
        return measured, json.loads(where.read_text(encoding="utf-8"))


def show(name: str, ratios: list[float], aim: float) -> None:
    middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
    verdict = "reached" if middle <= aim else "MISSED"
    print(f"{name:58} {middle:5.2f} ×  ({low:.2f} to {high:.2f})  aim {aim:.2f} ×: {verdict}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--aim", type=float, default=0.70, help="of the whole grid; 0.30 where most tests never compile")
    parser.add_argument("--folder", type=Path, default=ROOT, help="where pytest runs: the suite's own repository")
    parser.add_argument("suite", nargs="*", default=list(DEFAULT_SUITE), help="paths, and further arguments of pytest after --")
    options = parser.parse_args()
    os.chdir(options.folder)
    walls: list[float] = []
    memories: list[float] = []
    wholes: list[float] = []
    shares: dict[str, list[float]] = {}
    for repeat in range(options.repeat):
        singles = {cell: bare(options.suite, cell) for cell in CELLS}
        cell = list(CELLS)[repeat % len(CELLS)]
        # Directly before and after each other, so that a slow minute of the machine hits both.
        recorded, beside = one_cell(options.suite, cell), bare(options.suite, cell)
        walls.append(recorded.wall / beside.wall)
        memories.append(recorded.memory / beside.memory)
        matrix, where = whole_matrix(options.suite)
        wholes.append(matrix.wall / sum(single.wall for single in singles.values()))
        for name, seconds in {**where, "the rest": matrix.wall - sum(where.values())}.items():
            shares.setdefault(name, []).append(seconds / matrix.wall)
        walls_said = f"bare {beside.wall:.1f} s, one cell {recorded.wall:.1f} s, matrix {matrix.wall:.1f} s"
        print(f"repeat {repeat + 1}: {walls_said}", flush=True)
    show("one cell recorded ÷ bare, wall", walls, 1.05)
    show("one cell recorded ÷ bare, peak memory", memories, 1.10)
    show("four cells and the oracle in one run ÷ four bare runs, wall", wholes, options.aim)
    parts = ", ".join(f"{name} {statistics.median(share):.1%}" for name, share in shares.items())
    print(f"where a matrix run's time goes: {parts}")


if __name__ == "__main__":
    main()
