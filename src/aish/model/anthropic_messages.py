"""Models of Anthropic, through its own Messages API: thinking, prompt caching and its own stop reasons."""

import json
import re
from collections.abc import Sequence
from typing import Any

from aish.model.chunks import error_text
from aish.model.signed_thoughts import SignedThoughts, current_turn
from aish.model.streamed_api import StreamedApi, call_input
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Usage
from aish.values.turns import Message

_VERSION = "2023-06-01"
_MOST_TOKENS = 8192  # the API wants a limit; a model with a lower one says which
_CACHED = {"cache_control": {"type": "ephemeral"}}
_REASONS = {
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


class AnthropicMessages(StreamedApi):
    """Streams answers from `/messages`."""

    def __init__(self, *, endpoint: str, **options: Any) -> None:
        super().__init__(endpoint=endpoint.rstrip("/"), **options)
        self._most_tokens = _MOST_TOKENS
        self._signed = SignedThoughts()

    def url(self) -> str:
        return f"{self.endpoint}/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": _VERSION, **({"x-api-key": key} if key else {})}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        system = "\n\n".join(str(one["content"]) for one in request.messages if one["role"] == "system")
        said = [one for one in request.messages if one["role"] != "system"]
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": request.max_tokens or self._most_tokens,
            "messages": _messages(said, self._signed),
            "stream": True,
        }
        if system:
            body["system"] = [{"type": "text", "text": system, **_CACHED}]
        if request.tools:
            body["tools"] = [_tool(one["function"]) for one in request.tools]
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return body

    def listing(self) -> str:
        return f"{self.endpoint}/models?limit=1000"

    def reader(self) -> "MessageReader":
        return MessageReader(self._signed)

    def gives_up(self, status: int, body: bytes) -> bool:
        """Take the limit of tokens that the model has, if ours is larger."""
        found = re.search(r"max_tokens: \d+ > (\d+)", error_text(body)) if status == 400 else None
        if found is None or not 0 < int(found[1]) < self._most_tokens:
            return False
        self._most_tokens = int(found[1])
        return True


def _tool(function: Message) -> Message:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function["name"], "description": function.get("description", ""), "input_schema": schema}


def _messages(messages: Sequence[Message], signed: SignedThoughts) -> list[Message]:
    """Return the messages with blocks of content; those of one side that follow each other are one message."""
    found: list[Message] = []
    current = current_turn(messages)
    for place, message in enumerate(messages):
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = _blocks(message, signed if place >= current else None)
        if not blocks:
            continue
        if found and found[-1]["role"] == role:
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    if found and found[0]["role"] == "assistant":
        found.insert(0, {"role": "user", "content": [{"type": "text", "text": "(the beginning was left out)"}]})
    if found and found[-1]["content"][-1]["type"] != "thinking":
        found[-1]["content"][-1] |= _CACHED
    return found


def _blocks(message: Message, signed: SignedThoughts | None) -> list[Message]:
    text = str(message.get("content") or "")
    if message["role"] == "tool":
        return [{"type": "tool_result", "tool_use_id": _id(message["tool_call_id"]), "content": text}]
    calls = message.get("tool_calls") or ()
    thoughts = list(signed.of(calls[0]["id"]) or ()) if signed and calls else []
    said = [{"type": "text", "text": text}] if text.strip() else []
    return [*thoughts, *said, *map(_tool_use, calls)]


def _tool_use(call: Message) -> Message:
    function = call["function"]
    return {
        "type": "tool_use",
        "id": _id(call["id"]),
        "name": function["name"],
        "input": call_input(function["arguments"]),
    }


