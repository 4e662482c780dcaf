"""Read exports of claude.ai: a conversation has a list of messages, and a message has blocks.

Newer exports name the message that each one answers, so that edited questions and repeated answers are other branches.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import Part, numbered, parts
from aish.memory.importers.exports import Head, Shape, read_export
from aish.memory.importers.fields import Oddities, compact, dict_of, label, list_of, moment, text_of
from aish.memory.importers.json_walk import UNREADABLE, JsonWalk
from aish.memory.importers.spool import Spool, SpooledTurn
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.turns import Role

_HEAD = ("uuid", "name", "created_at", "project", "current_leaf_message_uuid")
_ROLES: dict[object, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of `conversations.json`, or of a zip file with it."""
    yield from read_export(path, Shape(_fill, _turns))


def _fill(names: Iterator[str], walk: JsonWalk, spool: Spool, head: Head, odd: Oddities) -> None:
    for name in names:
        if name == "chat_messages" and walk.peek() == b"[":
            last = ""
            for number, _ in enumerate(walk.elements()):
                message = walk.value()
                fields = dict_of(message)
                id = label(fields.get("uuid")) or f"#{number}"
                spool.add(_message(message, odd), id, label(fields.get("parent_message_uuid")) or last)
                if message is UNREADABLE:
                    spool.note_gap()
                last = id
        elif name in _HEAD:
            head[name] = walk.value()


def _turns(head: Head, spool: Spool, odd: Oddities) -> Iterator[ImportedTurn]:
    if not (conversation := label(head.get("uuid"))):
        odd.add("a conversation without an id, or incomplete")
        return
    channel = label(dict_of(head.get("project")).get("name"))
    time, title = moment(head.get("created_at")), label(head.get("name"))
    base = ImportedTurn(conversation, time, "user", "", channel=channel, title=title)
    yield from spool.conversation(label(head.get("current_leaf_message_uuid")), base)


def _message(message: Any, odd: Oddities) -> Iterator[SpooledTurn]:
    if message is UNREADABLE:
        odd.add("a message that is too long or damaged")
        return
    message = dict_of(message)
    sender = message.get("sender")
    if not isinstance(sender, str) or sender not in _ROLES:
        odd.add("a message with unknown sender", compact(sender))
        return
    role, time, ref = _ROLES[sender], moment(message.get("created_at")), label(message.get("uuid"))
    said = list(parts(message.get("content"), role, odd))
    if all(part.name == THINKING for part in said) and (text := text_of(message.get("text"))):
        said.append(Part(role, text))  # exports before 2025 have no blocks
    if files := "\n".join(_files(message)):
        said.append(Part(role, files))
    for part, id in numbered(ref, said):
        yield SpooledTurn(part.role, part.text, time, part.name, id)


def _files(message: dict[str, Any]) -> Iterator[str]:
    """Yield what was attached. A long pasted text becomes an attachment, so it counts as the user's words."""
    for attachment in map(dict_of, list_of(message.get("attachments"))):
        name = label(attachment.get("file_name")) or "attachment"
        yield f"[{name}]\n{text_of(attachment.get('extracted_content'))}".rstrip()
    for file in map(dict_of, list_of(message.get("files"))):
        yield f"[{label(file.get('file_name')) or 'file'}]"
