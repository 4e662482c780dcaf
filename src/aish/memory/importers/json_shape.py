"""Tell the format of a JSON file by the names of its fields, from its beginning.

Pure: bytes in, a name out. One field is never enough: programs share names such as `sessionId`.
"""

import io
from collections.abc import Callable
from typing import Any

from aish.memory.importers.fields import dict_of, parsed
from aish.memory.importers.json_walk import CutOff, JsonWalk
from aish.values.named_tuple import NamedTuple

_LINES = 20  # the first lines may be bookkeeping
_DEPTH = 3  # levels of objects that are looked into
_LISTS = 3  # levels of lists that are looked into, one in the other
_MOST_NAMES = 400
# Lines of Claude Code that have only a kind and a session, and may come first.
_KINDS = ("mode", "permission-mode", "queue-operation", "custom-title", "ai-title", "agent-name", "last-prompt")


class JsonShape(NamedTuple):
    """The names of fields in the first object of a file, by level: its own, those of objects in it, and so on."""

    is_list: bool
    names: tuple[set[str], ...]

    def has(self, *names: str, level: int = 0) -> bool:
        return self.names[level].issuperset(names)

    def any(self, *names: str, level: int = 0) -> bool:
        return not self.names[level].isdisjoint(names)


# The order counts: what asks for more comes first.
_SHAPES: tuple[tuple[str, Callable[[JsonShape], bool]], ...] = (
    ("jsonl", lambda one: one.has("conversation", "role", "text")),
    ("chatgpt", lambda one: one.has("mapping") and one.any("message", "parent", "children", level=2)),
    ("claude", lambda one: one.has("chat_messages") and (one.has("uuid") or one.has("sender", level=1))),
    ("codex", lambda one: one.has("type", "payload", "timestamp") and not one.is_list),
    ("codex", lambda one: one.has("id", "timestamp") and one.any("instructions", "git") and not one.is_list),
    ("claude-code", lambda one: one.has("type", "sessionId") and one.any("uuid", "parentUuid", "isSidechain")),
    ("claude-code", lambda one: one.has("type", "summary", "leafUuid")),
    ("claude-code", lambda one: one.has("type", "messageId", "snapshot")),
    ("gemini", lambda one: one.has("sessionId", "projectHash")),
    ("gemini", lambda one: one.is_list and one.has("sessionId", "messageId", "message")),
    ("gemini", lambda one: one.is_list and one.has("role", "parts")),
    ("gemini", lambda one: one.has("history") and one.has("role", "parts", level=1)),
    ("open-webui", lambda one: one.has("id", "chat") and one.any("history", "messages", level=1)),
    ("librechat", lambda one: one.has("conversationId", "exportAt") and one.any("messages", "messagesTree")),
    ("opencode", lambda one: one.has("info", "messages") and one.any("slug", "projectID", "version", level=1)),
    ("opencode", lambda one: one.has("id", "version", "title", "time") and one.any("projectID", "directory")),
    ("goose", lambda one: one.has("role", "created", "content") and not one.is_list),
    ("cursor", lambda one: one.has("role", "message") and one.has("content", level=1) and not one.has("type")),
    ("codex-history", lambda one: one.has("session_id", "ts", "text")),
    ("claude-history", lambda one: one.has("display", "timestamp") and one.any("project", "pastedContents")),
    ("shell-gpt", lambda one: one.is_list and one.has("role") and one.any("content", "tool_calls")),
)


def format_of_json(head: bytes) -> str:
    """Return the format of a file that begins with `head`, or "" if it is not certain."""
    lines = head.splitlines()
    for line in lines[:_LINES]:
        record = dict_of(parsed(line))
        if record and (format := _format_of(_shape_of(record)) or _format_of_kind(record)):
            return format
    return _format_of(_shape(head))


def _format_of(shape: JsonShape) -> str:
    return next((format for format, fits in _SHAPES if fits(shape)), "")


def _format_of_kind(record: dict[str, Any]) -> str:
    """Return the format of a line that only tells its kind and its session."""
    known = record.get("type") in (
        "mode",
        "permission-mode",
        "queue-operation",
        "custom-title",
        "ai-title",
        "last-prompt",
    )
    return "claude-code" if known and isinstance(record.get("sessionId"), str) else ""


def _shape_of(record: dict[str, Any]) -> JsonShape:
    """Return the shape of an object that is already parsed."""
    inner = [value for value in record.values() if isinstance(value, dict)]
    deeper = [value for one in inner for value in one.values() if isinstance(value, dict)]
    return JsonShape(
        False, (set(record), {name for one in inner for name in one}, {name for one in deeper for name in one})
    )


def _shape(head: bytes) -> JsonShape:
    """Return the shape of text that may be cut; what was read before the cut counts."""
    names: tuple[set[str], ...] = (set(), set(), set())
    walk = JsonWalk(io.BytesIO(head).read, len(head) + 1)
    is_list = walk.peek() == b"["
    try:
        _collect(walk, names, 0)
    except CutOff:
        pass
    return JsonShape(is_list, names)


def _collect(walk: JsonWalk, names: tuple[set[str], ...], depth: int, level: int = 0) -> None:
    sign = walk.peek()
    if sign == b"[" and level < _LISTS:
        for _ in walk.elements():
            _collect(walk, names, depth, level + 1)
            if names[0] and not depth:
                return  # the first object of a list is enough
    elif sign == b"{" and depth < _DEPTH:
        for name in walk.members():
            if len(names[depth]) < _MOST_NAMES:
                names[depth].add(name)
            _collect(walk, names, depth + 1)
