"""Stories about what the model is told of the user's machine, directory and last command."""

import itertools
import re
import subprocess
from typing import Any

import pytest
from fake_server import FakeServer, sse
from world import World

from aish.values.turns import SURROUNDINGS_MARK

pytestmark = pytest.mark.anyio

ON: dict[str, Any] = {"AISH_SET_CONTEXT__SURROUNDINGS": "true", "TZ": "Europe/Berlin", "SHELL": "/bin/bash"}


def serve(world: World, server: FakeServer) -> None:
    world.configure(f'model = "srv"\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n')


@pytest.mark.proves("X8", "P8")
def test_the_model_is_told_once_and_then_what_changed(world: World) -> None:
    """What was sent before is sent again byte for byte, so the cache of the server holds."""
    subprocess.run(["git", "init", "-qb", "work", "."], cwd=world.directory, check=True)
    (world.directory / "sub").mkdir()
    lines = "q1\nq2\n!cd sub\nq3\n!false\n!cd .\nq4\n"
    with FakeServer(sse("ok", usage=None)) as server:
        serve(world, server)
        ran = world.aish("--lines", given=lines, **ON)
        sent = [asked.json["messages"] for asked in server.chats()]

    assert ran.code == 0, ran.err
    first, second, third, fourth = (messages[-1]["content"] for messages in sent)
    mark, *facts, blank, question = first.split("\n")
    assert (mark, blank, question) == (SURROUNDINGS_MARK, "", "q1")
    told = dict(fact.split(": ", 1) for fact in facts)
    assert list(told) == ["system", "shell", "directory", "git branch", "time"]
    assert (told["shell"], told["directory"], told["git branch"]) == ("bash", f'"{world.directory}"', "work")
    assert re.fullmatch(r"\w+day \d{4}-\d\d-\d\d \d\d:\d\d, UTC\+0[12]:00 \(Europe/Berlin\)", told["time"])

    assert second.endswith("q2") and "directory" not in second
    assert f'directory: "{world.directory / "sub"}"' in third and "system" not in third
    assert "last command: `cd .`, exit status 0" in fourth  # it printed nothing, so it is not attached
    assert fourth.endswith("[exec output]\n$ false\n\n[exit status 1]\n\nq4")
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    (journal,) = world.journals()
    assert SURROUNDINGS_MARK.encode() not in journal.read_bytes()


def test_context_shows_what_the_next_question_will_tell(world: World) -> None:
    """Nothing goes to the model that the user cannot see."""
    world.script("A")

    shown = world.aish("--lines", given=":context\n", **ON).out
    off = world.aish("--lines", given=":context\n").out

    assert re.search(r"(?m)^surroundings +█* +[1-9]\d* ", shown)
    assert f"with the next question:\n{SURROUNDINGS_MARK}\nsystem: " in shown
    assert "surroundings" not in off


def test_secrets_in_a_directory_or_command_are_masked(world: World) -> None:
    """The last command may hold a password, and a directory may be named after a key."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    folder = world.directory / secret[:40]
    folder.mkdir()
    with FakeServer(sse("ok", usage=None)) as server:
        serve(world, server)
        world.aish("--lines", given=f"!cd {folder}\n!export TOKEN={secret[:40]}\nq\n", **ON)
        (sent,) = (asked.json["messages"][-1]["content"] for asked in server.chats())

    assert "last command: `export TOKEN=" in sent and secret[:40] not in sent


async def test_a_fact_that_left_the_prompt_is_told_again(world: World) -> None:
    """When the oldest exchange is dropped, the facts that it told go with it, and come with the next question."""
    settings: dict[str, Any] = {"context": {"surroundings": True, "max_turns": 2, "summarize_evicted": False}}
    session = world.session(["A1", "A2", "A3"], settings)
    await world.ask(session, "q1")
    await world.ask(session, "q2")
    await world.ask(session, "q3")

    assert [turn.content.count("system: ") for turn in session.history.turns if turn.role == "user"] == [1]


@pytest.mark.proves("C8")
def test_commands_that_print_nothing_are_not_attached_unless_they_fail(world: World) -> None:
    """`cd` and `clear` say nothing about a problem; a failure without a word does."""
    lines = "!cd .\n!clear\n!printf '\\033[2J'\n!true\nq1\n!sh -c 'exit 3'\n!echo out\n!clear\nq2\n"
    with FakeServer(sse("ok", usage=None)) as server:
        serve(world, server)
        ran = world.aish("--lines", given=lines, TERM="xterm")
        first, second = (asked.json["messages"][-1]["content"] for asked in server.chats())

    assert ran.code == 0 and first == "q1"
    assert second == "[exec output]\n$ sh -c 'exit 3'\n\n[exit status 3]\n[exec output]\n$ echo out\nout\n\nq2"
