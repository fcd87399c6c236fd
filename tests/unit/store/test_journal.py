import errno
import os
import resource
import signal
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from testmatrix.store.journal import MAGIC, Journal, frame, frames, read

#: Payloads that look like frames, or the start of one, among any others.
PAYLOADS = st.lists(st.one_of(st.binary(max_size=40), st.sampled_from([b"", MAGIC, MAGIC * 3, frame(b"")[:-1]])), max_size=6)


def joined(payloads):
    return b"".join(map(frame, payloads))


@given(PAYLOADS)
def test_all_that_was_written_is_read(payloads):
    assert frames(joined(payloads)) == (payloads, 0)


@given(PAYLOADS, PAYLOADS)
def test_journals_one_after_the_other_are_a_journal(first, second):
    assert frames(joined(first) + joined(second)) == (first + second, 0)


@given(PAYLOADS, st.data())
def test_after_a_cut_at_any_byte_every_complete_record_is_read(payloads, data):
    whole = joined(payloads)
    cut = data.draw(st.integers(0, len(whole)))
    complete = [payload for n, payload in enumerate(payloads) if len(joined(payloads[: n + 1])) <= cut]
    assert frames(whole[:cut]) == (complete, cut - len(joined(complete)))


@given(PAYLOADS, PAYLOADS, st.data())
def test_what_is_appended_after_a_cut_is_read_whole(payloads, later, data):
    whole = joined(payloads)
    cut = data.draw(st.integers(0, len(whole)))
    complete = [payload for n, payload in enumerate(payloads) if len(joined(payloads[: n + 1])) <= cut]
    assert frames(whole[:cut] + joined(later)) == (complete + later, cut - len(joined(complete)))


@given(PAYLOADS.filter(bool), st.data())
def test_a_damaged_byte_costs_its_own_record_only(payloads, data):
    whole = bytearray(joined(payloads))
    where = data.draw(st.integers(0, len(whole) - 1))
    whole[where] ^= data.draw(st.integers(1, 255))
    hit = next(n for n in range(len(payloads)) if where < len(joined(payloads[: n + 1])))
    assert frames(bytes(whole)) == (payloads[:hit] + payloads[hit + 1 :], len(frame(payloads[hit])))


@given(PAYLOADS, PAYLOADS, st.one_of(st.binary(max_size=60), st.sampled_from([MAGIC, MAGIC + b"\xff" * 8, frame(b"x" * 9)[:-1]])))
@example([b"a"], [b"b"], MAGIC + b"\0" * 4)
def test_garbage_between_records_costs_none(first, second, garbage):
    assert frames(joined(first) + garbage + joined(second)) == (first + second, len(garbage))


def test_a_journal_is_appended_to_when_opened_again(tmp_path):
    path = tmp_path / "new" / "folder" / "main.journal"
    for payload in (b"first", b"second"):
        with Journal.open(path) as journal:
            journal.append(payload)
    assert read(path) == ([b"first", b"second"], 0)


def test_a_record_is_there_before_the_journal_is_closed(tmp_path):
    with Journal.open(tmp_path / "a.journal") as journal:
        journal.append(b"x" * 100_000)
        assert read(tmp_path / "a.journal") == ([b"x" * 100_000], 0)


def test_a_journal_may_be_closed_twice_and_takes_nothing_after_that(tmp_path):
    journal = Journal.open(tmp_path / "a.journal")
    journal.close()
    journal.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        journal.append(b"late")


def test_a_full_disk_is_said_and_does_not_hurt_what_follows(tmp_path):
    """A file that may not grow any further is written to in part first, as a full disk is."""
    path = tmp_path / "a.journal"
    journal = Journal.open(path)
    journal.append(b"before")
    before, size = resource.getrlimit(resource.RLIMIT_FSIZE), path.stat().st_size
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 30, before[1]))
    try:
        with pytest.raises(OSError) as raised:
            journal.append(b"too long" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert raised.value.errno in (errno.EFBIG, errno.ENOSPC)
    journal.append(b"after")
    journal.close()
    assert read(path) == ([b"before", b"after"], 30)


KILLED = """
import os, signal, sys
from pathlib import Path
from testmatrix.store.journal import Journal
journal = Journal.open(Path(sys.argv[1]))
for number in range(50):
    journal.append(str(number).encode() * 1000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_leaves_all_that_it_wrote(tmp_path):
    path = tmp_path / "a.journal"
    killed = subprocess.run([sys.executable, "-c", KILLED, os.fspath(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert read(path) == ([str(number).encode() * 1000 for number in range(50)], 0)


def test_journals_need_no_torch():
    program = "import sys, testmatrix.store.journal; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
