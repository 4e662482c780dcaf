"""The lines that were typed at the prompt, questions too, in the history file of the line editor.

An entry is a comment with the time, and the lines of the text, each after a plus sign.
"""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from aish.storage.files import make_directory, private_opener, replace_file
from aish.values.errors import StoreTrouble
from aish.values.past_command import LONGEST_COMMAND, PastCommand

MOST_READ = 8 << 20  # bytes from the end of the file


class TypedLines:
    """The file. What cannot be written stays in memory only, and does not end the shell."""

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        self.path = path
        self._mask = mask

    def add(self, line: str, now: datetime) -> None:
        """Append a line with secrets masked."""
        text = "".join(f"+{one}\n" for one in self._mask(line).split("\n"))
        try:
            make_directory(self.path.parent)
            with open(self.path, "ab", opener=private_opener) as file:
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
            text = self.path.read_bytes().decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise StoreTrouble(f"cannot read {self.path}: {error.strerror or error}") from error
        kept = [(raw, wanted(line)) for _, line, raw in entries(text)]
        count = sum(gone for _, gone in kept)
        if count:
            data = "".join(raw for raw, gone in kept if not gone).encode("utf-8", "surrogateescape")
            replace_file(self.path, data)
        return count


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
