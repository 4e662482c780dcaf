"""Rewriting a line file: completely or not at all, and no writer continues with the old file."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.storage.lines import LineFile, encode
from aish.values.errors import StoreTrouble
from aish.values.stores import Record


def without(word: bytes) -> Callable[[bytes], bytes]:
    return lambda line: line.replace(word, b"*" * len(word))


def numbered(file: LineFile, count: int) -> list[Record]:
    records: list[Record] = [{"n": number, "word": f"w{number}"} for number in range(count)]
    for record in records:
        file.append(record, sync=False)
    return records


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"")), max_size=8), st.integers(0, 255))
def test_changed_lines_are_replaced_and_the_others_stay_byte_for_byte(lines: list[bytes], byte: int) -> None:
    """Damaged lines, empty lines and Windows line ends are kept as they are."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "any.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        gone = bytes([byte]).replace(b"\n", b"no such bytes")

        def change(line: bytes) -> bytes:
            return line.replace(gone, b"")

        changed = [change(line) for line in lines]

        assert LineFile(path).rewrite(change) == sum(old != new for old, new in zip(lines, changed, strict=True))

        assert path.read_bytes() == b"".join(line + b"\n" for line in changed)
        assert names(path.parent) == ["any.jsonl"]


def test_lines_can_be_removed_and_writing_continues(tmp_path: Path) -> None:
    """The object that rewrote the file continues with the new one, and so do others."""
    file, other = LineFile(tmp_path / "some.jsonl"), LineFile(tmp_path / "some.jsonl")
    records = numbered(file, 5)

    assert file.rewrite(lambda line: b"" if b"w3" in line else line) == 1
    file.append({"n": 5})
    other.append({"n": 6})

    assert list(file) == [*records[:3], records[4], {"n": 5}, {"n": 6}]


def test_a_file_in_which_nothing_changes_is_not_touched(tmp_path: Path) -> None:
    """It keeps its inode and times, so that nothing rereads it."""
    file = LineFile(tmp_path / "same.jsonl")
    numbered(file, 5)
    before = file.path.stat()

    assert file.rewrite(lambda line: line) == 0
    assert file.rewrite(without(b"not there")) == 0

    after = file.path.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    assert names(tmp_path) == ["same.jsonl"]


@pytest.mark.parametrize("make", [False, True], ids=["missing", "empty"])
def test_there_is_nothing_to_rewrite_in_a_file_that_is_missing_or_empty(tmp_path: Path, make: bool) -> None:
    """And none is created."""
    path = tmp_path / "none.jsonl"
    if make:
        path.touch()

    assert LineFile(path).rewrite(lambda line: b"x") == 0

    assert path.exists() == make
    assert not make or path.read_bytes() == b""


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    """The caller gets the error; the file is unchanged and unlocked."""
    file = LineFile(tmp_path / "kept.jsonl")
    records = numbered(file, 4)
    before = file.path.stat().st_ino

    def change(line: bytes) -> bytes:
        if b"w2" in line:
            raise ZeroDivisionError
        return b"gone\n"

    with pytest.raises(ZeroDivisionError):
        file.rewrite(change)

    assert (list(file), file.path.stat().st_ino) == (records, before)
    assert names(tmp_path) == ["kept.jsonl"]
    LineFile(file.path).append({"n": 4})


def test_leftovers_of_an_earlier_rewrite_do_no_harm(tmp_path: Path) -> None:
    """A killed program leaves a partial file, and its process id may be reused."""
    file = LineFile(tmp_path / "again.jsonl")
    numbered(file, 3)
    leftover = tmp_path / f".again.jsonl.{os.getpid()}.tmp"
    leftover.write_bytes(b"half a li")

    assert file.rewrite(without(b"w1")) == 1

    assert names(tmp_path) == ["again.jsonl"]
    assert b"half" not in file.path.read_bytes()


def test_a_link_in_place_of_the_new_file_is_not_followed(tmp_path: Path) -> None:
    """The rewritten text is private, and so is its copy."""
    file, elsewhere = LineFile(tmp_path / "own.jsonl"), tmp_path / "elsewhere"
    numbered(file, 3)
    elsewhere.write_bytes(b"not ours")
    (tmp_path / f".own.jsonl.{os.getpid()}.tmp").symlink_to(elsewhere)

    assert file.rewrite(without(b"w1")) == 1

    assert elsewhere.read_bytes() == b"not ours"
    assert not file.path.is_symlink()
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_torn_end_is_set_aside_before_the_rest_is_rewritten(tmp_path: Path) -> None:
    """It is not a line, so the callback cannot get it."""
    file = LineFile(tmp_path / "torn.jsonl")
    numbered(file, 2)
    with file.path.open("ab") as raw:
        raw.write(b'{"n":2,"word":"w')
    seen: list[bytes] = []

    def change(line: bytes) -> bytes:
        seen.append(line)
        return line.replace(b"w0", b"xx")

    file.rewrite(change)

    assert all(line.endswith(b"}\n") for line in seen)
    assert len(seen) == 2
    assert (tmp_path / "torn.jsonl.torn").read_bytes() == b'{"n":2,"word":"w\n'


def test_an_exclusive_lock_also_covers_the_new_file(tmp_path: Path) -> None:
    """The lock is on the file, not on its name, so it must move to the new file; later it can be released."""
    file, other = LineFile(tmp_path / "held.jsonl"), LineFile(tmp_path / "held.jsonl")
    records = numbered(file, 3)
    file.hold()
    for word in (b"w0", b"w1"):
        assert file.rewrite(without(word)) == 1
        with pytest.raises(StoreTrouble, match=r"^held\.jsonl held by another aish process$"):
            other.hold()
    file.append({"n": 3})
    assert list(other) == [records[2], {"n": 3}]  # two lines have a wrong checksum now

    file.close()
    other.hold()
    other.close()


