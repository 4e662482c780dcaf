"""`aish --json` that is interrupted: a script still gets one object, with what was answered so far."""

import asyncio
import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
from world import World

from aish.values.events import ChatRequest, ModelEvent, TextPiece
from aish.views import one_shot
from aish.views.answers import AnswerScreen


class Ending:
    """A model during whose answer this process gets a signal."""

    def __init__(self, number: int) -> None:
        self.number = number

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        yield TextPiece("Half ")
        yield TextPiece("an answer")
        os.kill(os.getpid(), self.number)
        await asyncio.Event().wait()

    async def close(self) -> None: ...


@pytest.fixture
def _no_input() -> Iterator[None]:
    """Standard input is /dev/null, whoever runs the tests."""
    kept, null = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    yield
    os.dup2(kept, 0)
    os.close(kept)
    os.close(null)


@pytest.mark.proves("P11", "N24")
@pytest.mark.usefixtures("_no_input")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_object_is_printed_with_what_was_answered_so_far(
    world: World, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """A timeout ends a command with SIGTERM, and a script would have nothing to parse."""
    program = world.program({"model": "m", "models": {"m": {"kind": "scripted", "answers": ["x"]}}})
    session = program.session()
    session.backend.model = Ending(number)
    before = signal.getsignal(number)

    code = one_shot.run(program, session, AnswerScreen(), "Tell me.", as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert code == 128 + number
    assert (told["answer"], told["state"], told["error"]) == (
        "Half an answer",
        "interrupted",
        "interrupted before the end",
    )
    assert signal.getsignal(number) == before
    records = [json.loads(line) for line in world.journals()[0].read_bytes().splitlines()]
    assert [(one["content"], one.get("state")) for one in records if one.get("role") == "assistant"] == [
        ("Half an answer", "interrupted")
    ]


LONG = f"{'na' * 75} " * 2000  # longer than a pipe
EARLY = """
import os, sys
from aish import __main__ as entry
from aish.views import held_signals
hold = held_signals.hold_signals
def hold_and_get_one():
    held_signals.hold_signals = hold
    hold()
    os.kill(os.getpid(), int(sys.argv.pop()))
held_signals.hold_signals = hold_and_get_one
sys.exit(entry.main())
"""


def started(home: Path, words: list[str], *answers: str) -> "subprocess.Popen[bytes]":
    (home / "config").mkdir()
    settings = f'model = "m"\n[models.m]\nkind = "scripted"\nanswers = {json.dumps(answers)}\n'
    (home / "config" / "config.toml").write_text(settings, encoding="utf-8")
    env = {**os.environ, "AISH_HOME": str(home)}
    return subprocess.Popen(
        [sys.executable, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        cwd=home,
    )


@pytest.mark.proves("P11", "N24")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_program_is_loaded_ends_with_an_object(tmp_path: Path, number: signal.Signals) -> None:
    """It comes before settings and modules are read, where it killed the process or was lost in an import."""
    with started(tmp_path, ["-c", EARLY, "--json", "Hello?", str(int(number))], "Hi.") as process:
        out, err = process.communicate(timeout=60)

    told = json.loads(out)
    assert (process.returncode, told["answer"], told["state"]) == (128 + number, "", "interrupted")
    assert b"Traceback" not in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_for_a_verb_with_json_acts_as_usual(tmp_path: Path, number: signal.Signals) -> None:
    """Its output is not one object of an answer."""
    with started(tmp_path, ["-c", EARLY, "search", "--json", "x", str(int(number))]) as process:
        out, _ = process.communicate(timeout=60)

    assert (process.returncode, out) == (130 if number == signal.SIGINT else -number, b"")


@pytest.mark.proves("P11")
def test_an_object_that_a_slow_reader_takes_is_whole_in_spite_of_signals(tmp_path: Path) -> None:
    """A reader that is slower than the pipe is long leaves time for a signal in the middle of the object."""
    with started(tmp_path, ["-m", "aish", "--json", "Tell me."], LONG) as process:
        assert process.stdout
        deadline = time.monotonic() + 60
        while int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), "little") < 1 << 16:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGHUP)
        out, _ = process.communicate(timeout=60)

    assert len(json.loads(out)["answer"].split()) == 2000


def test_the_third_signal_ends_a_process_whose_object_nobody_reads(tmp_path: Path) -> None:
    """Otherwise only SIGKILL would end it."""
    with started(tmp_path, ["-m", "aish", "--json", "Tell me."], LONG) as process:
        assert process.stdout
        deadline = time.monotonic() + 60
        while int.from_bytes(fcntl.ioctl(process.stdout, termios.FIONREAD, bytes(4)), "little") < 1 << 16:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        while process.poll() is None:
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
        process.stdout.close()

    assert process.returncode == -signal.SIGTERM
