"""Export as sessions of Claude Code: one file for each conversation, one line for each message.

Pure: turns in, text out. All ids are made from those of the conversation, so that a second export has the same ones.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from aish.memory.exporters.messages import ChatMessage, arguments_of, chat_messages
from aish.memory.exporters.talk import Talk, time_of
from aish.values.items import stamp
from aish.values.text import json_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_VERSION = "2.0.0"  # of the session format that these lines have


def pieces(talk: Talk) -> Iterator[str]:
    """Yield the lines of a session: each names the one before it."""
    session, parent, last = session_id(talk), None, _EPOCH
    if talk.title:
        yield json_text({"type": "custom-title", "customTitle": talk.title, "sessionId": session}) + "\n"
    for number, message in enumerate(chat_messages(talk)):
        last = time_of(message.entry) or last
        uuid = _uuid(session, number)
        line = {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": talk.directory or f"/{talk.channel}",
            "sessionId": session,
            "version": _VERSION,
            "gitBranch": "",
            **_said(message, uuid),
            "uuid": uuid,
            "timestamp": stamp(last),
        }
        yield json_text(line) + "\n"
        parent = uuid


def session_id(talk: Talk) -> str:
    """Return the id of the session, which is also the name of its file."""
    return _uuid(talk.source, talk.conversation)


def _said(message: ChatMessage, uuid: str) -> dict[str, Any]:
    if message.role == "user":
        return {"type": "user", "message": {"role": "user", "content": message.text}}
    if message.role == "tool":
        result = {"tool_use_id": message.call_id, "type": "tool_result", "content": message.text}
        return {"type": "user", "message": {"role": "user", "content": [result]}}
    content: list[dict[str, Any]] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call)} for call in message.calls
    ]
    answer: dict[str, Any] = {"id": f"msg_{uuid.replace('-', '')}", "type": "message", "role": "assistant"}
    answer |= {"model": message.name or "unknown", "content": content or [{"type": "text", "text": "(no answer)"}]}
    answer |= {"stop_reason": "tool_use" if message.calls else "end_turn", "stop_sequence": None}
    answer["usage"] = {"input_tokens": 0, "output_tokens": 0}
    return {"type": "assistant", "message": answer}


def _uuid(*parts: object) -> str:
    """Return an id in the form of a UUID (version 8: made by a hash)."""
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-a{digest[17:20]}-{digest[20:32]}"
