"""Read exports of ChatGPT: a conversation is a tree of messages, and `current_node` ends the visible branch."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.exports import Head, Shape, read_export
from aish.memory.importers.fields import (
    Oddities,
    compact,
    dict_of,
    label,
    list_of,
    moment,
    parsed,
    text_of,
)
from aish.memory.importers.json_walk import UNREADABLE, JsonWalk
from aish.memory.importers.spool import Spool, SpooledTurn
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_HEAD = ("id", "conversation_id", "title", "create_time", "current_node")
_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
# Custom instructions, widgets of the web page, and how long it thought.
_SILENT = ("reasoning_recap", "user_editable_context", "model_editable_context", "super_widget")
_TEXT_FIELDS = ("text", "result", "content", "output_str")
_MARKS = ("image", "audio", "video", "file")
# Elements that the web page draws inside a text (sources, cards, names, links), between private-use characters.
_DRAWN = r"([ \t]{0,9})\ue200(\w{1,40})\ue202([^\ue200\ue201]*)\ue201"
_PRIVATE = r"[\ue200-\ue206]"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of `conversations.json`, of the split files, or of a zip file with either."""
    yield from read_export(path, Shape(_fill, _turns))


def _fill(names: Iterator[str], walk: JsonWalk, spool: Spool, head: Head, odd: Oddities) -> None:
    for name in names:
        if name == "mapping" and walk.peek() == b"{":
            for id in walk.members():
                _node(id, walk.value(), spool, odd)
        elif name in _HEAD:
            head[name] = walk.value()


def _turns(head: Head, spool: Spool, odd: Oddities) -> Iterator[ImportedTurn]:
    conversation = label(head.get("conversation_id")) or label(head.get("id"))
    if not conversation:
        odd.add("a conversation without an id, or incomplete")
        return
    base = ImportedTurn(conversation, moment(head.get("create_time")), "user", "", title=label(head.get("title")))
    yield from spool.conversation(label(head.get("current_node")), base)


def _node(id: str, node: Any, spool: Spool, odd: Oddities) -> None:
    if node is UNREADABLE:
        odd.add("a message that is too long or damaged")
        spool.note_gap()
    node = dict_of(node)
    message = dict_of(node.get("message"))
    turn = _turn(message, odd) if message else None
    spool.add([turn] if turn else [], label(id), label(node.get("parent")))


def _turn(message: dict[str, Any], odd: Oddities) -> SpooledTurn | None:
    """Return the turn of a message; None for a hidden one."""
    author, content, metadata = (dict_of(message.get(name)) for name in ("author", "content", "metadata"))
    kind, role = content.get("content_type"), author.get("role")
    if role == "system" or kind in _SILENT:
        return None
    if metadata.get("is_visually_hidden_from_conversation") is True or metadata.get("is_user_system_message") is True:
        return None
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message with unknown role", compact(role))
        return None
    if kind == "thoughts":
        return _thoughts(message, content)
    pictured = any(isinstance(part, dict) for part in list_of(content.get("parts")))
    text = "\n".join(filter(None, [_plain(_text(content, odd)), *_attached(metadata, pictured=pictured)]))
    recipient = label(message.get("recipient"))
    if text and role == "assistant" and recipient not in ("", "all"):
        text = str(ImportedCall(recipient, text))
    if not text:
        return None
    name = label(author.get("name")) if _ROLES[role] == "tool" else ""
    return SpooledTurn(_ROLES[role], text, moment(message.get("create_time")), name, label(message.get("id")))


def _thoughts(message: dict[str, Any], content: dict[str, Any]) -> SpooledTurn | None:
    """Return what the model thought: a list of headings and texts."""
    thoughts = map(dict_of, list_of(content.get("thoughts")))
    words = [text_of(one.get(name)) for one in thoughts for name in ("summary", "content")]
    if not (text := thought("\n".join(filter(None, words)))):
        return None
    return SpooledTurn("assistant", text, moment(message.get("create_time")), THINKING, label(message.get("id")))


def _text(content: dict[str, Any], odd: Oddities) -> str:
    said = [_part(part, odd) for part in list_of(content.get("parts"))]
    if not said:
        said = [text_of(content.get(name)) for name in _TEXT_FIELDS]
    if not any(said):  # a web page that the model opened
        page = dict_of(content.get("state")) or content
        said = [text_of(page.get(name)) for name in ("title", "url", "snippet")]
    return "\n".join(filter(None, said))


def _plain(text: str) -> str:
    """Return the text as the web page shows it."""
    if "\ue200" not in text and "\ue203" not in text:
        return text
    return re.sub(_PRIVATE, "", re.sub(_DRAWN, _words, text)).strip()


def _words(mark: re.Match[str]) -> str:
    """Return the text of an element: the name of an entity, the text of a link, else ""."""
    blank, kind, value = mark.groups()
    if kind == "entity":
        names = list_of(parsed(value))[1:2]
        return blank + "".join(map(compact, names))
    return blank + value.partition("\ue202")[0] if kind == "url" else ""


def _attached(metadata: dict[str, Any], *, pictured: bool) -> Iterator[str]:
    """Yield the names of attached files, and a mark for pictures that are not among the parts."""
    for file in map(dict_of, list_of(metadata.get("attachments"))):
        if not compact(file.get("mime_type")).startswith("image/"):
            if name := label(file.get("name")):
                yield f"[{name}]"
        elif not pictured:
            yield "[image]"


def _part(part: object, odd: Oddities) -> str:
    """Return a part of a message: its text, or a mark for a picture or a recording."""
    if not isinstance(part, dict):
        return text_of(part)
    if text := text_of(part.get("text")):  # also the transcript of a recording
        return text
    kind = compact(part.get("content_type"))
    mark = next((mark for mark in _MARKS if mark in kind), "")
    if not mark:
        odd.add("a part with unknown type", kind)
    return f"[{mark}]" if mark else ""
