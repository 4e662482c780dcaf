"""Turns that the index has but nobody can read: their journal was readable when it was indexed, and is not any more."""

import os
from pathlib import Path

from aish.memory.finding.snapshot import Snapshot
from aish.memory.finding.vectors import Embedder
from aish.values.hits import Hit


class TellingSnapshot(Snapshot):
    """A snapshot that remembers which turns it was asked for and could not read, and why."""

    def __init__(self, sessions: Path, directory: Path, embedder: Embedder | None) -> None:
        super().__init__(sessions, directory, embedder)
        self.unread: dict[int, str] = {}  # by their rows

    def hit(self, row: int) -> Hit | None:
        hit = super().hit(row)
        if hit is None and (trouble := self._trouble(row)):
            self.unread[row] = trouble
        return hit

    def _trouble(self, row: int) -> str:
        """Why a turn cannot be read; nothing if it is not there any more, which is no trouble."""
        known = self.by_id.get(int(self.columns["journal"][row]))
        if known is None:
            return ""
        path = self._sessions / f"{known.name}.jsonl"
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.pread(fd, int(self.columns["length"][row]), int(self.columns["offset"][row]))
            finally:
                os.close(fd)
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except OSError as error:
            return f"cannot read {path}: {error.strerror or error}"
        return ""

    def told(self) -> str:
        """How many there are, and what is wrong with the first."""
        troubles = list(dict.fromkeys(self.unread.values()))
        if not troubles:
            return ""
        many = f"{len(self.unread)} turns" if len(self.unread) > 1 else "a turn"
        more = f", nor {len(troubles) - 1} others" if len(troubles) > 1 else ""
        return f"{many} could not be read: {troubles[0]}{more}"
