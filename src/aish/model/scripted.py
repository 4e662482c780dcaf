"""A model with scripted answers: for tests, demos and work without a network."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterable

from aish.model.thinking import ThoughtSplitter
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, ToolPiece, Usage
from aish.values.patterns import pattern

_CALL = pattern(r"^TOOL: ([\w-]+) ?(.*)\n?", re.MULTILINE)


class ScriptedModel:
    """Streams one answer per request, word by word, and records the requests.

    An answer that starts with `!` fails with the rest as the reason; one that ends in `…` is incomplete.
    Lines `TOOL: NAME {"some": "arguments"}` call tools. Text between <think> and </think> is its thinking.
    """

    def __init__(self, answers: Iterable[str] = (), *, pause: float = 0.0) -> None:
        self._answers = list(answers)
        self._pause = pause
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        if not self._answers:
            yield Failed("the script has run out of answers")
            return
        answer = self._answers.pop(0)
        if answer.startswith("!"):
            yield Failed(answer[1:], "unreachable")
            return
        text = _CALL.sub("", answer)
        split = ThoughtSplitter()
        for place, word in enumerate(text.split(" ") if text else []):
            await asyncio.sleep(self._pause)
            for event in split.feed(word if place == 0 else f" {word}"):
                yield event
        for event in split.end():
            yield event
        for place, (name, arguments) in enumerate(_CALL.findall(answer)):
            yield ToolPiece(place, f"call-{len(self.requests)}-{place}", name, arguments)
        if answer.endswith("…"):
            yield Failed("the answer is incomplete")
            return
        size = sum(len(str(message.get("content") or "")) for message in request.messages)
        size += len(json.dumps(request.tools)) if request.tools else 0
        yield Usage(prompt_tokens=size // 4, completion_tokens=len(answer) // 4)
        yield Finished()

    async def close(self) -> None:
        """There is nothing to close."""
