"""Parse the JSON of the OpenAI chat API into events. Only this module knows the field names of responses.

Pure: takes bytes, returns events. Servers leave out different fields, so every field is optional.
"""

import json
import re
from typing import Any

from aish.values.events import Failed, Finished, ModelEvent, ReasoningPiece, TextPiece, ToolPiece, Trouble, Usage
from aish.values.patterns import pattern

_decode = json.JSONDecoder().decode  # three times as fast as json.loads on bytes; this runs for every token
_THOUGHTS = ("thinking", "reasoning", "reasoning_text", "summary_text")  # types of parts
_TOOL_TROUBLE = (  # compiled on first use
    r"(?i)\btools?\b.{0,60}\b(?:not (?:be )?support|unsupported|not available|requires? --|not allowed|not permitted)"
    r"|(?:not |un)support\w*.{0,40}\b(?:tools?\b|function call|tool use)|no endpoints found that support tool"
    r"|(?:unrecognized|unknown|unexpected|extra)\b.{0,40}\btools\b"
)
_ROLE_TROUBLE = pattern(
    r"roles? must alternate|alternate user|roles? .{0,40}(not supported|supported|unknown|invalid|unexpected)"
    r"|(unknown|invalid|unexpected|unsupported)( message)? role|tool role|role.{0,12}tool"
    r"|messages\W+\d+\W+role",
    re.IGNORECASE | re.DOTALL,
)
_NO_SYSTEM = pattern(r"system role (is )?not supported", re.IGNORECASE)


def read_chunk(data: bytes) -> list[ModelEvent]:
    """Return the events of one chunk of a stream, or of a whole answer that was not streamed."""
    try:
        chunk = _decode(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return [Failed("the server sent invalid JSON; ask again, or check the endpoint")]
    if not isinstance(chunk, dict):
        return [Failed("the server sent JSON that is not a chat answer; check the endpoint")]
    if chunk.get("error"):
        trouble: Trouble = "roles" if _about_roles(_words(data)) else "broken"
        return [Failed(f"the server reports: {error_text(data)}", trouble)]
    events: list[ModelEvent] = []
    choices = chunk.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        events += _read_choice(choices[0])
    usage = _usage(chunk.get("usage"))
    if usage:
        events.append(usage)
    return events


def _read_choice(choice: dict[str, Any]) -> list[ModelEvent]:
    events: list[ModelEvent] = []
    delta = choice.get("delta") or choice.get("message")
    if isinstance(delta, dict):
        thought = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("thinking")
        if thought and (text := _text(thought)):
            events.append(ReasoningPiece(text))
        content = delta.get("content") or delta.get("refusal")
        if isinstance(content, list):
            events += _parts(content)
        elif content and (text := _text(content)):
            events.append(TextPiece(text))
        calls = delta.get("tool_calls")
        if calls:
            events += [_tool_piece(place, call) for place, call in enumerate(_dicts(calls))]
    reason = choice.get("finish_reason")
    if reason:
        events.append(Finished(str(reason)))
    return events


def _parts(content: list[Any]) -> list[ModelEvent]:
    """Return the thinking in a content list, then its text."""
    thoughts, texts = "", ""
    for part in _dicts(content):
        thought = part.get("thinking") or part.get("reasoning") or (part.get("type") in _THOUGHTS and [part])
        thoughts += _text(thought) if thought else ""
        texts += "" if thought else _text([part])
    return [*([ReasoningPiece(thoughts)] if thoughts else []), *([TextPiece(texts)] if texts else [])]


def _tool_piece(place: int, call: dict[str, Any]) -> ToolPiece:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    index = call.get("index")
    arguments = function.get("arguments")
    return ToolPiece(
        index if isinstance(index, int) else place,
        _text(call.get("id")),
        _text(function.get("name")),
        arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else "",
    )


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(
        prompt_tokens=max(prompt, 0),
        completion_tokens=max(completion, 0),
        cached_tokens=max(cached, 0) if isinstance(cached, int) else 0,
    )


def _text(value: object) -> str:
    """Return the text of a content field: a string, or a list of parts, some with text."""
    if isinstance(value, str):
        return value
    texts = (part.get("text") for part in _dicts(value))
    return "".join(text for text in texts if isinstance(text, str))


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def error_text(body: bytes) -> str:
    """Return the message of an error response, at most 300 characters."""
    return _words(body)[:300]


def _words(body: bytes) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = body.decode("utf-8", "replace")
    if isinstance(value, list) and value:
        value = value[0]
    while isinstance(value, dict):
        more = value.get("metadata")  # OpenRouter puts the message of the upstream server here
        raw = more.get("raw") if isinstance(more, dict) else None
        value = raw or value.get("error") or value.get("message") or value.get("detail") or json.dumps(value)
    return " ".join(str(value).split()) or "no reason given"


def _about_roles(text: str) -> bool:
    """Would other roles help? A refused system role is excluded: nothing works without a system prompt."""
    return bool(_ROLE_TROUBLE.search(text)) and not _NO_SYSTEM.search(text)


def trouble_of(status: int, body: bytes) -> Trouble:
    """Return the kind of refusal that an HTTP error means."""
    text = _words(body)
    if status in (400, 422, 500) and _about_roles(text):
        return "roles"
    if status in (400, 422) and "stream_options" in text:
        return "options"
    if status in (400, 404, 422, 500) and re.search(_TOOL_TROUBLE, text):
        return "tools"
    return "refused"
