"""The record of commands on disk."""

import multiprocessing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aish.memory.command_history.command_store import CommandStore, command_of
from aish.values.past_command import LONGEST_COMMAND, PastCommand


def store_in(directory: Path) -> CommandStore:
    return CommandStore(directory / "commands.jsonl", lambda text: text.replace("hunter2", "***"))


def test_a_command_is_read_as_it_was_written_newest_first(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    first = PastCommand("make", 1_700_000_000.5, "/src", 2, 1.25, "box", "c1")
    second = PastCommand("ls", 1_700_000_001.0, "/", 0, 0.004, "box", "c1")
    store.add(first)
    store.add(second)

    assert list(store.newest_first()) == [second, first]


def test_secrets_are_masked_before_they_are_written(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.add(PastCommand("login hunter2", 1.0, "/home/hunter2"))

    assert b"hunter2" not in store.path.read_bytes()
    assert store.path.stat().st_mode & 0o077 == 0


def test_a_deleted_command_is_gone_from_the_file(tmp_path: Path) -> None:
    """Not marked: somebody who deletes a command wants it gone."""
    store = store_in(tmp_path)
    for text in ("keep", "drop this", "keep too", "drop this"):
        store.add(PastCommand(text, 1.0))

    assert store.delete(lambda command: command.text == "drop this") == 2
    assert b"drop this" not in store.path.read_bytes()
    assert [one.text for one in store.newest_first()] == ["keep too", "keep"]
    assert store.delete(lambda command: True) == 2


def test_damaged_lines_and_lines_of_people_are_survived(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    store.add(PastCommand("before", 1.0))
    with store.path.open("ab") as file:
        file.write(
            b'{"command":"by hand"}\n\x00\xff\n{"command":7}\n{"command":"x","ts":"never","status":"no"}\n{"comm'
        )
    store.add(PastCommand("after", 2.0))

    assert [one.text for one in store.newest_first()] == ["after", "x", "by hand", "before"]


def test_a_duration_that_makes_no_sense_is_unknown() -> None:
    assert [command_of({"command": "ls", "seconds": one}) for one in (float("inf"), 10**400, -1, float("nan"))] == [
        PastCommand("ls")
    ] * 4


def test_a_command_too_long_to_be_run_again_is_not_recorded(tmp_path: Path) -> None:
    """A shortened command would do something else."""
    store = store_in(tmp_path)
    store.add(PastCommand("x" * (LONGEST_COMMAND + 1), 1.0))

    assert list(store.newest_first()) == []


def test_what_others_append_is_read_once(tmp_path: Path) -> None:
    """A line that is still being written is read when it is complete."""
    store = store_in(tmp_path)
    assert store.appended(0) == ([], 0)
    store.add(PastCommand("one", 1.0))
    found, end = store.appended(0)
    assert [one.text for one in found] == ["one"]
    store.add(PastCommand("two", 2.0))
    with store.path.open("ab") as file:
        file.write(b'{"command":"half')
    found, end = store.appended(end)
    assert [one.text for one in found] == ["two"]
    with store.path.open("ab") as file:
        file.write(b'"}\n')
    found, end = store.appended(end)
    assert [one.text for one in found] == ["half"]
    assert store.appended(end) == ([], end)
    assert store.appended(10**9) == ([], end), "the file was replaced by a shorter one"


def _write(directory: Path, name: str) -> None:
    store = store_in(directory)
    for number in range(200):
        store.add(PastCommand(f"{name} {number}", 1.0))


def test_several_shells_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        pool.starmap(_write, [(tmp_path, name) for name in names])

    found = [one.text for one in store_in(tmp_path).newest_first()]
    assert sorted(found) == sorted(f"{name} {number}" for name in names for number in range(200))
    assert [text for text in reversed(found) if text.startswith("two")] == [f"two {number}" for number in range(200)]


@given(
    st.dictionaries(
        st.sampled_from(["command", "ts", "directory", "status", "seconds", "host", "source"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
    )
)
def test_no_record_breaks_the_reader(record: dict[str, object]) -> None:
    command = command_of(record)

    assert command is None or command.text == record["command"]
