"""The shell at the end of a pipe: lines in, answers out, no terminal."""

import json

import pytest
from fake_server import FakeServer, sse
from world import World


def serve(world: World, server: FakeServer, extra: str = "") -> None:
    world.configure(
        f'model = "srv"\n{extra}\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n'
    )


def questions(server: FakeServer) -> list[str]:
    """The questions that reached the model."""
    return [asked.json["messages"][-1]["content"] for asked in server.chats()]


@pytest.mark.proves("P5")
def test_lines_are_questions_and_commands_and_the_end_of_input_is_the_end(world: World) -> None:
    """One conversation for all lines, answers on stdout in order, and no prompt."""
    world.script("It is four.", "Five.")

    ran = world.aish("--lines", given="two and two?\n:history\nand one more?\n:save sums\n:sessions")

    lines = ran.out.splitlines()
    assert (ran.code, ran.err) == (0, "")
    assert lines[:5] == ["It is four.", "user: two and two?", "assistant: It is four.", "Five.", lines[4]]
    assert lines[4] == "this conversation is now named sums"
    assert lines[5].startswith("  1* ") and lines[5].endswith(" 4 turns  [sums] two and two?")
    assert len(lines) == 6
    assert len(world.journals()) == 1


@pytest.mark.parametrize("term", ["dumb", "", "xterm-256color", "no-such-terminal"])
def test_no_kind_of_terminal_puts_anything_into_a_pipe(world: World, term: str) -> None:
    """Whatever TERM says, a pipe gets the plain answer."""
    world.script("plain")

    ran = world.aish("--lines", given="q\n", TERM=term, NO_COLOR="")

    assert (ran.code, ran.out, ran.err) == (0, "plain\n", "")


def test_blank_lines_are_passed_over_and_odd_ones_are_questions(world: World) -> None:
    """Empty lines send nothing, and a smiley is not a command."""
    with FakeServer(sse("ok", usage=None)) as server:
        serve(world, server)
        ran = world.aish("--lines", given="\n   \n\t\r\n?\n? :help me\n:)\n::\n?!ls\r\n  last without newline  ")

        assert questions(server) == [":help me", ":)", "::", "!ls", "last without newline"]
    assert (ran.code, ran.out, ran.err) == (0, "ok\n" * 5, "")


@pytest.mark.proves("N23")
def test_bytes_that_are_no_text_are_asked_as_visible_marks(world: World) -> None:
    """Invalid UTF-8, NUL and escape sequences become visible marks for the model and the journal."""
    with FakeServer(sse("ok")) as server:
        serve(world, server)
        ran = world.aish("--lines", given=b"caf\xe9 \xff\xfe\nnul \0 here\n\x1b[31mred\x07\xed\xa0\x80\n")

        assert questions(server) == ["caf� ��", "nul ␀ here", "␛[31mred␇���"]
    assert (ran.code, ran.out, ran.err) == (0, "ok\n" * 3, "")
    (journal,) = world.journals()
    assert not {b"\0", b"\x1b", b"\xff"} & {bytes([byte]) for byte in journal.read_bytes()}


def test_a_line_of_ten_megabytes_is_cut_for_the_model_and_kept_whole(world: World) -> None:
    """Somebody will pipe a log without newlines into it."""
    line = "x" * (10 << 20)
    with FakeServer(sse("long")) as server:
        serve(world, server)
        ran = world.aish("--lines", given=f"{line}\nnext\n")

        first, second = questions(server)
    assert (ran.code, ran.out) == (0, "long\nlong\n")
    assert "the message is too long for the model" in ran.err
    assert len(first) < 20_000 and second == "next"
    (journal,) = world.journals()
    assert json.loads(journal.read_bytes().splitlines()[1])["content"] == line


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("fails\n", 3),
        ("fails\n\n  \n", 3),
        ("fails\nworks\n", 0),
        (":nonsense\n", 1),
        (":cost nonsense\n", 2),
        (":nonsense\nfails\nworks\n", 0),
    ],
)
def test_the_exit_code_is_that_of_the_last_line_that_said_something(world: World, lines: str, code: int) -> None:
    """An empty line at the end, as editors leave it, must not turn a failure into a success."""
    world.script("!down", "fine")

    assert world.aish("--lines", given=lines).code == code


def test_a_mistake_is_said_and_the_next_line_goes_on(world: World) -> None:
    """A wrong command, an unavailable model and a bad number are lines on stderr, and the shell goes on."""
    world.script("!down", "fine")

    ran = world.aish("--lines", given=":frob\nq1\n:history none\nq2\n")

    assert (ran.code, ran.out) == (0, "fine\n")
    assert ran.err.splitlines() == [
        "[aish] there is no command :frob; :help lists them",
        "[aish] down",
        "[aish] expected a number of 1 or more, got 'none'",
    ]


def test_quit_leaves_the_rest_of_the_input_alone(world: World) -> None:
    """Input after `:quit` is not for us."""
    with FakeServer(sse("ok")) as server:
        serve(world, server)
        ran = world.aish("--lines", given="one\n:quit\ntwo\n")

        assert questions(server) == ["one"]
    assert (ran.code, ran.out) == (0, "ok\n")


@pytest.mark.proves("C16", "T16")
def test_turns_that_leave_the_prompt_are_said_and_nothing_else_is(world: World) -> None:
    """One line for the first eviction, with what to do; the summary made from it is never shown."""
    with FakeServer(sse("ok", usage=None)) as server:
        serve(world, server, "[context]\nmax_turns = 2")
        ran = world.aish("--lines", given="q1\nq2\nq3\n:cost\n")

    assert ran.code == 0 and ran.out.startswith("ok\n" * 3)
    assert "\n4 turns left the prompt; the journal has them (:history)\n" in ran.out
    assert [line.partition("(")[0] for line in ran.err.splitlines()] == [
        "[aish] 2 older turns were dropped from the prompt "
    ]


@pytest.mark.proves("P7")
def test_nobody_to_ask_means_no(world: World) -> None:
    """At the end of a pipe the next line is data, not consent: a call over the cap is not made."""
    with FakeServer(sse("dear")) as server:
        serve(world, server, "[cost]\ncap_at_dollars = 0.01\n[prices.srv]\ninput = 1000.0\noutput = 1000.0")
        ran = world.aish("--lines", given="q1\ny\n")

        assert server.chats() == []
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("No user to ask, assuming no.") == 2


@pytest.mark.proves("P5")
def test_a_shell_can_go_on_with_an_earlier_conversation(world: World) -> None:
    """`aish --continue` and `aish --resume NAME` continue an earlier conversation."""
    with FakeServer(sse("ok")) as server:
        serve(world, server)
        world.aish("--lines", given="q1\n:save trip\n")
        world.aish("--lines", "--resume", "trip", given="q2\n")
        ran = world.aish("--lines", "--continue", given="q3\n:history 2\n")

        assert [m["content"] for m in server.chats()[-1].json["messages"][1:]] == ["q1", "ok", "q2", "ok", "q3"]
    assert ran.out.splitlines() == ["ok", "user: q3", "assistant: ok"]
    assert len(world.journals()) == 1
