"""An append-only file of records that is read after a crash at any byte.

Each record is framed: magic bytes, the payload's length, a checksum of length and payload, the payload. Where a frame is torn or
damaged, the reader goes on at the next magic bytes whose checksum is right, so that what damage costs is the records that it hit.

A record goes to the operating system in one write and is not synced to the disk: it survives the process, however that ends, and
only a machine that goes down may lose the last ones. Syncing each would cost milliseconds a record.
"""

from __future__ import annotations

import errno
import os
import struct
import zlib
from pathlib import Path
from types import TracebackType

#: No UTF-8 has its first byte, so that text in a payload, in whatever language, is never taken for the start of a frame.
MAGIC = b"\xfdTMJ"
_LENGTH = struct.Struct("<I")
_HEADER = struct.Struct("<4sII")  # magic, length, checksum
_LONGEST = 2**32 - 1


def frame(payload: bytes) -> bytes:
    """A payload as it is in the file."""
    return _HEADER.pack(MAGIC, len(payload), _checksum(payload)) + payload


def frames(data: bytes) -> tuple[list[bytes], int]:
    """The payloads of all complete frames in order, and how many bytes belong to none."""
    payloads: list[bytes] = []
    view, lost, position = memoryview(data), 0, 0
    while position < len(data):
        found = data.find(MAGIC, position)
        start = len(data) if found < 0 else found
        lost += start - position
        payload = _payload_at(view, start)
        if payload is not None:
            payloads.append(payload)
            position = start + _HEADER.size + len(payload)
        else:  # the length may be what is damaged, so that nothing but the magic bytes themselves can be passed over
            position = min(start + len(MAGIC), len(data))
            lost += position - start
    return payloads, lost


def read(path: Path) -> tuple[list[bytes], int]:
    """The payloads of a journal in the order in which they were written, and how many of its bytes belong to none."""
    return frames(path.read_bytes())


class Journal:
    """A journal that is being written. Only one process writes to a file, and any number may read it meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Append to a journal; it and its folder need not be there. Where it ends in a torn frame, the next one follows that."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666))

    def append(self, payload: bytes) -> None:
        """Raises OSError where the disk took none of it or only a part, which readers pass over."""
        if len(payload) > _LONGEST:
            raise OSError(errno.EFBIG, f"a record of {len(payload)} bytes is more than a journal holds")
        rest = frame(payload)
        # One write takes it all, but for a disk that has just become full: then the second says so.
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def close(self) -> None:
        """Sync what was written to the disk, and close the file. May be called again."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def _payload_at(view: memoryview, start: int) -> bytes | None:
    """The payload of the frame that starts there; None where there is no complete one."""
    body = start + _HEADER.size
    if body > len(view):
        return None
    magic, length, checksum = _HEADER.unpack_from(view, start)
    if magic != MAGIC or length > len(view) - body:
        return None
    payload = view[body : body + length]
    return bytes(payload) if _checksum(payload) == checksum else None


def _checksum(payload: bytes | memoryview) -> int:
    return zlib.crc32(payload, zlib.crc32(_LENGTH.pack(len(payload))))
