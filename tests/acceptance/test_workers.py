"""Two workers report what one process reports: over a good part of our suites, byte for byte but for times and the run's id."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Ints, floats and sizes, findings, module and class fixtures, random state, warnings and failures.
SUITES = [
    "suites/test_fixture_scopes.py",
    "suites/test_graph_breaks.py",
    "suites/test_int_sources.py",
    "suites/test_random.py",
    "suites/test_torch_parametrize.py",
    "suites/test_views_and_mutation.py",
]
DURATIONS = ROOT / "benchmarks" / "suites-durations.json"


def reported(folder, *options):
    """The JSON report's text without what no two runs have in common, and what pytest said."""
    folder.mkdir()
    file = folder / "report.json"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TESTMATRIX", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "--testmatrix", f"--testmatrix-json={file}"]
    done = subprocess.run([*command, *options, *SUITES], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=1500)
    assert file.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    told = json.loads(file.read_text(encoding="utf-8"))
    for name in ("id", "started"):
        assert told["run"].pop(name)
    for test in told["tests"]:
        for cell in test["cells"].values():
            cell.pop("duration")
    assert told["summary"].pop("wall") > 0
    return json.dumps(told, indent=1).splitlines(), done


def test_two_workers_report_what_one_process_reports(tmp_path):
    alone, one = reported(tmp_path / "one")
    spread, two = reported(tmp_path / "two", "-n", "2", f"--testmatrix-durations={DURATIONS}")
    assert "scheduling tests via LongestFirstScheduling" in two.stdout
    assert spread == alone
    assert two.returncode == one.returncode
    assert two.stdout.splitlines()[-1] == one.stdout.splitlines()[-1]
    assert len(alone) > 5_000, "tests, findings and numbers enough to differ in"
