"""A form of answers that very small models get right: one JSON object, either a command to run or words.

Pure: a request in, a request out, and pieces of an answer in, events out. A grammar of llama.cpp keeps the model to the
form. With schemas of tools in the prompt, models of half a billion parameters answer at random.
"""

import json
import re
from typing import Any

from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, ToolPiece
from aish.values.turns import Message

RUN_TOOL = "run_command"
_HOW = (
    "Answer with one JSON object. If the question is about this machine, its files or its state: "
    '{"run": "COMMAND"}, and you will be given what the command prints. For everything else: {"say": "ANSWER"}.'
)
_EXAMPLES = (
    ("How long has this machine been running?", {"run": "uptime"}),
    ("Who wrote Hamlet?", {"say": "William Shakespeare."}),
    ("Is the ssh server running?", {"run": "pgrep -a sshd"}),
    ("What is a prime number?", {"say": "A whole number above 1 that only 1 and itself divide."}),
    ("What is my user name?", {"run": "whoami"}),
    ("Find all Python files here.", {"run": "find . -name '*.py'"}),
    ("Thanks!", {"say": "You are welcome."}),
)
_STRING = r'string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\/bfnrt])* "\""'
_EITHER = 'root ::= "{\\"" ("run" | "say") "\\": " string "}"\n' + _STRING
_WORDS = 'root ::= "{\\"say\\": " string "}"\n' + _STRING
_BEGIN = r'\s*\{"(run|say)": "'  # compiled on first use
_MOST_OUTPUT = 4_000  # characters of what a command printed


def in_run_form(request: ChatRequest) -> ChatRequest:
    """Return a request for an answer in this form. After a result the model has to answer in words."""
    system = "\n\n".join(str(one["content"]) for one in request.messages if one["role"] == "system")
    messages: list[Message] = [{"role": "system", "content": f"{system}\n\n{_HOW}".lstrip()}]
    for question, answer in _EXAMPLES:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": json.dumps(answer)}]
    messages += [_message(one) for one in request.messages if one["role"] != "system"]
    grammar = _WORDS if request.messages[-1]["role"] == "tool" else _EITHER
    return request._replace(messages=tuple(messages), tools=(), grammar=grammar, stop=())


def _message(message: Message) -> Message:
    content = str(message.get("content") or "")
    if message["role"] == "tool":
        return {
            "role": "user",
            "content": f"It printed:\n{_printed(content)[:_MOST_OUTPUT]}\n\nNow answer my question.",
        }
    if message["role"] != "assistant":
        return message
    calls = message.get("tool_calls") or ()
    command = _object(calls[0]["function"]["arguments"]).get("command") if calls else None
    said = {"run": str(command)} if command else {"say": content}
    return {"role": "assistant", "content": json.dumps(said, ensure_ascii=False)}


def _printed(result: str) -> str:
    found = _object(result)
    return str(found.get("output") or found.get("reason") or "nothing") if found else result


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


class RunReader:
    """Reads an answer in this form as it arrives: words are passed on at once, a command becomes a call."""

    def __init__(self) -> None:
        self._text = ""
        self._kind = ""
        self._said = 0  # characters of the words that were passed on

    def read(self, event: ModelEvent) -> list[ModelEvent]:
        match event:
            case TextPiece(text):
                self._text += text
                return self._words()
            case Finished() | Failed():
                return [*self._end(), event]
        return [event]

    def _words(self) -> list[ModelEvent]:
        if not self._kind and (begun := re.match(_BEGIN, self._text)):
            self._kind, self._text = begun[1], self._text[begun.end() :]
        if self._kind != "say":
            return []
        whole = _unescaped(self._text)
        new, self._said = whole[self._said :], max(len(whole), self._said)
        return [TextPiece(new)] if new else []

    def _end(self) -> list[ModelEvent]:
        if self._kind == "run" and _closed(self._text):
            command = json.dumps({"command": _unescaped(self._text)}, ensure_ascii=False)
            return [ToolPiece(0, "", RUN_TOOL, command)]
        return [TextPiece(self._text)] if self._text and not self._kind else []


def _closed(text: str) -> bool:
    return bool(re.match(r'(?:[^"\\]|\\.)*"', text, re.DOTALL))


def _unescaped(text: str) -> str:
    """Return the JSON string that begins here, as far as it is whole."""
    inner = re.match(r'(?:[^"\\]|\\["\\/bfnrt])*', text, re.DOTALL)
    try:
        return str(json.loads(f'"{inner[0]}"', strict=False)) if inner else ""
    except ValueError:
        return ""
