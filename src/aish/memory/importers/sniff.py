"""Detect the format of a file from its beginning."""

import re
from pathlib import Path

from aish.memory.importers.exports import DAMAGE, ZIP_START, conversation_files, open_archive
from aish.memory.importers.fields import dict_of, parsed
from aish.memory.importers.files import found, open_file, require, trouble
from aish.memory.importers.llm_logs import tables
from aish.memory.importers.shell_history import NAMES
from aish.values.errors import StoreTrouble

_LOOK = 1 << 16
_SQLITE = b"SQLite format 3\0"
_TELLING = {  # the one that occurs first decides
    rb'"mapping"\s*:\s*\{': "chatgpt",
    rb'"chat_messages"\s*:\s*\[': "claude",
    rb'"type"\s*:\s*"session_meta"': "codex",
    rb'"(?:parentUuid|isSidechain|sessionId)"\s*:': "claude-code",
}
_MESSAGE = rb'\s*\[\s*\{\s*"(?:role|content|tool_calls)"\s*:'
_HISTORY = rb"(?m)\A\s*(?:: {0,9}\d{1,12}:\d{1,12};|- cmd: |#\d{9,11}\r?$)"
_AICHAT = rb"(?m)\A\s*(?:# CHAT: .*\[\d{4}-\d\d-\d\dT|model: .*$(?:.*\n)*?messages:)"


def sniff(path: Path) -> str:
    """Return the name of the format, or "" if it is not certain.

    Raises:
        StoreTrouble: the path cannot be read.
    """
    require(path)
    if path.is_dir():
        return _sniff_directory(path)
    if not path.is_file():
        return ""  # a pipe can be read only once
    try:
        with open_file(path) as file:
            head = file.read(_LOOK)
        if head.startswith(ZIP_START):
            return _sniff_archive(path)
        if head.startswith(_SQLITE):
            names = tables(path)
            return "llm" if {"responses", "conversations"} <= names or {"threads", "turns"} <= names else ""
    except OSError as error:
        raise trouble(path, error) from error
    named = any(path.match(pattern) for pattern in NAMES)
    return _sniff_text(head.removeprefix(b"\xef\xbb\xbf")) or ("shell-history" if named and head else "")


def _sniff_directory(path: Path) -> str:
    """Return the format of the first file that has one; files with typical names come first."""
    for pattern in ("conversations*.json", "logs.db", "messages.md", "*.jsonl", "*.yaml", *NAMES, "*"):
        for file in found(path, (pattern,))[:20]:
            try:
                if format := sniff(file):
                    return format
            except StoreTrouble:
                continue  # another may be readable
    return ""


def _sniff_archive(path: Path) -> str:
    archive = open_archive(path)
    if archive is None:
        return ""
    with archive:
        for member in conversation_files(archive):
            try:
                with archive.open(member) as stream:
                    if format := _sniff_text(stream.read(_LOOK).removeprefix(b"\xef\xbb\xbf")):
                        return format
            except DAMAGE:
                continue  # another may be whole
    return ""


def _sniff_text(head: bytes) -> str:
    if head.lstrip()[:1] in (b"[", b"{"):
        for line in head.splitlines()[:20]:
            if format := _sniff_record(dict_of(parsed(line))):
                return format
        hits = [(hit.start(), format) for sign, format in _TELLING.items() if (hit := re.search(sign, head))]
        if hits:
            return min(hits)[1]
        return "shell-gpt" if re.match(_MESSAGE, head) else ""
    if re.search(_HISTORY, head):
        return "shell-history"
    return "aichat" if re.search(_AICHAT, head) else ""


def _sniff_record(record: dict[str, object]) -> str:
    """Return the format of a line that is a JSON object, or ""."""
    if {"conversation", "role", "text"} <= record.keys():
        return "jsonl"
    if "payload" in record and "type" in record:
        return "codex"
    if "sessionId" in record and "type" in record:
        return "claude-code"
    if "id" in record and "timestamp" in record and ("instructions" in record or "git" in record):
        return "codex"  # the older form
    return ""
