"""Render turns as messages of the OpenAI chat API, with or without its tool role.

Pure: the same turns give the same messages, byte for byte, so that the server's prompt cache keeps hitting.
"""

from collections.abc import Iterable, Sequence

from aish.values.turns import Message, Turn

# The user stopped the model after its tools had run. Many templates refuse a question right after a result.
STOPPED: Message = {"role": "assistant", "content": "(no answer yet)"}


def render(system: str, turns: Sequence[Turn], *, use_tool_role: bool = True) -> tuple[Message, ...]:
    """Return the system prompt and the turns as messages. Consecutive plain messages of one role are merged."""
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for turn, results in _groups(turns):
        new = _with_tool_role(turn, results) if use_tool_role else [_folded(turn, results)]
        for message in new:
            if messages and messages[-1]["role"] == "tool" and message["role"] == "user":
                messages.append(dict(STOPPED))
            if messages and _same_plain_role(messages[-1], message):
                messages[-1] = message | {"content": f"{messages[-1]['content']}\n{message['content']}"}
            else:
                messages.append(message)
    return tuple(messages)


def _groups(turns: Sequence[Turn]) -> Iterable[tuple[Turn, dict[str, str]]]:
    """Return each user or assistant turn with its tool results by call id. Drops tool turns without a call."""
    groups: list[tuple[Turn, dict[str, str]]] = []
    for turn in turns:
        if turn.role != "tool":
            groups.append((turn, {}))
        elif groups and any(call.id == turn.call_id for call in groups[-1][0].tool_calls):
            groups[-1][1][turn.call_id] = turn.content
    return groups


def _with_tool_role(turn: Turn, results: dict[str, str]) -> list[Message]:
    if not turn.tool_calls:
        return [{"role": turn.role, "content": turn.content}]
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in turn.tool_calls
    ]
    answers = [{"role": "tool", "tool_call_id": c.id, "content": results.get(c.id, "")} for c in turn.tool_calls]
    return [{"role": "assistant", "content": turn.content or None, "tool_calls": calls}, *answers]


def _folded(turn: Turn, results: dict[str, str]) -> Message:
    parts = [turn.content] if turn.content else []
    for call in turn.tool_calls:
        parts.append(f"[tool: {call.name}]\n{call.arguments}\n[result]\n{results.get(call.id, '')}")
    return {"role": turn.role, "content": "\n".join(parts)}


def _same_plain_role(one: Message, other: Message) -> bool:
    return (
        one["role"] == other["role"] != "tool"
        and one["role"] != "system"
        and "tool_calls" not in one
        and "tool_calls" not in other
    )
