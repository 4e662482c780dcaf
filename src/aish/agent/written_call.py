"""Calls that a model wrote into its answer instead of making them: found by their form, and checked by their schema.

Pure: text and schemas in, calls out. A call counts only if the tool was offered, its arguments fit, nothing follows
it, and the model did not read the same JSON before, in a file, a result or the question. Everything else is text: an
answer may explain what a call looks like or quote one, and other JSON is what many questions want.
"""

import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from aish.agent.tool import read_arguments
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.turns import Message

_LONGEST = 20_000  # characters of a written call
_RUN = "run_command"
_RUN_KEYS = ("run", "command")  # {"run": "df -h"}: how small models like to call it
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_KEYS = frozenset(
    ("name", "tool", "function", "type", "id", "index", *_ARGUMENTS, *_RUN_KEYS)
)  # that a call starts with
_TAGS = {  # how models wrap a call that nobody parses
    "<tool_call>": "</tool_call>",
    "<function_call>": "</function_call>",
    "<tools>": "</tools>",
    "<|tool_call|>": "<|/tool_call|>",
    "[TOOL_CALLS]": "",
}
_FENCE = pattern(
    r"```[ \t]*+(?:json|tool_call|tool_code|xml|javascript)?[ \t]*+(?:\n\s*+(?P<body>\S.*)?)?\Z", re.DOTALL
)
_FIRST_KEY = pattern(r'\[?\s*\{\s*"([^"\\]*)"')
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


Heard = Callable[[], Iterable[str]]  # what the user and tools said in this conversation


class WrittenCall(NamedTuple):
    """A call in the text of an answer; `arguments` is a JSON object."""

    name: str
    arguments: str


class CallWatch:
    """Watches an answer as it arrives, and holds back the part that may be calls."""

    def __init__(self, tools: Sequence[Message], heard: Heard = tuple) -> None:
        self._heard = heard
        self._schemas = {str(tool["function"]["name"]): tool["function"].get("parameters") or {} for tool in tools}
        self.held = ""
        self._said: list[str] = []  # the answer that was let through
        self._at_start = True  # of the answer, as far as anything but white space is concerned

    def feed(self, text: str) -> str:
        """Take a piece of the answer, and return what can be shown of it now."""
        if not self._schemas:
            return text
        self.held += text
        if self._at_start and may_be_call(self.held, self._schemas):
            return ""
        begin = self._wrapped()
        ready, self.held = self.held[:begin], self.held[begin:]
        self._said.append(ready)
        self._at_start = self._at_start and not ready.strip()
        return ready

    def _wrapped(self) -> int:
        """Return where a wrapped call begins in the held text, or what may become one; its length if there is none."""
        places = [place for tag in _TAGS if (place := self.held.find(tag)) >= 0]
        last = max(self.held.rfind("<"), self.held.rfind("["))
        if last >= 0 and any(tag.startswith(self.held[last:]) for tag in _TAGS):
            places.append(last)
        if not places or len(self.held) > _LONGEST:
            return len(self.held)
        before = "".join(self._said) + self.held[: min(places)]
        line = before.rpartition("\n")[2]
        is_quoted = before.count("```") % 2 or line.count("`") % 2 or line.lstrip().startswith(">")
        return len(self.held) if is_quoted else min(places)

    def end(self) -> tuple[str, list[WrittenCall]]:
        """Return the calls, or the text that was held back because it is none."""
        held, self.held = self.held, ""
        calls = written_calls(held, self._schemas) if held.strip() else []
        if calls and repeats(held, self._heard()):
            calls = []
        return ("", calls) if calls else (held, [])


def may_be_call(text: str, names: Container[str]) -> bool:
    """Return whether the beginning of an answer may become a call."""
    if len(text) > _LONGEST:  # blanks count: the text is looked at again with each piece
        return False
    seen = text.lstrip()
    if fenced := _FENCE.match(seen):
        return fenced["body"] is None or _may_be_bare_call(fenced["body"], names)
    return "```json".startswith(seen) or _may_be_bare_call(seen, names)


def _may_be_bare_call(seen: str, names: Container[str]) -> bool:
    if any(seen.startswith(tag) or tag.startswith(seen) for tag in _TAGS):
        return True
    if not re.match(r"\{|\[\s*(\{|\Z)", seen):
        return False
    key = _FIRST_KEY.match(seen)
    return key is None or key[1] in _KEYS or key[1] in names


