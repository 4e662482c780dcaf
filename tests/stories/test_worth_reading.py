"""What a search shows is worth reading: words that were said, where they match, and their neighbours below them."""

import json

import pytest
from world import World

from aish.commands.shell import Shell
from aish.conversation.held_output import hold_output
from aish.values.outcomes import Outcome

pytestmark = pytest.mark.anyio
CALL = 'TOOL: read_file {"path": "kettle.txt"}'


async def conversation(world: World, *questions: str, answers: list[str]) -> Shell:
    """A shell with one conversation, in which the output of a command was sent with the first question."""
    (world.directory / "kettle.txt").write_text("the quokka file boils\n", encoding="utf-8")
    script = {"kind": "scripted", "answers": answers, "tools": True}
    tools = {"file_tools": True, "tool": False, "plan": False}
    shell = world.shell(world.program({"model": "s", "models": {"s": script}, "commands": tools}))
    hold_output(shell.session, "ls", Outcome(0, "total 0\nwombat.log\n"))
    for question in questions:
        await world.ask(shell.session, question)
    return shell


def hits(page: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in page.splitlines() if line.strip().startswith("@")]


async def test_a_call_of_a_tool_is_no_hit_but_its_result_is(world: World) -> None:
    """The user finds what was read, and not how it was asked for."""
    shell = await conversation(world, "what is in that file?", answers=[CALL, "It is about a marsupial."])

    found = (await world.type(shell, ":recall quokka kettle.txt")).text

    assert any(line.startswith("tool:") and "quokka" in line for line in hits(found))
    assert not any("read_file" in line for line in hits(found))
    assert 's: read_file {"path": "kettle.txt"}' in (await world.type(shell, ":thread 1")).text


async def test_a_question_is_shown_without_the_output_that_was_sent_with_it(world: World) -> None:
    """If the words are in the output, that is shown instead."""
    shell = await conversation(world, "what colour is the kettle?", answers=["Blue."])

    assert "you: what colour is the kettle?" in hits((await world.type(shell, ":recall kettle")).text)
    assert "you: [exec output] $ ls total 0 wombat.log" in hits((await world.type(shell, ":recall wombat")).text)
    assert "you: what colour is the kettle?" in (await world.type(shell, ":recent")).text


async def test_output_without_a_question_is_not_the_users_turn(world: World) -> None:
    """After a command of the model, aish sends the output by itself."""
    shell = await conversation(world, "hello", answers=["Hi.", "Done."])
    hold_output(shell.session, "df", Outcome(0, "disk numbat full\n"), proposed=True)
    await world.ask(shell.session, "")

    found = hits((await world.type(shell, ":recall numbat")).text)

    assert [line.partition(":")[0] for line in found] == ["output"]


async def test_neighbours_are_shown_with_a_hit_and_are_none(world: World) -> None:
    """They have no number of their own, and programs can tell them from hits."""
    shell = await conversation(
        world,
        "where do I put the umbrella?",
        "tell me about carburettors",
        answers=["In the hall.", "They mix air and fuel for engines."],
    )

    page = (await world.type(shell, ":recall carburettors")).text

    assert [line.partition(":")[2].strip() for line in hits(page)] == ["tell me about carburettors"]
    assert "     s: In the hall." in page and "     s: They mix air and fuel for engines." in page
    assert "umbrella" not in page
    listed = json.loads(world.aish("search", "--json", "carburettors").out)["hits"]
    assert [hit["text"] for hit in listed if not hit.get("beside")] == ["tell me about carburettors"]


@pytest.mark.parametrize("place", [10, 5_000, 20_000])
async def test_a_snippet_shows_the_match_wherever_it_is(world: World, place: int) -> None:
    """A page of text is shown around the word that was searched for."""
    words = "lorem ipsum " * 3_000
    shell = await conversation(world, f"{words[:place]} zebra {words[place:]}", answers=["Yes."])

    (line,) = [line for line in hits((await world.type(shell, ":recall zebra")).text) if line.startswith("you:")]

    assert "zebra" in line and len(line) <= 80
