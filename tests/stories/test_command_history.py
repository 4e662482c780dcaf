"""The history of commands, as the user of a terminal meets it."""

import json
import shutil
import time
from pathlib import Path

import pytest
from terminal import Terminal
from world import World

from aish.memory.command_history.command_store import CommandStore
from aish.values.outcomes import Outcome
from aish.views.command_history import CommandHistory


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


def test_no_explanation_is_offered_for_a_hidden_line(world: World) -> None:
    """`?` would not know it."""
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(" !frobctl stop")
        terminal.wait("bash: frobctl: command not found", "aish>")
        terminal.enter(" sh -c 'exit 3'")
        terminal.enter("echo th''en")
        terminal.wait("then", "aish>")

        assert not any("[aish]" in line for line in terminal.lines)


def test_a_line_that_expands_to_a_hidden_one_leaves_no_trace(world: World) -> None:
    world.script("An answer.")
    (world.directory / ".bashrc").write_text("HISTIGNORE='printf *'\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("echo un''seen words")
        terminal.wait_for("unseen words")
        terminal.enter("^echo^printf %s,")
        terminal.wait_for("unseen,words,")
        terminal.enter("?what did I do")
        terminal.wait_for("An answer.")

    assert [one["command"] for one in recorded(world)] == ["echo un''seen words"]
    assert traces(world.directory, "unseen,words") == []


def test_a_line_typed_before_the_shell_has_started_is_hidden_by_its_rules(world: World) -> None:
    world.script("An answer.")
    (world.directory / ".bashrc").write_text("sleep 1.5; HISTIGNORE='echo *'\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_for("aish>")
        terminal.enter("echo un''seen")
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


def test_without_memory_no_command_is_recorded(world: World) -> None:
    world.script("An answer.")
    with Terminal(world, "--no-memory") as terminal:
        terminal.wait_ready()
        terminal.enter("echo se''cret")
        terminal.wait_for("secret")

    assert recorded(world) == []


UP, RIGHT = "\x1b[A", "\x1b[C"


def test_the_history_of_bash_is_there_from_the_first_minute(world: World) -> None:
    """In Up and in suggestions, without being copied into any file of ours."""
    world.script("An answer.")
    (world.directory / ".bash_history").write_text("ls -d /etc\necho brought along\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.type(UP)
        terminal.wait("aish> echo brought along")
        terminal.type(UP)
        terminal.wait("aish> ls -d /etc")
        terminal.type("\x15ec")
        terminal.wait("aish> echo brought along")
        terminal.type(RIGHT + "\r")
        terminal.wait("aish> echo brought along", "brought along", "aish>")
        terminal.enter("exit")
        terminal.code()

    assert traces(world.home, "ls -d /etc") == []
    assert [one["command"] for one in recorded(world)] == ["echo brought along", "exit"]


def test_the_file_that_the_shell_names_is_read(world: World) -> None:
    world.script("An answer.")
    (world.directory / "elsewhere").write_text("echo from elsewhere\n", "utf-8")
    (world.directory / ".bashrc").write_text("HISTFILE=~/elsewhere\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        for _ in range(50):
            terminal.type("\x15echo")
            terminal.watch(0.1)
            if any(line.endswith("echo from elsewhere") for line in terminal.lines):
                break
        terminal.wait("aish> echo from elsewhere")


@pytest.mark.proves("P1")
def test_what_was_run_in_bash_is_a_command_here_and_can_be_repeated(world: World) -> None:
    """A program that is not found is then reported by the shell; the model is not asked."""
    world.script("An answer.")
    (world.directory / ".bash_history").write_text("frobctl sync\necho brought along\nfrobctl stop\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.type(UP)
        terminal.wait("aish> frobctl stop")  # the history is loaded
        terminal.type("\x15")
        terminal.enter("frobctl restart everything")
        terminal.wait("bash: frobctl: command not found", "[aish] type ? to ask the model", "aish>")
        terminal.enter("!ec")
        terminal.wait("echo brought along", "brought along", "aish>")
        terminal.enter("exit")
        terminal.code()

    assert world.journals() == []


def test_a_history_that_cannot_be_written_is_told_once_and_the_shell_goes_on(world: World) -> None:
    world.script("An answer.")
    world.places.commands.mkdir(parents=True)
    with Terminal(world, columns=200) as terminal:
        terminal.wait_ready()
        terminal.enter("echo fi''rst")
        terminal.wait_for("this command is not in the history")
        terminal.enter("echo sec''ond")
        terminal.wait("aish> echo sec''ond", "second", "aish>")
        terminal.type("\x12")
        terminal.wait_for("> echo sec''ond")  # the list works in memory


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_has_its_history_and_hides_what_it_ignores(world: World) -> None:
    world.script("An answer.")
    home = world.directory
    (home / ".zshrc").write_text(
        "HISTFILE=~/own_zsh HISTSIZE=100 SAVEHIST=100 HISTORY_IGNORE='(echo un*|ls)'\n", "utf-8"
    )
    (home / "own_zsh").write_text(": 1700000000:0;echo from zsh\n", "utf-8")
    with Terminal(world, SHELL=shutil.which("zsh") or "") as terminal:
        terminal.wait_ready()
        terminal.enter("echo un''seen")
        terminal.wait("aish> echo un''seen", "unseen", "aish>")
        terminal.type("\x12")
        terminal.wait_for("1 of 1")
        terminal.wait_for("> echo from zsh")

    assert traces(home, "un''seen") == []


def test_two_shells_write_one_history_and_the_next_shell_has_both(world: World) -> None:
    world.script("An answer.")
    with Terminal(world) as one, Terminal(world) as other:
        for terminal in (one, other):
            terminal.wait_ready()
        for number in range(3):
            one.enter(f"echo o''ne {number}")
            other.enter(f"echo t''wo {number}")
            one.wait_for(f"one {number}")
            other.wait_for(f"two {number}")
        one.wait("one 2", "aish>")
        one.type("\x12")  # the list has what the other shell ran meanwhile
        one.wait_for("  echo t''wo 0")
        one.type("\x1b")
        one.wait("aish>")
        for terminal in (one, other):
            terminal.enter("exit")
            terminal.code()

    texts = [str(record["command"]) for record in recorded(world)]
    assert sorted(texts) == sorted([f"echo {name} {n}" for name in ("o''ne", "t''wo") for n in range(3)] + ["exit"] * 2)


def test_commands_that_two_shells_begin_in_the_same_millisecond_are_both_known(tmp_path: Path) -> None:
    store = CommandStore(tmp_path / "commands.jsonl", str)
    here = CommandHistory(store)
    here.start()
    end = time.monotonic() + 10.0
    while not here.loaded and time.monotonic() < end:
        time.sleep(0.001)
    done = Outcome(0, "", "/")
    run = here.begin("echo here", "/")
    here.end(run, done, "c1")
    CommandHistory(store).end(run._replace(line="echo there"), done, "c2")

    here.catch_up()
    assert sorted(here.lines()) == ["echo here", "echo there"]


def test_a_line_that_is_no_command_is_kept_while_the_shell_still_starts(world: World) -> None:
    """The rules of the shell are about commands, so a question need not wait for them."""
    world.script("An answer.")
    (world.directory / ".bashrc").write_text("sleep 20\n", "utf-8")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("?what is a wombat")
        terminal.wait_for("An answer.")
        terminal.type("\x12")
        terminal.wait_for("> ?what is a wombat")

    assert "what is a wombat" in world.places.typed_history.read_text("utf-8")
