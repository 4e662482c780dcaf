"""One-shot questions from the command line, scripts and pipes."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from world import AISH, World


def serve(world: World, server: FakeServer, extra: str = "") -> None:
    """Configure the fake server as the model, without its tokenizer."""
    world.configure(
        f'model = "srv"\n{extra}\n[tokenize]\nuse_endpoint = "false"\n[models.srv]\nendpoint = "{server.url}"\n'
    )


def turns(journal: Path) -> list[tuple[str, str, str]]:
    """Return the role, text and state of every turn, read from the journal file."""
    records = [json.loads(line) for line in journal.read_bytes().splitlines()]
    return [(r["role"], r["content"], r.get("state", "complete")) for r in records if "role" in r]


def sent(server: FakeServer) -> list[list[tuple[str, str]]]:
    """Return the messages of each request, without the system prompt."""
    requests = [asked.json["messages"] for asked in server.chats()]
    return [[(m["role"], m["content"]) for m in messages if m["role"] != "system"] for messages in requests]


def files(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


@pytest.mark.proves("P11", "P5")
def test_a_question_is_answered_on_stdout_and_kept(world: World) -> None:
    """Stdout has only the answer and a newline, and the turn is in a journal."""
    world.script("It is four.")

    ran = world.aish("two", "and", "two?")

    assert (ran.code, ran.out, ran.err) == (0, "It is four.\n", "")
    (journal,) = world.journals()
    assert turns(journal) == [("user", "two and two?", "complete"), ("assistant", "It is four.", "complete")]
    assert list(json.loads(journal.read_bytes().splitlines()[0])["meta"]) == [
        *("format", "id", "started", "cwd", "model", "channel")
    ]


@pytest.mark.proves("P11")
@pytest.mark.parametrize(
    ("arguments", "piped", "question"),
    [
        (["why?"], "line 1\nline 2\n", "[standard input]\nline 1\nline 2\n\nwhy?"),
        (["-p", "why?"], "data", "[standard input]\ndata\n\nwhy?"),
        (["-p"], "why?\n", "why?"),
        (["-p"], b"bad \xff byte and \0 nul\r\nend", "bad � byte and ␀ nul\nend"),
        (["why?"], "", "why?"),
        (["why?"], None, "why?"),
    ],
    ids=["with data", "both", "piped question", "odd bytes", "empty pipe", "dev null"],
)
def test_what_is_piped_in_reaches_the_model(
    world: World, arguments: list[str], piped: str | bytes | None, question: str
) -> None:
    """`cmd | aish "question"` sends the output of cmd to the model, whatever bytes it contains."""
    with FakeServer(sse("So.")) as server:
        serve(world, server)
        ran = world.aish(*arguments, given=piped)

        assert (ran.code, ran.out, ran.err) == (0, "So.\n", "")
        assert sent(server) == [[("user", question)]]


@pytest.mark.proves("P11")
def test_a_file_as_standard_input_is_read_up_to_a_limit_and_the_cut_is_said(world: World) -> None:
    """A huge input must not exhaust memory, and its truncation is reported."""
    world.script("Long.")
    log = world.directory / "log"
    log.write_bytes(b"x" * ((16 << 20) + 1))

    with log.open("rb") as stdin:
        ran = subprocess.run(
            [*AISH, "what?"], stdin=stdin, capture_output=True, env=world.environment(), timeout=60, check=False
        )

    assert (ran.returncode, ran.stdout) == (0, b"Long.\n")
    assert b"standard input is longer than 16 MB; the rest is left out" in ran.stderr
    assert b"the message is too long for the model" in ran.stderr


@pytest.mark.proves("P11")
def test_json_tells_the_answer_and_its_circumstances(world: World) -> None:
    """A program also needs to know whether the answer is complete and what it cost."""
    with FakeServer(sse("Four", ".", usage=(250, 7))) as server:
        serve(world, server, '[prices."qwen"]\ninput = 1.0\noutput = 2.0')
        ran = world.aish("--json", "--set", "models.srv.model=qwen", "two and two?")

    (journal,) = world.journals()
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert list(told.pop("timing")) == ["load_ms", "first_word_ms", "total_ms"]
    assert told == {
        "answer": "Four.",
        "thinking": None,
        "state": "complete",
        "model": "srv (qwen)",
        "conversation": journal.stem,
        "usage": {"prompt_tokens": 250, "read_tokens": 250, "cached_tokens": 0, "completion_tokens": 7},
        "dollars": pytest.approx(264e-6),
        "error": None,
    }


@pytest.mark.proves("P11")
def test_json_also_tells_a_failure(world: World) -> None:
    """With --json the output is JSON even after a failure, with the reason."""
    world.script("!the server is away")

    ran = world.aish("--json", "hello?")

    answer = json.loads(ran.out)
    assert (ran.code, answer["state"], answer["answer"], answer["error"]) == (3, "failed", "", "the server is away")


def test_json_on_a_terminal_cannot_control_it(world: World) -> None:
    """JSON leaves the control bytes above 127 as they are, and terminals obey them."""
    world.script("!away \x9b31m b")

    ran = world.aish("--json", "hello?")

    assert "\x9b" not in ran.out
    assert json.loads(ran.out)["error"] == "away \x9b31m b"


@pytest.mark.proves("P11", "N23")
def test_json_survives_half_a_character_from_the_server(world: World) -> None:
    """Some servers split UTF-16 pairs and send lone surrogates, which cannot be encoded."""
    broken = Say(
        pieces=[
            b'data: {"choices":[{"delta":{"content":"a\\ud83db"}}]}\n\n',
            b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
        ]
    )
    with FakeServer(broken) as server:
        serve(world, server)
        plain, as_json = world.aish("one"), world.aish("--json", "two")

    assert (plain.code, plain.out) == (0, "a�b\n")
    assert (as_json.code, json.loads(as_json.out)["answer"]) == (0, "a�b")


@pytest.mark.proves("P11")
def test_model_chooses_another_preset_for_this_run(world: World) -> None:
    """`--model` is for one question; the configuration stays as it is."""
    world.script("from the first", extra='[models.other]\nkind = "scripted"\nanswers = ["from the other"]')

    assert world.aish("--model", "other", "who?").out == "from the other\n"
    assert world.aish("who?").out == "from the first\n"


@pytest.mark.proves("P11")
def test_no_memory_leaves_nothing_behind(world: World) -> None:
    """A private question must not leave data in any file, not even a learned token ratio."""
    world.script("A secret.")
    before = files(world.home)

    ran = world.aish("--no-memory", "what is it?")

    assert (ran.code, ran.out) == (0, "A secret.\n")
    assert files(world.home) == before == ["config/config.toml"]


@pytest.mark.proves("P11", "P5")
def test_continue_and_resume_carry_the_earlier_turns_to_the_model(world: World) -> None:
    """A script can continue a conversation: the newest one with --continue, any other by id or number."""
    with FakeServer(sse("A1"), sse("B1"), sse("B2"), sse("A2"), sse("A3")) as server:
        serve(world, server)
        world.aish("a1?")
        first = world.journals()[0]
        world.aish("b1?")
        world.aish("--continue", "b2?")
        world.aish("--resume", first.stem, "a2?")
        oldest = str([path.stem for path in reversed(world.journals())].index(first.stem) + 1)
        world.aish("--resume", oldest, "a3?")

        one = [("user", "a1?"), ("assistant", "A1"), ("user", "a2?")]
        other = [("user", "b1?"), ("assistant", "B1"), ("user", "b2?")]
        assert sent(server) == [one[:1], other[:1], other, one, [*one, ("assistant", "A2"), ("user", "a3?")]]

    assert len(world.journals()) == 2
    assert [text for _, text, _ in turns(first)] == ["a1?", "A1", "a2?", "A2", "a3?", "A3"]


def _nothing_to_continue(world: World) -> list[str]:
    world.script("unused")
    return ["--continue", "go on"]


def _too_expensive(world: World) -> list[str]:
    world.script("unused", extra="[cost]\ncap_at_dollars = 0.0\n[prices.script]\ninput = 1.0\noutput = 1.0")
    return ["how much?"]


def _no_question(world: World) -> list[str]:
    world.script("unused")
    return ["-p"]


def _no_server(world: World) -> list[str]:
    world.configure('model = "srv"\n[network]\nretries = 0\n[models.srv]\nendpoint = "http://127.0.0.1:9/v1"\n')
    return ["anybody?"]


def _breaks_off(world: World) -> list[str]:
    world.script("half an answer…")
    return ["and?"]


def _bad_store(world: World) -> list[str]:
    world.script("unused")
    (world.places.sessions / "20260101-000000-abcdef.jsonl").mkdir(parents=True)
    return ["--resume", "20260101-000000-abcdef", "go on"]


@pytest.mark.proves("P11")
@pytest.mark.parametrize(
    ("arrange", "code", "said"),
    [
        (_nothing_to_continue, 1, "there is no conversation yet"),
        (_too_expensive, 1, "exceeds the cap of $0"),
        (_no_question, 2, "no question; use aish"),
        (_no_server, 3, "cannot connect to 127.0.0.1:9"),
        (_breaks_off, 3, "the answer is incomplete"),
        (_bad_store, 4, "cannot read"),
    ],
)
def test_the_exit_code_tells_a_script_what_happened(
    world: World, arrange: Callable[[World], list[str]], code: int, said: str
) -> None:
    """A script checks the exit code; a user reads the line on stderr."""
    ran = world.aish(*arrange(world))

    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert ran.out == ("half an answer…\n" if arrange is _breaks_off else "")


@pytest.mark.proves("P11", "N24")
def test_ctrl_c_in_mid_answer_exits_130_and_keeps_the_part_as_interrupted(world: World) -> None:
    """The part that was shown is kept, but never marked as complete."""
    half = Say(
        pieces=[b'data: {"choices":[{"delta":{"content":"Half"}}]}\n\n', b": never sent\n\n"], hold=threading.Event()
    )
    with FakeServer(half) as server:
        serve(world, server)
        run = subprocess.Popen(
            [*AISH, "tell me"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=world.environment(),
        )
        with run:
            assert run.stdout and run.stderr
            assert os.read(run.stdout.fileno(), 100) == b"Half"
            run.send_signal(signal.SIGINT)
            assert run.wait(10) == 130
            assert (run.stdout.read(), run.stderr.read()) == (b"\n", b"")
        assert server.gone.wait(5), "the server goes on generating for nobody"

    (journal,) = world.journals()
    assert turns(journal) == [("user", "tell me", "complete"), ("assistant", "Half", "interrupted")]
    assert files(world.places.sessions) == [journal.name]


@pytest.mark.proves("P11", "P6")
def test_notices_go_to_stderr_and_only_the_answer_to_stdout(world: World) -> None:
    """`x=$(aish …)` gets only the answer, even if aish prints notices."""
    world.configure(
        'model = "near"\nfallback = ["far"]\nqqq_zzz = 1\n'
        '[models.near]\nkind = "scripted"\nanswers = ["!out of order"]\n'
        '[models.far]\nkind = "scripted"\nanswers = ["From afar."]\n'
    )

    ran = world.aish("anybody?")

    assert (ran.code, ran.out) == (0, "From afar.\n")
    problem, switch = ran.err.splitlines()
    assert problem == f"[aish] {world.places.config_file}:3: qqq_zzz: unknown key"
    assert switch == "[aish] near: out of order; continuing with far"


@pytest.mark.proves("P11")
@pytest.mark.parametrize("arguments", [["q"], ["--json", "q"], ["config"], ["cost"], ["--version"], ["--help"]])
def test_a_reader_that_goes_away_is_no_reason_to_complain(world: World, arguments: list[str]) -> None:
    """`aish … | head -1` prints no error, like other filters."""
    world.script("many words")
    reader, writer = os.pipe()
    os.close(reader)
    env = world.environment(PYTHONUNBUFFERED="")  # the default: the last output is written at exit

    ran = subprocess.run(
        [*AISH, *arguments], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, env=env, check=False
    )

    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, b"")
