"""The record of commands: `commands.jsonl`, one line for each command that the user ran at the prompt."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aish.storage.line_reading import opener_now
from aish.storage.lines import LineFile, decode
from aish.values.items import stamp, utc_time
from aish.values.past_command import LONGEST_COMMAND, PastCommand
from aish.values.stores import Health, Record

_MOST_APPENDED = 1 << 18  # bytes; more is there after the next start
_LONGEST_RUN = 1e10  # seconds


class CommandStore:
    """The commands in one file.

    1. Secrets are masked before anything is written.
    2. Several shells may write at once; a command is one write under the lock of the file.
    3. A command is not synced to the disk: it would delay each prompt, and a power cut loses the last ones only.
    4. A deleted command is removed from the file, not marked.
    """

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        self.path = path
        self._mask = mask
        self._file = LineFile(path, lambda: {"meta": {"format": 1, "what": "commands"}})

    def add(self, *commands: PastCommand) -> None:
        """Append commands. Raises `StoreTrouble`."""
        lines = [self._record(one) for one in commands if len(one.text) <= LONGEST_COMMAND]
        if lines:
            with self._file.writing(sync=len(lines) > 1) as writer:
                for line in lines:
                    writer.write(line)

    def newest_first(self) -> Iterator[PastCommand]:
        """Yield all runs, newest first, reading on demand. Raises `StoreTrouble`."""
        for record in self._file.read_back():
            command = command_of(record)
            if command:
                yield command

    def appended(self, offset: int) -> tuple[list[PastCommand], int]:
        """Return the commands behind an offset, oldest first, and the offset behind them. Reads little at a time."""
        try:
            with open(self.path, "rb", opener=opener_now) as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(offset if size - _MOST_APPENDED <= offset <= size else size)
                data = file.read()
                end = file.tell() - len(data) + data.rfind(b"\n") + 1
        except FileNotFoundError:
            return [], 0
        except OSError:
            return [], offset
        found = (command_of(decode(line) or {}) for line in data[: data.rfind(b"\n") + 1].splitlines())
        return [one for one in found if one], end

    def health(self) -> Health:
        """Read the whole file, and report damage. Raises `StoreTrouble`."""
        return self._file.health()

    @property
    def version(self) -> int:
        """A number that changes when commands are deleted; 0 without a file."""
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def delete(self, wanted: Callable[[PastCommand], bool]) -> int:
        """Remove commands from the file, and return how many runs that were. Raises `StoreTrouble`."""

        def kept(line: bytes) -> bytes:
            command = command_of(decode(line) or {})
            return b"" if command and wanted(command) else line

        return self._file.rewrite(kept)

    def _record(self, one: PastCommand) -> dict[str, Any]:
        record: dict[str, Any] = {"ts": stamp(datetime.fromtimestamp(one.time, UTC)), "command": self._mask(one.text)}
        more = {
            "directory": self._mask(one.directory),
            "status": one.status,
            "seconds": None if one.seconds is None else round(one.seconds, 3),
            "host": one.host,
            "conversation": one.conversation,
            "source": "" if one.source == "aish" else one.source,
        }
        return record | {name: value for name, value in more.items() if value not in ("", None)}


def command_of(record: Record) -> PastCommand | None:
    """Return the command of a line; None for other lines, and for lines of people that make no sense."""
    text = record.get("command")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_COMMAND:
        return None
    status, seconds = record.get("status"), record.get("seconds")
    return PastCommand(
        text,
        _seconds_of(record.get("ts")),
        _text(record.get("directory")),
        status if isinstance(status, int) else None,
        float(seconds) if isinstance(seconds, int | float) and 0 <= seconds < _LONGEST_RUN else None,
        _text(record.get("host")),
        _text(record.get("conversation")),
        _text(record.get("source")) or "aish",
    )


def _seconds_of(ts: object) -> float:
    try:
        return utc_time(ts).timestamp() if isinstance(ts, str) else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