def written_calls(text: str, schemas: Mapping[str, Any]) -> list[WrittenCall]:
    """Return the calls if a text is nothing but calls of these tools with fitting arguments; otherwise none."""
    calls: list[WrittenCall] = []
    for value in _values(text):
        name, given = _call(value, schemas)
        if name not in schemas or given is None or not fits(schemas[name], given):
            return []
        calls.append(WrittenCall(name, json.dumps(given, ensure_ascii=False)))
    return calls


def repeats(answer: str, heard: Iterable[str]) -> bool:
    """Return whether some JSON of an answer is in one of these texts, whatever blanks and escapes it has there."""
    told = [_squeezed(json.dumps(value, ensure_ascii=False)) for value in _values(answer) if value is not None]
    return any(one in text for text in map(_squeezed, heard) for one in told)


def _squeezed(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
    return re.sub(r"[\s\\]+", "", text)


def written_call(answer: str, names: Container[str]) -> str:
    """Return the name of the tool if an answer is nothing but a call of it, whatever its arguments are."""
    found = [_call(value, {}) for value in _values(answer)]
    whole = found and all(given is not None for _, given in found)
    return found[0][0] if whole and found[0][0] in names else ""


def _values(text: str) -> Iterator[Any]:
    """Yield the JSON objects that a text consists of, and None if there is anything else in it."""
    rest = text.strip()
    if len(rest) > _LONGEST:
        yield None
        return
    fenced = re.fullmatch(r"```[ \t]*+\w*+[ \t\r]*+\n(.*)```", rest, re.DOTALL)  # in linear time
    rest = fenced[1].strip() if fenced else rest
    while rest:
        tag = next((tag for tag in _TAGS if rest.startswith(tag)), "")
        rest = rest[len(tag) :].lstrip()
        while rest:
            try:
                value, end = json.JSONDecoder().raw_decode(rest)
            except (ValueError, RecursionError):
                yield None
                return
            yield from value if isinstance(value, list) and value else [value]
            rest = rest[end:].lstrip(" \t\r\n;,")
            if tag and _TAGS[tag] and rest.startswith(_TAGS[tag]):
                rest = rest[len(_TAGS[tag]) :].lstrip()
                break


def _call(value: Any, schemas: Mapping[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """Return the name and the arguments of a call in any of its forms; no arguments if it is none."""
    if not isinstance(value, dict):
        return "", None
    if len(value) == 1:
        [(key, only)] = value.items()
        if key in _RUN_KEYS and isinstance(only, str) and _RUN in schemas:
            return _RUN, {"command": only}
        if key in schemas and isinstance(only, dict):
            return key, only
    function = value.get("function")
    call = function if isinstance(function, dict) else value
    name = call.get("name") or call.get("tool") or call.get("function")
    given = next((call[key] for key in _ARGUMENTS if key in call), None)
    if isinstance(given, str):
        given = read_arguments(given)
    return (name, given) if isinstance(name, str) and isinstance(given, dict) else ("", None)


def fits(schema: Any, value: Any, depth: int = 4) -> bool:
    """Return whether a value fits a JSON schema, as far as types, names, required names and choices say."""
    if not isinstance(schema, dict) or depth == 0:
        return True
    for several in ("anyOf", "oneOf"):
        if isinstance(schema.get(several), list) and not any(fits(one, value, depth - 1) for one in schema[several]):
            return False
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return False
    wanted = schema.get("type")
    kinds = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if kinds and not any(_is(value, kind) for kind in kinds):
        return False
    if isinstance(value, list):
        return all(fits(schema.get("items"), one, depth - 1) for one in value)
    return not isinstance(value, dict) or _fits_object(schema, value, depth)


def _fits_object(schema: dict[str, Any], value: dict[str, Any], depth: int) -> bool:
    known, required, more = schema.get("properties"), schema.get("required"), schema.get("additionalProperties")
    known = known if isinstance(known, dict) else {}
    if isinstance(required, list) and any(name not in value for name in required):
        return False
    if known and not more and any(name not in known for name in value):
        return False
    return all(fits(known.get(name), one, depth - 1) for name, one in value.items())


def _is(value: Any, kind: Any) -> bool:
    if isinstance(value, bool):
        return str(kind) == "boolean"
    return isinstance(value, _TYPES.get(str(kind), (object,)))
