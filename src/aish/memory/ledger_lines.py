"""The lines of a ledger: how an item is read, checked, and compared with other items.

Pure functions.
"""

import re
import unicodedata
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from aish.values.errors import BadUsage
from aish.values.invisible import visible
from aish.values.items import FORGET, KINDS, Item

MAX_CONTENT = 4000  # characters; longer text belongs in a file
LARGEST_ID = 1 << 53  # the largest integer that all JSON readers support
_SUM_SIZE = len(b',"crc":"00000000"}')
_new = tuple.__new__
PUNCTUATION = " .,;:!?…。，；：！？"


def read_item(record: dict[str, Any]) -> Item | str:
    """Return the item in a record, or the reason why it is not an item."""
    id, kind, content = record.get("id"), record.get("kind"), record.get("content")
    if not isinstance(id, int) or not valid_id(id):
        return "has no usable id"
    if kind not in KINDS:
        return f"has the unknown kind {str(kind)[:40]!r}"
    if not isinstance(content, str) or not content.strip():
        return "has no content"
    return Item(id, str(record.get("ts", "")), kind, content, record)


def quick_item(line: bytes) -> Item | None:
    """Parse a line in the usual form without JSON, which is much faster. None for any other line."""
    try:
        match = _usual().match(str(line, "utf-8"))
    except UnicodeDecodeError:
        return None
    if match is None:
        return None
    parts = match.groups()
    end = len(line) - (line[-1:] == b"\n") - _SUM_SIZE
    if int(parts[5], 16) != zlib.crc32(b"}", zlib.crc32(line[:end])) or not parts[3].strip():
        return None
    id, (_, ts, kind, content, source, _) = int(parts[0]), parts
    return Item(id, ts, kind, content, {"id": id, "ts": ts, "kind": kind, "content": content, "source": source})


def quick_items(data: bytes, start: int) -> dict[int, Item]:
    """Parse the usual lines in a part of a file, by offset. The caller must know that the offset is a valid item."""
    found, plain = {}, data.isascii()
    for match in _usual().finditer(str(data, "latin-1")):  # one character per byte, so that the offsets are right
        number, ts, kind, content, source, _ = match.groups()
        if not plain:
            if not source.isascii():
                continue
            content = str(content.encode("latin-1"), "utf-8", "replace")
        id = int(number)
        record = {"id": id, "ts": ts, "kind": kind, "content": content, "source": source}
        found[start + match.start()] = _new(Item, (id, ts, kind, content, record))
    return found


def usual_line(id: int, ts: str, kind: str, content: str, fields: Mapping[str, Any]) -> str:
    """Return the JSON of an item in the usual form, without building a dictionary. Empty for any other item."""
    if len(fields) == 1 and content.isprintable() and '"' not in content and "\\" not in content:
        source = fields.get("source")
        if isinstance(source, str) and source.isidentifier():
            return f'{{"id":{id},"ts":"{ts}","kind":"{kind}","content":"{content}","source":"{source}"}}'
    return ""


@cache
def _usual() -> re.Pattern[str]:
    """Return the pattern of a usual line, compiled on first use to keep start-up fast."""
    return re.compile(
        r'(?m)^\{"id":([1-9]\d{0,14}),"ts":"([0-9TZ:.-]+)","kind":"(fact|pref|context)","content":"([^"\\\x00-\x1f]*)",'
        r'"source":"([\w:.-]*)","crc":"([0-9a-f]{8})"\}$'
    )


def valid_id(id: int) -> bool:
    return not isinstance(id, bool) and 0 < id < LARGEST_ID


def checked(kind: str, content: str) -> str:
    """Check kind and content, and return the content in the form to store. Raises `BadUsage`."""
    if kind not in KINDS:
        raise BadUsage(f"unknown kind {kind!r}; use one of: {', '.join(KINDS)}")
    content = visible(content).strip()
    if not content:
        raise BadUsage("nothing to remember: the text is empty")
    if len(content) > MAX_CONTENT:
        raise BadUsage(
            f"an item can have at most {MAX_CONTENT:,} characters, this one has {len(content):,}; "
            "save the text in a file and remember its path"
        )
    return content


def folded(text: str) -> str:
    """Normalise a text to compare duplicates: Unicode form, case, whitespace and final punctuation."""
    flat = " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().split())
    return flat.rstrip(PUNCTUATION) or flat


def fold_number(text: str) -> int:
    """Return a hash of a folded text for fast lookup. Callers must compare the texts, too."""
    data = text.encode("utf-8", "replace")
    return zlib.crc32(data) << 31 | zlib.adler32(data) & 0x7FFFFFFF


def targets(record: dict[str, Any]) -> list[int]:
    """Return the ids that a record hides: the target of a tombstone, or the items that an item supersedes."""
    if record.get("kind") == FORGET:
        target = record.get("target")
        return [target] if isinstance(target, int) and valid_id(target) else []
    older = record.get("supersedes")
    return [id for id in older if isinstance(id, int) and valid_id(id)] if isinstance(older, list) else []
