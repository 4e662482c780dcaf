"""The lines of a ledger: what makes one an item, and when two items say the same.

Pure: records in, items and numbers out.
"""

import re
import unicodedata
import zlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from aish.values.errors import BadUsage
from aish.values.items import FORGET, KINDS, Item
from aish.values.text import for_keeping

MAX_CONTENT = 4000  # characters; what is longer belongs into a file
LARGEST_ID = 1 << 53  # what every JSON reader can hold
_SUM_SIZE = len(b',"crc":"00000000"}')
_new = tuple.__new__
PUNCTUATION = " .,;:!?…。，；：！？"


def read_item(record: dict[str, Any]) -> Item | str:
    """The item in a record, or why it is none."""
    id, kind, content = record.get("id"), record.get("kind"), record.get("content")
    if not isinstance(id, int) or not valid_id(id):
        return "has no usable id"
    if kind not in KINDS:
        return f"is of the unknown kind {str(kind)[:40]!r}"
    if not isinstance(content, str) or not content.strip():
        return "has no content"
    return Item(id, str(record.get("ts", "")), kind, content, record)


def quick_item(line: bytes) -> Item | None:
    """The item in a line of the form that we write most, much faster than by way of JSON; else None."""
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
    """The same for a part of a file, by where each stands: only that tells whether the line is sound and counts."""
    found, plain = {}, data.isascii()
    for match in _usual().finditer(str(data, "latin-1")):  # a letter is a byte, so that places are right
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
    """The JSON of an item of that form, faster than by way of a dictionary; nothing if it is of another."""
    if len(fields) == 1 and content.isprintable() and '"' not in content and "\\" not in content:
        source = fields.get("source")
        if isinstance(source, str) and source.isidentifier():
            return f'{{"id":{id},"ts":"{ts}","kind":"{kind}","content":"{content}","source":"{source}"}}'
    return ""


@cache
def _usual() -> re.Pattern[str]:
    """Compiled when it is needed first: at every start it would cost more than it saves."""
    return re.compile(
        r'(?m)^\{"id":([1-9]\d{0,14}),"ts":"([0-9TZ:.-]+)","kind":"(fact|pref|context)","content":"([^"\\\x00-\x1f]*)",'
        r'"source":"([\w:.-]*)","crc":"([0-9a-f]{8})"\}$'
    )


def valid_id(id: int) -> bool:
    return not isinstance(id, bool) and 0 < id < LARGEST_ID


def checked(kind: str, content: str) -> str:
    """The content as it may be kept. Raises `BadUsage`."""
    if kind not in KINDS:
        raise BadUsage(f"there is no kind {kind!r}; an item is one of: {', '.join(KINDS)}")
    content = for_keeping(content).strip()
    if not content:
        raise BadUsage("there is nothing to remember: the text is empty")
    if len(content) > MAX_CONTENT:
        raise BadUsage(
            f"an item can have {MAX_CONTENT:,} characters, this one has {len(content):,}; "
            "keep the text in a file and remember where it is"
        )
    return content


def folded(text: str) -> str:
    """The text as duplicates are compared: letters, case, blanks and a last full stop made equal."""
    flat = " ".join((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold().split())
    return flat.rstrip(PUNCTUATION) or flat


def fold_number(text: str) -> int:
    """A number for a folded text, to find it fast; who finds it compares the texts."""
    data = text.encode("utf-8", "replace")
    return zlib.crc32(data) << 31 | zlib.adler32(data) & 0x7FFFFFFF


def targets(record: dict[str, Any]) -> list[int]:
    """The ids that a record hides: the target of a tombstone, or what an item supersedes."""
    if record.get("kind") == FORGET:
        target = record.get("target")
        return [target] if isinstance(target, int) and valid_id(target) else []
    older = record.get("supersedes")
    return [id for id in older if isinstance(id, int) and valid_id(id)] if isinstance(older, list) else []
