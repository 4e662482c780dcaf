"""Atomic replacement of files, and directories that are private and durable."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.storage.files import make_directory, replace_file
from aish.values.errors import StoreTrouble

OLD, NEW = b"old " * 200_000, b"new!" * 200_000
REPLACE = """
import sys
from pathlib import Path
from aish.storage.files import replace_file
path = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    replace_file(path, (b"new!", b"old ")[number % 2] * 200_000, sync=False)
"""
LIMITED = """
import resource, sys
from pathlib import Path
from aish.storage.files import replace_file
from aish.values.errors import StoreTrouble
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    replace_file(Path(sys.argv[1]), b"new!" * 200_000)
except StoreTrouble as error:
    print(error)
"""
needs_strace = pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")


def start(path: Path, times: int) -> subprocess.Popen[bytes]:
    """Start a process that replaces the file again and again after a signal."""
    command = [sys.executable, "-c", REPLACE, str(path), str(times)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin
    assert child.stdout
    assert child.stdout.readline() == b"ready\n"
    child.stdin.write(b"go\n")
    child.stdin.flush()
    return child


def stop(child: subprocess.Popen[bytes]) -> int:
    child.kill()
    child.communicate(timeout=10)
    return child.returncode


def traced(tmp_path: Path, script: str, path: Path) -> list[tuple[str, str]]:
    """Return the calls that write, rename and sync below `tmp_path`, in order; a temporary file is called TMP."""
    log = tmp_path / "log"
    calls = "trace=mkdir,write,fsync,fdatasync,rename"
    program = (
        f"import sys; from pathlib import Path; from aish.storage.files import *; path = Path(sys.argv[1]); {script}"
    )
    command = ["strace", "-f", "-y", "-qq", "-e", calls, "-o", str(log), sys.executable, "-c", program, str(path)]
    subprocess.run(command, check=True, timeout=30)
    text = re.sub(r"\.[^./]+\.\d+-\d+\.tmp", "TMP", log.read_text(encoding="utf-8"))
    return re.findall(r'(\w+)\((?:\d+<|")TOP([^>"]*)', text.replace(str(tmp_path.resolve()), "TOP"))


@settings(deadline=None, max_examples=30)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=4))
def test_the_file_has_the_newest_content_and_nothing_else_is_left(contents: list[bytes]) -> None:
    """Also empty content, shorter content, and bytes that are no text."""
    with TemporaryDirectory() as top:
        path = Path(top) / "deep" / "file"
        for content in contents:
            replace_file(path, content, sync=False)
            assert path.read_bytes() == content
        assert list(path.parent.iterdir()) == [path]


def test_a_reader_sees_the_old_or_the_new_file_never_a_partial_one(tmp_path: Path) -> None:
    """A reader opens the file at the moment it is replaced."""
    path = tmp_path / "seen"
    path.write_bytes(OLD)
    child = start(path, 150)
    seen: set[bytes] = set()
    try:
        while child.poll() is None:
            seen.add(path.read_bytes())
    finally:
        assert stop(child) == 0

    assert seen <= {OLD, NEW}
    assert list(tmp_path.iterdir()) == [path]


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    """Files left beside it do no harm, and are never taken for the file."""
    path = tmp_path / "killed"
    path.write_bytes(OLD)
    before = path.stat().st_ino
    for _ in range(10):
        child = start(path, 1_000_000)
        while path.stat().st_ino == before:
            assert child.poll() is None
        assert stop(child) == -9

        assert path.read_bytes() in (OLD, NEW)
        before = path.stat().st_ino
    replace_file(path, b"next")
    assert path.read_bytes() == b"next"
    assert all(entry.name.startswith(".killed.") for entry in tmp_path.iterdir() if entry != path)


@pytest.mark.parametrize("room", [0, 1, 100_000, len(NEW) - 1])
def test_a_full_disk_leaves_the_old_file_and_no_leftovers(tmp_path: Path, room: int) -> None:
    """A partial file would be worse than none, and a leftover would keep the disk full."""
    path = tmp_path / "full"
    path.write_bytes(OLD)

    command = [sys.executable, "-c", LIMITED, str(path), str(room)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout

    assert said == f"cannot write {path}: File too large\n"
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_no_error_leaves_leftovers(tmp_path: Path) -> None:
    """Also for other errors: a directory in the way, a file in place of a directory, a wrong type."""
    (tmp_path / "directory" / "inner").mkdir(parents=True)
    (tmp_path / "file").write_bytes(b"kept")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(StoreTrouble, match=r"cannot write .*directory: Is a directory"):
        replace_file(tmp_path / "directory", b"new")
    with pytest.raises(StoreTrouble, match=r"cannot write .*below: "):
        replace_file(tmp_path / "file" / "below", b"new")
    with pytest.raises(TypeError):
        replace_file(tmp_path / "file", cast(bytes, "no bytes"))

    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_the_new_file_is_private_whatever_the_old_one_was(tmp_path: Path) -> None:
    """It may contain keys or private text."""
    path = tmp_path / "a" / "private"
    old = os.umask(0)
    try:
        replace_file(path, b"one")
        path.chmod(0o644)
        replace_file(path, b"two")
    finally:
        os.umask(old)

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_link_is_replaced_and_its_target_is_not_changed(tmp_path: Path) -> None:
    """The author of a link must not choose which file is overwritten."""
    path, target = tmp_path / "link", tmp_path / "target"
    target.write_bytes(b"precious")
    path.symlink_to(target)

    replace_file(path, b"new")

    assert not path.is_symlink()
    assert (path.read_bytes(), target.read_bytes()) == (b"new", b"precious")


@needs_strace
def test_content_is_synced_before_the_rename_and_the_rename_before_it_returns(tmp_path: Path) -> None:
    """In another order a power cut could leave an empty file with the final name."""
    path = tmp_path / "x" / "y" / "file"

    assert traced(tmp_path, "replace_file(path, b'new'); replace_file(path, b'newer', sync=False)", path) == [
        ("mkdir", "/x"),
        ("fsync", ""),
        ("mkdir", "/x/y"),
        ("fsync", "/x"),
        ("write", "/x/y/TMP"),
        ("fsync", "/x/y/TMP"),
        ("rename", "/x/y/TMP"),
        ("fsync", "/x/y"),
        ("write", "/x/y/TMP"),
        ("rename", "/x/y/TMP"),
    ]


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    """The owner may have opened it to others on purpose; only new directories are made private."""
    tmp_path.chmod(0o755)

    make_directory(tmp_path)
    make_directory(tmp_path / "a" / "b")
    make_directory(tmp_path / "a" / "b")

    modes = [path.stat().st_mode & 0o777 for path in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")]
    assert modes == [0o755, 0o700, 0o700]
