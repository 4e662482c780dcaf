"""Models of OpenAI, through its Responses API, which shows summaries of their thinking."""

import json
import re
from collections.abc import Sequence
from typing import Any

from aish.model.addresses import api_root
from aish.model.chunks import error_text
from aish.model.streamed_api import StreamedApi
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Usage
from aish.values.turns import Message

_THINKS = re.compile(r"(.*/)?(o\d|gpt-[5-9])")
_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
_BUSY = ("rate_limit_exceeded", "server_error", "server_is_overloaded", "slow_down")


class OpenAIResponses(StreamedApi):
    """Streams answers from `/responses`. Nothing is stored at the service: each request has the whole conversation."""

    def __init__(self, *, endpoint: str, **options: Any) -> None:
        super().__init__(endpoint=api_root(endpoint), **options)
        self._asks_summary = bool(_THINKS.match(self.model))  # until the service rejects the option

    def url(self) -> str:
        return f"{self.endpoint}/responses"

    def body(self, request: ChatRequest) -> dict[str, Any]:
        system = "\n\n".join(str(one["content"]) for one in request.messages if one["role"] == "system")
        said = [one for one in request.messages if one["role"] != "system"]
        body: dict[str, Any] = {"model": self.model, "input": _items(said), "stream": True, "store": False}
        if system:
            body["instructions"] = system
        if request.tools:
            body["tools"] = [{"type": "function", **one["function"], "strict": False} for one in request.tools]
        if request.max_tokens:
            body["max_output_tokens"] = request.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self._asks_summary:
            body["reasoning"] = {"summary": "auto"}
        return body

    def reader(self) -> "ResponseReader":
        return ResponseReader()

    def gives_up(self, status: int, body: bytes) -> bool:
        asked = self._asks_summary and status == 400 and bool(re.search("(?i)reasoning|summar", error_text(body)))
        self._asks_summary = self._asks_summary and not asked
        return asked


def _items(messages: Sequence[Message]) -> list[Message]:
    """Return the messages as items: what was said, calls, and their results."""
    items: list[Message] = []
    for message in messages:
        text = str(message.get("content") or "")
        if message["role"] == "tool":
            items.append({"type": "function_call_output", "call_id": message["tool_call_id"], "output": text})
            continue
        if text:
            items.append({"role": message["role"], "content": text})
        for call in message.get("tool_calls") or ():
            function = call["function"]
            items.append(
                {
                    "type": "function_call",
                    "call_id": call["id"],
                    "name": function["name"],
                    "arguments": function["arguments"] or "{}",
                }
            )
    return items


class ResponseReader:
    """Reads the events of one answer."""

    def __init__(self) -> None:
        self.ended = False
        self._given: set[int] = set()  # places of calls whose arguments came in pieces
        self._calls = 0

    def read(self, data: bytes) -> list[ModelEvent]:
        if data == b"[DONE]":
            self.ended = True
            return []
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return [Failed("the server sent invalid JSON")]
        if not isinstance(event, dict):
            return [Failed("the server sent JSON that is not an answer")]
        kind, place, delta = event.get("type"), _whole(event.get("output_index")), str(event.get("delta") or "")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                return [TextPiece(delta)] if delta else []
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return [ReasoningPiece(delta)] if delta else []
            case "response.reasoning_summary_text.done" | "response.reasoning_text.done":
                return [ReasoningPiece("\n\n")]
            case "response.output_item.added":
                return self._call(place, _dict(event.get("item")))
            case "response.function_call_arguments.delta":
                self._given.add(place)
                return [ToolPiece(place, arguments=delta)] if delta else []
            case "response.output_item.done" if place not in self._given:
                item = _dict(event.get("item"))
                given = str(item.get("arguments") or "") if item.get("type") == "function_call" else ""
                return [ToolPiece(place, arguments=given)] if given else []
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._end(_dict(event.get("response")))
            case "error":
                return self._fail(event)
        if event.get("object") == "response":
            return [*self._outputs(event), *self._end(event)]
        return self._fail(event) if event.get("error") else []

    def _call(self, place: int, item: Message) -> list[ModelEvent]:
        if item.get("type") != "function_call":
            return []
        self._calls += 1
        return [ToolPiece(place, str(item.get("call_id") or item.get("id") or ""), str(item.get("name") or ""))]

    def _outputs(self, response: Message) -> list[ModelEvent]:
        """Read an answer that was not streamed."""
        events: list[ModelEvent] = []
        for place, item in enumerate(_list(response.get("output"))):
            parts = [*_list(_dict(item).get("summary")), *_list(_dict(item).get("content"))]
            for text in (str(_dict(part).get("text") or "") for part in parts):
                thinks = _dict(item).get("type") == "reasoning"
                events += ([ReasoningPiece(text)] if thinks else [TextPiece(text)]) if text else []
            events += self._call(place, _dict(item))
            if given := _dict(item).get("arguments"):
                events.append(ToolPiece(place, arguments=str(given)))
        return events

    def _end(self, response: Message) -> list[ModelEvent]:
        self.ended = True
        if response.get("status") == "failed" or response.get("error"):
            return self._fail(response)
        usage = _dict(response.get("usage"))
        cached = _whole(_dict(usage.get("input_tokens_details")).get("cached_tokens"))
        counts = Usage(_whole(usage.get("input_tokens")), _whole(usage.get("output_tokens")), cached)
        reason = str(_dict(response.get("incomplete_details")).get("reason") or "")
        usual = "tool_calls" if self._calls else "stop"
        ending = Finished(_REASONS.get(reason, "error") if response.get("status") == "incomplete" else usual)
        return [*([counts] if counts.prompt_tokens else []), ending]

    def _fail(self, event: Message) -> list[ModelEvent]:
        self.ended = True
        error = _dict(event.get("error")) or event
        text = error_text(json.dumps(error).encode())
        return [Failed(f"the server reports: {text}", "unreachable" if error.get("code") in _BUSY else "broken")]


def _dict(value: object) -> Message:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
