"""Detect the format of a file from its beginning, whatever its name is."""

import re
from pathlib import Path

from aish.memory.importers.exports import DAMAGE, ZIP_START, conversation_files, open_archive
from aish.memory.importers.files import open_file, require, trouble
from aish.memory.importers.json_shape import format_of_json
from aish.memory.importers.llm_logs import tables
from aish.memory.importers.shell_history import NAMES

_LOOK = 1 << 16
_BOM = b"\xef\xbb\xbf"
_SQLITE = b"SQLite format 3\0"
_TABLES = {  # tables that a database of each format has
    "llm": ({"responses", "conversations"}, {"threads", "turns"}),
}
_TEXTS = {
    "shell-history": rb"(?m)\A\s*(?:: {0,9}\d{1,12}:\d{1,12};|- cmd: |#\d{9,11}\r?$)",
    "aichat": rb"(?m)\A\s*(?:# CHAT: .*\[\d{4}-\d\d-\d\dT|model: .*$(?:.*\n)*?messages:)",
}


def sniff(path: Path) -> str:
    """Return the format of a file, or "" if it is not certain.

    Raises:
        StoreTrouble: the path cannot be read.
    """
    require(path)
    if not path.is_file():
        return ""  # a pipe can be read only once
    try:
        with open_file(path) as file:
            head = file.read(_LOOK)
        if head.startswith(ZIP_START):
            return _sniff_archive(path)
        if head.startswith(_SQLITE):
            names = tables(path)
            return next((format for format, some in _TABLES.items() if any(one <= names for one in some)), "")
    except OSError as error:
        raise trouble(path, error) from error
    named = any(path.match(pattern) for pattern in NAMES)
    return _sniff_text(head.removeprefix(_BOM)) or ("shell-history" if named and head else "")


def _sniff_archive(path: Path) -> str:
    archive = open_archive(path)
    if archive is None:
        return ""
    with archive:
        for member in conversation_files(archive):
            try:
                with archive.open(member) as stream:
                    if format := _sniff_text(stream.read(_LOOK).removeprefix(_BOM)):
                        return format
            except DAMAGE:
                continue  # another may be whole
    return ""


def _sniff_text(head: bytes) -> str:
    if head.lstrip()[:1] in (b"[", b"{"):
        return format_of_json(head)
    return next((format for format, sign in _TEXTS.items() if re.search(sign, head)), "")
