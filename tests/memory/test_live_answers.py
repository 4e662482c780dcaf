"""The live file: the shown part of an answer survives the end of the program."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_server import FakeServer, Say, sse
from world import AISH, World, at

from aish.memory.journal import Journal
from aish.memory.live_file import LiveFile
from aish.values.errors import StoreTrouble
from aish.values.turns import Turn

NOW = at("2026-11-15T19:09:46.123")
QUESTION = Turn(role="user", content="why?")
ANSWER = Turn(role="assistant", content="because")
ANSWERING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.journal import Journal
from aish.values.turns import Turn
journal = Journal(Path(sys.argv[1]), "talk")
journal.add(Turn(role="user", content="why?"), datetime.now(UTC))
for piece in sys.argv[2:]:
    journal.show(piece)
print("shown", flush=True)
sys.stdin.read()
"""


@contextmanager
def answering(directory: Path, *pieces: str) -> Iterator[subprocess.Popen[str]]:
    """Run another program in the middle of an answer, with `pieces` shown; kill it at the end."""
    command = [sys.executable, "-c", ANSWERING, str(directory), *pieces]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin
    assert child.stdout
    with child.stdin, child.stdout:
        try:
            assert child.stdout.readline() == "shown\n"
            yield child
        finally:
            child.kill()
            child.wait(10)


def turns_of(journal: Journal) -> list[tuple[int, str, str, str]]:
    """Return all turns: number, role, state and text."""
    return [(e.number, e.turn.role, e.turn.state, e.turn.content) for e in journal.entries()]


