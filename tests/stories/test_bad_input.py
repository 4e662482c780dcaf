"""aish reports a broken environment in one line, and continues as far as possible."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer, Say
from world import World

SCRIPT: dict[str, Any] = {
    "AISH_SET_MODEL": "s",
    "AISH_SET_MODELS__S__KIND": "scripted",
    "AISH_SET_MODELS__S__ANSWERS": '["still here"]',
}  # a model without files


def run_in_shell(world: World, line: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of sh in which `aish` is this program."""
    script = f'aish() {{ {sys.executable} -m aish "$@"; }}; {line}'
    return subprocess.run(
        ["sh", "-c", script],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=world.environment(**env),
        cwd=world.directory,
        timeout=30,
        check=False,
    )


def _directory(file: Path) -> None:
    file.mkdir(parents=True)


def _bytes(content: bytes) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        file.parent.mkdir(parents=True)
        file.write_bytes(content)

    return write


@pytest.mark.proves("P13")
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_directory, "cannot be read (Is a directory); ignored"),
        (_bytes(b"model = \xff\xfe"), "is not UTF-8 text; ignored"),
        (_bytes(b"\0\0\0"), "is not valid TOML, ignored"),
        (_bytes(b"a = " + b"[" * 100_000), "ignored"),
        (_bytes(b"[models]\nx = 1\n[models.x]\n"), "is not valid TOML, ignored"),
    ],
    ids=["directory", "not UTF-8", "NUL", "nested", "twice"],
)
def test_settings_that_cannot_be_read_are_said_and_the_program_starts(
    world: World, spoil: Callable[[Path], None], said: str
) -> None:
    """A damaged configuration file must not prevent the start."""
    spoil(world.places.config_file)

    ran = world.aish("hello?", **SCRIPT)

    assert (ran.code, ran.out) == (0, "still here\n")
    assert ran.err.startswith(f"[aish] {world.places.config_file}") and said in ran.err
    assert ran.err.count("\n") == 1


def test_without_a_place_for_its_data_it_answers_and_says_once_that_nothing_is_kept(world: World) -> None:
    """A file in place of the data directory: the answer is still shown, without a journal."""
    world.script("Here you are.", "And again.")
    world.places.data.write_text("in the way", encoding="utf-8")

    ran = world.aish("--lines", given="q1\nq2\n")

    assert (ran.code, ran.out) == (0, "Here you are.\nAnd again.\n")
    assert ran.err.startswith("[aish] this conversation is not recorded: cannot open ")
    assert ran.err.count("\n") == 1


def test_a_disk_that_takes_no_byte_more_does_not_stop_the_answer(world: World) -> None:
    """With a file size limit of zero every write fails, as on a full disk."""
    world.script("Here you are.")

    ran = run_in_shell(world, "ulimit -f 0; aish q1")

    assert (ran.returncode, ran.stdout) == (0, b"Here you are.\n")
    assert ran.stderr.startswith(b"[aish] this conversation is not recorded: ") and ran.stderr.count(b"\n") == 1


