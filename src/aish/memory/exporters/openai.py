"""Export as messages of OpenAI's chat API: one line `{"messages": […]}` for each conversation, as for fine-tuning.

Pure: turns in, text out. Times, titles and channels are not part of that format.
"""

from collections.abc import Iterator
from typing import Any

from aish.memory.exporters.messages import ChatMessage, chat_messages
from aish.memory.exporters.talk import Talk
from aish.values.text import json_text


def pieces(talk: Talk) -> Iterator[str]:
    """Yield the line in pieces, because a conversation may be long."""
    before = '{"messages": ['
    for message in chat_messages(talk):
        yield before + json_text(_message(message))
        before = ", "
    yield "]}\n"


def _message(message: ChatMessage) -> dict[str, Any]:
    given: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        given["content"] = message.text or None
        given["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
            for call in message.calls
        ]
    if message.call_id:
        given["tool_call_id"] = message.call_id
    return given