@pytest.mark.proves("P5", "N24")
def test_the_shown_answer_of_a_killed_program_is_recovered_by_the_next(world: World) -> None:
    """The terminal was closed, or the machine ran out of memory: the shown text is kept as interrupted."""
    never = sse("The sky ", "is blüe", " because of light")
    never.pieces = [*never.pieces[:2], b"data: never sent"]
    with FakeServer(paths={"/v1/chat/completions": Say(pieces=never.pieces, hold=threading.Event())}) as server:
        world.configure(f'model = "far"\n[models.far]\nendpoint = "{server.url}/v1"\nmodel = "x"\nkind = "openai"\n')
        shell = subprocess.Popen(
            [*AISH, "why is the sky blue?"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=world.environment(),
            cwd=world.directory,
        )
        assert shell.stdout
        shown = b""
        try:
            while "is blüe".encode() not in shown:
                piece = os.read(shell.stdout.fileno(), 1000)
                assert piece, shown
                shown += piece
        finally:
            shell.kill()
            shell.communicate(timeout=10)

    (path,) = world.journals()
    journal = Journal(path.parent, path.stem)
    assert turns_of(journal) == [(1, "user", "complete", "why is the sky blue?")]
    session = world.session()
    total, notices = session.resume(path.stem)
    assert total == 2
    assert [notice.text for notice in notices] == [
        "the last answer was interrupted when aish ended; the part that was shown is kept"
    ]
    assert turns_of(journal)[1:] == [(2, "assistant", "interrupted", "The sky is blüe")]
    assert session.resume(path.stem) == (2, [])


@pytest.mark.proves("P5", "N24")
def test_an_answer_is_recovered_once(tmp_path: Path) -> None:
    """The turn is marked as recovered, and the live file is deleted."""
    journal = Journal(tmp_path, "talk")
    with answering(tmp_path, "one ", "two\n", "thrée") as child:
        child.kill()
        child.wait(10)
    left = journal.live_path.read_bytes()
    assert journal.live_path.stat().st_mode & 0o777 == 0o600

    assert journal.recover(NOW) == 2
    assert journal.recover(NOW) == 0
    journal.live_path.write_bytes(left)  # as if the program had been killed during recovery
    assert Journal(tmp_path, "talk").recover(NOW) == 0

    assert turns_of(journal) == [(1, "user", "complete", "why?"), (2, "assistant", "interrupted", "one two\nthrée")]
    assert next(journal.entries_back()).meta == {"recovered": True}
    assert [path.name for path in tmp_path.iterdir()] == ["talk.jsonl"]


def test_an_answer_in_progress_is_left_alone(tmp_path: Path) -> None:
    """Another terminal still runs, and it reports when two answers are given at once."""
    journal = Journal(tmp_path, "talk")
    with answering(tmp_path, "one "):
        assert journal.recover(NOW) == 0
        with pytest.raises(StoreTrouble, match="another aish is answering in this conversation"):
            journal.show("mine")
        assert journal.live_path.read_bytes() == b"2\none "
    assert journal.recover(NOW) == 2
    assert turns_of(journal)[-1] == (2, "assistant", "interrupted", "one ")


@pytest.mark.proves("P5")
def test_a_question_from_another_terminal_loses_no_shown_text(tmp_path: Path) -> None:
    """Its turn takes the next number, but it is not the answer, and the live file belongs to another process."""
    journal = Journal(tmp_path, "talk")
    with answering(tmp_path, "one "):
        assert journal.add(Turn(role="user", content="meanwhile"), NOW) == 2
        assert journal.live_path.exists()
    assert journal.recover(NOW) == 3
    assert turns_of(journal)[1:] == [(2, "user", "complete", "meanwhile"), (3, "assistant", "interrupted", "one ")]


@pytest.mark.proves("N24")
def test_a_crash_before_the_live_file_is_deleted_gives_no_second_answer(tmp_path: Path) -> None:
    """The complete answer is already in the journal."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.show("beca")
    journal.show("use")
    left = journal.live_path.read_bytes()
    journal.add(ANSWER, NOW)
    assert not journal.live_path.exists()
    journal.live_path.write_bytes(left)

    assert Journal(tmp_path, "talk").recover(NOW) == 0

    assert turns_of(journal) == [(1, "user", "complete", "why?"), (2, "assistant", "complete", "because")]
    assert not journal.live_path.exists()


@pytest.mark.parametrize(
    ("left", "recovered"),
    [
        ("2\nschön".encode(), "schön"),
        ("2\nschö".encode()[:-1], "sch"),
        ("2\nüber \U0001f600".encode()[:-2], "über "),
        (b"2\nodd \xff bytes", "odd  bytes"),
        (b"2\nnul \x00 and \x1b[31mred", "nul ␀ and ␛[31mred"),
        (b"2\n", ""),
        (b"2", ""),
        (b"", ""),
        (b"not ours\ntext", ""),
    ],
)
def test_a_truncated_live_file_gives_its_readable_part(tmp_path: Path, left: bytes, recovered: str) -> None:
    """The last character may be incomplete; the rest of the answer must not be lost for it."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.live_path.write_bytes(left)

    assert journal.recover(NOW) == (2 if recovered else 0)

    assert [content for *_, content in turns_of(journal)] == ["why?", *([recovered] if recovered else [])]


def test_text_left_by_a_crash_does_not_mix_with_the_next_answer(tmp_path: Path) -> None:
    """A new answer begins with an empty live file."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.live_path.write_bytes(b"1\nan old and much longer answer")

    journal.show("new")

    assert journal.live_path.read_bytes() == b"2\nnew"


def test_a_failed_answer_does_not_block_the_next(tmp_path: Path) -> None:
    """Files opened for the failed answer must not block the conversation."""
    journal = Journal(tmp_path, "talk")
    journal.path.mkdir()
    with pytest.raises(StoreTrouble, match="Is a directory"):
        journal.show("lost")
    journal.path.rmdir()

    journal.show("found")

    assert journal.live_path.read_bytes() == b"1\nfound"


LIMITED = """
import resource, sys
from pathlib import Path
from aish.memory.live_file import LiveFile
from aish.values.errors import StoreTrouble
def limit(room):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
file = LiveFile(Path(sys.argv[1]))
limit(int(sys.argv[2]))
try:
    file.begin(lambda: "12 model")
    for piece in (b"one ", b"two ", b"three"):
        try:
            file.put(file.size, piece)
        except StoreTrouble as error:
            print(error)
            limit(resource.RLIM_INFINITY)
except StoreTrouble as error:
    print(error)
    limit(resource.RLIM_INFINITY)
    file.begin(lambda: "12 model")
    file.put(0, b"again")
"""


def on_a_full_disk(path: Path, room: int) -> list[str]:
    """Write an answer where only `room` bytes fit at first: the write at the limit is short, the next one fails."""
    command = [sys.executable, "-c", LIMITED, str(path), str(room)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.splitlines()


@pytest.mark.parametrize("room", range(9))
def test_a_header_that_does_not_fit_is_an_error_and_leaves_nothing(tmp_path: Path, room: int) -> None:
    """The beginning of a header could be read as a header with another number and without its provenance."""
    path = tmp_path / "talk.live"

    assert on_a_full_disk(path, room) == [f"cannot write {path}: File too large"]
    assert path.read_bytes() == b"12 model\nagain"  # the next answer starts from nothing


@pytest.mark.parametrize(("room", "kept"), [(9, b""), (12, b""), (13, b"one "), (16, b"one "), (17, b"one two ")])
def test_on_a_full_disk_the_beginning_of_the_answer_is_kept(tmp_path: Path, room: int, kept: bytes) -> None:
    """Later pieces are not added when there is room again: the recovered answer would have a gap."""
    path = tmp_path / "talk.live"
    missing = f"cannot write {path}: an earlier part of this answer is missing in it"

    said = on_a_full_disk(path, room)

    assert said == [f"cannot write {path}: File too large", *[missing] * (2 - len(kept) // 4)]
    assert path.read_bytes() == b"12 model\n" + kept


def test_a_header_that_cannot_be_made_leaves_no_file(tmp_path: Path) -> None:
    """An empty file would be offered to `recover` forever."""
    file = LiveFile(tmp_path / "talk.live")

    def fails() -> str:
        raise StoreTrouble("the journal cannot be read")

    with pytest.raises(StoreTrouble):
        file.begin(fails)

    assert list(tmp_path.iterdir()) == []


def test_an_unreadable_live_file_is_reported(tmp_path: Path) -> None:
    """Resuming a conversation must neither fail nor hide a possible loss."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.live_path.mkdir()

    with pytest.raises(StoreTrouble, match=r"talk\.live"):
        journal.recover(NOW)


def test_control_bytes_of_an_answer_are_visible_in_what_is_kept(tmp_path: Path) -> None:
    """Nothing shows the live file before it is recovered, and then it must not control the terminal."""
    journal = Journal(tmp_path, "talk")
    journal.show("a\x1b[2Jb\ud800c")
    assert journal.live_path.read_bytes() == "1\na␛[2Jb\ufffdc".encode()

    journal.add(Turn(role="assistant", content="a\x1b[2Jb\ud800c", state="interrupted"), NOW)

    assert turns_of(journal) == [(1, "assistant", "interrupted", "a␛[2Jb\ufffdc")]
