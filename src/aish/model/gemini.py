"""Models of Google, through the Gemini API: `streamGenerateContent`, with thinking and signed calls."""

import json
import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from aish.model.chunks import error_text
from aish.model.signed_thoughts import SignedThoughts, current_turn
from aish.model.streamed_api import StreamedApi, call_input
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Usage
from aish.values.turns import Message

_THINKS = re.compile(r"gemini-(2\.5|[3-9]|\d\d)")
_SIGNS = re.compile(r"gemini-([3-9]|\d\d)")  # refuses the results of calls that are not signed
_UNSIGNED = "skip_thought_signature_validator"  # what the API wants for a call that it did not make
_REASONS = {
    "MAX_TOKENS": "length",
    **dict.fromkeys(("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "OTHER"), "error"),
    **dict.fromkeys(("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"), "content_filter"),
}


class Gemini(StreamedApi):
    """Streams answers from `models/NAME:streamGenerateContent`."""

    def __init__(self, *, endpoint: str, **options: Any) -> None:
        super().__init__(endpoint=endpoint.rstrip("/"), **options)
        self.model = self.model.removeprefix("models/")
        self._signed = SignedThoughts()
        self._asks_thoughts = bool(_THINKS.match(self.model))  # until the service rejects the option

    def url(self) -> str:
        return f"{self.endpoint}/models/{quote(self.model, safe='')}:streamGenerateContent?alt=sse"

    def headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key} if key else {}

    def body(self, request: ChatRequest) -> dict[str, Any]:
        system = "\n\n".join(str(one["content"]) for one in request.messages if one["role"] == "system")
        said = [one for one in request.messages if one["role"] != "system"]
        body: dict[str, Any] = {"contents": self._contents(said)}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_declaration(one["function"]) for one in request.tools]}]
        options = {
            "temperature": self.temperature,
            "maxOutputTokens": request.max_tokens,
            "stopSequences": list(request.stop) or None,
            "thinkingConfig": {"includeThoughts": True} if self._asks_thoughts else None,
        }
        if wanted := {name: value for name, value in options.items() if value is not None}:
            body["generationConfig"] = wanted
        return body

    def _contents(self, messages: Sequence[Message]) -> list[Message]:
        """Return the messages as contents with parts; those of one side that follow each other are one."""
        found: list[Message] = []
        current, names = current_turn(messages), dict[str, str]()
        for place, message in enumerate(messages):
            role = "model" if message["role"] == "assistant" else "user"
            names |= {call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()}
            parts = self._parts(message, names, signs=place >= current)
            if found and found[-1]["role"] == role:
                found[-1]["parts"] += parts
            elif parts:
                found.append({"role": role, "parts": parts})
        return found

    def _parts(self, message: Message, names: dict[str, str], *, signs: bool) -> list[Message]:
        text = str(message.get("content") or "")
        if message["role"] == "tool":
            id = message["tool_call_id"]
            return [{"functionResponse": {"name": names.get(id, "unknown"), "response": {"result": text}}}]
        parts: list[Message] = [{"text": text}] if text else []
        for place, call in enumerate(message.get("tool_calls") or ()):
            function = call["function"]
            part: Message = {"functionCall": {"name": function["name"], "args": call_input(function["arguments"])}}
            unsigned = _UNSIGNED if signs and place == 0 and _SIGNS.match(self.model) else None
            if signature := self._signed.of(call["id"]) or unsigned:
                part["thoughtSignature"] = signature
            parts.append(part)
        return parts

    def reader(self) -> "ContentReader":
        return ContentReader(self._signed)

    def gives_up(self, status: int, body: bytes) -> bool:
        asked = self._asks_thoughts and status == 400 and "think" in error_text(body).lower()
        self._asks_thoughts = self._asks_thoughts and not asked
        return asked

    def listing(self) -> str:
        return f"{self.endpoint}/models?pageSize=1000"

    def names(self, listed: Any) -> list[str]:
        entries = listed.get("models") if isinstance(listed, dict) else None
        return [str(one.get("name", "")).removeprefix("models/") for one in _list(entries) if isinstance(one, dict)]


def _declaration(function: Message) -> Message:
    declared: Message = {"name": function["name"], "description": function.get("description", "")}
    schema = function.get("parameters") or {}
    return declared | ({"parametersJsonSchema": schema} if schema.get("properties") else {})


class ContentReader:
    """Reads the chunks of one answer. Each is a part of the whole answer, with the tokens so far."""

    def __init__(self, signed: SignedThoughts) -> None:
        self.ended = False  # the connection ends with the answer
        self._signed = signed
        self._calls = 0

    def read(self, data: bytes) -> list[ModelEvent]:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            return [Failed("the server sent invalid JSON")]
        chunks = value if isinstance(value, list) else [value]
        if not all(isinstance(chunk, dict) for chunk in chunks):
            return [Failed("the server sent JSON that is not an answer")]
        return [event for chunk in chunks for event in self._chunk(chunk)]

    def _chunk(self, chunk: Message) -> list[ModelEvent]:
        if chunk.get("error"):
            busy = _dict(chunk["error"]).get("status") in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL")
            text = error_text(json.dumps(chunk).encode())
            return [Failed(f"the server reports: {text}", "unreachable" if busy else "broken")]
        blocked = _dict(chunk.get("promptFeedback")).get("blockReason")
        candidates = chunk.get("candidates")
        events: list[ModelEvent] = []
        if isinstance(candidates, list) and candidates:
            events += self._candidate(_dict(candidates[0]))
        events += _usage(_dict(chunk.get("usageMetadata")))
        if blocked and not candidates:
            events.append(Failed(f"the service refused the question ({blocked})", "refused"))
        return events

    def _candidate(self, candidate: Message) -> list[ModelEvent]:
        parts = _dict(candidate.get("content")).get("parts")
        events = [event for part in _list(parts) if isinstance(part, dict) for event in self._part(part)]
        if reason := candidate.get("finishReason"):
            kind = _REASONS.get(str(reason), "stop")
            events.append(Finished("tool_calls" if kind == "stop" and self._calls else kind))
        return events

    def _part(self, part: Message) -> list[ModelEvent]:
        if text := part.get("text"):
            return [ReasoningPiece(str(text)) if part.get("thought") else TextPiece(str(text))]
        call = part.get("functionCall")
        if not isinstance(call, dict):
            return []
        id = str(call.get("id") or f"call-{os.urandom(6).hex()}")
        if part.get("thoughtSignature"):
            self._signed.keep(id, part["thoughtSignature"])
        self._calls += 1
        return [ToolPiece(self._calls - 1, id, str(call.get("name") or ""), json.dumps(call.get("args") or {}))]


def _usage(found: Message) -> list[ModelEvent]:
    """Return the tokens; thinking is part of the answer that is paid for."""
    counts = [found.get(name) for name in ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount")]
    asked, said, thought = (count if isinstance(count, int) and count >= 0 else 0 for count in counts)
    cached = found.get("cachedContentTokenCount")
    return [Usage(asked, said + thought, cached if isinstance(cached, int) else 0)] if asked else []


def _dict(value: object) -> Message:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
