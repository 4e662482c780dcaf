"""Kept states: found for their own text only, whole or not at all, private, and few."""

import asyncio
import multiprocessing
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aish.model import prompt_states
from aish.model.prompt_states import PromptStates
from aish.storage.files import remove_all

ABOUT = ("weights.gguf", "98000000", "engine 1", "You are aish.")
CONTENT = bytes(range(256)) * 3
texts = st.lists(st.text(max_size=8), min_size=1, max_size=4).map(tuple)


@pytest.fixture
def states(tmp_path: Path) -> PromptStates:
    found = PromptStates(tmp_path / "cache" / "prompts")
    assert found.is_usable()
    return found


def keep(states: PromptStates, content: bytes = CONTENT, about: tuple[str, ...] = ABOUT) -> Path:
    """Write a state as the child does, and keep it."""
    name = states.begin()
    (states.directory / name).write_bytes(content)
    before = set(names(states))
    assert states.keep(name, len(content), *about)
    (path,) = (states.directory / one for one in set(names(states)) - before | {states.find(*about)})
    return path


def names(states: PromptStates) -> list[str]:
    return sorted(path.name for path in states.directory.iterdir())


@given(kept=texts, asked=texts)
@example(kept=("a\0b",), asked=("a", "b"))
@example(kept=("ab", "c"), asked=("a", "bc"))
@example(kept=("caf\udce9.gguf", "x"), asked=("caf\udce9.gguf", "x"))
def test_a_state_is_found_for_the_same_texts_only(kept: tuple[str, ...], asked: tuple[str, ...]) -> None:
    """Another prompt, file of weights or engine would go on from numbers that mean nothing to it."""
    with tempfile.TemporaryDirectory() as directory:
        states = PromptStates(Path(directory))
        keep(states, about=kept)
        assert bool(states.find(*asked)) == (kept == asked)
        assert states.find(*kept)


@pytest.mark.parametrize("flip", range(0, len(CONTENT), 97))
def test_one_wrong_bit_is_found_and_the_file_removed(states: PromptStates, flip: int) -> None:
    """llama.cpp aborts on some of these files, and answers nonsense after others."""
    path = keep(states)
    path.write_bytes(CONTENT[:flip] + bytes([CONTENT[flip] ^ 1]) + CONTENT[flip + 1 :])

    assert states.find(*ABOUT) == ""
    assert names(states) == []


@pytest.mark.parametrize("size", [0, 1, 255, len(CONTENT) - 1, len(CONTENT) + 1])
def test_a_state_of_another_length_is_not_used(states: PromptStates, size: int) -> None:
    """The power went while it was written, or somebody added to it."""
    path = keep(states)
    path.write_bytes((CONTENT + b"x")[:size])

    assert states.find(*ABOUT) == ""
    assert not path.exists()


def test_states_with_each_others_content_or_name_are_not_used(states: PromptStates) -> None:
    """Files were moved by hand, or restored from a backup."""
    other = (*ABOUT[:3], "You are somebody else.")
    first, second = keep(states, b"one"), keep(states, b"two", other)
    first.write_bytes(b"two")
    second.write_bytes(b"one")
    assert not states.find(*ABOUT) and not states.find(*other)

    third = keep(states, b"three")
    key = keep(states, b"four", other).name.partition("-")[0]
    third.rename(states.directory / f"{key}-{third.name.partition('-')[2]}")
    assert not states.find(*ABOUT)
    assert states.find(*other).startswith(key)  # the content of the other one fits its own hash, so it is known
    assert states.find(*other)


@pytest.mark.parametrize("kind", ["directory", "link", "dangling link", "named pipe", "device"])
def test_what_is_no_regular_file_is_neither_used_nor_waited_for(
    states: PromptStates, tmp_path: Path, kind: str
) -> None:
    """A named pipe would block the first question until somebody writes into it."""
    path = keep(states)
    whole = path.rename(tmp_path / "whole")
    if kind == "directory":
        path.mkdir()
    elif kind == "named pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": whole, "dangling link": tmp_path / "none", "device": Path("/dev/zero")}[kind])

    assert states.find(*ABOUT) == ""
    assert os.path.lexists(path)  # it is not ours
    name = states.begin()
    (states.directory / name).write_bytes(CONTENT)
    assert states.keep(name, len(CONTENT), *ABOUT) == (kind != "directory")
    assert bool(states.find(*ABOUT)) == (kind != "directory")


