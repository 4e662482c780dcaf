"""The journal: turns in order, increasing numbers, and answers that survive the end of the program."""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import at

from aish.memory.fingerprint import fingerprint
from aish.memory.journal import Journal, new_id
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.storage.lines import LineFile, encode
from aish.values.errors import StoreTrouble
from aish.values.stores import Damage
from aish.values.turns import JournalEntry, ToolCall, Turn

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
NOW = at("2026-11-15T19:09:46.123")
QUESTION = Turn(role="user", content="why?")
ANSWER = Turn(role="assistant", content="because")
ADDING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.journal import Journal
from aish.values.turns import Turn
journal = Journal(Path(sys.argv[1]), "talk")
print("ready", flush=True)
sys.stdin.readline()
for number in range(40):
    print(journal.add(Turn(role="user", content=f"{sys.argv[2]} {number}"), datetime.now(UTC)))
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


texts = st.text(max_size=40)  # control characters are made visible when written, so another round trip changes nothing
turns = st.builds(
    Turn,
    role=st.sampled_from(["user", "assistant", "tool"]),
    content=texts,
    tool_calls=st.lists(st.builds(ToolCall, id=texts, name=texts, arguments=texts), max_size=2).map(tuple),
    call_id=texts,
    state=st.sampled_from(["complete", "interrupted", "failed"]),
)
times = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1)).map(
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000, tzinfo=UTC)
)


@pytest.mark.proves("P5", "N24")
@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(turns, times), max_size=4))
def test_a_conversation_is_read_as_it_was_written(written: list[tuple[Turn, datetime]]) -> None:
    """Roles, states, calls, times and measurements are restored; a partial answer is never read as complete."""
    with TemporaryDirectory() as directory:
        journal = Journal(Path(directory), "talk")
        for number, (turn, time) in enumerate(written, start=1):
            assert journal.add(turn, time, {"model": "m", "ms": number}) == number
        first = list(journal.entries())
        again = Journal(Path(directory), "again")
        for entry in first:
            again.add(entry.turn, entry.time, entry.meta)

        assert list(again.entries()) == first
        assert list(journal.entries_back()) == first[::-1]
        for number, (entry, (turn, time)) in enumerate(zip(first, written, strict=True), start=1):
            kept = turn.with_content(entry.turn.content)
            assert entry == JournalEntry(number=number, time=time, turn=kept, meta={"model": "m", "ms": number})
            if turn.content.isprintable():
                assert entry.turn.content == turn.content


@pytest.mark.proves("P5")
def test_the_first_line_says_what_the_file_is_and_each_turn_is_a_line_after_it(tmp_path: Path) -> None:
    """Other programs and people read the file too."""
    directory = tmp_path / "sessions"
    journal = Journal(directory, "20261115-190946-abcdef", {"cwd": "/home"})
    assert not directory.exists()

    journal.add(QUESTION, NOW)
    Journal(directory, journal.id, {"cwd": "/elsewhere"}).add(Turn(role="assistant", state="failed"), NOW, {"ms": 7})

    assert list(LineFile(directory / "20261115-190946-abcdef.jsonl")) == [
        {"meta": {"format": 1, "id": "20261115-190946-abcdef", "cwd": "/home"}},
        {"n": 1, "ts": "2026-11-15T19:09:46.123Z", "role": "user", "content": "why?"},
        {"n": 2, "ts": "2026-11-15T19:09:46.123Z", "role": "assistant", "content": "", "state": "failed", "ms": 7},
    ]
    assert journal.meta() == {"format": 1, "id": "20261115-190946-abcdef", "cwd": "/home"}
    assert [path.name for path in directory.iterdir()] == ["20261115-190946-abcdef.jsonl"]


@pytest.mark.proves("P5")
def test_names_of_conversations_begin_with_their_time_and_do_not_collide() -> None:
    """Sorting by name is sorting by time, in every time zone."""
    names = {new_id(NOW) for _ in range(200)}

    assert len(names) == 200
    assert all(name.startswith("20261115-190946-") for name in names)
    assert new_id(datetime.fromisoformat("2026-11-15T23:00:00-05:00")).startswith("20261116-040000-")


