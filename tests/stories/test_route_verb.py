"""Stories about `aish route`, which tells how a line would be routed."""

import json

import pytest
from world import World


@pytest.mark.proves("P1")
def test_a_script_learns_where_lines_go(world: World) -> None:
    """One process routes many lines and gives a reason for each. It runs nothing."""
    lines = ["touch made-by-mistake.txt", "how do I leave vim?", "sort this", "ll", "cat <<E\nwho?\nE", "löschen bitte"]
    ran = world.aish("route", "--jsonl", given="".join(json.dumps({"line": line}) + "\n" for line in lines) + "\n")
    answers = [json.loads(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert [answer["line"] for answer in answers] == lines
    assert [answer["route"] for answer in answers] == ["command", "question", "ask", "command", "command", "question"]
    assert all(answer["reason"] for answer in answers)
    assert not (world.directory / "made-by-mistake.txt").exists()


@pytest.mark.proves("P1")
def test_a_person_asks_about_one_line(world: World) -> None:
    (world.directory / "Makefile").write_text("coffee:\n", encoding="utf-8")
    assert world.aish("route", "make", "coffee").out.startswith("command: ")
    assert world.aish("route", "make coffee", "for", "everybody").out.startswith("question: ")
    assert world.aish("route", "ls", "-la", "--jsonl").out.startswith("command: ")
    assert world.aish("route", given="make tea\n!make tea\n").out.splitlines() == [
        "ask: make is also an English word",
        "command: a leading ! always runs the line",
    ]


def test_a_command_of_aish_is_not_called_a_question(world: World) -> None:
    ran = world.aish("route", given="help\n/help\n:memory list\nhelp cd\n")
    assert [line.split(":")[0] for line in ran.out.splitlines()] == ["aish", "aish", "aish", "command"]
    assert ran.out.startswith("aish: it is the command :help\n")


@pytest.mark.proves("P1")
def test_aliases_and_programs_that_are_not_here_are_known(world: World) -> None:
    """`aish route` has no live shell, and a program may be missing. Running such a line fails with a clear message."""
    lines = ["la -h", "kubectl get pods", "sudo systemctl restart nginx", "ls"]
    ran = world.aish(
        "route", "--jsonl", given="".join(json.dumps({"line": line}) + "\n" for line in lines), PATH="/none"
    )
    assert [json.loads(line)["route"] for line in ran.out.splitlines()] == ["command"] * 4


@pytest.mark.parametrize("given", ["nonsense\n", '{"text": "ls"}\n', "[]\n", "3\n", '{"line": 3}\n'])
def test_a_line_that_is_no_request_is_refused(world: World, given: str) -> None:
    ran = world.aish("route", "--jsonl", given=given)
    assert (ran.code, ran.out) == (2, "")
    assert 'line 1 is not {"line": …}' in ran.err


def test_what_is_shown_cannot_steer_the_terminal(world: World) -> None:
    assert "\x1b" not in world.aish("route", "\x1b[2Jx", "y").out


def test_no_option_of_a_routed_line_is_taken_for_ours(world: World) -> None:
    """Everything after the verb belongs to the line. Options of aish come before the verb."""
    ran = world.aish("--set", "view.color=never", "route", "why", "does", "--model", "matter?")

    assert (ran.code, ran.out.partition(":")[0]) == (0, "question")
    assert world.aish("route", "--", "--set").err == ""
