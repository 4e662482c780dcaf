"""`aish --json` that is interrupted: a script still gets one object, with what was answered so far."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator

import pytest
from world import World

from aish.values.events import ChatRequest, ModelEvent, TextPiece
from aish.views import one_shot
from aish.views.answers import AnswerScreen


class Ending:
    """A model during whose answer this process gets a signal."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        yield TextPiece("Half ")
        yield TextPiece("an answer")
        os.kill(os.getpid(), self.number)
        await asyncio.Event().wait()

    async def close(self) -> None: ...


@pytest.fixture
def _no_input() -> Iterator[None]:
    """Standard input is /dev/null, whoever runs the tests."""
    kept, null = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    yield
    os.dup2(kept, 0)
    os.close(kept)
    os.close(null)


@pytest.mark.proves("P11", "N24")
@pytest.mark.usefixtures("_no_input")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_object_is_printed_with_what_was_answered_so_far(
    world: World, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """A timeout ends a command with SIGTERM, and a script would have nothing to parse."""
    program = world.program({"model": "m", "models": {"m": {"kind": "scripted", "answers": ["x"]}}})
    session = program.session()
    session.backend.model = Ending(number)
    before = signal.getsignal(number)

    code = one_shot.run(program, session, AnswerScreen(), "Tell me.", as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert code == 128 + number
    assert (told["answer"], told["state"], told["error"]) == (
        "Half an answer",
        "interrupted",
        "interrupted before the end",
    )
    assert signal.getsignal(number) == before
    records = [json.loads(line) for line in world.journals()[0].read_bytes().splitlines()]
    assert [(one["content"], one.get("state")) for one in records if one.get("role") == "assistant"] == [
        ("Half an answer", "interrupted")
    ]