def open_files(directory: Path) -> list[str]:
    """Return the names of the files below a directory that this process has open."""
    found = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [name.removeprefix(f"{directory.resolve()}/") for name in found if name.startswith(str(directory.resolve()))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", ["as usual", "kept open", "held"])
def test_the_old_file_is_not_kept_open(tmp_path: Path, how: str) -> None:
    """As long as it is open, the erased text is still on the disk."""
    file = LineFile(tmp_path / "open.jsonl", keep_open=how == "kept open")
    numbered(file, 3)
    if how == "held":
        file.hold()
    for word in (b"w0", b"w1", b"w2"):
        assert file.rewrite(without(word)) == 1
        assert set(open_files(tmp_path)) <= {"open.jsonl"}
    file.close()

    assert open_files(tmp_path) == []


@pytest.mark.parametrize("how", ["replaced", "deleted"])
def test_an_exclusive_holder_writes_into_the_file_that_has_the_name_now(tmp_path: Path, how: str) -> None:
    """Editors save to a new file. Text written to the old one would be lost without notice."""
    file, other = LineFile(tmp_path / "held.jsonl", first=lambda: {"meta": 1}), LineFile(tmp_path / "held.jsonl")
    file.hold()
    file.append({"n": 1})
    if how == "replaced":
        (tmp_path / "new").write_bytes(encode({"n": "by an editor"}))
        (tmp_path / "new").replace(file.path)
    else:
        file.path.unlink()

    file.append({"n": 2})

    assert list(other) == [{"n": "by an editor"} if how == "replaced" else {"meta": 1}, {"n": 2}]
    with pytest.raises(StoreTrouble, match="held by another aish process"):
        other.hold()
    file.close()
    other.append({"n": 3})


AS_NOBODY = """
import sys
from pathlib import Path
from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble
try:
    LineFile(Path(sys.argv[1])).rewrite(lambda line: b"changed")
except StoreTrouble as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
@pytest.mark.parametrize("ours", [True, False], ids=["our file in a directory of others", "a file of others"])
def test_a_rewrite_that_is_not_possible_changes_nothing_and_is_reported(ours: bool) -> None:
    """A failed purge must not look like a success."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        path = Path(directory) / "fixed.jsonl"
        before = encode({"n": 1})
        path.write_bytes(before)
        if ours:
            os.chown(path, 65534, -1)
        path.chmod(0o644)
        command = ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", AS_NOBODY, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, cwd="/")
        if "Permission denied" in done.stderr or "ModuleNotFoundError" in done.stderr:
            pytest.skip("the user nobody cannot run this Python")

        assert str(path) in done.stdout
        assert "Permission denied" in done.stdout
        assert path.read_bytes() == before
        assert names(path.parent) == ["fixed.jsonl"]


FULL = """
import resource, sys
from pathlib import Path
from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    LineFile(Path(sys.argv[1])).rewrite(lambda line: line.replace(b"w", b"www"))
except StoreTrouble as error:
    print(error)
"""


@pytest.mark.parametrize("room", [0, 1, 40, 200])
def test_a_disk_that_fills_up_leaves_the_old_file(tmp_path: Path, room: int) -> None:
    """The partial new file is deleted."""
    file = LineFile(tmp_path / "full.jsonl")
    numbered(file, 10)
    before = file.path.read_bytes()

    command = [sys.executable, "-c", FULL, str(file.path), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)

    assert done.stdout.startswith(f"cannot write {file.path}: ")
    assert file.path.read_bytes() == before
    assert names(tmp_path) == ["full.jsonl"]


KILLED = """
import os, signal, sys
from pathlib import Path
from aish.storage.lines import LineFile
def change(line):
    if b"w5" in line:
        os.kill(os.getpid(), signal.SIGKILL)
    return b"changed"
LineFile(Path(sys.argv[1])).rewrite(change)
"""


def test_a_program_that_dies_during_a_rewrite_changes_and_locks_nothing(tmp_path: Path) -> None:
    """The next process can write and rewrite at once."""
    file = LineFile(tmp_path / "dead.jsonl")
    records = numbered(file, 10)

    done = subprocess.run([sys.executable, "-c", KILLED, str(file.path)], timeout=20, check=False)

    assert done.returncode < 0
    assert list(file) == records
    assert file.rewrite(without(b"w5")) == 1


REWRITE = """
import sys
from pathlib import Path
from aish.storage.lines import LineFile
LineFile(Path(sys.argv[1])).rewrite(lambda line: line.replace(b"w", b"v"))
"""


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("call", ["write:when=1", "fsync:when=1", "rename:when=1", "fsync:when=2", "fdatasync:when=1"])
def test_a_kill_at_any_system_call_leaves_the_old_file_or_the_new_one(tmp_path: Path, call: str) -> None:
    """Never a partial one, and the next process can continue."""
    file = LineFile(tmp_path / "any.jsonl")
    numbered(file, 3)
    old = file.path.read_bytes()
    name, _, when = call.partition(":")
    strace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={name}"]
    command = [*strace, "-e", f"inject={name}:signal=SIGKILL:{when}", sys.executable, "-B", "-c", REWRITE]
    done = subprocess.run([*command, str(file.path)], timeout=30, check=False)

    assert done.returncode == -signal.SIGKILL
    assert file.path.read_bytes() in (old, old.replace(b"w", b"v"))
    assert file.rewrite(lambda line: b"x\n") == 3
    assert file.path.read_bytes() == b"x\n" * 3
    assert names(tmp_path) == ["any.jsonl"]  # the partial file of the killed process is deleted