def test_numbers_grow_by_one_with_two_writers(tmp_path: Path) -> None:
    """Two terminals may have the same conversation open; no number is used twice."""
    children = [start(ADDING, tmp_path, name) for name in ("left", "right")]
    try:
        for child in children:
            assert child.stdin
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        given_out = [[int(line) for line in child.communicate(timeout=30)[0].split()] for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait(10)

    journal = Journal(tmp_path, "talk")
    assert sorted(given_out[0] + given_out[1]) == [entry.number for entry in journal.entries()] == list(range(1, 81))
    for name in ("left", "right"):
        mine = [e.turn.content for e in journal.entries() if e.turn.content.startswith(name)]
        assert mine == [f"{name} {number}" for number in range(40)]


@pytest.mark.parametrize(
    "line",
    [b'{"note":"added by hand"}\n', b'{"v":2,"event":"from a later version"}\n', b'{"n":"x"}\n', b"garbage\n"],
    ids=["a note", "a later version", "an odd number", "damage"],
)
def test_numbers_go_on_after_a_line_that_has_none(tmp_path: Path, line: bytes) -> None:
    """A foreign last line must not restart the count, or two turns would share a number."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.add(ANSWER, NOW)
    with journal.path.open("ab") as raw:
        raw.write(line)

    assert journal.add(QUESTION, NOW) == 3
    assert [entry.number for entry in journal.entries()] == [1, 2, 3]


def test_damaged_lines_are_counted_and_the_turns_around_them_are_read(tmp_path: Path) -> None:
    """One bad sector must not hide a conversation, and must be reported."""
    journal = Journal(tmp_path, "talk")
    for number in range(5):
        journal.add(Turn(role="user", content=f"turn {number}"), NOW)
    data = journal.path.read_bytes()
    journal.path.write_bytes(data.replace(b"turn 1", b"turn X").replace(b"turn 3", b"turn Y") + encode({"n": 6})[:9])
    forwards, backwards = Damage(), Damage()

    assert [entry.number for entry in journal.entries(forwards)] == [1, 3, 5]
    assert [entry.number for entry in journal.entries_back(backwards)] == [5, 3, 1]
    assert (forwards.lines, backwards.lines) == (3, 3)


def test_turns_written_by_hand_are_read_with_what_they_have(tmp_path: Path) -> None:
    """A missing time, a wrong state or invalid calls are no reason to lose the text."""
    journal = Journal(tmp_path, "talk")
    journal.path.write_text(
        '{"n":1,"role":"user","content":"hi"}\n'
        '{"n":2,"role":"assistant","content":5,"state":"perhaps","tool_calls":["?",{"name":"ls"}],"ts":"noon"}\n'
        '{"n":3,"role":"nobody","content":"skipped"}\n'
        '{"role":"user","content":"no number"}\n',
        encoding="utf-8",
    )

    epoch = datetime.fromtimestamp(0, UTC)
    assert list(journal.entries()) == [
        JournalEntry(number=1, time=epoch, turn=Turn(role="user", content="hi"), meta={}),
        JournalEntry(
            number=2,
            time=epoch,
            turn=Turn(role="assistant", content="5", tool_calls=(ToolCall(id="", name="ls"),)),
            meta={},
        ),
    ]
    assert journal.meta() == {}


def test_a_turn_that_could_not_be_written_is_written_before_the_next(tmp_path: Path) -> None:
    """A disk that was full for a moment delays its turn but does not lose it."""
    journal = Journal(tmp_path, "talk")
    journal.add(QUESTION, NOW)
    journal.show("because")
    side_answer = journal.path.rename(tmp_path / "aside")
    journal.path.mkdir()
    with pytest.raises(StoreTrouble):
        journal.add(ANSWER, NOW)
    journal.path.rmdir()
    side_answer.rename(journal.path)

    assert journal.add(QUESTION, NOW) == 3

    assert [entry.turn for entry in Journal(tmp_path, "talk").entries()] == [QUESTION, ANSWER, QUESTION]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_at_the_end_of_the_calendar_is_ignored(tmp_path: Path, time: str) -> None:
    """One such line must not break the list of conversations."""
    line = f'{{"n":1,"ts":"{time}","role":"user","content":"x"}}\n'
    (tmp_path / "talk.jsonl").write_text(line, encoding="utf-8")

    [entry] = Journal(tmp_path, "talk").entries()

    assert entry.time == datetime.fromtimestamp(0, UTC)


def test_secrets_are_masked_wherever_a_turn_has_text(tmp_path: Path) -> None:
    """Also in ids and names, which a server or a model chooses."""
    redaction = Redaction(tmp_path / "salt", lambda: SimpleNamespace(redact=redact, fingerprint=fingerprint))
    journal = Journal(tmp_path, "talk", redaction=redaction)
    call = ToolCall(id=f"id {SECRET}", name=f"name {SECRET}", arguments=f"arguments {SECRET}")

    journal.add(Turn("assistant", f"content {SECRET}", tool_calls=(call,)), NOW)
    journal.add(Turn("tool", "done", call_id=f"id {SECRET}"), NOW)

    assert SECRET not in journal.path.read_text(encoding="utf-8")
    asked, answered = (entry.turn for entry in journal.entries())
    assert answered.call_id == asked.tool_calls[0].id != ""