def _id(id: str) -> str:
    """Return an id that the API accepts; calls of other servers may have another form."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", id)


class MessageReader:
    """Reads the events of one answer."""

    def __init__(self, signed: SignedThoughts) -> None:
        self.ended = False
        self._signed = signed
        self._thoughts: dict[int, Message] = {}  # blocks by index, as they have to be given back
        self._reason = ""
        self._usage = Usage(0, 0)

    def read(self, data: bytes) -> list[ModelEvent]:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return [Failed("the server sent invalid JSON")]
        if not isinstance(event, dict):
            return [Failed("the server sent JSON that is not an answer")]
        match event.get("type"):
            case "message_start":
                return self._take_usage(_dict(_dict(event.get("message")).get("usage")))
            case "content_block_start":
                return self._start(_whole(event.get("index")), _dict(event.get("content_block")))
            case "content_block_delta":
                return self._add(_whole(event.get("index")), _dict(event.get("delta")))
            case "message_delta":
                self._reason = str(_dict(event.get("delta")).get("stop_reason") or self._reason)
                return self._take_usage(_dict(event.get("usage")))
            case "message_stop":
                self.ended = True
                return [Finished(_REASONS.get(self._reason, "stop"))]
            case "message":
                return self._whole_message(event)
            case "error":
                self.ended = True
                return [_failure(data)]
        return []  # ping, content_block_stop, and what is added to the API later

    def _start(self, place: int, block: Message) -> list[ModelEvent]:
        match block.get("type"):
            case "text" if block.get("text"):
                return [TextPiece(str(block["text"]))]
            case "thinking":
                thought, signature = (str(block.get(name) or "") for name in ("thinking", "signature"))
                self._thoughts[place] = {**block, "thinking": thought, "signature": signature}
                return [ReasoningPiece(thought)] if thought else []
            case "redacted_thinking":
                self._thoughts[place] = block
            case "tool_use":
                id = str(block.get("id") or "")
                if self._thoughts:
                    self._signed.keep(id, [self._thoughts[index] for index in sorted(self._thoughts)])
                given = json.dumps(block["input"]) if block.get("input") else ""
                return [ToolPiece(place, id, str(block.get("name") or ""), given)]
        return []

    def _add(self, place: int, delta: Message) -> list[ModelEvent]:
        match delta.get("type"):
            case "text_delta" if delta.get("text"):
                return [TextPiece(str(delta["text"]))]
            case "input_json_delta" if delta.get("partial_json"):
                return [ToolPiece(place, arguments=str(delta["partial_json"]))]
            case "thinking_delta" if delta.get("thinking"):
                if self._thoughts.get(place, {}).get("type") == "thinking":
                    self._thoughts[place]["thinking"] += str(delta["thinking"])
                return [ReasoningPiece(str(delta["thinking"]))]
            case "signature_delta" if self._thoughts.get(place, {}).get("type") == "thinking":
                self._thoughts[place]["signature"] += str(delta.get("signature") or "")
        return []

    def _whole_message(self, message: Message) -> list[ModelEvent]:
        """Read an answer that was not streamed."""
        content = message.get("content")
        blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        events = [event for place, block in enumerate(blocks) for event in self._start(place, block)]
        self.ended = True
        reason = _REASONS.get(str(message.get("stop_reason") or ""), "stop")
        return [*events, *self._take_usage(_dict(message.get("usage"))), Finished(reason)]

    def _take_usage(self, usage: Message) -> list[ModelEvent]:
        """Return the tokens so far. The API counts those that were read from its cache, or put there, apart."""
        if not usage:
            return []
        before, cached = self._usage, _whole(usage.get("cache_read_input_tokens"))
        asked = _whole(usage.get("input_tokens")) + cached + _whole(usage.get("cache_creation_input_tokens"))
        said = _whole(usage.get("output_tokens"))
        self._usage = Usage(
            max(asked, before.prompt_tokens),
            max(said, before.completion_tokens),
            max(cached, before.cached_tokens),
        )
        return [self._usage] if self._usage.prompt_tokens else []


def _failure(data: bytes) -> Failed:
    error = _dict(json.loads(data).get("error"))
    if error.get("type") in ("overloaded_error", "api_error", "rate_limit_error"):
        return Failed(
            f"the server is busy ({error_text(data)}); wait, or choose another model with :model", "unreachable"
        )
    return Failed(f"the server reports: {error_text(data)}")


def _dict(value: object) -> Message:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
