"""Reading files of lines: forwards, backwards, and from a cursor on.

A cursor is `inode-offset-crc`, the CRC-32 being of the last bytes before the offset. A rewritten file has another
inode, so a cursor from before a purge is noticed; an edit in place is noticed if it changed those bytes or the length.
"""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from aish.values.stores import START, Cursor, StaleCursor

_BLOCK = 1 << 16
_TAIL = 64  # bytes before a cursor that must not change; they hold the checksum of the line


def opener_now(path: str, flags: int) -> int:
    """For `open`: does not wait when there is a pipe in the place of the file."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def forwards(path: Path) -> Iterator[bytes]:
    """The lines of a file with their newlines."""
    with open(path, "rb", opener=opener_now) as file:
        yield from file


def backwards(path: Path) -> Iterator[bytes]:
    """The lines of a file from its end, without newlines, block by block."""
    with open(path, "rb", opener=opener_now) as file:
        position = file.seek(0, os.SEEK_END)
        rest: list[bytes] = []  # pieces of the line that is still open at its front, last piece first
        ended = False
        while position > 0:
            size = min(_BLOCK, position)
            position -= size
            file.seek(position)
            pieces = file.read(size).split(b"\n")
            if not ended:
                ended = True
                if pieces[-1] == b"":
                    pieces.pop()
            while len(pieces) > 1:
                rest.append(pieces.pop())
                yield b"".join(reversed(rest))
                rest.clear()
            rest.append(pieces[0])
        if rest:
            yield b"".join(reversed(rest))


def lines_since(path: Path, cursor: Cursor) -> Iterator[tuple[Cursor, bytes]]:
    """Every line after a cursor that ends in a newline, with the cursor after it. Raises `StaleCursor`."""
    with open(path, "rb", opener=opener_now) as file:
        inode = os.fstat(file.fileno()).st_ino
        offset, tail = _find(file, inode, cursor)
        for line in file:
            if not line.endswith(b"\n"):
                return  # it is still being written
            offset += len(line)
            tail = line[-_TAIL:] if len(line) >= _TAIL else (tail + line)[-_TAIL:]
            yield f"{inode}-{offset}-{zlib.crc32(tail):08x}", line


def _find(file: IO[bytes], inode: int, cursor: Cursor) -> tuple[int, bytes]:
    """Go to the cursor, and return its offset and the bytes before it."""
    if cursor == START:
        return 0, b""
    known, offset, crc = cursor.split("-")
    start = max(0, int(offset) - _TAIL)
    file.seek(start)
    tail = file.read(int(offset) - start)
    if int(known) != inode or zlib.crc32(tail) != int(crc, 16):
        raise StaleCursor
    return int(offset), tail
