"""Read the Markdown files of SpecStory, `.specstory/history/*.md`: chats of other tools, saved beside the code.

A line such as `_**User (2026-03-01 10:00:00Z)**_` begins a turn, and a rule may stand between two turns.
"""

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from aish.memory.importers.calls import thought
from aish.memory.importers.fields import Oddities, Refs, label, moment, text_of
from aish.memory.importers.files import MOST, each_file, lines, modified
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_RULE = "---"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a file, or of all files in a directory."""
    yield from each_file(path, ("*.md",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with path.open("rb") as file:
        text = (line.data.decode("utf-8", "replace") for line in lines(file, odd))
        yield from _turns(text, path, odd)
    yield from odd.told(path.name)


def _turns(text: Iterable[str], path: Path, odd: Oddities) -> Iterator[ImportedTurn]:
    base = ImportedTurn(label(path.stem), modified(path), "user", "", channel=_project(path))
    refs, role, other, size = Refs(), "", "", 0
    body: list[str] = []
    for line in text:
        if head := _turn().fullmatch(line.rstrip()):
            yield from _said(base, role, other, body, refs)
            role, other, body, size = head["role"], "sidechain" if "sidechain" in line else "", [], 0
            base = base._replace(time=_time(head["more"] or "") or base.time)
        elif not role or _session().match(line):
            base = _headed(base, line)
        elif size < MOST:
            body.append(line)
            size += len(line) + 100
            if size >= MOST:
                odd.add("a turn that is too long; its end")
    yield from _said(base, role, other, body, refs)


def _headed(base: ImportedTurn, line: str) -> ImportedTurn:
    """Take the id, the title and the time of a session from the lines before its first turn."""
    if session := _session().match(line):
        return base._replace(conversation=label(session["id"]), time=_time(session["time"]) or base.time)
    if line.startswith(("# ", "## ")) and line.strip() not in ("## SpecStory", "# SpecStory"):
        title = line.lstrip("# ").strip()
        words, _, time = title.rpartition(" (")
        when = _time(time.rstrip(")"))
        return base._replace(title=label(words if when else title), time=when or _time(title) or base.time)
    return base


def _said(base: ImportedTurn, who: str, other: str, body: list[str], refs: Refs) -> Iterator[ImportedTurn]:
    """Yield the turns between two heads: thinking and tools of an agent are in marked blocks."""
    while body and body[-1].strip() in ("", _RULE):
        body.pop()
    text = "\n".join(body)
    role: Role = "user" if who == "User" and not other else "assistant"
    if role == "user" or "<" not in text:
        yield from _one_turn(base, role, other, text, refs)
        return
    at = 0
    for block in _block().finditer(text):
        yield from _one_turn(base, role, other, text[at : block.start()], refs)
        at, inside = block.end(), _plain(block["inside"])
        if block["kind"] == "think":
            yield from _one_turn(base, "assistant", THINKING, thought(inside), refs)
        else:
            yield from _one_turn(base, "tool", label(block["name"] or ""), inside, refs)
    yield from _one_turn(base, role, other, text[at:], refs)


def _one_turn(base: ImportedTurn, role: Role, name: str, text: str, refs: Refs) -> Iterator[ImportedTurn]:
    if words := _unruled(text_of(text)):
        yield base._replace(role=role, name=name, text=words, ref=refs.name(role, words))


def _unruled(text: str) -> str:
    """Return a piece without the rules at its beginning and its end."""
    if not text.startswith(_RULE) and not text.endswith(_RULE):
        return text
    body = deque(text.split("\n"))
    while body and body[0].strip() in ("", _RULE):
        body.popleft()
    while body and body[-1].strip() in ("", _RULE):
        body.pop()
    return "\n".join(body)


def _plain(text: str) -> str:
    """Return the content of a block without the tags that fold it on a web page."""
    return _folds().sub("", text).strip()


def _project(path: Path) -> str:
    """Return the directory that has the `.specstory` folder."""
    parts = path.absolute().parts
    return label(parts[parts.index(".specstory") - 1]) if ".specstory" in parts[1:] else ""


def _time(text: str) -> datetime | None:
    found = _when().search(text)
    if not found:
        return None
    year, month, day, hour, minute, second, zone = found.groups()
    return moment(f"{year}-{int(month):02}-{int(day):02}T{int(hour):02}:{minute}:{second or '00'}{zone or ''}")


@functools.cache
def _turn() -> re.Pattern[str]:
    return re.compile(
        r"_\*\*(?P<role>User|Agent|Assistant)(?P<side> - sidechain)?(?: \((?P<more>[^*\n]{0,300})\))?\*\*_"
    )


@functools.cache
def _session() -> re.Pattern[str]:
    return re.compile(r"<!-- [\w .+-]{1,40} Session (?P<id>[\w-]{1,80}) \((?P<time>[^)]{0,40})\) -->")


@functools.cache
def _when() -> re.Pattern[str]:
    return re.compile(
        r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})[T_ ](\d{1,2})[:-](\d\d)(?:[:-](\d\d))?(?:\.\d+)?(Z|[+-]\d\d:?\d\d)?"
    )


@functools.cache
def _block() -> re.Pattern[str]:
    return re.compile(
        r'<(?P<kind>think|tool-use)\b[^>\n]{0,300}?(?:data-tool-name="(?P<name>[^"\n]{0,100})"[^>\n]{0,300})?>'
        r"(?P<inside>.*?)(?:</(?P=kind)>|\Z)",
        re.DOTALL,
    )


@functools.cache
def _folds() -> re.Pattern[str]:
    return re.compile(r"</?(?:details|summary)[^>\n]{0,200}>")
