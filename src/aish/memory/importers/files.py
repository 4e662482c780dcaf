"""Files of other tools: found below a directory, and read a bounded line at a time."""

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from aish.memory.importers.fields import Oddities, moment, parsed
from aish.values.errors import StoreTrouble
from aish.values.imported import ImportedRecord, Skipped

MOST = 16 * 1024 * 1024  # bytes of one turn; what is longer is left out and said
_BOM = b"\xef\xbb\xbf"


class FileLine(NamedTuple):
    """A line without its end, and its number in the file, from 1."""

    number: int
    data: bytes


def each_file(
    path: Path, patterns: tuple[str, ...], read: Callable[[Path], Iterator[ImportedRecord]]
) -> Iterator[ImportedRecord]:
    """Read a file, or every one below a directory that fits a pattern.

    Raises:
        StoreTrouble: the path itself cannot be read. A file below it that cannot be is skipped.
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
    """Every plain file below that fits, in the order of their names."""
    try:
        return sorted({file for pattern in patterns for file in directory.rglob(pattern) if file.is_file()})
    except OSError as error:
        raise trouble(directory, error) from error


def require(path: Path) -> None:
    """Make sure that there is something; what is asked of the path later is then safe to ask.

    Raises:
        StoreTrouble: there is nothing, or nobody may know.
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
    """The lines of a file, without byte-order mark and line ends; a line without end takes no memory."""
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
    """The JSON objects of a file that has one in each line, with their line numbers."""
    for number, data in lines(file, odd):
        if not data.strip():
            continue
        record = parsed(data)
        if isinstance(record, dict):
            yield number, record
        else:
            odd.add("a line that is no JSON object, or is cut off")


def open_file(path: Path) -> BinaryIO:
    """Open a file to read it from its start; one that zstd has packed, too, where Python can unpack it.

    Raises:
        OSError: it cannot be opened, or not be unpacked.
    """
    if path.suffix != ".zst":
        return path.open("rb")
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.open(path, "rb")
    raise OSError(f"Python before 3.14 cannot unpack it; unpack it with `unzstd --keep {path.name}`")


def modified(path: Path) -> datetime | None:
    """When the file was written last: the best there is where a tool keeps no times."""
    try:
        return moment(path.stat().st_mtime)
    except OSError:
        return None


def day_of(time: datetime | None) -> str:
    """The day in UTC, so that it is the same wherever it is read."""
    return time.astimezone(UTC).date().isoformat() if time else ""
