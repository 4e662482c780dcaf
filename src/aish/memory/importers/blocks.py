"""Turn the content blocks of a message, as in Anthropic's and OpenAI's formats, into readable text.

Pure: blocks in, turns out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from aish.memory.importers.calls import ImportedCall, thought
from aish.memory.importers.fields import Oddities, compact, dict_of, label, list_of, text_of
from aish.values.imported import THINKING
from aish.values.named_tuple import NamedTuple
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
    "input_audio": "[audio]",
}
_THOUGHTS = ("thinking", "reasoning")
_SILENT = ("redacted_thinking", "token_budget", "flag", "encrypted_content", "tool_reference")  # nothing to read


class Part(NamedTuple):
    """What one speaker says in a message; `call` is the id of the tool call that a result belongs to."""

    role: Role
    text: str
    call: str = ""
    name: str = ""  # THINKING for what the model thought


def parts(content: object, role: Role, odd: Oddities) -> Iterator[Part]:
    """Split the content of a message: a tool result is the tool's words, and thinking is no part of the answer."""
    said: list[str] = []
    for block in [content] if isinstance(content, str | dict) else list_of(content):
        fields = dict_of(block)
        kind = fields.get("type")
        if kind in _THOUGHTS:
            if words := thought(fields.get("thinking") or fields.get("text")):
                yield Part("assistant", words, name=THINKING)  # before the answer that it led to, which stays whole
        elif kind == "tool_result" or (isinstance(kind, str) and kind.endswith("_tool_result")):
            yield from _joined(role, said)
            said = []
            yield from _joined("tool", [flat(fields.get("content"), odd)], label(fields.get("tool_use_id")))
        else:
            said.append(_line(block, odd))
    yield from _joined(role, said)


def numbered(ref: str, said: Iterable[Part]) -> Iterator[tuple[Part, str]]:
    """Yield the parts of a message with their ids. Thinking is counted apart, so that other ids never change."""
    counts = [0, 0]
    for part in said:
        thinks = part.name == THINKING
        number, counts[thinks] = counts[thinks], counts[thinks] + 1
        end = ("/thinking" if thinks else "") + (f"/{number}" if number else "")
        yield part, f"{ref}{end}" if ref else ""


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
    if kind in ("document", "input_file"):
        return _document(block)
    if isinstance(kind, str) and kind in _MARKS:
        return _MARKS[kind]
    if kind not in _SILENT and kind not in _THOUGHTS:
        odd.add("a block with unknown type", compact(kind))
        return text_of(block.get("text"))
    return ""


def _document(block: dict[str, Any]) -> str:
    """Return the name of an attached document, and its text if the message has it as text."""
    name = label(block.get("title")) or label(block.get("filename")) or label(block.get("name")) or "document"
    source = dict_of(block.get("source"))
    return f"[{name}]\n{text_of(source.get('data')) if source.get('type') == 'text' else ''}".rstrip()


def _joined(role: Role, said: list[str], call: str = "") -> Iterator[Part]:
    if text := "\n".join(filter(None, said)):
        yield Part(role, text, call)
