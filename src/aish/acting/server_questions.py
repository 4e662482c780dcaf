"""Questions of a server to the user, and news of its progress, while one of its tools runs."""

import asyncio
import math
import re
import time
from typing import Literal

from aish.agent.tool import ParsedCall, ToolEvent
from aish.values.events import ToolProgress
from aish.values.person import NOBODY, Person, agrees
from aish.values.text import for_terminal
from aish.values.tool_servers import Answer, FormField, ServerQuestion, Value

_PROGRESS_SECONDS = 0.5
_TRIES = 3
_SECRET = re.compile(r"passw|passphrase|secret|token|api[ _-]?key|credential|private[ _-]?key|\bpin\b|\b2fa\b|\botp\b")


class CallEvents:
    """Listens to a call: progress becomes events, at most two in a second; questions go to the user."""

    def __init__(
        self, server: str, call: ParsedCall, person: Person, events: "asyncio.Queue[ToolEvent | None]"
    ) -> None:
        self._server, self._call, self._person, self._events = server, call, person, events
        self._told = 0.0

    def progress(self, text: str) -> None:
        now = time.monotonic()
        if now - self._told >= _PROGRESS_SECONDS:
            self._told = now
            self._events.put_nowait(ToolProgress(self._call.id, f"{self._call.name}: {text}"))

    async def ask(self, question: ServerQuestion) -> Answer | Literal["decline", "cancel"]:
        async with self._call.alone:
            return await answer_question(self._server, question, self._person)


async def answer_question(
    server: str, question: ServerQuestion, person: Person
) -> Answer | Literal["decline", "cancel"]:
    """Let the user answer, decline or cancel. An address is shown and never opened."""
    says = for_terminal(question.message)
    if question.url:
        text = f"the server {server} asks you to visit {question.url} ({says}). Open it yourself if you trust it: "
        key = await person.key(f"{text}[v]isited, [d]ecline, or [c]ancel ", "vdc")
        return {} if key == "v" else "decline" if key == "d" else "cancel"
    warning = " Do not enter secrets: servers must not ask for them this way." if _asks_for_secret(question) else ""
    names = ", ".join(field.title for field in question.fields) or "a yes"
    text = f"the server {server} asks: {says} It wants: {names}.{warning} "
    key = await person.key(f"{text}[a]nswer, [d]ecline, or [c]ancel ", "adc")
    if key != "a":
        return "decline" if key == "d" else "cancel"
    answers: dict[str, Value] = {}
    for field in question.fields:
        value = await _ask_field(field, person)
        if value is None and field.required:
            return "cancel"
        if value is not None:
            answers[field.name] = value
    return answers


def _asks_for_secret(question: ServerQuestion) -> bool:
    words = " ".join([question.message, *(f"{field.name} {field.title}" for field in question.fields)]).lower()
    return _SECRET.search(words) is not None


async def _ask_field(field: FormField, person: Person) -> Value | None:
    """Ask for one value, again if it does not fit. An empty line means the default, or None."""
    hint = {"number": "a number", "integer": "a whole number", "boolean": "y or n", "text": ""}[field.kind]
    if field.choices:
        hint = f"{'some of' if field.many else 'one of'}: {', '.join(field.choices)}"
    optional = "" if field.required or field.default is not None else "optional"
    default = "" if field.default is None else f"Enter for {field.default}"
    about = "; ".join(part for part in (hint, optional, default) if part)
    for _ in range(_TRIES):
        typed = await person.line(f"{field.title}{f' ({about})' if about else ''}: ")
        if typed == NOBODY:
            return None
        if not typed.strip():
            return field.default
        value = read_value(field, typed.strip())
        if value is not None:
            return value
    return None


def read_value(field: FormField, typed: str) -> Value | None:
    """Return the typed value if it fits the field."""
    if field.many:
        chosen = [part.strip() for part in typed.split(",") if part.strip()]
        return chosen if all(part in field.choices for part in chosen) else None
    if field.choices:
        return typed if typed in field.choices else None
    try:
        match field.kind:
            case "boolean":
                return agrees(typed) if typed.lower() in ("y", "yes", "n", "no") else None
            case "integer":
                return int(typed)
            case "number":
                number = float(typed)
                return number if math.isfinite(number) else None
    except ValueError:
        return None
    return typed
