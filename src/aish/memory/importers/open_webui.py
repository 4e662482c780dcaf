"""Read exports of Open WebUI: a list of chats, each a tree of messages, and `currentId` ends the visible branch."""

import functools
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import flat
from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.exports import Head, Shape, read_export
from aish.memory.importers.fields import Oddities, compact, dict_of, label, list_of, moment, text_of
from aish.memory.importers.json_walk import UNREADABLE, JsonWalk
from aish.memory.importers.spool import Spool, SpooledTurn
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool"}
_SILENT = ("open_webui:context_compaction",)


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of an export of one chat or of all chats."""
    yield from read_export(path, Shape(_fill, _turns), ("*chat-export*.json",))


def _fill(names: Iterator[str], walk: JsonWalk, spool: Spool, head: Head, odd: Oddities) -> None:
    for name in names:
        if name == "chat" and walk.peek() == b"{":
            _fill(walk.members(), walk, spool, head, odd)
        elif name == "history" and walk.peek() == b"{":
            for inner in walk.members():
                if inner == "messages" and walk.peek() == b"{":
                    for id in walk.members():
                        _message(id, walk.value(), spool, odd)
                elif inner == "currentId":
                    head["currentId"] = walk.value()
        elif name in ("id", "title", "created_at", "timestamp"):
            head.setdefault(name, walk.value())


def _turns(head: Head, spool: Spool, odd: Oddities) -> Iterator[ImportedTurn]:
    if not (conversation := label(head.get("id"))):
        odd.add("a chat without an id, or incomplete")
        return
    time = moment(head.get("created_at")) or moment(head.get("timestamp"))
    yield from spool.conversation(
        label(head.get("currentId")), ImportedTurn(conversation, time, "user", "", title=label(head.get("title")))
    )


def _message(id: str, message: Any, spool: Spool, odd: Oddities) -> None:
    if message is UNREADABLE:
        odd.add("a message that is too long or damaged")
        spool.note_gap()
    message = dict_of(message)
    role, parent, ref = message.get("role"), label(message.get("parentId")), label(id)
    if not isinstance(role, str) or role not in _ROLES:
        if message and role != "system":
            odd.add("a message with unknown role", compact(role))
        spool.add([], ref, parent)
        return
    time = moment(message.get("timestamp"))
    said = [piece._replace(time=time) for piece in _pieces(message, _ROLES[role], odd)]
    # The last piece has the id of the message.
    named = [piece._replace(ref=f"{ref}/{number}") for number, piece in enumerate(said[:-1], start=1)]
    named += [piece._replace(ref=ref) for piece in said[-1:]]
    output = _output(message, odd) if role == "assistant" and len(said) < 2 else ()
    steps = [piece._replace(time=time, ref=f"{ref}/output-{number}") for number, piece in enumerate(output)]
    spool.add([*steps, *named], ref, parent)


def _pieces(message: dict[str, Any], role: Role, odd: Oddities) -> Iterator[SpooledTurn]:
    """Yield what a message says; thinking and tool calls of an answer are folded parts of its text."""
    text = flat(message.get("content"), odd)
    files = [f"[{label(one.get('name')) or 'file'}]" for one in map(dict_of, list_of(message.get("files")))]
    rest = text
    while role == "assistant" and (fold := _fold(rest)):
        yield from _turn(role, fold.before)
        given, rest = dict(_given().findall(fold.given)), fold.after
        _, mark, after = fold.inside.partition("</summary>")
        inside = (after if mark else fold.inside).strip()
        if given.get("type") == "reasoning":
            yield from _turn("assistant", thought(re.sub(r"(?m)^> ?", "", unescape(inside))), THINKING)
        else:
            name = label(given.get("name", ""))
            yield from _turn(
                "assistant", str(ImportedCall(name or given["type"], unescape(given.get("arguments", ""))))
            )
            yield from _turn("tool", unescape(given.get("result", "")) or inside, name)
    yield from _turn(role, "\n".join(filter(None, [rest.strip(), *files])))


def _output(message: dict[str, Any], odd: Oddities) -> Iterator[SpooledTurn]:
    """Yield the steps before an answer, which newer versions keep as a list beside its text."""
    tools: dict[str, str] = {}
    answer = flat(message.get("content"), odd)
    for item in map(dict_of, list_of(message.get("output"))):
        kind, content = item.get("type"), flat(item.get("content"), odd)
        if kind == "reasoning":
            yield from _turn("assistant", thought(content or flat(item.get("summary"), odd)), THINKING)
        elif kind == "function_call":
            tools[label(item.get("call_id"))] = label(item.get("name"))
            yield from _turn("assistant", str(ImportedCall(item.get("name"), item.get("arguments"))))
        elif kind == "function_call_output":
            yield from _turn("tool", flat(item.get("output"), odd), tools.get(label(item.get("call_id")), ""))
        elif kind == "open_webui:code_interpreter":
            yield from _turn("assistant", str(ImportedCall("code_interpreter", {"code": item.get("code")})))
            yield from _turn("tool", compact(item.get("output") or ""), "code_interpreter")
        elif kind == "message":
            yield from _turn("assistant", "" if content in answer else content)
        elif kind not in _SILENT:
            odd.add("a step with unknown type", compact(kind))


def _turn(role: Role, text: str, name: str = "") -> Iterator[SpooledTurn]:
    if words := text_of(text):
        yield SpooledTurn(role, words, name=name)


class _Fold(NamedTuple):
    """A folded part of an answer: the attributes of its tag, what is inside, and the text around it."""

    before: str
    given: str
    inside: str
    after: str


def _fold(text: str) -> _Fold | None:
    """Return the first folded part that is thinking, a tool call or code that was run."""
    start = _start().search(text)
    if not start or (end := text.find(">", start.end())) < 0:
        return None
    inside, _, after = text[end + 1 :].partition("</details>")
    return _Fold(text[: start.start()], text[start.start() : end], inside, after)


@functools.cache
def _start() -> re.Pattern[str]:
    return re.compile(r'<details type="(?:reasoning|tool_calls|code_interpreter)"')


@functools.cache
def _given() -> re.Pattern[str]:
    return re.compile(r'(?<!\w)(\w{1,40})="([^"]*)"')
