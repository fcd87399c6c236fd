"""What the flag costs a suite that compiles nothing: matrix runs of trivial tests against bare runs, taken in turns."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from overhead import Measured, run, show

#: How the modules of a suite begin.
SUITES = {
    "imports torch": "import pytest\nimport torch\n\n\n",
    "imports nothing": "import pytest\n\n\n",
}
TEST = '@pytest.mark.parametrize("value", range({values}))\ndef test_trivial(value):\n    assert value >= 0\n'


def generate(folder: Path, head: str, modules: int, values: int) -> None:
    for number in range(modules):
        (folder / f"test_trivial_{number:02}.py").write_text(head + TEST.format(values=values), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--modules", type=int, default=20)
    parser.add_argument("--values", type=int, default=1000, help="of the one test of every module")
    parser.add_argument("--suite", choices=SUITES, default="imports torch")
    options = parser.parse_args()
    tests = options.modules * options.values
    bare: list[Measured] = []
    with_flag: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), SUITES[options.suite], options.modules, options.values)
        os.chdir(folder)
        for repeat in range(options.repeat):
            bare.append(run([], {}))
            with_flag.append(run(["--testmatrix"], {}))
            print(f"repeat {repeat + 1}: bare {bare[-1].wall:.2f} s, with the flag {with_flag[-1].wall:.2f} s", flush=True)
    more = statistics.median(two.wall - one.wall for one, two in zip(bare, with_flag, strict=True))
    print(f"{tests} tests, Python {sys.version.split()[0]}: {more / tests * 1e6:.0f} µs more a test, start-up included")
    show("with the flag ÷ bare, wall", [two.wall / one.wall for one, two in zip(bare, with_flag, strict=True)], 1.15)
    show("with the flag ÷ bare, peak memory", [two.memory / one.memory for one, two in zip(bare, with_flag, strict=True)], 1.10)


if __name__ == "__main__":
    main()
