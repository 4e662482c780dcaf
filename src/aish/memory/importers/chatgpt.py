"""Exports of ChatGPT: each conversation is a tree of messages, and `current_node` the end of the branch one sees."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.exports import Head, Shape, read_export
from aish.memory.importers.fields import Call, Oddities, compact, dict_of, label, list_of, moment, text_of
from aish.memory.importers.json_walk import UNREADABLE, JsonWalk
from aish.memory.importers.spool import Spool, Waiting
from aish.values.said import Heard, Said
from aish.values.turns import Role

_HEAD = ("id", "conversation_id", "title", "create_time", "current_node")
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
# What the model thinks, what the user told it once for all chats, and what the pages draw.
_SILENT = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context", "super_widget")
_TEXT_FIELDS = ("text", "result", "content")
_MARKS = ("image", "audio", "video", "file")


def read(path: Path) -> Iterator[Heard]:
    """The turns of `conversations.json`, of the split files, or of the zip with either."""
    yield from read_export(path, Shape(_fill, _turns))


def _fill(names: Iterator[str], walk: JsonWalk, spool: Spool, head: Head, odd: Oddities) -> None:
    for name in names:
        if name == "mapping" and walk.peek() == b"{":
            for id in walk.members():
                _node(id, walk.value(), spool, odd)
        elif name in _HEAD:
            head[name] = walk.value()


def _turns(head: Head, spool: Spool, odd: Oddities) -> Iterator[Said]:
    conversation = label(head.get("conversation_id")) or label(head.get("id"))
    if not conversation:
        odd.add("a conversation without an id, or cut off before it")
        return
    base = Said(conversation, moment(head.get("create_time")), "user", "", title=label(head.get("title")))
    yield from spool.path(label(head.get("current_node")), base)


def _node(id: str, node: Any, spool: Spool, odd: Oddities) -> None:
    if node is UNREADABLE:
        odd.add("a message that is too long or damaged")
    node = dict_of(node)
    message = dict_of(node.get("message"))
    spool.add(_turn(message, odd) if message else None, label(id), label(node.get("parent")))


def _turn(message: dict[str, Any], odd: Oddities) -> Waiting | None:
    """The turn of a message; None for one that nobody gets to see."""
    author, content, metadata = (dict_of(message.get(name)) for name in ("author", "content", "metadata"))
    kind, role = content.get("content_type"), author.get("role")
    if role == "system" or kind in _SILENT or message.get("weight") == 0:
        return None
    if metadata.get("is_visually_hidden_from_conversation") is True or metadata.get("is_user_system_message") is True:
        return None
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message of the unknown role", compact(role))
        return None
    text = _text(content, odd)
    recipient = label(message.get("recipient"))
    if text and role == "assistant" and recipient not in ("", "all"):
        text = str(Call(recipient, text))
    if not text:
        return None
    name = label(author.get("name")) if _ROLES[role] == "tool" else ""
    return Waiting(_ROLES[role], text, moment(message.get("create_time")), name, label(message.get("id")))


def _text(content: dict[str, Any], odd: Oddities) -> str:
    said = [_part(part, odd) for part in list_of(content.get("parts"))]
    if not said:
        said = [text_of(content.get(name)) for name in _TEXT_FIELDS]
    return "\n".join(filter(None, said))


def _part(part: object, odd: Oddities) -> str:
    """A part of a message: words, or a mark in the place of a picture or a sound."""
    if not isinstance(part, dict):
        return text_of(part)
    if text := text_of(part.get("text")):  # also the words of a recording
        return text
    kind = compact(part.get("content_type"))
    mark = next((mark for mark in _MARKS if mark in kind), "")
    if not mark:
        odd.add("a part of the unknown type", kind)
    return f"[{mark}]" if mark else ""
