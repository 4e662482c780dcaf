"""Read chats of shell-gpt: each file is a JSON list of messages, and the first one names the model's role."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import flat
from aish.memory.importers.calls import ImportedCall
from aish.memory.importers.fields import Oddities, Refs, compact, dict_of, label, list_of
from aish.memory.importers.files import MOST, each_file, modified
from aish.memory.importers.json_walk import UNREADABLE, CutOff, JsonWalk
from aish.values.imported import ImportedRecord, ImportedTurn, Skipped
from aish.values.turns import Role

_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_PART = "You are "  # before the name of the role, in the first line


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of one chat or of a directory of chats. Messages have no times, so they get the file's time."""
    yield from each_file(path, ("*",), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd, refs, part, tools = Oddities(), Refs(), "", dict[str, str]()
    time, conversation = modified(path), label(path.name)
    with path.open("rb") as file:
        walk = JsonWalk(file.read, MOST)
        try:
            for _ in walk.elements():
                message = walk.value()
                if message is UNREADABLE:
                    odd.add("a message that is too long or damaged")
                elif dict_of(message).get("role") == "system":
                    part = _part(message.get("content"))
                elif said := _said(dict_of(message), tools, odd):
                    role, text, name = said
                    name = name or (part if role == "assistant" else "")
                    yield ImportedTurn(conversation, time, role, text, name, refs.name(role, text), title=conversation)
        except CutOff:
            yield Skipped(path.name, f"is not a list of messages, or ends at byte {walk.place:,}")
    yield from odd.told(path.name)


def _part(text: object) -> str:
    first = text.partition("\n")[0] if isinstance(text, str) else ""
    return label(first.removeprefix(_PART)) if first.startswith(_PART) else ""


def _said(message: dict[str, Any], tools: dict[str, str], odd: Oddities) -> tuple[Role, str, str] | None:
    """Return the turn of a message. Remember called tools for their results, which name only the call."""
    role = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        odd.add("a message with unknown role", compact(role))
        return None
    made = [dict_of(call) for call in list_of(message.get("tool_calls"))]
    calls = [dict_of(call.get("function")) for call in made]
    if len(tools) > 1000:
        tools.clear()
    tools |= {label(one.get("id")): label(call.get("name")) for one, call in zip(made, calls, strict=True)}
    calls += [dict_of(message["function_call"])] if message.get("function_call") else []
    lines = [
        flat(message.get("content"), odd),
        *(str(ImportedCall(call.get("name"), call.get("arguments"))) for call in calls),
    ]
    text = "\n".join(filter(None, lines))
    name = label(message.get("name")) or tools.get(label(message.get("tool_call_id")), "")
    return (_ROLES[role], text, name) if text else None
