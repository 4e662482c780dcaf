"""Entries of a note: list items with an id and fields in a comment that is invisible when Markdown is rendered.

    - Deploys run from main. <!-- k7f2p 2026-11-17 until=2026-12-17 by=model from=20261117-101500-abc/12-18 -->

Pure: texts in, values out, and back.
"""

import re

from aish.memory.notes.blocks import BULLET, dedented, lines_of, offset
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

ALPHABET = "bcdfghjkmnpqrstvwxz23456789"  # no vowels, so that no id is a word; no letters that look like digits
ID_LENGTH = 5
_DATE = r"\d{4}-\d\d-\d\d"
_FIELD = rf"(?:{_DATE}|[a-z]+=[^\s<>]*|[^\s<>]*\[purged\][^\s<>]*)"  # a purge may hit a field
COMMENT = pattern(rf"[ \t]?<!--[ \t]+([{ALPHABET}]{{{ID_LENGTH}}})((?:[ \t]+{_FIELD})*)[ \t]*-->")
_FENCED = pattern(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_FIELDS = {"by": "origin", "from": "source"}
_NOT_IN_FIELD = pattern(r"[^\w:./@+-]")


class Entry(NamedTuple):
    """One remembered thing."""

    id: str  # empty: written by hand, and without an id yet
    section: str  # the title of its heading; empty before the first heading
    text: str  # without bullet, comment and indentation
    made: str = ""  # a date such as 2026-11-17; empty: unknown
    until: str = ""  # the end of probation, a date
    origin: str = ""  # empty or "user": the person; else "model", "tool:exec", "file", "import"
    source: str = ""  # conversation and turns, such as 20261117-101500-abc/12-18

    @property
    def content(self) -> tuple[str, ...]:
        """Everything but the id and the section: what a change changes."""
        return (self.text, self.made, self.until, self.origin, self.source)


def is_date(text: str) -> bool:
    """Is this a date such as 2026-11-17?"""
    return re.fullmatch(_DATE, text) is not None


def read_entry(raw: str, section: str) -> Entry | None:
    """Return the entry of a list item; None if the item is empty. The first id in it counts."""
    bullet = BULLET.match(raw)
    if not bullet:
        return None
    comment = COMMENT.search(raw) if "<!--" in raw else None
    lines = [raw[bullet.end() :]]
    if "\n" in raw[:-1]:
        width, (first, *others) = offset(bullet), lines_of(raw)
        lines = [first[bullet.end() :], *(dedented(line, width) for line in others)]
    text = "\n".join((COMMENT.sub("", line) if comment else line).rstrip() for line in lines).strip()
    if not text:
        return None
    return _with_fields(Entry(comment[1], section, text), comment[2].split()) if comment else Entry("", section, text)


def _with_fields(entry: Entry, fields: list[str]) -> Entry:
    found = dict[str, str]()
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals and is_date(name):
            found["made"] = name
        elif name == "until" and is_date(value):
            found["until"] = value
        elif name in _FIELDS:
            found[_FIELDS[name]] = value
    return entry._replace(**found)


def comment_of(entry: Entry) -> str:
    """Return the comment with the id and the fields of an entry."""
    origin = "" if entry.origin == "user" else _field(entry.origin)
    fields = [("until=", entry.until if is_date(entry.until) else ""), ("by=", origin), ("from=", _field(entry.source))]
    made = [entry.made] if is_date(entry.made) else []
    return f"<!-- {' '.join([entry.id, *made, *(name + value for name, value in fields if value)])} -->"


def _field(value: str) -> str:
    """Return a value that cannot end the comment or start another field."""
    return re.sub(r"-+", "-", _NOT_IN_FIELD.sub("", value)).rstrip("-")


def render(entry: Entry, bullet: str = "- ", newline: str = "\n") -> str:
    """Return the entry as a list item. Code at its end would show the comment, which then gets its own line."""
    first, *others = entry.text.split("\n")
    match = BULLET.match(bullet + first)
    indent = " " * (offset(match) if match else len(bullet))
    lines = [bullet + first, *(indent + line if line else "" for line in others)]
    if entry.id and _FENCED.search(entry.text):
        lines.append(indent + comment_of(entry))
    elif entry.id:
        lines[-1] += f" {comment_of(entry)}"
    return newline.join(lines) + newline


def with_id(raw: str, id: str) -> str:
    """Return a list item with this id. Everything else in it stays the same."""
    if comment := COMMENT.search(raw):
        return raw[: comment.start(1)] + id + raw[comment.end(1) :]
    body = raw.rstrip("\r\n")
    end, added = raw[len(body) :], comment_of(Entry(id, "", ""))
    bullet = BULLET.match(raw)
    if bullet and _FENCED.search(raw[bullet.end() :]):
        newline = "\r\n" if "\r\n" in raw else "\n"
        return f"{body}{newline}{' ' * offset(bullet)}{added}{end}"
    return f"{body}{'' if body.endswith((' ', chr(9))) else ' '}{added}{end}"
