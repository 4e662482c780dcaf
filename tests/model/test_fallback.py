"""The fallback chain: the next model is used only if one is unreachable, and every switch is reported."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from aish.model.backend import Answering, Backend, stream_with_fallback
from aish.model.estimate import Estimates
from aish.model.tokenizer import Tokenizer
from aish.values.events import (
    ChatRequest,
    Failed,
    Finished,
    ModelEvent,
    ReasoningPiece,
    Switched,
    TextPiece,
    Trouble,
    Usage,
)

pytestmark = [pytest.mark.anyio, pytest.mark.proves("P6")]

HELLO: list[ModelEvent] = [TextPiece("Hel"), TextPiece("lo"), Usage(1, 2), Finished()]
DOWN = Failed("nobody is there", "unreachable")


class Told:
    """A model that yields these events, and records its requests and the end of its stream."""

    def __init__(self, name: str, events: list[ModelEvent], diary: list[str]) -> None:
        self._name = name
        self._events = events
        self._diary = diary
        self.requests: list[ChatRequest] = []

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        self._diary.append(f"{self._name} asked")
        try:
            for event in self._events:
                yield event
        finally:
            self._diary.append(f"{self._name} closed")

    async def close(self) -> None:
        """There is nothing to close."""


class Chain:
    """Backends by name, with a log of their use."""

    def __init__(self, directory: Path, models: dict[str, list[ModelEvent]]) -> None:
        self.names = list(models)
        self.diary: list[str] = []
        estimates = Estimates(directory / "ratios.json")
        self._backends = {
            name: Backend(
                name=name,
                model_name="",
                endpoint=name,
                model=Told(name, events, self.diary),
                tokenizer=Tokenizer(model=name, estimates=estimates),
            )
            for name, events in models.items()
        }

    def open(self, name: str) -> Backend:
        self.diary.append(f"{name} opened")
        return self._backends[name]

    def stream(self) -> AsyncGenerator[ModelEvent | Answering]:
        def request_for(backend: Backend) -> ChatRequest:
            return ChatRequest(messages=({"role": "user", "content": f"for {backend.name}"},))

        return stream_with_fallback(self.names, self.open, request_for)

    async def told(self) -> list[str]:
        return [
            f"{event.backend.name} answers" if isinstance(event, Answering) else repr(event)
            async for event in self.stream()
        ]

    def asked(self) -> dict[str, list[str]]:
        """Return the questions that each model got."""
        return {
            name: [str(request.messages[0]["content"]) for request in backend.model.requests]
            for name, backend in self._backends.items()
            if isinstance(backend.model, Told) and backend.model.requests
        }


async def test_the_first_model_answers_and_the_others_are_not_even_opened(tmp_path: Path) -> None:
    """Opening a model may load it."""
    chain = Chain(tmp_path, {"one": HELLO, "two": HELLO})

    assert await chain.told() == ["one answers", *map(repr, HELLO)]
    assert chain.diary == ["one opened", "one asked", "one closed"]


@pytest.mark.parametrize("trouble", ["unreachable", "missing"])
async def test_the_next_steps_in_for_one_that_is_down_and_the_switch_is_said_once(
    tmp_path: Path, trouble: Trouble
) -> None:
    """The failure becomes a switch. The first stream is closed before the second model gets its own request."""
    chain = Chain(tmp_path, {"one": [Failed("not today", trouble)], "two": HELLO})

    switched = Switched("one", "two", "not today")
    assert await chain.told() == ["one answers", repr(switched), "two answers", *map(repr, HELLO)]
    assert chain.diary == ["one opened", "one asked", "one closed", "two opened", "two asked", "two closed"]
    assert chain.asked() == {"one": ["for one"], "two": ["for two"]}


async def test_a_chain_is_walked_to_its_end_and_the_last_failure_is_told(tmp_path: Path) -> None:
    """No other model is left, so the user sees the failure."""
    chain = Chain(tmp_path, {name: [Failed(f"{name} is down", "unreachable")] for name in ("one", "two", "three")})

    assert await chain.told() == [
        "one answers",
        repr(Switched("one", "two", "one is down")),
        "two answers",
        repr(Switched("two", "three", "two is down")),
        "three answers",
        repr(Failed("three is down", "unreachable")),
    ]


@pytest.mark.parametrize("trouble", ["refused", "roles", "options", "broken"])
async def test_a_model_that_is_up_and_says_no_is_not_replaced(tmp_path: Path, trouble: Trouble) -> None:
    """The user must see a wrong key or a refused question; another model might cost money."""
    failed = Failed("no", trouble)
    chain = Chain(tmp_path, {"one": [failed], "two": HELLO})

    assert await chain.told() == ["one answers", repr(failed)]
    assert chain.asked().keys() == {"one"}


@pytest.mark.parametrize("said", [TextPiece("Hel"), ReasoningPiece("hm")])
async def test_a_model_that_has_begun_is_not_replaced(tmp_path: Path, said: ModelEvent) -> None:
    """Text of two models must not be mixed in one answer."""
    chain = Chain(tmp_path, {"one": [said, DOWN], "two": HELLO})

    assert await chain.told() == ["one answers", repr(said), repr(DOWN)]
    assert chain.asked().keys() == {"one"}


async def test_closing_the_answer_closes_the_stream_of_the_model(tmp_path: Path) -> None:
    """Ctrl-C must reach the server through all layers at once."""
    chain = Chain(tmp_path, {"one": [DOWN], "two": HELLO, "three": HELLO})
    async with aclosing(chain.stream()) as events:
        async for event in events:
            if isinstance(event, TextPiece):
                break

    assert chain.diary[-2:] == ["two asked", "two closed"]
