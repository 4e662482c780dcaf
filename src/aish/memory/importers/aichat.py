"""Read chats of aichat: `messages.md` has single questions and answers, `sessions/*.yaml` whole conversations."""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.block_yaml import block_lists
from aish.memory.importers.blocks import flat
from aish.memory.importers.calls import ImportedCall
from aish.memory.importers.fields import (
    Oddities,
    Refs,
    compact,
    dict_of,
    label,
    list_of,
    moment,
    parsed,
    text_of,
)
from aish.memory.importers.files import MOST, each_file, lines, modified
from aish.values.imported import ImportedRecord, ImportedTurn
from aish.values.turns import Role

_LISTS = ("compressed_messages", "messages")  # in this order of time
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_RULE = "--------"
_HEAD = 2_000  # maximum characters of the line with the title of a question
_TOOLS = "<tool_calls>", "</tool_calls>"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of one file, or of all files in the directory of aichat."""
    yield from each_file(path, ("messages.md", "sessions/**/*.yaml", "*.yaml"), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd = Oddities()
    with path.open("rb") as file:
        text = (line.data.decode("utf-8", "replace") for line in lines(file, odd))
        if path.suffix in (".yaml", ".yml"):
            yield from _session(path, text, odd, cut=_is_cut(path))
        else:
            yield from _questions(text, odd)
    yield from odd.told(path.name)


def _is_cut(path: Path) -> bool:
    """Return whether a file ends without a newline, so that its last message may be incomplete."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        return bool(size) and file.read(1) != b"\n"


def _session(path: Path, text: Iterable[str], odd: Oddities, *, cut: bool) -> Iterator[ImportedTurn]:
    """Yield the messages of a session. They have no times, so they get the time of the file."""
    refs, name, time = Refs(), label(path.stem), modified(path)
    items = block_lists(text, _LISTS, MOST, odd)
    for item in _but_last(items, odd) if cut else items:
        message = dict_of(item)
        role, content = message.get("role"), message.get("content")
        if role == "system":
            continue
        if not isinstance(role, str) or role not in _ROLES:
            odd.add("a message with unknown role", compact(role))
            continue
        calls = dict_of(content)
        texts = _calls(calls) if list_of(calls.get("tool_results")) else [(_ROLES[role], "", flat(content, odd))]
        for voice, tool, said in texts:
            if said:
                yield ImportedTurn(f"session {name}", time, voice, said, tool, refs.name(voice, said), title=name)


def _but_last(items: Iterable[Any], odd: Oddities) -> Iterator[Any]:
    last: list[Any] = []
    for item in items:
        yield from last
        last = [item]
    if last:
        odd.add("an incomplete last message")


def _calls(calls: dict[str, Any]) -> Iterator[tuple[Role, str, str]]:
    """Yield the text of the model and its tool calls with their results, which aichat stores together."""
    yield "assistant", "", text_of(calls.get("text"))
    for result in map(dict_of, list_of(calls.get("tool_results"))):
        call = dict_of(result.get("call"))
        yield "assistant", "", str(ImportedCall(call.get("name"), call.get("arguments")))
        yield "tool", label(call.get("name")), compact(result.get("output"))


def _questions(text: Iterable[str], odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns; each question with its answer is a separate conversation."""
    head: re.Match[str] | None = None
    body: list[str] = []
    size, refs = 0, Refs()
    for line in text:
        if begins := _head().fullmatch(line) if len(line) < _HEAD else None:
            yield from _exchange(head, body, refs, odd)
            head, body, size = begins, [], 0
        elif size < MOST:
            body.append(line)
            size += len(line) + 100  # an empty line takes memory, too
        else:
            body[-1] = "…"  # so that it does not look complete
    yield from _exchange(head, body, refs, odd)


def _exchange(head: re.Match[str] | None, body: list[str], refs: Refs, odd: Oddities) -> Iterator[ImportedTurn]:
    """Yield the turns of one question. Two questions may have the same second, so their ids include the text."""
    ended = bool(body) and not body[-1]
    while body and not body[-1].strip():
        body.pop()
    if head is None:
        if body:
            odd.add("text before the first question")
        return
    rule = body.index(_RULE) if _RULE in body else len(body)
    if (
        not ended or rule >= len(body) - 1 or body[-1] != _RULE
    ):  # import only complete ones: the rest could not be added later
        odd.add("a question and answer that are incomplete or too long")
        return
    asked, answered = "\n".join(body[:rule]), "\n".join(body[rule + 1 : -1])
    turns: list[tuple[Role, str, str]] = [("user", "", asked)]
    if answered.startswith(_TOOLS[0]):
        used, _, answered = answered.removeprefix(_TOOLS[0]).partition(_TOOLS[1])
        words, _, results = used.strip().rpartition("\n")
        turns += _calls({"text": words, "tool_results": parsed(results)})
    turns.append(("assistant", label(head["role"] or ""), answered))
    base = ImportedTurn(f"messages {head['time']}", moment(head["time"]), "user", "", title=label(head["title"]))
    for role, name, said in turns:
        if words := text_of(said):
            yield base._replace(role=role, name=name, text=words, ref=refs.name(head["time"], role, words))


@functools.cache
def _head() -> re.Pattern[str]:
    return re.compile(
        r"# CHAT: ?(?P<title>.*?) ?\[(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\]]{0,12})\]"
        r"(?: \((?P<role>[^#()]*)(?:#.*)?\))?"
    )
