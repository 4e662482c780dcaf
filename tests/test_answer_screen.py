"""What is shown of a turn, and when."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from aish.values.events import ToolProgress, TurnEvent
from aish.views.answers import AnswerScreen

pytestmark = pytest.mark.anyio


async def test_news_of_a_tool_wait_until_a_question_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    """They and the status line would be written over the question, and the user would not see what is asked."""
    screen, came = AnswerScreen("never"), asyncio.Event()

    async def turn() -> AsyncGenerator[TurnEvent]:
        came.set()
        yield ToolProgress("call-1", "agent clerk: step 1")

    with screen.asking():
        showing = asyncio.create_task(screen.show(turn()))
        await came.wait()
        await asyncio.sleep(0.01)
        assert "step 1" not in capsys.readouterr().err
    await showing
    assert "step 1" in capsys.readouterr().err
