"""Find the files of other tools in a directory, and read them line by line with bounded memory."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from aish.memory.importers.fields import Oddities, moment, parsed
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedRecord, Skipped
from aish.values.named_tuple import NamedTuple

MOST = 16 * 1024 * 1024  # bytes of one turn; longer ones are left out and reported
_BOM = b"\xef\xbb\xbf"


class FileLine(NamedTuple):
    """A line without its line end, and its number in the file, from 1."""

    number: int
    data: bytes


def each_file(
    path: Path, patterns: tuple[str, ...], read: Callable[[Path], Iterator[ImportedRecord]]
) -> Iterator[ImportedRecord]:
    """Read a file, or every file in a directory that matches a pattern.

    Raises:
        StoreTrouble: the path itself cannot be read. An unreadable file in a directory is skipped.
    """
    if not path.is_dir():
        try:
            yield from read(path)
        except OSError as error:
            raise trouble(path, error) from error
        return
    for file in found(path, patterns):
        try:
            yield from read(file)
        except OSError as error:
            yield Skipped(str(file), f"cannot be read: {error.strerror or error}")
        except StoreTrouble as error:
            yield Skipped(str(file), str(error))


def found(directory: Path, patterns: tuple[str, ...]) -> list[Path]:
    """Return every matching regular file in a directory, sorted by name."""
    try:
        return sorted({file for pattern in patterns for file in directory.rglob(pattern) if file.is_file()})
    except OSError as error:
        raise trouble(directory, error) from error


def require(path: Path) -> None:
    """Make sure that a path exists, so that later checks of it do not raise.

    Raises:
        StoreTrouble: the path does not exist or cannot be accessed.
    """
    try:
        path.stat()
    except OSError as error:
        raise trouble(path, error) from error
    except ValueError as error:
        raise StoreTrouble(f"cannot read {str(path)!r}: {error}") from error


def trouble(path: Path, error: OSError) -> StoreTrouble:
    return StoreTrouble(f"cannot read {path}: {error.strerror or error}")


def lines(file: BinaryIO, odd: Oddities) -> Iterator[FileLine]:
    """Yield the lines of a file without byte-order mark and line ends. A line that is too long is skipped."""
    number = 0
    while data := file.readline(MOST):
        number += 1
        if len(data) >= MOST and not data.endswith(b"\n"):
            while data and not data.endswith(b"\n"):
                data = file.readline(MOST)
            odd.add("a line that is too long")
            continue
        if number == 1:
            data = data.removeprefix(_BOM)
        yield FileLine(number, data.rstrip(b"\r\n"))


def records(file: BinaryIO, odd: Oddities) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with one in each line, with their line numbers."""
    for number, data in lines(file, odd):
        if not data.strip():
            continue
        record = parsed(data)
        if isinstance(record, dict):
            yield number, record
        else:
            odd.add("a line that is not a complete JSON object")


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, also one packed with zstd if this Python can unpack it.

    Raises:
        OSError: the file cannot be opened or unpacked.
    """
    if path.suffix != ".zst":
        return path.open("rb")
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    raise OSError(f"unpacking needs Python 3.14; or first run `unzstd --keep {path.name}`")


def modified(path: Path) -> datetime | None:
    """Return when the file was last modified, for tools that store no times."""
    try:
        return moment(path.stat().st_mtime)
    except OSError:
        return None


def day_of(time: datetime | None) -> str:
    """Return the day in UTC, so that it does not depend on the time zone of the reader."""
    return time.astimezone(UTC).date().isoformat() if time else ""
