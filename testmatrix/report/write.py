"""Report files: complete or not there."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from testmatrix.errors import UsageError


def check_writable(path: Path, option: str = "--testmatrix-json") -> None:
    """Raise a usage error of one line where a file at ``path`` could not be written; called before a run, not after it."""
    folder = path.parent
    if path.is_dir():
        raise UsageError(f"{option}: {path} is a directory: name a file in it")
    if not folder.exists():
        raise UsageError(f"{option}: cannot write {path}: there is no folder {folder}: create it first")
    if not folder.is_dir():
        raise UsageError(f"{option}: cannot write {path}: {folder} is not a folder: name another one")
    if path.exists() and not path.is_file():
        return  # a pipe or a device is written to as it is
    try:
        # Permissions do not say it: root has all of them, and a file system may be read-only or take no files.
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            pass
    except OSError as error:
        reason = "no permission to write" if isinstance(error, PermissionError) else f"no file can be made ({error.strerror})"
        raise UsageError(f"{option}: cannot write {path}: {reason} in {folder}: name another folder") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees either the old content or all of the new one, and a failure leaves nothing behind."""
    path = path.resolve()  # what a link points at is to be replaced, not the link
    if path.exists() and not path.is_file():
        path.write_bytes(data)  # a pipe or a device such as /dev/stdout: there is nothing to replace
        return
    # In the same folder: a rename is atomic within one file system only.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(_mode(path))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Permissions for the new file: those of the one it replaces, else what ``open`` would have given it."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask
