"""Cells that are not run would have shown what stands for them: on all of our suites, each of them is run after all."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_collapsed_cells_are_equal_on_all_suites(tmp_path):
    found = tmp_path / "found.json"
    environment = {**os.environ, "COLLAPSE_CHECK": str(found), "PYTHONPATH": str(Path(__file__).parent)}
    # In this process, which counts, nothing but the cells is run: no oracle, and no control.
    switches = [f"--testmatrix-{name}=off" for name in ("supervise", "collapse", "control", "oracle")]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "collapse_check",
            "-p",
            "no:cacheprovider",
            "-q",
            "--testmatrix",
            *switches,
            "suites",
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert found.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    counts = json.loads(found.read_text(encoding="utf-8"))
    assert counts["unequal"] == []
    assert counts["collapsed"] > 100
