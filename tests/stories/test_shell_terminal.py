"""The shell on a terminal: how a user talks to it, stops it, and comes back."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import tty

import pytest
from fake_server import FakeServer, Say, sse
from terminal import CTRL_C, CTRL_D, ENTER, SECONDS, FreshTerminal, Terminal
from world import World

from aish.views.exit_codes import BUG


def serve(world: World, server: FakeServer, extra: str = "") -> None:
    world.configure(
        f'model = "srv"\n{extra}\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n'
    )


def half(text: str) -> Say:
    """An answer that starts and never ends."""
    start = json.dumps({"choices": [{"delta": {"content": text}}]})
    return Say(pieces=[f"data: {start}\n\n".encode(), b": never sent\n\n"], hold=threading.Event())


def turns(world: World) -> list[tuple[str, str, str]]:
    (journal,) = world.journals()
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    return [(r["role"], r["content"], r.get("state", "complete")) for r in records if "role" in r]


def test_an_answer_streams_and_ctrl_d_leaves(world: World) -> None:
    """The first words are on the screen while the model is still generating."""
    release = threading.Event()
    with FakeServer(Say(pieces=sse("The first words", " and more.").pieces, hold=release)) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter("tell me")
            terminal.wait("aish> tell me", "The first words and more.")
            release.set()
            terminal.wait("aish> tell me", "The first words and more.", "aish>")
            terminal.type(CTRL_D)
            assert terminal.code() == 0


@pytest.mark.proves("P5", "N24")
def test_ctrl_c_stops_the_answer_keeps_the_part_and_the_shell_goes_on(world: World) -> None:
    """Stopping is not a failure: the partial answer is kept as interrupted, and the model knows what it had said."""
    with FakeServer(half("It all began"), sse("Yes.")) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter("tell me")
            terminal.wait_for("It all began")
            terminal.type(CTRL_C)
            terminal.wait("[aish] stopped; the part that was shown is kept", "aish>")
            assert server.gone.wait(5), "the server goes on generating for nobody"
            terminal.enter("are you there?")
            terminal.wait("aish> are you there?", "Yes.", "aish>")
            terminal.type(CTRL_D)
            assert terminal.code() == 0
        sent = [m["content"] for m in server.chats()[1].json["messages"][1:]]

    assert sent == ["tell me", "It all began", "are you there?"]
    assert turns(world)[:2] == [("user", "tell me", "complete"), ("assistant", "It all began", "interrupted")]


def test_facts_are_kept_after_new_without_another_question_and_the_shell_says_so(world: World) -> None:
    """`:new` ends a conversation. Its facts must not wait for the next one."""
    state, facts = "goal: move billing to Envoy\nstate: billing moves", "decision: billing moves to Envoy"
    helper = f'[models.helper]\nkind = "scripted"\nanswers = {json.dumps([state, facts])}\n'
    world.script("Good.", extra=f'[notes]\nmodel = "helper"\nidle_seconds = 0\n{helper}')
    with Terminal(world, AISH_SET_NOTES__UPKEEP="true") as terminal:
        terminal.wait_ready()
        terminal.enter("? move billing to Envoy")
        terminal.wait("aish> ? move billing to Envoy", "Good.", "aish>")
        terminal.enter(":new")
        terminal.wait("started a new conversation", "aish>")
        deadline = time.monotonic() + SECONDS
        while "[aish] notes: 1 change (:notes log)" not in terminal.lines and time.monotonic() < deadline:
            terminal.enter("true")
            terminal.watch(0.2)
        terminal.wait_for("[aish] notes: 1 change (:notes log)")


def test_ctrl_c_on_an_idle_line_clears_it(world: World) -> None:
    """As in any shell: the line is cleared, nothing was sent, and the next line starts empty."""
    with FakeServer(sse("Fine.")) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.type("rm -rf what was I")
            terminal.wait_for("what was I")
            terminal.type(CTRL_C)
            terminal.wait("aish> rm -rf what was I", "aish>")
            terminal.enter("how are you?")
            terminal.wait("Fine.", "aish>")

        assert [asked.json["messages"][-1]["content"] for asked in server.chats()] == ["how are you?"]


def test_ctrl_c_as_soon_as_the_prompt_is_there_does_not_end_the_shell(world: World) -> None:
    """The prompt is shown before the editor is loaded; it must already work as expected."""
    world.script("Fine.")
    with Terminal(world) as terminal:
        terminal.wait_for("aish>")
        terminal.type(CTRL_C)
        terminal.wait_ready()
        terminal.enter("how are you?")
        terminal.wait("Fine.", "aish>")


def test_what_is_typed_before_the_editor_is_there_is_not_lost(world: World) -> None:
    """Users type as soon as they see the prompt, and sooner."""
    world.script("Early.")
    with Terminal(world) as terminal:
        terminal.enter("good morning")
        terminal.wait("Early.", "aish>")


def test_tab_completes_a_command_and_help_lists_them(world: World) -> None:
    """Nobody has to remember a whole name."""
    world.script()
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.type(":hist\t")
        terminal.wait_for(":history")
        terminal.type(ENTER)
        terminal.wait("no turns yet", "aish>")
        terminal.type(":export cl\t")
        terminal.wait_for(":export claude-code")
        terminal.type("\x03")
        terminal.enter(":help")
        terminal.wait_for("Conversation  :new")
        terminal.enter(":quit")
        assert terminal.code() == 0


def test_the_whole_help_is_shown_page_by_page(world: World) -> None:
    """Space shows the next page, q ends, and the question leaves no trace."""
    world.script()
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(":help all")
        terminal.wait_for("more: space for the next page, q ends")
        assert "Conversation" in terminal.lines[:2]
        terminal.type("x")
        terminal.wait_for("(press space or q)")
        terminal.type(" ")
        terminal.wait_for(":recall WORDS")
        terminal.wait_times(b"more: space", 2)
        terminal.type("q")
        terminal.enter("echo on")
        terminal.wait("on", "aish>")
        assert not any("more: space" in line for line in terminal.lines)


@pytest.mark.parametrize("line", ["help", "/help", "What can you do?"])
def test_whoever_asks_for_help_gets_that_of_aish(world: World, line: str) -> None:
    """Bash's list of builtins, a missing program or the guess of a model help nobody; `help cd` is still bash's."""
    world.script("A1")
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter(line)
        terminal.wait_for("Conversation  :new")
        terminal.enter("help cd")
        terminal.wait_for("Returns 0 if the directory is changed")


@pytest.mark.proves("P5")
def test_what_was_shown_before_a_kill_is_found_again(world: World) -> None:
    """kill -9 during an answer loses nothing that was on the screen."""
    with FakeServer(half("Remember: the key is under the mat")) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter("where is it?")
            terminal.wait_for("under the mat")
            os.kill(terminal.pid, signal.SIGKILL)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter(":resume")
            terminal.wait(
                "the last answer was interrupted when aish ended; the part that was shown is kept",
                f"resumed {world.journals()[0].stem}: 2 turns, 2 of them in the prompt",
                "you: where is it?",
                "aish: Remember: the key is under the mat [interrupted]",
                "aish>",
            )

    assert turns(world) == [
        ("user", "where is it?", "complete"),
        ("assistant", "Remember: the key is under the mat", "interrupted"),
    ]
    assert not list(world.places.sessions.glob("*.live"))


def dear(world: World, server: FakeServer) -> None:
    serve(world, server, "[cost]\ncap_at_dollars = 0.01\n[prices.srv]\ninput = 1000.0\noutput = 1000.0")


@pytest.mark.proves("P7")
@pytest.mark.parametrize(("answer", "requests"), [("y", 1), ("n", 0), ("", 0)])
def test_a_call_over_the_cap_is_asked_about_and_the_question_stays_readable(
    world: World, answer: str, requests: int
) -> None:
    """Only a yes is a yes; no ticking clock changes the question while the user thinks."""
    with FakeServer(sse("Worth it.")) as server:
        dear(world, server)
        with Terminal(world, columns=200) as terminal:
            terminal.wait_ready()
            terminal.enter("q")
            terminal.wait_for("[y/N]")
            terminal.watch(0.8)
            assert re.fullmatch(
                r"\[aish\] this call could cost about \$1\.\d+; with \$0\.0000 spent in this conversation "
                r"that exceeds the cap of \$0\.01\. Continue anyway\? \[y/N\]",
                terminal.lines[-1],
            )
            terminal.enter(answer)
            terminal.wait("Worth it." if requests else "[aish] not sent: the call could exceed the cost cap", "aish>")
        assert len(server.chats()) == requests


@pytest.mark.proves("P7")
def test_ctrl_c_at_the_question_of_the_cap_is_a_no_and_the_next_line_is_not_swallowed(world: World) -> None:
    """The question is over: what is typed next goes to the shell, and Ctrl-D leaves at once."""
    with FakeServer(sse("Worth it.")) as server:
        dear(world, server)
        with Terminal(world, columns=200) as terminal:
            terminal.wait_ready()
            terminal.enter("q")
            terminal.wait_for("[y/N]")
            terminal.type(CTRL_C)
            terminal.wait_for("[aish] stopped")
            terminal.enter(":tokens 1234")
            terminal.wait_for("1 tokens (estimated)")
            terminal.type(CTRL_D)
            assert terminal.code() == 0
        assert server.chats() == []


@pytest.mark.proves("P11")
def test_a_shell_without_memory_leaves_nothing_behind(world: World) -> None:
    """Neither the conversation nor what was typed, not even as editor history."""
    world.script("A secret.")
    with FreshTerminal(world, "--no-memory") as terminal:
        terminal.wait_ready()
        terminal.enter("what is the secret?")
        terminal.wait("A secret.", "aish>")
        terminal.type(CTRL_D)
        assert terminal.code() == 0

    left = [path.relative_to(world.home) for path in world.home.rglob("*") if path.is_file()]
    assert [str(path) for path in left] == ["config/config.toml"]


@pytest.mark.proves("P2")
def test_a_terminal_that_is_closed_ends_the_shell_and_is_no_bug(world: World) -> None:
    """Windows are closed every day; the next start must not report a crash."""
    world.script("Paris.")
    ours, its = os.openpty()
    tty.setraw(its)
    env = world.environment(TERM="xterm-256color", HOME=str(world.directory), SHELL="/bin/bash")
    with subprocess.Popen([sys.executable, "-m", "aish"], stdin=its, stdout=its, stderr=its, env=env) as shell:
        os.close(its)
        seen = b""
        while b"aish>" not in seen:
            seen += os.read(ours, 4096)
        os.close(ours)
        assert shell.wait(timeout=20) != BUG
    reports = [path.read_text(encoding="utf-8") for path in world.directory.rglob("crash.txt")]
    assert reports == []


def test_a_shell_whose_python_does_not_know_where_it_is_starts_all_the_same(world: World) -> None:
    """It was started by a name that is on no PATH, so there is nothing of ours to link."""
    world.script("Paris.")
    env = world.environment(PYTHONPATH=os.pathsep.join(sys.path))
    env.pop("PATH", None)
    aish = ["python", "-m", "aish"]
    done = subprocess.run(
        aish,
        executable=sys.executable,
        env=env,
        input="what is the capital?\n",
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert "Paris." in done.stdout, done
