"""`:recall` finds remembered items and commands beside turns."""

import pytest
from world import World

from aish.memory.command_history.past_commands import PastCommands
from aish.values.past_command import PastCommand

pytestmark = pytest.mark.anyio


async def test_items_and_commands_are_found_beside_turns_each_with_its_kind(world: World) -> None:
    program = world.program({"finding": {"tools": False, "meaning": False}})
    session = world.session(["Deploy on Monday."])
    shell = world.shell(program, program.session())
    past = shell.past = PastCommands()
    past.add(PastCommand("make deploy TARGET=prod", 1_700_000_000.0, "/srv/app", 2))
    past.add(PastCommand("why does deploy fail?", 1_700_000_000.0, source="typed"))
    await world.ask(session, "when do we deploy?")
    await world.type(shell, ":memory add fact the deploy window is on Monday")

    reply = await world.type(shell, ":recall deploy")
    lines = reply.text.splitlines()
    assert any("when do we deploy?" in line for line in lines)
    assert any(line.startswith("remembered") and "the deploy window is on Monday" in line for line in lines)
    assert [line for line in lines if line.startswith("command")] != []
    assert any("make deploy TARGET=prod" in line and "/srv/app, exit status 2" in line for line in lines)
    assert "why does deploy fail?" not in reply.text, "a typed question is a turn, not a command"
    assert isinstance(reply.data, list)
    assert {record["kind"] for record in reply.data} == {"turn", "item", "command"}


async def test_a_command_of_this_minute_was_run_now(world: World) -> None:
    program = world.program({"finding": {"tools": False, "meaning": False}})
    shell = world.shell(program, program.session())
    shell.past = PastCommands()
    shell.past.add(PastCommand("make deploy", program.now().timestamp(), "/srv"))

    assert "make deploy (now, /srv)" in (await world.type(shell, ":recall deploy")).text


async def test_a_query_with_bounds_is_about_turns(world: World) -> None:
    program = world.program({"finding": {"tools": False, "meaning": False}})
    shell = world.shell(program, program.session())
    shell.past = PastCommands()
    shell.past.add(PastCommand("make deploy", 1_700_000_000.0))

    assert "make deploy" in (await world.type(shell, ":recall deploy")).text
    assert "make deploy" not in (await world.type(shell, ":recall deploy role:me")).text
    assert "make deploy" not in (await world.type(shell, ":recall -make deploy")).text
