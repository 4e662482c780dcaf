"""Sessions of Claude Code: a line for each event, of which some are turns."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import Part, parts
from aish.memory.importers.fields import Oddities, compact, dict_of, label, last_part, list_of, moment, parsed
from aish.memory.importers.files import each_file, lines, open_file, records
from aish.values.said import Heard, Said

_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle"}  # the first is the user's own
_NO_TURNS = frozenset(
    "summary system progress attachment file-history-snapshot file-history-delta queue-operation last-prompt mode "
    "permission-mode bridge-session agent-name agent-color agent-setting pr-link tag worktree-state "
    "content-replacement started result hook_event saved_hook_context".split()
).union(_TITLES)
_REMINDER = r"(?s)<system-reminder>.*?(?:</system-reminder>|\Z)"
_COMMAND = r"(?s)<command-name>(.*?)</command-name>(?:.*?<command-args>(.*?)</command-args>)?"
_TYPED = r"(?s)<bash-input>(.*?)</bash-input>"
_WRAP = 10_000  # characters in which a wrapped command must stand
_PRINTED = ("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>")


def read(path: Path) -> Iterator[Heard]:
    """The turns of a session file, or of all below a directory of projects."""
    yield from each_file(path, ("*.jsonl",), _one)


def _one(path: Path) -> Iterator[Heard]:
    odd, title, tools = Oddities(), _title(path), dict[str, str]()
    with open_file(path) as file:
        for _, record in records(file, odd):
            kind = record.get("type")
            if kind in ("user", "assistant"):
                yield from _turns(record, title, tools, odd)
            elif not isinstance(kind, str) or kind not in _NO_TURNS:
                odd.add("a line of the unknown type", compact(kind))
    yield from odd.told(path.name)


def _title(path: Path) -> str:
    """The title of a session, which its file tells again and again, the last time perhaps at its end."""
    if not path.is_file():
        return ""
    titles: dict[str, str] = {}
    with open_file(path) as file:
        for _, data in lines(file, Oddities()):
            if b'-title"' in data[:400]:
                record = dict_of(parsed(data))
                if (kind := record.get("type")) in _TITLES:
                    titles[kind] = label(record.get(_TITLES[kind]))
    return next(filter(None, map(titles.get, _TITLES)), "")


def _turns(record: dict[str, Any], title: str, tools: dict[str, str], odd: Oddities) -> Iterator[Said]:
    """What is said in a line. What the program put in between is left out, and so are its summaries."""
    if record.get("isMeta") is True or record.get("isCompactSummary") is True:
        return
    message, side = dict_of(record.get("message")), record.get("isSidechain") is True
    conversation = label(record.get("sessionId"))
    if not conversation:
        odd.add("a turn without a session")
        return
    if side:  # an agent of its own, which the model and not the user gave its task
        conversation += f"/{label(record.get('agentId')) or 'sidechain'}"
    _remember(message, tools)
    time, ref, channel = moment(record.get("timestamp")), label(record.get("uuid")), last_part(record.get("cwd"))
    role = "assistant" if side or record["type"] == "assistant" else "user"
    for number, part in enumerate(parts(message.get("content"), "assistant" if role == "assistant" else "user", odd)):
        if text := _typed(part):
            name = tools.get(part.call, "") if part.role == "tool" else "sidechain" if side else ""
            where = f"{ref}/{number}" if ref and number else ref
            yield Said(conversation, time, part.role, text, name, where, channel, title)


def _remember(message: dict[str, Any], tools: dict[str, str]) -> None:
    """Keep the names of the tools that are called, for the answers, which come soon and name only the call."""
    if len(tools) > 1000:
        tools.clear()
    for block in map(dict_of, list_of(message.get("content"))):
        if block.get("type") == "tool_use":
            tools[label(block.get("id"))] = label(block.get("name"))


def _typed(part: Part) -> str:
    """The words without what the program wraps them in."""
    text = part.text
    if "<system-reminder>" in text:
        text = re.sub(_REMINDER, "", text).strip()
    if part.role != "user" or not text.startswith("<"):
        return text
    if text.startswith(_PRINTED):
        return ""
    if command := re.search(_COMMAND, text[:_WRAP]):
        return f"{command[1].strip()} {(command[2] or '').strip()}".strip()
    typed = re.match(_TYPED, text)
    return f"! {typed[1].strip()}" if typed else text
