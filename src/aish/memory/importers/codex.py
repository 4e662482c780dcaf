"""Read sessions of Codex: rollout files, whose lines have a time and a payload, or in older files only the payload."""

import re
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from aish.memory.importers.blocks import flat
from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.fields import (
    Oddities,
    compact,
    dict_of,
    label,
    last_part,
    list_of,
    moment,
    parsed,
    text_of,
)
from aish.memory.importers.files import each_file, lines, open_file, records
from aish.values.imported import THINKING, ImportedRecord, ImportedTurn
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Role

# Events for the screen repeat what the items contain.
_NO_TURNS = (
    "event_msg turn_context compacted world_state security_risk_score inter_agent_communication "
    "inter_agent_communication_metadata token_usage_record"
).split()
_SILENT = (
    "ghost_snapshot compaction compaction_summary context_compaction compaction_trigger additional_tools "
    "tool_search_output other"
).split()
_CALLS = ("function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call")
_ANSWERS = ("function_call_output", "custom_tool_call_output", "mcp_tool_call_output")
# Text that the program sends to the model as if the user had written it.
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<permissions instructions>",
    "<codex_internal_context",
    "<goal_context>",
    "<recommended_plugins>",
    "<hook_prompt",
    "<external_",
    "Warning: apply_patch was requested via ",
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
)
_AGENTS = {"subagent", "internal"}  # sources of sessions without a human user
_TYPED = r"(?s)<user_shell_command>\s*<command>(.*?)</command>"
_RESULT = r"(?s)<result>(.*?)(?:</result>|\Z)"
_SHELL = "shell"  # the speaker of the output of a command that the user ran
_ROLLED_BACK = b'"thread_rolled_back"'
_KIND = 300  # bytes of a line in which its kind is
_WRAP = 10_000  # maximum characters of a wrapped command
_PICTURE = r"<image(?: name=[^\n]*)?>|</image>"  # tags around a picture, each in its own block


class CodexSession(NamedTuple):
    """What the head of a file says about all its turns."""

    conversation: str = ""
    channel: str = ""
    time: datetime | None = None
    agent: bool = False  # its tasks came from another agent, not from the user
    first: int = 0  # lines with a lower ordinal belong to the parent session


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the turns of a rollout file, or of all such files in a directory."""
    yield from each_file(path, ("rollout-*.jsonl", "rollout-*.jsonl.zst"), _one)


def _one(path: Path) -> Iterator[ImportedRecord]:
    odd, tools = Oddities(), dict[str, str]()
    session = CodexSession(path.name.partition(".")[0])
    headed, undone = False, _rolled_back(path)
    with open_file(path) as file:
        for number, record in records(file, odd):
            item, kind = _item(record)
            while undone and undone[0].stop <= number:
                undone.popleft()
            if kind == "session_meta":
                if not headed:  # a fork repeats the heads of its parents
                    session, headed = _session(item, session), True
            elif kind not in _NO_TURNS and not _is_inherited(record, session):
                for turn in _turn(item, kind, session, moment(record.get("timestamp")), str(number), tools, odd):
                    yield turn.aside() if undone and number in undone[0] else turn
    yield from odd.told(path.name)


def _rolled_back(path: Path) -> deque[range]:
    """Return the lines with questions that the user took back, with all that followed each of them."""
    if not path.is_file():
        return deque()  # a pipe can be read only once
    with open_file(path) as file:
        if not any(_ROLLED_BACK in line.data[:_KIND] for line in lines(file, Oddities())):
            return deque()
    undone: deque[range] = deque()
    asked: list[int] = []
    with open_file(path) as file:
        for number, record in records(file, Oddities()):
            item, kind = _item(record)
            if kind == "message" and item.get("role") == "user":
                if any(_typed(flat(block, Oddities())) for block in _blocks(item.get("content"))):
                    asked.append(number)
            elif item.get("type") == "thread_rolled_back" and asked:
                count = item.get("num_turns")
                if isinstance(count, int) and count > 0:
                    first = asked[max(0, len(asked) - count)]
                    del asked[-count:]
                    while undone and undone[-1].start >= first:
                        undone.pop()
                    undone.append(range(first, number))
    return undone


def _item(record: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the payload of a line and its kind, also for the older form."""
    kind = record.get("type")
    if kind == "response_item":
        payload = dict_of(record.get("payload"))
        return payload, compact(payload.get("type"))
    if isinstance(kind, str):
        return dict_of(record.get("payload")) or record, kind
    if "record_type" in record:
        return {}, "other"
    return record, "session_meta" if "id" in record and "timestamp" in record else ""


