"""What is shown of a long turn that was found: the part that has the words, on a page, in a pipe and to a model."""

import json
import os
import subprocess
from typing import Any

import pytest
from terminal import Terminal
from world import AISH, World, at

from aish.acting.table import TOOLS
from aish.agent.tool import ParsedCall, ToolResult
from aish.conversation.session import Session
from aish.conversation.turn_context import TurnContext
from aish.values.snippets import cells
from aish.values.turns import Turn

pytestmark = pytest.mark.anyio

LONG = "Much was said before it.\n" * 60 + "At last the heron\tflew\nover the lake. " + "And more after it. " * 60


def speak(world: World, text: str = LONG) -> None:
    session = world.program().session()
    session.journal.add(Turn("user", text), at("2026-05-04T12:00:00"))


@pytest.mark.proves("N6")
async def test_a_page_shows_the_part_that_was_looked_for(world: World) -> None:
    """In one line that fits the window, with … on either side; programs get the whole turn."""
    speak(world)
    shell = world.shell(world.program())
    shell.width = 60

    reply = await world.type(shell, ":recall heron lake")

    hit = next(line for line in reply.text.splitlines() if "@1" in line)
    assert hit.startswith("  @1 you: …") and hit.endswith("…")
    assert "last the heron flew over the lake." in hit
    assert len(hit) <= 60
    assert [reply.text[begin:end] for begin, end in reply.marks] == ["heron", "lake"]
    assert reply.data[0]["text"] == LONG.strip()
    why = await world.type(shell, ":why")
    assert "the heron flew over the lake." in why.text


@pytest.mark.proves("N6")
async def test_words_in_wide_characters_are_marked_after_notes(world: World) -> None:
    """A note before the page moves the marks along."""
    speak(world, "窯の" * 60 + "温度は九百度です" + "窯の" * 60 + " herons")
    shell = world.shell(world.program())
    shell.width = 40

    reply = await world.type(shell, ":recall 九百度 since:2026-02-31")

    assert [reply.text[begin:end] for begin, end in reply.marks] == ["九百度"]
    (line,) = (line for line in reply.text.splitlines() if "@1" in line)
    assert "度は九百度です" in line
    assert cells(line) <= 40


def test_matches_are_bold_for_people_and_plain_in_a_pipe(world: World) -> None:
    """And JSON has the whole turn, without a mark."""
    speak(world)
    with Terminal(world, "search", "heron") as terminal:
        terminal.wait_for("because")
        assert terminal.code() == 0
        assert b"the \x1b[1mheron\x1b[0m flew over" in terminal.raw
    with Terminal(world, "search", "heron", NO_COLOR="1") as terminal:
        terminal.wait_for("because")
        assert terminal.code() == 0
        assert b"the heron flew over" in terminal.raw
    plain = world.aish("search", "heron").out
    assert "the heron flew over" in plain
    assert "\x1b" not in plain
    assert "\x1b[1mheron\x1b[0m" in world.aish("--set", "view.color=always", "search", "heron").out
    ours, theirs = os.openpty()  # who pipes it on still has a terminal for errors
    environment = {**world.environment(TERM="xterm"), "NO_COLOR": ""}
    piped = subprocess.run(
        [*AISH, "search", "heron"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        cwd=world.directory,
        check=True,
    )
    os.close(ours)
    os.close(theirs)
    assert piped.stdout.decode() == plain
    (hit,) = json.loads(world.aish("search", "--json", "heron").out)["hits"]
    assert hit["text"] == LONG.strip()


async def use(session: Session, name: str, arguments: dict[str, Any]) -> ToolResult:
    """What one call of a tool gives."""
    (tool,) = (tool for tool in TOOLS if tool.name == name)
    events = [event async for event in tool.run(ParsedCall("1", name, arguments), TurnContext(session))]
    assert isinstance(events[-1], ToolResult)
    return events[-1]


@pytest.mark.proves("N8")
async def test_a_model_reads_the_part_that_it_looked_for(world: World) -> None:
    """Head and tail of a long turn would leave out what it asked for."""
    speak(world)
    session = world.session(settings={"finding": {"tools": True}})
    used = await use(session, "search_conversations", {"query": "heron"})
    (turn,) = json.loads(used.text)["turns"]
    assert "At last the heron\tflew\nover the lake." in turn["text"]
    assert turn["text"][0] == turn["text"][-1] == "…"
    assert len(turn["text"]) <= 600
    used = await use(session, "recent_conversations", {})
    (turn,) = json.loads(used.text)["turns"]
    assert "characters left out" in turn["text"]
