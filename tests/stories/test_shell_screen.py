"""What the shell prints on the screen: widths, colours, notices, and no control bytes from elsewhere."""

import re
import threading
from typing import Any

import pytest
from fake_server import FakeServer, Say, sse
from terminal import CTRL_D, Terminal
from world import World


def serve(world: World, server: FakeServer, extra: str = "") -> None:
    world.configure(
        f'model = "srv"\n{extra}\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n'
    )


def test_a_window_of_forty_columns_is_enough(world: World) -> None:
    """Long words wrap, and lists are truncated to the width instead of breaking."""
    world.script("w" * 60)
    with Terminal(world, columns=40) as terminal:
        terminal.wait_ready()
        terminal.enter("a question that is longer than the window is wide")
        terminal.wait("w" * 39, "w" * 21, "aish>")
        terminal.enter(":sessions")
        terminal.wait_for("  1* ")
        terminal.wait("aish>")
        assert terminal.lines[-2].startswith("  1* ") and terminal.lines[-2].endswith("…")


@pytest.mark.proves("C16", "T16")
def test_what_leaves_the_prompt_is_one_dim_line_and_is_summarised_while_nobody_waits(world: World) -> None:
    """The summary is requested after the answer is on the screen, and shows only in the spending log."""
    with FakeServer(sse("A1"), sse("A2", usage=None), sse("They greeted."), sse("A3", usage=None)) as server:
        serve(world, server, "[context]\nmax_turns = 2")
        with Terminal(world) as terminal:
            terminal.wait_ready()
            for question, answer in (("q1", "A1"), ("q2", "A2")):
                terminal.enter(question)
                terminal.wait(answer, "aish>")
            for times in range(1, 100):
                terminal.enter(":cost detail")
                terminal.wait_times(b"[estimated session ctx", times)
                if b"srv, summary: 1 call, 450 tokens in, 5 out" in terminal.raw:
                    break
            terminal.enter("q3")
            terminal.wait("A3", "aish>")
        prompt = server.chats()[3].json["messages"][0]["content"]

    assert "They greeted." in prompt and b"They greeted." not in terminal.raw
    line = rb"\x1b\[2m\[aish\] 2 older turns were dropped from the prompt \(\d+ of 4096 tokens\); to keep"
    assert len(re.findall(line, terminal.raw)) == 1
    assert b"summaries, in the total: 1 call, 450 tokens in, 5 out" in terminal.raw


@pytest.mark.parametrize(
    ("env", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    ids=["a terminal", "NO_COLOR", "NO_COLOR empty", "dumb"],
)
def test_colours_are_for_terminals_that_want_them(world: World, env: dict[str, Any], colored: bool) -> None:
    """NO_COLOR counts if it is set and not empty, as its standard says; bold is not a colour."""
    world.script("plain answer")
    with Terminal(world, **env) as terminal:
        terminal.wait_for("aish>")
        terminal.enter("q")
        terminal.wait_for("plain answer")
        terminal.enter(":frob")
        terminal.wait_for("there is no command :frob")

    codes = {code for found in re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw) for code in found.split(b";")}
    assert any(code.startswith((b"3", b"9")) for code in codes) == colored


@pytest.mark.proves("N23")
def test_text_of_a_model_cannot_steer_the_terminal(world: World) -> None:
    """Title, clipboard and cursor belong to the user: control bytes arrive as visible marks."""
    evil = ["a\x1b", "]0;evil\x07", "b\x1b[2J\x1b[31mred", "\x9b5mblink\x08\x7f\u202eback"]
    with FakeServer(sse(*evil)) as server:
        serve(world, server)
        with Terminal(world) as terminal:
            terminal.wait_ready()
            terminal.enter("q")
            terminal.wait("a␛]0;evil␇b␛[2J␛[31mred�5mblink␈␡�back", "aish>")

    answer = terminal.raw.decode().partition("a␛")[2].partition("\n")[0]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", answer.rstrip("\r"))


def test_the_prompt_names_the_model_that_answers(world: World) -> None:
    """`{model}` in the template follows `:model` at once."""
    world.script("A", extra='[models.other]\nkind = "scripted"')
    with Terminal(world, AISH_SET_VIEW__PROMPT="{model}> ") as terminal:
        terminal.wait("script>")
        terminal.enter(":model other")
        terminal.wait("now using other; tools: unknown", "other>")


def test_a_dumb_terminal_gets_no_escape_sequences(world: World) -> None:
    """Editors and logs show them as garbage; a slow answer is no exception."""
    release = threading.Event()
    with FakeServer(Say(pieces=[b"".join(sse("Slow.").pieces)], hold=release)) as server:
        serve(world, server)
        with Terminal(world, TERM="dumb") as terminal:
            terminal.wait_for("aish>")
            terminal.enter("q")
            terminal.watch(0.8)
            release.set()
            terminal.wait("Slow.", "aish>")
            terminal.type(CTRL_D)
            assert terminal.code() == 0

    assert b"\x1b" not in terminal.raw


def test_a_long_question_wraps_between_words_and_keeps_its_sign(world: World) -> None:
    """Only aish writes the sign at the left: without it, the rest of a question could be taken for an answer."""
    world.script("CMD: touch made", "Good.")
    with Terminal(world, columns=44) as terminal:
        terminal.wait_ready()
        terminal.enter("what can you make for me?")
        terminal.wait_for("[a]lways")
        terminal.type("a")
        terminal.wait_for("or [n]o")
        question = "".join(terminal.raw.decode().rpartition("always run")[1:])
        rows = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", question).rstrip().split("\r\n")
        assert len(rows) > 1 and all(row.startswith("▐  ") and len(row) <= 44 for row in rows[1:])
        assert rows[0].endswith("exactly,")
        terminal.type("n")
        terminal.wait_for("[s]kip (Enter)")
