"""Readers for the files of other tools. They write nothing, and hold one turn at a time."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path

from aish.memory.importers import (
    aichat,
    aider,
    atuin,
    chatgpt,
    claude,
    claude_code,
    codex,
    cursor,
    gemini,
    goose,
    librechat,
    llm_logs,
    open_webui,
    opencode,
    own,
    prompt_histories,
    shell_gpt,
    shell_history,
    specstory,
)
from aish.memory.importers.directories import sort_files
from aish.memory.importers.files import require
from aish.memory.importers.sniff import sniff
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.imported import ImportedRecord, ImportedTurn, Skipped

FORMATS: Mapping[str, Callable[[Path], Iterator[ImportedRecord]]] = {
    "jsonl": own.read,
    "chatgpt": chatgpt.read,
    "claude": claude.read,
    "claude-code": claude_code.read,
    "codex": codex.read,
    "llm": llm_logs.read,
    "shell-gpt": shell_gpt.read,
    "aichat": aichat.read,
    "aider": aider.read,
    "gemini": gemini.read,
    "opencode": opencode.read,
    "goose": goose.read,
    "cursor": cursor.read,
    "specstory": specstory.read,
    "open-webui": open_webui.read,
    "librechat": librechat.read,
    "codex-history": prompt_histories.read_codex,
    "claude-history": prompt_histories.read_claude,
    "shell-history": shell_history.read,
    "atuin": atuin.read,
}

__all__ = ["FORMATS", "read", "read_files", "sniff", "sort_files"]


def read(format: str, path: Path) -> Generator[ImportedRecord]:
    """Yield every turn in a file or directory, and records of what was left out.

    Raises:
        BadUsage: the format is unknown or does not match.
        StoreTrouble: the path cannot be read.
    """
    if format not in FORMATS:
        raise BadUsage(f"unknown format {format!r}; use one of: {', '.join(FORMATS)}")
    require(path)
    looks = sniff(path) if path.is_file() else ""
    if looks and looks != format:
        raise BadUsage(f"{path} does not have the format {format}: it looks like {looks}; try --format {looks}")
    some = False
    for record in FORMATS[format](path):
        some = some or isinstance(record, ImportedTurn)
        yield record
    if not some and not looks and (path.is_dir() or (path.is_file() and path.stat().st_size)):
        raise BadUsage(f"found nothing with the format {format} in {path}")


def read_files(format: str, files: Iterable[Path]) -> Generator[ImportedRecord]:
    """Yield every turn of files that are known to have a format. A file that cannot be read is reported."""
    files = list(files)
    logs = set(filter(gemini.is_log, files)) if format == "gemini" else set[Path]()
    once = gemini.PromptsOnce()
    for file in sorted(files, key=logs.__contains__):  # sessions first
        try:
            for record in FORMATS[format](file):
                if not logs or once.is_new(record, logged=file in logs):
                    yield record
        except StoreTrouble as error:
            yield Skipped(str(file), str(error).removeprefix(f"cannot read {file}: "))
