"""Read exports of LibreChat: one conversation as JSON, its messages in a list or, with `messagesTree`, in a tree."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import Part, flat, numbered
from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.exports import Head, Shape, read_export
from aish.memory.importers.fields import Oddities, compact, dict_of, label, list_of, moment, text_of
from aish.memory.importers.json_walk import UNREADABLE, JsonWalk
from aish.memory.importers.spool import Spool, SpooledTurn
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_SILENT = ("agent_update", "activity_label", "summary")


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of an export."""
    yield from read_export(path, Shape(_fill, _turns), ("*.json",))


def _fill(names: Iterator[str], walk: JsonWalk, spool: Spool, head: Head, odd: Oddities) -> None:
    for name in names:
        if name in ("messages", "messagesTree") and walk.peek() == b"[":
            last = ""
            for _ in walk.elements():
                last = _tree(walk.value(), spool, odd, last)
        elif name in ("conversationId", "title"):
            head[name] = walk.value()


def _turns(head: Head, spool: Spool, odd: Oddities) -> Iterator[ImportedTurn]:
    if not (conversation := label(head.get("conversationId"))):
        odd.add("a conversation without an id, or incomplete")
        return
    # No field says which branch was visible; LibreChat shows the newest first.
    yield from spool.conversation("", ImportedTurn(conversation, None, "user", "", title=label(head.get("title"))))


def _tree(message: Any, spool: Spool, odd: Oddities, above: str) -> str:
    """Add a message and those that answer it, each after the one it answers; return the id of the last one."""
    last, waiting = above, [(message, above)]
    while waiting:
        message, above = waiting.pop()
        if message is UNREADABLE:
            odd.add("a message that is too long, damaged or nested too deeply; export without the option “recursive”")
            spool.note_gap()
        if fields := dict_of(message):
            last = label(fields.get("messageId"))
            spool.add(_message(fields, odd), last, label(fields.get("parentMessageId")) or above)
            waiting += [(answer, last) for answer in reversed(list_of(fields.get("children")))]
    return last


def _message(message: dict[str, Any], odd: Oddities) -> Iterator[SpooledTurn]:
    role: Role = "user" if message.get("isCreatedByUser") is True else "assistant"
    time, ref = moment(message.get("createdAt")), label(message.get("messageId"))
    said = list(_parts(message, role, odd))
    if all(part.name == THINKING for part in said) and (text := text_of(message.get("text"))):
        said.append(Part(role, text))
    files = [*list_of(message.get("files")), *list_of(message.get("attachments"))]
    names = [f"[{label(dict_of(one).get('filename')) or 'file'}]" for one in files]
    if names:
        said.append(Part(role, "\n".join(names)))
    for part, id in numbered(ref, said):
        yield SpooledTurn(part.role, part.text, time, part.name, id)


def _parts(message: dict[str, Any], role: Role, odd: Oddities) -> Iterator[Part]:
    for block in map(dict_of, list_of(message.get("content"))):
        kind = block.get("type")
        value = block.get(kind) if isinstance(kind, str) else None
        if kind == "think":
            if words := thought(_value(value)):
                yield Part("assistant", words, name=THINKING)
        elif kind == "tool_call":
            call = dict_of(value)
            inner = dict_of(call.get("function")) or call
            yield Part("assistant", str(ImportedCall(inner.get("name"), inner.get("args", inner.get("arguments")))))
            if output := compact(inner.get("output") or ""):
                yield Part("tool", output, name=label(inner.get("name")))
        elif kind in ("text", "error", "steer"):
            if text := text_of(_value(value)):
                yield Part("user" if kind == "steer" else role, text)
        elif kind in ("image_file", "image_url"):
            yield Part(role, "[image]")
        elif kind not in _SILENT and (text := flat(block, odd)):
            yield Part(role, text)


def _value(value: object) -> object:
    """Return the text of a block, which some versions put into an object."""
    return dict_of(value).get("value") if isinstance(value, dict) else value
