"""Read files of lines: forwards, backwards, and from a cursor.

A cursor is `inode-offset-crc`, with the CRC-32 of all bytes before the offset. The inode alone does not show that a
file was rewritten: the second rewrite may get the inode of the first file.
"""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from aish.values.stores import START, Cursor, StaleCursor

_BLOCK = 1 << 16


def opener_now(path: str, flags: int) -> int:
    """An opener for `open` that does not block if the path is a pipe."""
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)


def forwards(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file with their newlines."""
    with open(path, "rb", opener=opener_now) as file:
        yield from file


def backwards(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file from its end, without newlines, reading block by block."""
    with open(path, "rb", opener=opener_now) as file:
        position = file.seek(0, os.SEEK_END)
        rest: list[bytes] = []  # pieces of the line whose start is not read yet, last piece first
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
    """Yield each complete line after a cursor, with the cursor after it. Raises `StaleCursor`."""
    with open(path, "rb", opener=opener_now) as file:
        inode = os.fstat(file.fileno()).st_ino
        offset, crc = _find(file, inode, cursor)
        for line in file:
            if not line.endswith(b"\n"):
                return  # still being written
            offset += len(line)
            crc = zlib.crc32(line, crc)
            yield f"{inode}-{offset}-{crc:08x}", line


def _find(file: IO[bytes], inode: int, cursor: Cursor) -> tuple[int, int]:
    """Go to the cursor, and return its offset and the CRC-32 of the bytes before it."""
    if cursor == START:
        return 0, 0
    known_inode, offset, known_crc = cursor.split("-")
    left, crc = int(offset), 0
    while left and int(known_inode) == inode and (block := file.read(min(_BLOCK, left))):
        left, crc = left - len(block), zlib.crc32(block, crc)
    if left or crc != int(known_crc, 16):
        raise StaleCursor
    return int(offset), crc
