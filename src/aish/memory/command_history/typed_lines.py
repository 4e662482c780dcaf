"""The lines that were typed at the prompt, questions too, in the history file of the line editor.

An entry is a comment with the time, and the lines of the text, each after a plus sign.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Literal

from aish.storage.files import make_directory, private_opener, replace_file
from aish.values.errors import StoreTrouble
from aish.values.past_command import LONGEST_COMMAND, PastCommand

MOST_READ = 8 << 20  # bytes from the end of the file
_LOCK_SECONDS = 2.0  # a stopped process must not stop all shells
_PAUSE = 0.005


class TypedLines:
    """The file. What cannot be written stays in memory only, and does not end the shell.

    Writers take turns by a lock, so that no line is lost while another process deletes some.
    """

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        self.path = path
        self._mask = mask

    def add(self, line: str, now: datetime) -> None:
        """Append a line with secrets masked."""
        text = "".join(f"+{one}\n" for one in self._mask(line).split("\n"))
        try:
            make_directory(self.path.parent)
            with self._locked("ab") as file:
                file.write(f"\n# {now}\n{text}".encode("utf-8", "replace"))
        except OSError:
            pass

    def read(self, most: int = MOST_READ) -> list[PastCommand]:
        """Return the lines, newest first; none if the file cannot be read."""
        try:
            with self.path.open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - most, 0))
                data = file.read(most)
        except OSError:
            return []
        found = [PastCommand(text, time, source="typed") for time, text, _ in entries(data.decode("utf-8", "replace"))]
        return [one for one in reversed(found) if one.text.strip() and len(one.text) <= LONGEST_COMMAND]

    def delete(self, wanted: Callable[[str], bool]) -> int:
        """Remove lines from the file, and return how many. Raises `StoreTrouble`."""
        try:
            with self._locked("rb") as file:
                text = file.read().decode("utf-8", "surrogateescape")
                kept = [(raw, wanted(line)) for _, line, raw in entries(text)]
                count = sum(gone for _, gone in kept)
                if count:
                    data = "".join(raw for raw, gone in kept if not gone).encode("utf-8", "surrogateescape")
                    replace_file(self.path, data)
                return count
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.path}: {error.strerror or error}") from error

    @contextmanager
    def _locked(self, mode: Literal["ab", "rb"]) -> Iterator[BinaryIO]:
        """Open and lock the file. If it was replaced while we waited, open the new one. Raises `OSError`."""
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            with open(self.path, mode, opener=private_opener) as file:
                if (_is_locked(file) and _is_at(file, self.path)) or time.monotonic() > deadline:
                    yield file
                    return
            time.sleep(_PAUSE)


def _is_locked(file: BinaryIO) -> bool:
    """Lock the file if nobody else has. Closing it ends the lock."""
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def entries(text: str) -> Iterator[tuple[float, str, str]]:
    """Yield time, text and source of each entry. A time that cannot be read is 0."""
    time, lines, source = 0.0, list[str](), list[str]()
    for line in text.split("\n"):
        if line.startswith("+"):
            lines.append(line[1:])
        elif lines:
            yield time, "\n".join(lines), _source(source)
            time, lines, source = 0.0, [], []
        source.append(line)
        if line.startswith("# "):
            time = _time(line[2:])
    if lines:
        yield time, "\n".join(lines), _source(source)


def _source(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0
