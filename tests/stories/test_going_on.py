"""The model goes on: it reads what its commands printed, and answers, without being asked again."""

import json
from pathlib import Path

import pytest
from terminal import CTRL_C
from tmux import Tmux, need
from workshop import KEY, PROMPT, AtGate, Workshop
from world import World, script_of

from aish.acting.gate import Decided
from aish.acting.rounds import GO_ON, Rounds
from aish.values.outcomes import Outcome

ON = {"AISH_SET_COMMANDS__ROUNDS": "3"}


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def questions(world: World) -> list[str]:
    """What the model was asked, as stored."""
    lines = [line for journal in world.journals() for line in journal.read_bytes().splitlines()]
    return [record["content"] for record in map(json.loads, lines) if record.get("role") == "user"]


def test_the_model_reads_what_its_command_printed_and_answers(workshop: Workshop) -> None:
    """The user asked once."""
    (workshop.directory / "note.txt").write_text("buy milk\n", encoding="utf-8")
    workshop.script("I look.\n\nCMD: cat note.txt", "You have to buy milk.")
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait("▸ cat note.txt", "buy milk", "You have to buy milk.", PROMPT)
    asked = questions(workshop)
    assert asked[0] == "what now?"
    assert asked[1:] == [f"[exec output]\n(proposed by the model)\n$ cat note.txt\nbuy milk\n\n{GO_ON}"]


def test_it_can_take_several_rounds_and_asks_in_each(workshop: Workshop) -> None:
    """A key for the change, none for what only looks; after foreign text nothing is allowed by itself."""
    workshop.script("CMD: ls", "CMD: touch made", "CMD: ls", "Made.")
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_times(KEY, 1)
        terminal.type("r")
        terminal.wait_for("Made.")
        terminal.wait_prompt()
    assert workshop.files() == {"made"}
    assert len(questions(workshop)) == 4


def test_after_a_no_it_waits_for_the_user(workshop: Workshop) -> None:
    """The user said what he does not want; what he wants comes next."""
    workshop.script("CMD: touch made", "Never said.")
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_times(KEY, 1)
        terminal.type("s")
        terminal.wait_prompt()
    assert questions(workshop) == ["what now?"]


def test_it_is_told_which_command_was_skipped(workshop: Workshop) -> None:
    """Otherwise it takes the skipped one for done."""
    workshop.script("CMD: ls\nCMD: touch made", "I see.")
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_times(KEY, 1)
        terminal.type("s")
        terminal.wait_for("I see.")
        terminal.wait_prompt()
    assert "[aish] touch made: skipped by user" in questions(workshop)[1]


def test_it_ends_after_the_last_round_and_says_so(workshop: Workshop) -> None:
    """A model that never comes to an end must not go on for ever."""
    workshop.script(*(f"CMD: echo {number}" for number in range(6)))
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_for("stopped after 3 rounds")
        terminal.wait_prompt()
    assert len(questions(workshop)) == 4


def test_a_model_that_repeats_itself_is_stopped(workshop: Workshop) -> None:
    """Small models do."""
    workshop.script(*["CMD: echo one"] * 4)
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_for("the model repeats its commands")
        terminal.wait_prompt()
    assert len(questions(workshop)) == 2


def test_ctrl_c_in_a_command_ends_the_command_and_the_model_reads_that(workshop: Workshop) -> None:
    """Ctrl-C at a question or in an answer ends everything; in a command, the command."""
    workshop.script("CMD: sleep 60", "Stopped, then.")
    with AtGate(workshop, **ON) as terminal:
        terminal.ask()
        terminal.wait_for("… sleep 60 1 s")
        terminal.watch(0.5)
        terminal.type(CTRL_C)
        terminal.wait_for("Stopped, then.")
        terminal.wait_prompt()
    assert "[exit status 130]" in questions(workshop)[1]


def test_it_goes_on_in_a_real_terminal(tmp_path: Path) -> None:
    """By default."""
    need()
    world = World(tmp_path)
    world.script("CMD: echo seen", "Now I have seen it.")
    with Tmux(world, AISH_SET_COMMANDS__ROUNDS="8") as tmux:
        tmux.enter("what now?")
        tmux.wait_for("Now I have seen it.")


def ran(*commands: str, skipped: tuple[str, ...] = ()) -> list[Decided]:
    return [*(Decided(one, Outcome(0, "")) for one in commands), *(Decided(one, reason="no") for one in skipped)]


def test_the_rules_of_rounds() -> None:
    """A new command goes on, a repeated or skipped one does not, and zero rounds mean never."""
    rounds = Rounds(2)
    assert rounds.go_on(ran("a"))
    assert not Rounds(2).go_on(ran(skipped=("a",)))
    assert not Rounds(0).go_on(ran("a"))
    assert not rounds.go_on(ran("a")) and "repeats" in rounds.reason
    rounds = Rounds(2)
    assert rounds.go_on([Decided("make test", Outcome(1, "1 failed"))])
    assert rounds.go_on([Decided("make test", Outcome(0, "all passed"))]), "something has changed in between"
    rounds = Rounds(9)
    assert [rounds.go_on([Decided("date", Outcome(0, str(time)))]) for time in range(3)] == [True, True, False]
    rounds = Rounds(2)
    assert [rounds.go_on(ran(name)) for name in "abc"] == [True, True, False]
    assert "2 rounds" in rounds.reason


@pytest.mark.anyio
@pytest.mark.parametrize(("takes_grammar", "stop"), [(True, ("\n[exec output]",)), (False, ())])
async def test_the_embedded_model_is_stopped_before_it_invents_output(
    world: World, takes_grammar: bool, stop: tuple[str, ...]
) -> None:
    """Small models do that. Some servers refuse the option, so only llama.cpp gets it."""
    session = world.session(["CMD: ls"])
    session.backend.takes_grammar = takes_grammar
    await world.ask(session, "what is here?")
    assert script_of(session).requests[0].stop == stop
