"""The history of commands, as the user of a terminal meets it."""

import json
from pathlib import Path

import pytest
from terminal import Terminal
from world import World


def recorded(world: World) -> list[dict[str, object]]:
    lines = world.places.commands.read_text("utf-8").splitlines() if world.places.commands.exists() else []
    return [record for record in map(json.loads, lines) if "command" in record]


def traces(directory: Path, text: str) -> list[str]:
    """Return the files below a directory that have a text."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return [str(path) for path in files if text.encode() in path.read_bytes()]


def test_each_command_is_recorded_with_directory_time_duration_status_and_host(world: World) -> None:
    world.script("An answer.")
    (world.directory / "sub").mkdir()
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("cd sub")
        terminal.wait_for("aish>")
        terminal.enter("sh -c 'exit 3'")
        terminal.wait_for("asks why it failed")
        terminal.enter("?why did it fail")
        terminal.wait_for("An answer.")

    moved, failed = recorded(world)
    assert (moved["command"], moved["directory"], moved["status"]) == ("cd sub", str(world.directory), 0)
    assert (failed["command"], failed["directory"]) == ("sh -c 'exit 3'", str(world.directory / "sub"))
    assert failed["status"] == 3
    assert isinstance(failed["seconds"], float)
    assert failed["host"]
    assert str(failed["ts"]) >= str(moved["ts"])
    assert world.journals()[0].stem.endswith(str(failed["conversation"]).rpartition("-")[2])


@pytest.mark.parametrize(
    ("setting", "line"),
    [("", " echo un''seen"), ("HISTIGNORE='echo *'", "echo un''seen"), ("HISTCONTROL=ignoreboth", " echo un''seen")],
)
def test_a_hidden_line_leaves_no_trace_anywhere(world: World, setting: str, line: str) -> None:
    """Neither the line nor its output: in no history, and not with the next question."""
    world.script("An answer.")
    (world.directory / ".bashrc").write_text(f"{setting}\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(line)
        terminal.wait_for("unseen")
        terminal.enter("ls -d /")
        terminal.wait_for("aish>")
        terminal.enter("?what did I do")
        terminal.wait_for("An answer.")
        terminal.enter("exit")
        terminal.code()

    assert [one["command"] for one in recorded(world)] == ["ls -d /", "exit"]
    assert traces(world.directory, "un''seen") == []
    assert traces(world.directory, "unseen") == []
    assert traces(world.directory, "ls -d /")


def test_without_memory_no_command_is_recorded(world: World) -> None:
    world.script("An answer.")
    with Terminal(world, "--no-memory") as terminal:
        terminal.wait_ready()
        terminal.enter("echo se''cret")
        terminal.wait_for("secret")

    assert recorded(world) == []
