import os
import stat
import threading
from pathlib import Path

import pytest

from testmatrix.errors import UsageError
from testmatrix.report.write import check_writable, write_atomically


def test_a_new_file(tmp_path):
    path = tmp_path / "report.json"
    check_writable(path)
    write_atomically(path, b"{}")

    assert path.read_bytes() == b"{}"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]
    (tmp_path / "plain").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_old_file_is_replaced_with_its_permissions(tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, b"new")

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "real" / "report.json")
    write_atomically(link, b"new")

    assert link.is_symlink()
    assert (tmp_path / "real" / "report.json").read_bytes() == b"new"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "report.json"
    path.write_bytes(b"old")

    def no_space(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    write_atomically(path, b"{}")
    reader.join(timeout=10)

    assert read == [b"{}"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("missing/report.json", "there is no folder .*missing: create it first"),
        (".", "is a directory: name a file in it"),
        ("file/report.json", "file is not a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_in_one_line(tmp_path, where, says):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match=says) as caught:
        check_writable(tmp_path / where, "--out")
    assert str(caught.value).startswith("--out: ")
    assert "\n" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no file system here that takes no files")
def test_a_folder_that_takes_no_files_is_refused_though_root_may_write():
    with pytest.raises(UsageError, match=r"^--testmatrix-json: cannot write /proc/x.json: no .* in /proc: name another folder$"):
        check_writable(Path("/proc/x.json"))


def test_a_device_is_fine():
    check_writable(Path(os.devnull))


def test_checking_leaves_an_old_report_alone(tmp_path):
    path = tmp_path / "report.json"
    path.write_bytes(b"old")
    check_writable(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_refused(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(UsageError, match="no permission"):
        check_writable(folder / "report.json")
