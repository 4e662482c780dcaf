"""Questions at terminals of all kinds: some answer queries with text, some late, some never."""

import re
import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import pexpect
import pytest
from terminal import hasty

pytestmark = pytest.mark.proves("P4", "N22")
SECONDS = 30.0
_PROGRAM = """
import asyncio, sys
from aish.views.keys import Keyboard

async def ask():
    keyboard = Keyboard()
    for what in sys.argv[1:]:
        kind, _, output = what.partition(":")
        sys.stdout.buffer.write(output.encode().decode("unicode_escape").encode("latin-1"))
        sys.stdout.buffer.flush()
        if kind == "key":
            print("got", repr(await keyboard.ask_key("which? ", "rs")), flush=True)
        else:
            print("got", repr(await keyboard.ask_line("which? ", pasted=kind == "line")), flush=True)

try:
    asyncio.run(ask())
except KeyboardInterrupt:
    print("stopped")
"""
Answer = Callable[[str], str]


class Player:
    """The other side of a pseudo-terminal: it answers queries in their order, as its `answer` says."""

    def __init__(self, *asked: str, answer: Answer, term: str = "xterm-256color") -> None:
        child: Any = pexpect.spawn(
            sys.executable,
            ["-c", _PROGRAM, *asked],
            env={"TERM": term, "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)},
            dimensions=(24, 80),
            timeout=SECONDS,
        )
        self._child = hasty(child)
        self._answer = answer
        self._row = self._column = 1
        self._seen = 0
        self.output = ""

    def __enter__(self) -> "Player":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    def type(self, keys: str) -> None:
        self._child.send(keys)

    def wait_for(self, text: str, times: int = 1) -> None:
        """Read and answer until `text` was written so often."""
        while self.output.count(text) < times:
            self.output += self._child.read_nonblocking(4096, SECONDS).decode("latin-1")
            for query in self._queries():
                self.type(self._answer(query))

    def watch(self, seconds: float) -> None:
        """Collect the output of some time: none is expected."""
        try:
            self.output += self._child.read_nonblocking(4096, seconds).decode("latin-1")
        except pexpect.TIMEOUT:
            return

    def result(self, times: int = 1) -> str:
        self.wait_for("got '", times)
        self.wait_for("'\r\n", times)
        return str(re.findall(r"got '(.*)'\r\n", self.output)[times - 1])

    def _queries(self) -> Iterator[str]:
        """Yield queries of the output that were not answered: ENQ, DA, and the cursor's place with its place."""
        for found in re.finditer(r"\x1b\[(\d+);(\d+)H|\x05|\x1b\[c|\x1b\[6n", self.output[self._seen :]):
            if found[1]:
                self._row, self._column = int(found[1]), int(found[2])
            else:
                yield f"{self._row};{self._column}" if found[0] == "\x1b[6n" else found[0]
        end = max(self.output.rfind("n"), self.output.rfind("c"), self.output.rfind("H"), self.output.rfind("\x05"))
        self._seen = max(self._seen, end + 1)


def usual(query: str, answerback: str = "") -> str:
    return {"\x05": answerback, "\x1b[c": "\x1b[?62;22c"}.get(query) or f"\x1b[{query}R" * (";" in query)


def with_answerback(text: str) -> Answer:
    return lambda query: usual(query, text)


@pytest.mark.parametrize("answerback", ["r\r", "r", "run\r", "\x1b[200~r\x1b[201~", "rrrr"])
def test_what_the_terminal_answers_to_a_command_is_no_key(answerback: str) -> None:
    """The answer to ENQ is a text of somebody's choice."""
    with Player("key:\\x05\\x1b[c", "key:", answer=with_answerback(answerback)) as player:
        player.wait_for("which? ")
        player.type("s")
        assert player.result() == "s"
        player.wait_for("which? ", 2)
        player.type("r")
        assert player.result(2) == "r"


@pytest.mark.parametrize("answerback", ["run\r", "r\rrun\r", "run"])
def test_what_the_terminal_answers_is_no_word(answerback: str) -> None:
    """Not even with its Enter."""
    with Player("word:\\x05", answer=with_answerback(answerback)) as player:
        player.wait_for("which? ")
        player.type("no\r")
        assert player.result() == r"no\n"


def test_an_older_report_of_the_cursor_is_not_taken_for_the_new_one() -> None:
    """A command may have asked for it, so that the barrier opens before its other answers arrive."""
    held: list[str] = []

    def hold(query: str) -> str:
        held.append(usual(query, "r"))
        return ""

    with Player("key:\\x1b[6n\\x05", answer=hold) as player:
        player.wait_for("\x1b[6n", 3)
        first, *others = held
        player.type(first)
        player.watch(0.3)
        assert "which? " not in player.output
        player.type("".join(others))
        player.wait_for("which? ")
        player.type("s")
        assert player.result() == "s"


def test_a_question_waits_for_a_terminal_that_answers_late() -> None:
    """What arrives before the answer was not typed for the question; what arrives after it was."""
    held: list[str] = []

    def hold(query: str) -> str:
        held.append(usual(query, "r\r"))
        return ""

    with Player("key:\\x05", answer=hold) as player:
        player.wait_for("\x1b[6n", 2)
        assert "which? " not in player.output
        player.type("".join(held))
        player.wait_for("which? ")
        player.type("s")
        assert player.result() == "s"


def test_a_terminal_that_never_answers_is_asked_once() -> None:
    """The first question comes a little late, the next ones at once."""
    with Player("key:", "key:", answer=lambda query: "") as player:
        player.wait_for("which? ")
        player.type("r")
        assert player.result() == "r"
        player.wait_for("which? ", 2)
        player.type("s")
        assert player.result(2) == "s"
        assert player.output.count("\x1b[6n") == 2  # both for the first question


@pytest.mark.parametrize(
    "sent", ["\x1b[?62;22c", "\x1b]11;rgb:r\x07", "\x1bP>|r\x1b\\", "\x1b[I", "\x1bOR", "\x1b[5;5R"]
)
def test_what_the_terminal_sends_while_the_question_is_open_is_ignored(sent: str) -> None:
    """Neither a yes nor a no: the question stays."""
    with Player("key:", "word:", answer=usual) as player:
        player.wait_for("which? ")
        player.type(sent + "x" + sent + "r")
        assert player.result() == "r"
        player.wait_for("which? ", 2)
        player.type(f"r{sent}un{sent}\r")
        assert player.result(2) == r"run\n"


def test_a_paste_answers_no_question() -> None:
    """Only a line of free text takes it, and never its end of line."""
    paste = "\x1b[200~r\rrun\r\x1b[201~"
    with Player("key:", "word:", "line:", answer=usual) as player:
        player.wait_for("which? ")
        player.type(paste + "s")
        assert player.result() == "s"
        player.wait_for("which? ", 2)
        player.type(paste + "x\r")
        assert player.result(2) == r"x\n"
        player.wait_for("which? ", 3)
        player.type(paste + "!\r")
        assert player.result(3) == r"r run !\n"


def test_what_was_typed_ahead_answers_no_question() -> None:
    """The user had not seen it yet."""
    with Player("key:", answer=lambda query: "r" + usual(query)) as player:
        player.wait_for("which? ")
        player.type("s")
        assert player.result() == "s"


def test_a_key_that_means_nothing_is_answered_with_those_that_do() -> None:
    """Many programs ask for `y` and Enter. Silence, or a no because of the Enter, would not tell what to press."""
    with Player("key:", "key:", answer=usual) as player:
        player.wait_for("which? ")
        player.type("y\r")
        player.wait_for("(press r or s) ")
        player.type("y")
        player.type("r")
        assert player.result() == "r"
        assert player.output.count("(press") == 1
        player.wait_for("which? ", 2)
        player.type("\r")
        assert player.result(2) == "s"


def test_a_line_can_be_corrected() -> None:
    """With the keys of a terminal's own line mode, in any script."""
    with Player("word:", "word:", answer=usual) as player:
        player.wait_for("which? ")
        player.type("räx\x7f日\x7f\x7fan one two\x17\x17x\x15run\r")
        assert player.result() == r"run\n"
        player.wait_for("which? ", 2)
        player.type("größe日本\r")
        assert player.result(2).encode("latin-1").decode() == r"größe日本\n"


def test_ctrl_d_ends_a_line_and_ctrl_c_the_question() -> None:
    """As everywhere."""
    with Player("word:", "key:", "key:", answer=usual) as player:
        player.wait_for("which? ")
        player.type("\x04")
        assert player.result() == ""
        player.wait_for("which? ", 2)
        player.type("\x04")
        assert player.result(2) == "s"
        player.wait_for("which? ", 3)
        player.type("\x03")
        player.wait_for("stopped")


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_plain_terminal_gets_only_text(term: str) -> None:
    """It would show control sequences."""
    with Player("key:", "word:", answer=usual, term=term) as player:
        player.wait_for("which? ")
        player.type("r")
        assert player.result() == "r"
        player.wait_for("which? ", 2)
        player.type("run\r")
        assert player.result(2) == r"run\n"
        assert "\x1b" not in player.output


def test_a_question_leaves_the_terminal_in_a_known_state() -> None:
    """Mouse, focus, paste, keypad and character sets are reset before it, and pastes have no marks after it."""
    with Player("key:", answer=usual) as player:
        player.wait_for("which? ")
        before = player.output.partition("which? ")[0]
        for reset in ("1000;", ";2004l", "\x1b[?1l", "\x1b>", "\x1b[4l", "\x1b(B\x0f", "\x1b[?7h", "\x1b[r"):
            assert reset in before
        player.type("s")
        assert player.result() == "s"
        assert player.output.rstrip().rpartition("\x1b")[2].startswith("[?2004l")
