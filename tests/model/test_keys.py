"""API keys: found where the settings say, on first use, with a helpful message if missing."""

import asyncio
import os
import select
import signal
from pathlib import Path

import pytest

from aish.model.keys import NoKey, key_finder

pytestmark = pytest.mark.anyio


async def test_no_place_means_no_key() -> None:
    """A local server needs no key."""
    assert await key_finder()() == ""


async def test_a_key_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trailing newline is removed."""
    monkeypatch.setenv("SOME_KEY", " s3cret\n")
    assert await key_finder(env="SOME_KEY")() == "s3cret"


async def test_a_key_is_taken_from_a_file_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings may be shared between machines with different home directories."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "key").write_text("s3cret\n", encoding="utf-8")

    assert await key_finder(file="~/key")() == "s3cret"
    assert await key_finder(file=str(tmp_path / "key"))() == "s3cret"


async def test_a_key_is_the_first_line_that_a_command_prints() -> None:
    """Password managers print the secret first, then other fields."""
    assert await key_finder(command="printf 's3cret\\nuser: me\\n'")() == "s3cret"


async def test_the_environment_comes_before_the_file_and_the_file_before_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment of one run overrides files and commands."""
    file = tmp_path / "key"
    file.write_text("from file", encoding="utf-8")
    monkeypatch.setenv("SOME_KEY", "from env")

    assert await key_finder(env="SOME_KEY", file=str(file), command="echo from command")() == "from env"
    monkeypatch.delenv("SOME_KEY")
    assert await key_finder(env="SOME_KEY", file=str(file), command="echo from command")() == "from file"
    assert await key_finder(env="SOME_KEY", command="echo from command")() == "from command"


async def test_a_command_runs_when_the_key_is_needed_and_only_once(tmp_path: Path) -> None:
    """A password manager may ask for a fingerprint, so it runs only on first use and once."""
    runs = tmp_path / "runs"
    find = key_finder(command=f"echo run >> {runs}; echo s3cret")

    assert not runs.exists()
    assert [await find() for _ in range(3)] == ["s3cret"] * 3
    assert runs.read_text(encoding="utf-8") == "run\n"


async def test_a_key_that_failed_once_is_looked_for_again(tmp_path: Path) -> None:
    """The user can fix the problem and ask again without a restart."""
    file = tmp_path / "key"
    find = key_finder(file=str(file))
    with pytest.raises(NoKey):
        await find()
    file.write_text("s3cret", encoding="utf-8")

    assert await find() == "s3cret"


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"env": "NO_SUCH_KEY"}, ["environment variable NO_SUCH_KEY", "api_key_file", "api_key_command"]),
        ({"env": "BLANK_KEY"}, ["environment variable BLANK_KEY", "api_key_file", "api_key_command"]),
        ({"file": "no/such/file"}, ["no/such/file", "No such file"]),
        ({"file": "."}, ["cannot read the key from .", "directory"]),
        ({"file": "binary"}, ["cannot read the key from binary"]),
        ({"file": "empty"}, ["empty"]),
        ({"file": "~no-such-user-here/key"}, ["~no-such-user-here/key"]),
        ({"command": "exit 3"}, ["api_key_command gave no key (exit 3)", "exit 3"]),
        ({"command": "printf s3; echo cret; exit 1"}, ["api_key_command gave no key (exit 1)"]),
        ({"command": "true"}, ["api_key_command gave no key (exit 0): true"]),
        ({"command": "no-such-command-here 2>/dev/null"}, ["(exit 127)", "no-such-command-here"]),
    ],
)
async def test_a_key_that_is_not_there_is_an_error_that_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: dict[str, str], words: list[str]
) -> None:
    """The message must name the empty source; the server would only say that the key is wrong."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BLANK_KEY", " \n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "empty").write_text("\n", encoding="utf-8")

    with pytest.raises(NoKey) as caught:
        await key_finder(**places)()
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert "s3cret" not in str(caught.value)


async def test_a_command_ends_when_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    """Ctrl-C must also end a hanging password manager."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    task = asyncio.ensure_future(key_finder(command=f"exec 3>{fifo}; echo $$ >&3; exec sleep 60")())
    with await asyncio.to_thread(fifo.open, "rb", buffering=0) as held:
        pid = int(await asyncio.to_thread(held.readline))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ended, _, _ = await asyncio.to_thread(select.select, [held], [], [], 3)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        assert ended  # the other end of the pipe is closed
