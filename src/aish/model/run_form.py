"""A form of answers that very small models get right: one JSON object, either a command to run or words.

Pure: a request in, a request out, and pieces of an answer in, events out. A grammar of llama.cpp keeps the model to the
form. With schemas of tools in the prompt, models of half a billion parameters answer at random.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, ToolPiece
from aish.values.named_tuple import NamedTuple
from aish.values.text import clip
from aish.values.turns import Message

RUN_TOOL = "run_command"
_HOW = (
    "You sit at the terminal of this machine. Answer with one JSON object. Whatever is about this machine, its files, "
    'its programs or this project you cannot know, so look: {"run": "COMMAND"}, and you will be given what the command '
    'prints. For general knowledge and for advice: {"say": "ANSWER"}.'
)


class _Example(NamedTuple):
    """A question with its answer: words, or a command with its result and what to say about it."""

    question: str
    said: str = ""
    run: str = ""
    status: int = 0
    printed: str = ""


_EXAMPLES = (  # general ones, of each kind; the last ones weigh most
    _Example("How long has this machine been running?", "It has been running for 3 days.", "uptime", 0, "up 3 days"),
    _Example("What is a prime number?", "A whole number above 1 that only 1 and itself divide."),
    _Example("Is the ssh server running?", "No, it is not running.", "pgrep -a sshd", 1),
    _Example("Is node installed?", "No, node is not installed.", "node --version", 127, "node: command not found"),
    _Example("Find all Python files here.", run="find . -name '*.py'"),
    _Example("How do I rename a file?", "With mv: mv OLD NEW"),
    _Example("What is in docs/config.yml?", run="cat docs/config.yml"),
    _Example("Where is the word retry used?", run="grep -rn retry ."),
    _Example("Wie viele Ordner gibt es hier?", run="ls -d */ | wc -l"),
    _Example("What does cd do?", "It changes the current directory."),
    _Example("Thanks!", "You are welcome."),
)
_STRING = r'string ::= "\"" ([^"\\\x00-\x1f] | "\\" ["\\/bfnrt])* "\""'
_EITHER = 'root ::= "{\\"" ("run" | "say") "\\": " string "}"\n' + _STRING
_WORDS = 'root ::= "{\\"say\\": " string "}"\n' + _STRING
_BEGIN = r'\s*\{"(run|say)": "'  # compiled on first use
_MOST_OUTPUT = 2_500  # characters of what a command printed; a small model needs seconds to read more
_MOST_QUESTION = 400


def in_run_form(request: ChatRequest) -> ChatRequest:
    """Return a request for an answer in this form. After a result the model has to answer in words."""
    system = "\n\n".join(str(one["content"]) for one in request.messages if one["role"] == "system")
    messages: list[Message] = [{"role": "system", "content": f"{system}\n\n{_HOW}".lstrip()}, *_examples()]
    asked = ""
    for one in request.messages:
        if one["role"] == "user":
            asked = str(one["content"])
        if one["role"] == "tool":
            messages.append(_result(str(one.get("content") or ""), asked))
        elif one["role"] != "system":
            messages.append(_message(one))
    grammar = _WORDS if request.messages[-1]["role"] == "tool" else _EITHER
    return request._replace(messages=tuple(messages), tools=(), grammar=grammar, stop=())


def _examples() -> Iterator[Message]:
    for one in _EXAMPLES:
        yield {"role": "user", "content": one.question}
        if one.run:
            yield _said(run=one.run)
        if one.run and one.said:
            yield {"role": "user", "content": _given(one.status, one.printed, one.question)}
        if one.said:
            yield _said(say=one.said)


def _message(message: Message) -> Message:
    if message["role"] != "assistant":
        return message
    calls = message.get("tool_calls") or ()
    command = _object(calls[0]["function"]["arguments"]).get("command") if calls else None
    return _said(run=str(command)) if command else _said(say=str(message.get("content") or ""))


def _said(**answer: str) -> Message:
    return {"role": "assistant", "content": json.dumps(answer, ensure_ascii=False)}


def _result(content: str, asked: str) -> Message:
    """Return the result of a command as a message of the user, with the question that it is for."""
    found = _object(content)
    question = asked.rstrip().rpartition("\n\n")[2][-_MOST_QUESTION:]  # without what was recalled for it
    if "reason" in found:
        text = f"The command was not run: {found['reason']}\n\nSo, in one sentence: {question}"
    else:
        printed = found.get("output", found.get("text") or found.get("note") or content)  # the latter: it was too long
        text = _given(found.get("status") if "output" in found else 0, str(printed), question)
    return {"role": "user", "content": text}


def _given(status: object, printed: str, question: str) -> str:
    what = f"failed with exit status {status}" if status else "printed"
    printed = clip(printed.strip(), _MOST_OUTPUT)
    end = f":\n{printed}" if printed else " and printed nothing." if status else " nothing."
    return f"The command {what}{end}\n\nSo, in one sentence: {question}"


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
        if self._kind == "run" and (command := _string(self._text)) is not None:
            return [ToolPiece(0, "", RUN_TOOL, json.dumps({"command": command}, ensure_ascii=False))]
        return [TextPiece(self._text)] if self._text and not self._kind else []


def _string(text: str) -> str | None:
    """Return the JSON string that begins here; None if it is cut off or none."""
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(f'"{text}')
    except ValueError:
        return None
    return str(value)


def _unescaped(text: str) -> str:
    """Return the JSON string that begins here, as far as it is whole."""
    inner = re.match(r'(?:[^"\\]|\\["\\/bfnrt])*', text, re.DOTALL)
    try:
        return str(json.loads(f'"{inner[0]}"', strict=False)) if inner else ""
    except ValueError:
        return ""
