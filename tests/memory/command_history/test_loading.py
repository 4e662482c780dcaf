"""All histories in one list, by time."""

import fcntl
import threading
from datetime import datetime
from pathlib import Path

import pytest

from aish.memory.command_history.command_store import CommandStore
from aish.memory.command_history.loading import Sources
from aish.memory.command_history.past_commands import PastCommands
from aish.memory.command_history.shell_files import HistoryFile
from aish.memory.command_history.typed_lines import TypedLines
from aish.values.past_command import PastCommand


def test_all_histories_are_merged_by_time_and_earlier_questions_come_last(tmp_path: Path) -> None:
    store = CommandStore(tmp_path / "commands.jsonl", str)
    store.add(PastCommand("own", 1_700_000_050.0, "/src", 0))
    typed = TypedLines(tmp_path / "typed", str)
    typed.add("what is it?", datetime.fromtimestamp(1_700_000_150))
    bash = tmp_path / "bash"
    bash.write_text("#1700000000\nbefore\n#1700000100\nafter\n", "utf-8")
    past = PastCommands()
    sources = Sources(store, typed, lambda: [HistoryFile("bash", bash)], lambda: ["an old question"])

    sources.load_newest(past, lambda: None)
    assert [one.text for one in past.newest()] == ["what is it?", "after", "own", "before"]
    sources.load_all(past, lambda: None)
    assert [(one.text, one.source) for one in past.newest()] == [
        ("what is it?", "typed"),
        ("after", "bash"),
        ("own", "aish"),
        ("before", "bash"),
        ("an old question", "typed"),
    ]


def test_what_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    def older() -> list[str]:
        raise OSError("gone")

    store = CommandStore(tmp_path / "commands.jsonl", str)
    store.path.mkdir()
    past = PastCommands()
    Sources(store, TypedLines(tmp_path, str), lambda: [HistoryFile("zsh", tmp_path)], older).load_all(
        past, lambda: None
    )

    assert len(past) == 0


def test_typed_lines_are_masked_read_newest_first_and_really_deleted(tmp_path: Path) -> None:
    typed = TypedLines(tmp_path / "state/typed", lambda text: text.replace("hunter2", "***"))
    for line in ("one hunter2", "two\nlines", "three"):
        typed.add(line, datetime(2026, 1, 1, 12))

    assert [one.text for one in typed.read()] == ["three", "two\nlines", "one ***"]
    assert typed.delete(lambda line: line == "two\nlines") == 1
    assert b"lines" not in typed.path.read_bytes()
    assert [one.text for one in typed.read()] == ["three", "one ***"]
    assert typed.delete(lambda line: False) == 0


def test_no_typed_line_is_lost_while_others_are_deleted(tmp_path: Path) -> None:
    """Another shell must wait, and then write to the new file."""
    typed = TypedLines(tmp_path / "typed", str)
    typed.add("secret", datetime(2026, 1, 1, 12))
    typed.add("kept", datetime(2026, 1, 1, 12))
    other = threading.Thread(target=lambda: TypedLines(typed.path, str).add("new", datetime(2026, 1, 1, 13)))

    def wanted(line: str) -> bool:
        with typed.path.open("ab") as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if line == "secret":
            other.start()
        return line == "secret"

    assert typed.delete(wanted) == 1
    other.join(20)
    assert [one.text for one in typed.read()] == ["new", "kept"]
