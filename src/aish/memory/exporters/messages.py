"""The messages of a conversation in a form that chat APIs accept: each result answers a call, each call has a result.

Pure: turns in, messages out. Conversations of other tools have calls as text, as in `[Bash] ls`, and results without
the id of a call. Such a text becomes a call again; a result without one gets a call that has only a name.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from aish.memory.exporters.talk import Talk, calls_of, name_of
from aish.memory.importers.calls import ImportedCall
from aish.memory.importers.fields import parsed
from aish.values.imported import THINKING
from aish.values.named_tuple import NamedTuple
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, ToolCall


class ChatMessage(NamedTuple):
    """One message; `entry` is the turn that it comes from."""

    entry: JournalEntry
    role: str
    text: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""  # of the tool that gave a result, or of a speaker


def chat_messages(talk: Talk) -> Iterator[ChatMessage]:
    """Yield the messages, without what a model thought. Holds one answer and the results of its calls at a time."""
    answer: JournalEntry | None = None
    results: list[JournalEntry] = []
    for entry in talk.turns():
        if name_of(entry) == THINKING:
            continue
        if entry.turn.role == "tool":
            results.append(entry)
            continue
        yield from _group(answer, results)
        answer, results = (entry, []) if entry.turn.role == "assistant" else (None, [])
        if entry.turn.role == "user":
            yield ChatMessage(entry, "user", for_keeping(entry.turn.content), name=name_of(entry))
    yield from _group(answer, results)


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object, also if the model did not write one."""
    given = parsed(call.arguments)
    return given if isinstance(given, dict) else {"arguments": call.arguments} if call.arguments.strip() else {}


def _group(answer: JournalEntry | None, results: list[JournalEntry]) -> Iterator[ChatMessage]:
    """Yield an answer and the results of its calls, matched by their ids."""
    if answer is None and not results:
        return
    first = answer or results[0]
    text = for_keeping(answer.turn.content) if answer else ""
    open_calls: dict[str, ToolCall] = {}
    for place, call in enumerate(calls_of(answer) if answer else ()):
        made = not call.id or call.id in open_calls
        open_calls[_made_id(first, place) if made else call.id] = call
    ids = [for_keeping(result.turn.call_id) for result in results]
    unmatched = [name_of(result) for id, result in zip(ids, results, strict=True) if id not in open_calls]
    text, written = _written_calls(text, unmatched)
    calls = [call._replace(id=id) for id, call in open_calls.items()]
    matched: list[tuple[str, JournalEntry]] = []
    for id, result in zip(ids, results, strict=True):
        if not open_calls.pop(id, None):
            id = _made_id(result)
            calls.append(written.pop(0)._replace(id=id) if written else ToolCall(id, name_of(result) or "tool", "{}"))
        matched.append((id, result))
    by_id = {call.id: call for call in calls}
    yield ChatMessage(first, "assistant", text, tuple(calls), name=name_of(first) if answer else "")
    for id, result in matched:
        yield ChatMessage(result, "tool", for_keeping(result.turn.content), call_id=id, name=by_id[id].name)
    for id, call in open_calls.items():  # an interrupted turn; APIs refuse a call without a result
        yield ChatMessage(first, "tool", "", call_id=id, name=call.name)


def _made_id(entry: JournalEntry, place: int = 0) -> str:
    return f"call_{entry.number}_{place}"


def _written_calls(text: str, names: list[str]) -> tuple[str, list[ToolCall]]:
    """Take the calls of these tools from the end of a text, as an importer wrote them, and return the rest of it."""
    calls: list[ToolCall] = []
    for name in reversed(names):
        head, _, _ = f"\n{text}".rpartition(f"\n[{name}]")
        found = _call(name, text[len(head) :]) if name and len(head) < len(text) else None
        if found:
            text = head[1:] if head else ""
        calls.insert(0, found or ToolCall("", name or "tool", "{}"))
    return text, calls


def _call(name: str, text: str) -> ToolCall | None:
    """Read a call that was written as text. None if the same text would not come back from it."""
    rest = text[len(name) + 2 :].removeprefix(" ")
    for given in _readings(rest):
        written = json.dumps(given, ensure_ascii=False)
        if str(ImportedCall(name, written)) == text:
            return ToolCall("", name, written)
    return None


def _readings(text: str) -> Iterator[dict[str, Any]]:
    """Yield what the arguments may have been: an object, a command with named arguments in lines below, a command."""
    read = parsed(text) if text.startswith("{") else None
    if isinstance(read, dict):
        yield read
    first, *lines = text.split("\n")
    named = [re.fullmatch(r"(\w+): ?(.*)", line) for line in lines]
    if lines and all(named):
        arguments = {found[1]: found[2] for found in named if found}
        yield {"command": first, **arguments} if first else arguments
    yield {"command": text} if text else {}
