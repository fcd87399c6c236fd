"""A run that is interrupted reports on what was done, and a later one does only the rest: both together are one whole run."""

import shutil
import signal
import sys
import time

import pytest
from faults.harness import HERE, LONGEST, Place, whole

from testmatrix.store import runs
from testmatrix.store.runs import RunFolder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes and their leavings are looked up in /proc")

MODES = {"one process": (), "two workers": ("-n2",)}
#: When, which signal, and whether the whole process group gets it, as from a terminal, or the first process alone.
INTERRUPTIONS = [
    ("collection", signal.SIGINT, True),
    ("test", signal.SIGINT, True),
    ("test", signal.SIGTERM, False),
    ("native", signal.SIGINT, False),
    ("between", signal.SIGINT, True),
]


class Watched:
    """A place whose tests write down that they run."""

    def __init__(self, folder):
        self.place, self._ran, self._reached = Place(folder), folder / "ran", folder / "reached"
        shutil.copy(HERE / "waiting.py", self.place.suite / "conftest.py")

    def run(self, *options):
        return self.place.run(*options, RAN=str(self._ran))

    def start(self, moment, *options):
        return self.place.start(*options, RAN=str(self._ran), REACHED=str(self._reached), MOMENT=moment)

    def await_moment(self):
        deadline = time.monotonic() + LONGEST
        while not self._reached.exists():
            assert time.monotonic() < deadline, "the run never came there"
            time.sleep(0.01)

    def done(self):
        """Tests that the last run has written down."""
        return {tested.test for tested in runs.read(RunFolder(self.place.runs[-1])).tested}

    def ran(self):
        """Tests that ran in any cell since this was last asked."""
        try:
            return set(self._ran.read_text(encoding="utf-8").split("\n")) - {""}
        except FileNotFoundError:
            return set()
        finally:
            self._ran.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    watched = Watched(tmp_path_factory.mktemp("uninterrupted"))
    done = watched.run()
    assert done.status == 0, done.output
    return done.report, watched.ran()


@pytest.mark.parametrize(("moment", "number", "group"), INTERRUPTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_the_rest_can_be_done_later(uninterrupted, tmp_path, mode, moment, number, group):
    whole_report, runnable = uninterrupted
    watched = Watched(tmp_path)
    running = watched.start(moment, *MODES[mode])
    watched.await_moment()
    running.signal(number, group=group)
    interrupted = running.wait()

    assert interrupted.report is not None, interrupted.output
    assert interrupted.status == interrupted.report["summary"]["exit"] == 2, interrupted.output
    assert (interrupted.processes, interrupted.files) == ([], [])
    reported, done = {test["test"] for test in interrupted.report["tests"]}, watched.done()
    # A worker may get through another test while the report is written.
    assert reported == done if mode == "one process" else reported <= done
    assert bool(done) == (moment != "collection")
    assert done < {test["test"] for test in whole_report["tests"]}
    assert done & runnable <= watched.ran()

    resumed = watched.run("--testmatrix-resume", *MODES[mode])
    assert resumed.status == 0, resumed.output
    assert watched.ran() == runnable - done
    assert whole(resumed.report) == whole(whole_report)
    assert (resumed.processes, resumed.files) == ([], [])
