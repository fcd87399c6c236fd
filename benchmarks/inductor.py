"""What ccache saves of a matrix run whose regions are compiled by inductor: ratios within one go, medians of several repeats."""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from overhead import ROOT, run, show

#: Thirteen tests of the default backend, with three calls each.
DEFAULT_SUITE = ("suites/test_default_backend.py",)
AIM = 0.6


@dataclass(frozen=True, slots=True)
class Cost:
    wall: float  #: seconds
    processor: float  #: seconds of all processes together, which other work on the machine changes less


def cost(arguments: list[str], environment: Mapping[str, str]) -> Cost:
    before = _processor()
    measured = run(arguments, environment)
    return Cost(measured.wall, _processor() - before)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("suite", nargs="*", default=list(DEFAULT_SUITE))
    options = parser.parse_args()
    os.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("CCACHE_")]:
        del os.environ[name]
    arguments = ["--testmatrix", "--testmatrix-backend=inductor", *options.suite]
    rows: list[tuple[Cost, Cost, Cost]] = []
    with tempfile.TemporaryDirectory() as folder:
        # What torch builds once a machine is in a cache directory for all runs, as bare runs have it. The first run fills it.
        cache = {"TORCHINDUCTOR_CACHE_DIR": str(Path(folder) / "inductor")}
        warm = {"CCACHE_DIR": str(Path(folder) / "ccache")}
        cost(arguments, {**cache, **warm})
        for repeat in range(options.repeat):
            without = cost(arguments, {**cache, "CCACHE_DISABLE": "1"})
            own, filled = cost(arguments, cache), cost(arguments, {**cache, **warm})
            rows.append((without, own, filled))
            walls = f"without {without.wall:.0f} s, the run's own ccache {own.wall:.0f} s, a filled one {filled.wall:.0f} s"
            print(f"repeat {repeat + 1}: {walls}", flush=True)
    for column, name in ((1, "a ccache of the run's own"), (2, "a ccache that an earlier run filled")):
        show(f"with {name} ÷ without, wall", [row[column].wall / row[0].wall for row in rows], AIM)
        show("  the same, processor time", [row[column].processor / row[0].processor for row in rows], AIM)


if __name__ == "__main__":
    main()
