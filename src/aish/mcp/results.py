"""The result of a call as one bounded text, and forms of a server as questions.

Pure: takes the JSON of the protocol, returns values.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from aish.mcp.schemas import clean
from aish.values.text import clip, for_keeping, one_line
from aish.values.tool_servers import FormField, ServerQuestion, Value

LONGEST_TEXT = 1_000_000  # of one part, before the whole is clipped
LONGEST_RESULT = 200_000  # secrets in it are masked before it is clipped further
_MOST_PARTS = 1_000
_MOST_FIELDS = 20
_KINDS: dict[object, Literal["text", "number", "integer", "boolean"]] = {
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


def result_text(result: Mapping[str, Any], limit: int) -> str:
    """Return the text of a result, at most about `limit` characters, which says what was left out."""
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [_part_text(part) for part in parts[:_MOST_PARTS] if isinstance(part, dict)]
    if len(parts) > _MOST_PARTS:
        texts.append(f"[{len(parts) - _MOST_PARTS:,} more parts left out]")
    structured = result.get("structuredContent")
    if structured is not None and not _repeats(structured, texts):
        texts.append(json.dumps(structured, ensure_ascii=False)[:LONGEST_TEXT])
    text = for_keeping("\n".join(texts)) or "(the tool returned nothing)"
    return clip(text, limit)


def _repeats(structured: object, texts: Iterable[str]) -> bool:
    """Servers send structured content a second time as text, for older clients."""
    values = [structured]
    if isinstance(structured, Mapping) and len(structured) == 1:
        values += structured.values()  # many wrap a plain text or list, because the protocol wants an object
    for text in texts:
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = text
        if read in values or text in values:
            return True
    return False


def _part_text(part: Mapping[str, Any]) -> str:
    match part.get("type"):
        case "text":
            return _cut(part.get("text"))
        case "image" | "audio" as kind:
            size = len(str(part.get("data", ""))) * 3 // 4
            return f"[{kind}, {clean(str(part.get('mimeType', '')), 60)}, about {size:,} bytes, not shown]"
        case "resource_link":
            words = [clean(str(part[name]), 300) for name in ("name", "uri", "description") if part.get(name)]
            return f"[resource {' '.join(words)}]"
        case "resource":
            return _resource_text(part.get("resource"))
        case other:
            return f"[a part of kind {clean(str(other), 40)}, not shown]"


def _resource_text(resource: object) -> str:
    if not isinstance(resource, Mapping):
        return "[a resource, not shown]"
    uri = clean(str(resource.get("uri", "")), 300)
    if isinstance(resource.get("text"), str):
        return f"[resource {uri}]\n{_cut(resource['text'])}"
    size = len(str(resource.get("blob", ""))) * 3 // 4
    return f"[resource {uri}, {clean(str(resource.get('mimeType', '')), 60)}, about {size:,} bytes, not shown]"


def _cut(text: object) -> str:
    return clip(text, LONGEST_TEXT) if isinstance(text, str) else ""


def read_question(params: Mapping[str, Any]) -> ServerQuestion:
    """Return a request for input as a question."""
    message = one_line(clean(str(params.get("message", "")), 1_000), 1_000)
    if params.get("mode") == "url":
        return ServerQuestion(message, url=one_line(clean(str(params.get("url", "")), 2_000), 2_000))
    schema = params.get("requestedSchema")
    schema = schema if isinstance(schema, Mapping) else {}
    properties, required = schema.get("properties"), schema.get("required")
    required = required if isinstance(required, list) else []
    fields = [
        _read_field(name, about, required=name in required)
        for name, about in list(properties.items() if isinstance(properties, Mapping) else ())[:_MOST_FIELDS]
        if isinstance(about, Mapping)
    ]
    return ServerQuestion(message, tuple(fields))


def _read_field(name: str, about: Mapping[str, Any], *, required: bool) -> FormField:
    many = about.get("type") == "array"
    items = about.get("items")
    source = items if many and isinstance(items, Mapping) else about
    choices = source.get("enum")
    if not isinstance(choices, list):
        titled = source.get("oneOf") or source.get("anyOf")
        choices = [one.get("const") for one in titled if isinstance(one, Mapping)] if isinstance(titled, list) else []
    title = about.get("title") or about.get("description") or name
    return FormField(
        name,
        one_line(clean(str(title), 200), 200),
        _KINDS.get(about.get("type"), "text"),
        tuple(choice for choice in choices[:50] if _can_be_typed(choice)),
        many,
        required,
        _default(about.get("default")),
    )


def _default(value: object) -> Value | None:
    """Return the value that a server proposes, if it can be shown."""
    if isinstance(value, str):
        return value if _can_be_typed(value) else None
    if isinstance(value, list):
        return [one for one in value[:50] if _can_be_typed(one)]
    return value if isinstance(value, bool | int | float) else None


def _can_be_typed(value: object) -> bool:
    """Is it a text that looks the same in a question of one line?"""
    return isinstance(value, str) and one_line(clean(value, 200), 200) == value
