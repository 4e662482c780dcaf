"""Turn the content blocks of a message, as in Anthropic's and OpenAI's formats, into readable text.

Pure: blocks in, turns out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from aish.memory.importers.fields import ImportedCall, Oddities, compact, dict_of, label, list_of, text_of
from aish.values.turns import Role

_TEXTS = ("text", "input_text", "output_text", "refusal")
_CALLS = ("tool_use", "server_tool_use", "mcp_tool_use")
_FILES = ("local_resource", "resource_link")
_MARKS = {
    "image_gallery": "[images]",
    "container_upload": "[file]",
    "image": "[image]",
    "input_image": "[image]",
    "image_url": "[image]",
    "document": "[document]",
    "input_file": "[document]",
    "input_audio": "[audio]",
}
# Reasoning and bookkeeping are left out.
_SILENT = ("thinking", "redacted_thinking", "reasoning", "token_budget", "flag", "encrypted_content", "tool_reference")


class Part(NamedTuple):
    """What one speaker says in a message; `call` is the id of the tool call that a result belongs to."""

    role: Role
    text: str
    call: str = ""


def parts(content: object, role: Role, odd: Oddities) -> Iterator[Part]:
    """Split the content of a message by speaker: a tool result counts as the tool's words, not as the sender's."""
    said: list[str] = []
    for block in [content] if isinstance(content, str | dict) else list_of(content):
        fields = dict_of(block)
        kind = fields.get("type")
        if kind == "tool_result" or (isinstance(kind, str) and kind.endswith("_tool_result")):
            yield from _joined(role, said)
            said = []
            yield from _joined("tool", [flat(fields.get("content"), odd)], label(fields.get("tool_use_id")))
        else:
            said.append(_line(block, odd))
    yield from _joined(role, said)


def flat(content: object, odd: Oddities) -> str:
    """Return the content of a message or a tool result as one text."""
    if isinstance(content, str | dict):
        content = [content]
    return "\n".join(filter(None, (_line(block, odd) for block in list_of(content))))


def _line(block: object, odd: Oddities) -> str:
    if isinstance(block, str):
        return text_of(block)
    block = dict_of(block)
    kind = block.get("type")
    if kind in _TEXTS:
        return text_of(block.get("text"))
    if kind in _CALLS:
        return str(ImportedCall(block.get("name"), block.get("input")))
    if kind == "knowledge":  # a search result
        return "\n".join(filter(None, (text_of(block.get(name)) for name in ("title", "url", "text"))))
    if kind in _FILES:
        return f"[{label(block.get('name')) or 'file'}]"
    if isinstance(kind, str) and kind in _MARKS:
        return _MARKS[kind]
    if kind not in _SILENT:
        odd.add("a block with unknown type", compact(kind))
    return ""


def _joined(role: Role, said: list[str], call: str = "") -> Iterator[Part]:
    if text := "\n".join(filter(None, said)):
        yield Part(role, text, call)
