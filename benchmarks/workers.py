"""What a second worker is worth: wall time of a matrix run with one worker ÷ with two, taken in turns on one machine."""

from __future__ import annotations

import argparse
import os
import platform
import statistics
from pathlib import Path

from overhead import ROOT, Measured, run

#: Takes a few minutes in one process, and holds short tests and long ones.
DEFAULT_SUITE = (
    "suites/test_layers.py",
    "suites/test_sizes.py",
    "suites/test_int_arithmetic.py",
    "suites/test_autograd.py",
    "suites/test_int_controlflow.py",
    "suites/test_promotion.py",
    "suites/test_random.py",
    "suites/test_graph_breaks.py",
    "suites/test_views_and_mutation.py",
)
AIM = 1.8
DURATIONS = ROOT / "benchmarks" / "suites-durations.json"

#: Environment that keeps every library to one thread.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def matrix(suite: list[str], workers: int, durations: Path | None, environment: dict[str, str]) -> Measured:
    """One matrix run; its memory is that of pytest's own process, which is not the workers'."""
    options = ["--testmatrix", "-n", str(workers)]
    if durations is not None:
        options.append(f"--testmatrix-durations={durations}")
    return run([*options, *suite], environment)


def machine() -> str:
    """Processor, cores and what else runs, as a line of text."""
    names = [line.partition(":")[2].strip() for line in _lines(Path("/proc/cpuinfo")) if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{names[0] if names else platform.processor()}, {cores} cores, Python {platform.python_version()}{load}"


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def show(name: str, ratios: list[float]) -> None:
    print(f"{name:50} {statistics.median(ratios):5.2f} ×  ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--durations", type=Path, default=DURATIONS, help="a report or a file of durations (default: of suites/)")
    parser.add_argument("--no-durations", action="store_const", dest="durations", const=None)
    parser.add_argument("--threads", action="store_true", help="also with every worker kept to one thread")
    parser.add_argument("suite", nargs="*", default=list(DEFAULT_SUITE))
    options = parser.parse_args()
    durations = options.durations.resolve() if options.durations else None
    os.chdir(ROOT)
    environments: dict[str, dict[str, str]] = {"as it is": {}}
    if options.threads:
        environments["one thread each"] = ONE_THREAD
    print(machine())
    ratios: dict[str, list[float]] = {name: [] for name in environments}
    saved: list[float] = []
    for repeat in range(options.repeat):
        walls: dict[str, tuple[float, float]] = {}
        for name, environment in environments.items():
            numbers = (1, 2) if repeat % 2 == 0 else (2, 1)  # whatever warms up or slows down hits both
            taken = {workers: matrix(options.suite, workers, durations, environment).wall for workers in numbers}
            walls[name] = taken[1], taken[2]
            ratios[name].append(taken[1] / taken[2])
        said = "; ".join(f"{name}: one worker {one:.1f} s, two {two:.1f} s" for name, (one, two) in walls.items())
        print(f"repeat {repeat + 1}: {said}", flush=True)
        if options.threads:
            saved.append(walls["as it is"][1] / walls["one thread each"][1])
    for name, found in ratios.items():
        show(f"one worker ÷ two workers, wall, {name}", found)
    if saved:
        show("two workers, as it is ÷ one thread each, wall", saved)
    middle = statistics.median(ratios["as it is"])
    print(f"aim: at least {AIM} × on two cores: {'reached' if middle >= AIM else 'MISSED'}")


if __name__ == "__main__":
    main()