def _session(head: dict[str, Any], session: CodexSession) -> CodexSession:
    id, cwd = label(head.get("id")) or session.conversation, last_part(head.get("cwd"))
    agent = bool(_AGENTS & dict_of(head.get("source")).keys()) or head.get("thread_source") == "subagent"
    first = head.get("subagent_history_start_ordinal")
    return CodexSession(id, cwd, moment(head.get("timestamp")), agent, first if isinstance(first, int) else 0)


def _is_inherited(record: dict[str, Any], session: CodexSession) -> bool:
    ordinal = record.get("ordinal")
    return isinstance(ordinal, int) and ordinal < session.first


def _turn(
    item: dict[str, Any],
    kind: str,
    session: CodexSession,
    time: datetime | None,
    ref: str,
    tools: dict[str, str],
    odd: Oddities,
) -> Iterator[ImportedTurn]:
    role: Role = "assistant"
    name, text, printed = "", "", ""
    if kind == "message":
        if item.get("role") == "user":
            role, name = ("assistant", "subagent") if session.agent else ("user", "")
            blocks = [flat(block, odd) for block in _blocks(item.get("content"))]
            text = "\n".join(filter(None, map(_typed, blocks)))
            printed = "\n".join(filter(None, map(_printed, blocks)))
        elif item.get("role") == "assistant":
            text = flat(item.get("content"), odd)
    elif kind == "agent_message":
        name, text = label(item.get("author")), flat(item.get("content"), odd)
    elif kind in _CALLS:
        text = _call(item, kind, tools)
    elif kind in _ANSWERS:
        role, name = "tool", tools.pop(label(item.get("call_id")), "") or label(item.get("name"))
        text = _answer(item.get("output"), odd)
    elif kind == "reasoning":
        thoughts = [*list_of(item.get("summary")), *list_of(item.get("content"))]
        name, text = (
            THINKING,
            thought("\n\n".join(filter(None, (text_of(dict_of(one).get("text")) for one in thoughts)))),
        )
    elif kind == "image_generation_call":
        text = str(ImportedCall("image", item.get("revised_prompt")))
    elif kind not in _SILENT:
        odd.add("a line with unknown type", kind)
    if text:
        yield ImportedTurn(session.conversation, time or session.time, role, text, name, ref, session.channel)
    if printed:
        when, channel = time or session.time, session.channel
        yield ImportedTurn(session.conversation, when, "tool", printed, _SHELL, f"{ref}/1", channel)


def _blocks(content: object) -> list[Any]:
    return [content] if isinstance(content, str | dict) else list_of(content)


def _typed(text: str) -> str:
    """Return what the user said in a block; "" for a block that the program added."""
    if not text.startswith(("<", "#", "Warning: ")):
        return text
    if typed := re.match(_TYPED, text[:_WRAP]):
        return f"! {typed[1].strip()}"
    return "" if text.startswith(_INJECTED) or re.fullmatch(_PICTURE, text) else text


def _printed(text: str) -> str:
    """Return the result of a command that the user ran with `!`."""
    result = re.search(_RESULT, text) if text.startswith("<user_shell_command>") else None
    return result[1].strip() if result else ""


def _call(item: dict[str, Any], kind: str, tools: dict[str, str]) -> str:
    """Return the call as text, and remember the tool for the result, which names only the call."""
    name = label(item.get("name")) or kind.removesuffix("_call")
    if len(tools) > 1000:
        tools.clear()
    tools[label(item.get("call_id"))] = name
    given = next((item[field] for field in ("arguments", "input", "action") if item.get(field)), "")
    return str(ImportedCall(name, given))


def _answer(output: object, odd: Oddities) -> str:
    """Return the output of a tool without its metadata."""
    if isinstance(output, str) and output.startswith('{"output":'):
        output = dict_of(parsed(output)).get("output", output)
    output = dict_of(output).get("content", output)
    return flat(output, odd) if isinstance(output, str) or list_of(output) else compact(output or "")