@pytest.mark.proves("P5")
def test_a_journal_cut_anywhere_can_be_continued(world: World) -> None:
    """Complete turns are read in order, torn ones are skipped, and nothing raises."""
    world.script("first answer", "second answer")
    world.aish("--lines", given="q1\nq2\n")
    (journal,) = world.journals()
    data = journal.read_bytes()
    whole = ["q1", "first answer", "q2", "second answer"]

    for cut in range(len(data)):
        journal.write_bytes(data[:cut])
        session = world.session(["on we go"])
        session.resume(journal.stem)
        found = [turn.content for turn in session.history.turns]
        assert found == whole[: len(found)]
        complete = data[:cut].count(b"\n") - 1
        assert len(found) >= complete, "a whole line is a turn"

    journal.write_bytes(data[:-20])
    ran = world.aish("--continue", "q3")
    assert (ran.code, ran.out) == (0, "first answer\n")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        ('api_key_env = "NO_SUCH_KEY"', "set the environment variable NO_SUCH_KEY"),
        ('api_key_file = "/no/such/key"', "cannot read the key from /no/such/key"),
        ('api_key_file = "~nosuchuser/key"', "cannot read the key from ~nosuchuser/key"),
        ('api_key_command = "exit 3"', "api_key_command gave no key (exit 3)"),
    ],
)
def test_a_key_that_cannot_be_found_is_said_and_nothing_is_sent(world: World, preset: str, said: str) -> None:
    """Without the key the server would refuse the request, but still see the question."""
    with FakeServer(Say()) as server:
        world.configure(f'model = "srv"\n[models.srv]\nendpoint = "{server.url}"\n{preset}\n')
        ran = world.aish("a private question")

        assert server.asked == []
    assert (ran.code, ran.out) == (3, "")
    assert said in ran.err and ran.err.count("\n") == 1


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\0\xff\x16\x03\x01 hello",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        HEAD,
        HEAD + b"\r\n",
        HEAD + b"Content-Length: 5\r\n\r\nab",
        HEAD + b"Content-Type: text/html\r\n\r\n<html><body>Log in to the Wi-Fi</body></html>",
        HEAD + b"Content-Type: application/json\r\n\r\n[1, 2, 3]",
        HEAD + b"Content-Type: application/json\r\n\r\n" + b"[" * 100_000,
        HEAD + b"Content-Type: text/event-stream\r\n\r\ndata: nonsense\n\n",
        HEAD + b"Content-Type: text/event-stream\r\n\r\ndata: {}\n\ndata: [DONE]\n\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 500 Oops\r\n\r\n\xff\xfe\x1b[2J",
    ],
    ids=range(13),
)
def test_a_server_that_talks_nonsense_is_one_line_and_exit_code_3(world: World, garbage: bytes) -> None:
    """A wrong port, a login page, a proxy: the message blames the server, in one line."""
    with FakeServer(Say(pieces=[garbage], raw=True)) as server:
        world.configure(f'model = "srv"\n[network]\nretries = 0\n[models.srv]\nendpoint = "{server.url}"\n')
        ran = world.aish("hello?")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("[aish] ") and ran.err.count("\n") == 1
    assert "aish has a bug" not in ran.err and "\x1b" not in ran.err


@pytest.mark.parametrize(
    "endpoint",
    ["", "nonsense", "http://[::1", "http://127.0.0.1:99999", "http://127.0.0.1:port", f"http://{'a' * 300}/"],
)
def test_an_endpoint_that_is_no_address_is_one_line_and_exit_code_3(world: World, endpoint: str) -> None:
    """A wrong setting gets a message for the user, not a bug report."""
    world.configure(f'model = "srv"\n[network]\nretries = 0\n[models.srv]\nendpoint = "{endpoint}"\n')

    ran = world.aish("hello?")

    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("[aish] ") and ran.err.count("\n") == 1
    assert "aish has a bug" not in ran.err


@pytest.mark.proves("P11")
@pytest.mark.parametrize(
    ("line", "out"),
    [
        ("aish q <&-", "still here\n"),
        ("aish q 2>&-", "still here\n"),
        ("aish --frob q 2>&-; aish q", "still here\n"),
        ("aish q >&-; echo then", "then\n"),
        ("aish <&-; echo then", "then\n"),
        ("mkdir gone; cd gone; rmdir ../gone; aish q", "still here\n"),
        ("PYTHONIOENCODING=latin-1 aish --set 'models.s.answers=[\"a → b\"]' q", "a ? b\n"),
    ],
)
def test_closed_streams_missing_directories_and_narrow_encodings_are_survived(
    world: World, line: str, out: str
) -> None:
    """Scripts, cron and services start programs in unusual environments."""
    ran = run_in_shell(world, line, **SCRIPT)

    assert ran.stdout.decode("latin-1") == out
    assert b"Traceback" not in ran.stderr and b"aish has a bug" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--model", "cost"], 2),
        (["--set", "cost"], 0),
        (["--frob"], 2),
        (["config", "frob"], 2),
        (["config", "trust", "~nosuchuser"], 1),
        (["--resume", "9" * 5000, "q"], 1),
        (["--resume", "../../etc/passwd", "q"], 1),
        (["--resume", "\udcff", "q"], 1),
        (["--set", "models.s.endpoint=\udcff", "config"], 0),
        (["q \udcff"], 0),
    ],
)
def test_arguments_that_make_no_sense_are_answered_in_words(world: World, arguments: list[str], code: int) -> None:
    """A mistyped option must not look like a bug of aish."""
    ran = world.aish(*arguments, **SCRIPT)

    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err and "aish has a bug" not in ran.err


@pytest.mark.parametrize("budget", [0, 1, 50])
def test_a_budget_that_holds_nothing_is_said_and_the_question_is_asked_all_the_same(world: World, budget: int) -> None:
    """Truncating a short question must not make it longer or give a negative count."""
    ran = world.aish("--set", f"context.token_budget={budget}", "how are you?", **SCRIPT)

    assert (ran.code, ran.out) == (0, "still here\n")
    assert f"more than token_budget={budget} " in ran.err
    assert ": -" not in ran.err