def _as_another_user(code: str, directory: Path) -> str:
    """Run code on the states of a directory without the rights of root, which may read and write everything."""
    begin = "import hashlib, os, sys\nfrom pathlib import Path\nfrom aish.model.prompt_states import PromptStates\n"
    begin += "states = PromptStates(Path(sys.argv[1]))\nif os.getuid() == 0:\n    os.setuid(65534)\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + code, str(directory), *ABOUT], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def open_states() -> Iterator[PromptStates]:
    """States in a directory that another user may enter."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield PromptStates(Path(directory))


def test_a_state_that_cannot_be_read_is_as_if_it_was_not_there(open_states: PromptStates) -> None:
    """Nobody is told of it: the prompt is read again."""
    path = keep(open_states)
    code = "print(states.find(*sys.argv[2:]) or 'none')"
    path.chmod(0o444)
    assert _as_another_user(code, open_states.directory) == path.name
    path.chmod(0o000)
    assert _as_another_user(code, open_states.directory) == "none"


def test_states_in_a_read_only_directory_are_used_and_none_is_written(open_states: PromptStates) -> None:
    """For example a home that is mounted read-only."""
    path = keep(open_states)
    path.chmod(0o444)
    open_states.directory.chmod(0o555)
    code = "print(states.find(*sys.argv[2:]), states.is_usable(), states.keep('new-1-x', 3, *sys.argv[2:]))"
    try:
        assert _as_another_user(code, open_states.directory) == f"{path.name} False False"
    finally:
        open_states.directory.chmod(0o700)


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_a_directory_that_cannot_be_made_is_not_used(tmp_path: Path, kind: str) -> None:
    """Something else has its name, or its disk is not mounted."""
    place = tmp_path / "prompts"
    if kind == "file":
        place.write_text("notes", encoding="utf-8")
    else:
        place.symlink_to(tmp_path / "not mounted" / "here")
    states = PromptStates(place)

    assert not states.is_usable()
    assert states.find(*ABOUT) == ""
    assert not states.keep(states.begin(), 1, *ABOUT)


def test_a_file_of_which_not_everything_arrived_is_removed(states: PromptStates) -> None:
    """The disk was full."""
    name = states.begin()
    (states.directory / name).write_bytes(CONTENT[:-1])

    assert not states.keep(name, len(CONTENT), *ABOUT)
    assert not states.keep(states.begin(), len(CONTENT), *ABOUT)
    assert names(states) == []


def test_states_and_their_directory_are_private(tmp_path: Path) -> None:
    """They hold what is known of the user."""
    old = os.umask(0)
    try:
        states = PromptStates(tmp_path / "prompts")
        assert states.is_usable()
        path = keep(states)
    finally:
        os.umask(old)
    assert stat.S_IMODE(states.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def _used_at(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_the_least_recently_used_states_leave(states: PromptStates, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each user of a machine has several models and projects, but no disk for all that was ever read."""
    monkeypatch.setattr(prompt_states, "_MOST_STATES", 3)
    for number in range(3):
        _used_at(keep(states, about=(str(number),)), number)
    assert states.find("0")  # it is used now
    keep(states, about=("3",))

    assert [bool(states.find(str(number))) for number in range(4)] == [True, False, True, True]


def test_states_have_a_share_of_the_disk_but_the_newest_one_stays(
    states: PromptStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state of a large model alone may be larger. A clock that was wrong does not cost the new one its place."""
    monkeypatch.setattr(prompt_states, "_MOST_BYTES", 100)
    _used_at(keep(states, bytes(40), ("0",)), 4_000_000_000)
    keep(states, bytes(50), ("1",))
    assert states.find("1") and states.find("0")

    keep(states, bytes(60), ("2",))
    assert [bool(states.find(str(number))) for number in range(3)] == [True, False, True]
    keep(states, bytes(101), ("3",))
    assert len(names(states)) == 1 and states.find("3")


def test_what_killed_processes_left_is_removed_and_what_is_being_written_is_not(states: PromptStates) -> None:
    """A number of a process may be used again, so unfinished files of yesterday go too."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left = [f"new-{ended.pid}-aa", f"new-{ended.pid}-aa.begun", f"new-{os.getppid()}-yesterday", "new-nobody-old"]
    kept = [f"new-{os.getpid()}-bb", "new-99999999999999999999-cc", "new-"]
    for name in (*left, *kept):
        (states.directory / name).write_bytes(b"half")
    (states.directory / f"new-{ended.pid}-directory").mkdir()
    for name in left[2:]:
        _used_at(states.directory / name, 1_000_000_000)

    keep(states)

    assert set(left) & set(names(states)) == set()
    assert set(kept) | {f"new-{ended.pid}-directory"} < set(names(states))


def _keep_often(directory: Path, number: int) -> None:
    states = PromptStates(directory)
    for round in range(30):
        name = states.begin()
        content = f"{number} {round}".encode() * 500
        (directory / name).write_bytes(content)
        assert states.keep(name, len(content), *ABOUT)
        assert states.find(*ABOUT), (number, round)


def test_processes_that_keep_the_same_state_at_once_leave_a_whole_one(states: PromptStates) -> None:
    """Two terminals are opened after an update. Neither removes what the other one has just written."""
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_keep_often, args=(states.directory, number)) for number in range(3)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()

    assert [one.exitcode for one in writers] == [0, 0, 0]
    assert states.find(*ABOUT)
    assert len(names(states)) <= prompt_states._MOST_STATES
    assert not [name for name in names(states) if name.startswith("new-")]


def test_a_purge_ends_states_that_are_about_to_be_written(states: PromptStates) -> None:
    """Of this process and of others: what they read before may have what was purged."""
    reading, written = states.begin(), states.begin()
    (states.directory / written).write_bytes(CONTENT)
    remove_all(states.directory)
    (states.directory / reading).write_bytes(CONTENT)

    assert not states.keep(reading, len(CONTENT), *ABOUT) and not states.keep(written, len(CONTENT), *ABOUT)
    assert names(states) == []
    assert keep(states)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs root, to mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_costs_the_new_state_only(small_disk: Path) -> None:
    """What was kept before is still used."""
    states = PromptStates(small_disk / "prompts")
    assert states.is_usable()
    keep(states)
    name = states.begin()
    with pytest.raises(OSError, match="No space"):
        (states.directory / name).write_bytes(bytes(100_000))

    assert not states.keep(name, 100_000, "another text")
    assert states.find(*ABOUT)
    assert len(names(states)) == 1


@pytest.mark.anyio
async def test_looking_for_a_state_while_others_come_and_go_raises_nothing(states: PromptStates) -> None:
    """Another process tidies up, or a purge removes all of them."""
    done = False

    def churn() -> None:
        while not done:
            for path in (keep(states, os.urandom(2_000)), *states.directory.iterdir()):
                path.unlink(missing_ok=True)

    churning = asyncio.create_task(asyncio.to_thread(churn))
    for _ in range(200):
        await asyncio.to_thread(states.find, *ABOUT)
    done = True
    await churning
