"""Readers of what other tools have kept. They write nothing, and hold one turn at a time."""

from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

from aish.memory.importers import (
    aichat,
    chatgpt,
    claude,
    claude_code,
    codex,
    llm_logs,
    own,
    shell_gpt,
    shell_history,
)
from aish.memory.importers.files import require
from aish.memory.importers.sniff import sniff
from aish.values.errors import BadUsage
from aish.values.imported import ImportedRecord, ImportedTurn

FORMATS: Mapping[str, Callable[[Path], Iterator[ImportedRecord]]] = {
    "jsonl": own.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "claude-code": claude_code.read,
    "codex": codex.read,
    "llm": llm_logs.read,
    "shell-gpt": shell_gpt.read,
    "aichat": aichat.read,
    "shell-history": shell_history.read,
}

__all__ = ["FORMATS", "read", "sniff"]


def read(format: str, path: Path) -> Generator[ImportedRecord]:
    """Every turn in a file or below a directory, and what had to be left out.

    Raises:
        BadUsage: it is something else.
        StoreTrouble: it cannot be read.
    """
    if format not in FORMATS:
        raise BadUsage(f"there is no format {format!r}; known are {', '.join(FORMATS)}")
    require(path)
    looks = sniff(path) if path.is_file() else ""
    if looks and looks != format:
        raise BadUsage(f"{path} is not of the format {format}: it looks like {looks}; try --format {looks}")
    some = False
    for heard in FORMATS[format](path):
        some = some or isinstance(heard, ImportedTurn)
        yield heard
    if not some and not looks and (path.is_dir() or (path.is_file() and path.stat().st_size)):
        raise BadUsage(f"there is nothing of the format {format} in {path}")
