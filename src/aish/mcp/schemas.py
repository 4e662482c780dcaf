"""Tools as the model sees them: names that chat APIs accept, and descriptions and schemas within bounds.

Pure: plain values.
"""

import json
import re
import zlib
from collections.abc import Iterable
from typing import Any

from aish.values.text import for_terminal

LONGEST_NAME = 64  # of chat APIs
LONGEST_ABOUT = 1_000
LARGEST_SCHEMA = 6_000  # characters of JSON
_DEEPEST = 6
_MOST_PROPERTIES = 60
_LONGEST_TEXT = 300
_MOST_CHOICES = 50
_ANY_OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
_MOST_NODES = 600  # schemas inside a schema; more do not fit, and references can multiply them without end
# Keywords that chat APIs accept. Patterns and conditions are left out: they may be costly, and servers check the
# arguments themselves. References to definitions are replaced by them.
_KEPT = frozenset(
    "type description enum const default items properties required additionalProperties anyOf oneOf allOf"
    " minimum maximum minItems maxItems minLength maxLength title format".split()
)
_TEXTS = ("description", "title", "format")


def clean(text: str, limit: int) -> str:
    """Return the text of a server without control characters and marks that hide or reorder it, cut at `limit`."""
    text = re.sub(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|.)?", "", text[: limit * 4])
    # invisible letters, with which text can be hidden from the user but not from the model
    text = re.sub("[\u200b-\u200f\u2060-\u2064\ufeff\u00ad\U000e0000-\U000e007f]", "", text)
    text = for_terminal(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tool_names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """Return the name of each tool for the model, by its name at the server: `server__tool`.

    Names that would be too long, or the same after cleaning, get a checksum of the original at the end.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for tool in tools:
        exact = f"{server}__{tool}"
        name = re.sub(r"[^a-zA-Z0-9_-]+", "_", exact)
        if len(name) > LONGEST_NAME or name in taken:
            mark = f"_{zlib.crc32(exact.encode('utf-8', 'replace')):08x}"
            name = name[: LONGEST_NAME - len(mark)] + mark
        if tool not in names and name not in taken:
            names[tool] = name
            taken.add(name)
    return names


def bounded_schema(schema: object) -> dict[str, Any]:
    """Return a schema with known keywords only, of limited depth and size; any object if it is too large."""
    simple = _Simplifier(schema).simple(schema, _DEEPEST)
    if simple.get("type", "object") != "object":
        return dict(_ANY_OBJECT)
    for keyword in ("anyOf", "oneOf", "allOf", "enum"):  # some chat APIs refuse these at the top, with all other tools
        simple.pop(keyword, None)
    simple["type"] = "object"
    simple.setdefault("properties", {})
    if len(json.dumps(simple)) <= LARGEST_SCHEMA:
        return simple
    shallow = _Simplifier(schema).simple(schema, 2)
    bare = {"type": "object", "properties": shallow.get("properties", {}), "required": shallow.get("required", [])}
    for inner in bare["properties"].values():
        inner.pop("description", None)
    return bare if len(json.dumps(bare)) <= LARGEST_SCHEMA else dict(_ANY_OBJECT)


class _Simplifier:
    """Simplifies the parts of one schema, at most `_MOST_NODES` of them."""

    def __init__(self, schema: object) -> None:
        self._left = _MOST_NODES
        whole = schema if isinstance(schema, dict) else {}
        places = [whole.get(name) for name in ("$defs", "definitions")]
        self._definitions = {name: one for place in places if isinstance(place, dict) for name, one in place.items()}

    def _found(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Return what a reference stands for, with the description beside it."""
        path, _, name = str(schema.get("$ref")).rpartition("/")
        target = self._definitions.get(name) if path in ("#/$defs", "#/definitions") else None
        return {**target, **schema} if isinstance(target, dict) else schema

    def simple(self, schema: object, depth: int) -> dict[str, Any]:
        self._left -= 1
        if not isinstance(schema, dict) or depth == 0 or self._left < 0:
            return {}
        simple: dict[str, Any] = {}
        for key, value in list(self._found(schema).items())[:40]:
            if key not in _KEPT:
                continue
            match key, value:
                case ("properties", dict()):
                    names = [name for name in value if isinstance(name, str) and clean(name, 64) == name]
                    simple[key] = {name: self.simple(value[name], depth - 1) for name in names[:_MOST_PROPERTIES]}
                case ("items", dict()) | ("additionalProperties", dict()):
                    simple[key] = self.simple(value, depth - 1)
                case ("anyOf" | "oneOf" | "allOf", list()):
                    simple[key] = [self.simple(one, depth - 1) for one in value[:10]]
                case ("required", list()):
                    simple[key] = [name for name in value[:_MOST_PROPERTIES] if isinstance(name, str)]
                case ("enum", list()):
                    simple[key] = [_plain(one) for one in value[:_MOST_CHOICES]]
                case ("type", list()):
                    simple[key] = [one for one in value[:8] if isinstance(one, str)]
                case ("properties" | "items" | "anyOf" | "oneOf" | "allOf" | "required" | "enum", _):
                    pass
                case _ if key in _TEXTS:
                    if isinstance(value, str):
                        simple[key] = clean(value, _LONGEST_TEXT)
                case _ if isinstance(value, list | dict):
                    pass  # a default or constant of many values
                case _:
                    simple[key] = _plain(value)
        if isinstance(simple.get("required"), list):
            simple["required"] = [name for name in simple["required"] if name in simple.get("properties", {})]
        return simple


def _plain(value: object) -> object:
    """Return a scalar, shortened; lists and tables as nothing."""
    if isinstance(value, str):
        return clean(value, 100)
    return value if isinstance(value, bool | int | float) or value is None else None


def one_line_about(about: str) -> str:
    """Return the first sentence or line of a description."""
    first = about.strip().partition("\n")[0].partition(". ")[0]
    return first if len(first) <= 120 else first[:119] + "…"
