"""JSON line files with several writers, on failing disks, and the order of system calls."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from aish.storage.lines import LineFile, encode
from aish.values.errors import StoreTrouble
from aish.values.stores import Damage, Record

HOLD = """
import subprocess, sys
from pathlib import Path
from aish.storage.lines import LineFile
with LineFile(Path(sys.argv[1])).writing():
    if "child" in sys.argv:
        subprocess.Popen(["cat"], close_fds=False)
    print("held", flush=True)
    sys.stdin.read()
"""
APPEND = """
import sys
from pathlib import Path
from aish.storage.lines import LineFile
path, me, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    LineFile(path, first=lambda: {"meta": me}).append({"who": me, "n": number, "pad": "é" * (number * 997 % 9000)})
"""
LIMITED = """
import os, resource, sys
from pathlib import Path
from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble
file, room = LineFile(Path(sys.argv[1])), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
for number in range(int(sys.argv[3])):
    try:
        file.append({"late": number, "pad": "y" * 1000})
    except StoreTrouble as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
if "freed" in sys.argv:
    file.append({"freed": True})
"""

Child = subprocess.Popen[str]


def start(script: str, *arguments: object) -> Child:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run(script: str, *arguments: object) -> list[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.splitlines()


@contextmanager
def holding(path: Path, *more: str) -> Iterator[Child]:
    """Run another process that holds the file until it is killed."""
    child = start(HOLD, path, *more)
    assert child.stdin
    assert child.stdout
    with child.stdin, child.stdout:
        try:
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()
            child.wait(10)


@contextmanager
def mounted(directory: Path) -> Iterator[Path]:
    """Mount a small disk at `directory`; skip the test if that is not possible."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(directory)]
    if (
        os.geteuid()
        or not shutil.which("mount")
        or subprocess.run(command, capture_output=True, check=False).returncode
    ):
        pytest.skip("needs the right to mount a disk")
    try:
        yield directory
    finally:
        subprocess.run(["umount", str(directory)], check=True)


def read(path: Path) -> tuple[list[Record], int]:
    damage = Damage()
    return list(LineFile(path).read(damage)), damage.lines


@pytest.mark.parametrize(("writers", "count"), [(2, 60), (8, 15)])
def test_concurrent_appends_lose_join_and_damage_nothing(tmp_path: Path, writers: int, count: int) -> None:
    """Several shells are open on one machine; any of them may write the header, but only once."""
    path = tmp_path / "shared" / "all.jsonl"
    children = [start(APPEND, path, me, count) for me in range(writers)]
    try:
        for child in children:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in children:
            child.communicate(timeout=30)
    finally:
        for child in children:
            child.kill()
            child.wait(10)

    found, damaged = read(path)
    assert [child.returncode for child in children] == [0] * writers
    assert damaged == 0
    assert [set(record) for record in found].count({"meta"}) == 1
    assert "meta" in found[0]
    assert len(found) == 1 + writers * count
    for me in range(writers):
        mine = [(record["n"], len(record["pad"])) for record in found[1:] if record["who"] == me]
        assert mine == [(number, number * 997 % 9000) for number in range(count)]
    assert [entry.name for entry in path.parent.iterdir()] == ["all.jsonl"]


def test_a_file_held_by_another_process_is_reported_within_two_seconds(tmp_path: Path) -> None:
    """The user waits no longer than that for a hanging shell; readers do not need the lock."""
    path = tmp_path / "held.jsonl"
    LineFile(path).append({"n": 1})
    with holding(path):
        began = time.monotonic()
        with pytest.raises(StoreTrouble, match=r"^held\.jsonl held by another aish process$"):
            LineFile(path).append({"n": 2})

        assert time.monotonic() - began > 1.9
        assert read(path) == ([{"n": 1}], 0)


@pytest.mark.parametrize("child", [(), ("child",)], ids=["alone", "with a child that lives on"])
def test_a_killed_holder_frees_the_file_at_once(tmp_path: Path, child: tuple[str, ...]) -> None:
    """A lock must end with its process: no stale lock file, and no child that inherits it."""
    path = tmp_path / "freed.jsonl"
    with holding(path, *child) as holder:
        holder.kill()
        holder.wait(10)

        LineFile(path).append({"n": 1})
    assert read(path) == ([{"n": 1}], 0)


def test_two_writers_in_one_process_take_turns_too(tmp_path: Path) -> None:
    """The lock belongs to an open file, not to the process."""
    path = tmp_path / "same.jsonl"
    with LineFile(path).writing() as writer:
        with pytest.raises(StoreTrouble, match="held by another aish process"):
            LineFile(path).append({"n": 2})
        writer.write({"n": 1})

    assert read(path) == ([{"n": 1}], 0)


def make_link(path: Path) -> None:
    path.with_name("target").write_bytes(b"")
    path.symlink_to("target")


@pytest.mark.parametrize(
    "make",
    [make_link, lambda path: path.symlink_to("nowhere"), Path.mkdir],
    ids=["a link", "a link to nowhere", "a directory"],
)
def test_only_a_regular_file_is_written(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """A link could redirect private text to a place that others can read."""
    path = tmp_path / "odd.jsonl"
    make(path)
    before = sorted(tmp_path.iterdir())

    with pytest.raises(StoreTrouble, match=r"cannot open .*odd\.jsonl for writing: "):
        LineFile(path).append({"n": 1})

    assert sorted(tmp_path.iterdir()) == before
    assert all(entry.stat().st_size == 0 for entry in before if entry.is_file())


def test_a_directory_in_place_of_a_file_cannot_be_read(tmp_path: Path) -> None:
    """It is an error, not an empty memory."""
    for read_it in (LineFile(tmp_path).read, LineFile(tmp_path).read_back):
        with pytest.raises(StoreTrouble, match=r"cannot read .*: Is a directory"):
            list(read_it())


def test_a_read_only_disk_is_reported_and_can_be_read(tmp_path: Path) -> None:
    """Older records are still there."""
    with mounted(tmp_path / "disk") as disk:
        LineFile(disk / "old.jsonl").append({"n": 1})
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        for path in (disk / "old.jsonl", disk / "new.jsonl", disk / "deep" / "new.jsonl"):
            with pytest.raises(StoreTrouble, match="Read-only file system"):
                LineFile(path).append({"n": 2})
        assert read(disk / "old.jsonl") == ([{"n": 1}], 0)
        assert read(disk / "new.jsonl") == ([], 0)


@pytest.mark.parametrize("room", [0, 1, 17, 500, 1030])
def test_a_full_disk_loses_only_the_new_record(tmp_path: Path, room: int) -> None:
    """The first sign is a partial write. Existing records stay, and writing works again once there is room."""
    path = tmp_path / "full.jsonl"
    old: list[Record] = [{"n": number} for number in range(3)]
    for record in old:
        LineFile(path).append(record)
    before = path.read_bytes()

    trouble = run(LIMITED, path, len(before) + room, 2)

    assert len(trouble) == 2
    assert all(line.startswith(f"cannot write {path}: ") for line in trouble)
    assert path.read_bytes() == before
    run(LIMITED, path, len(before), 0, "freed")
    assert read(path) == ([*old, {"freed": True}], 0)
    assert [entry.name for entry in tmp_path.iterdir()] == ["full.jsonl"]


def test_a_real_disk_that_fills_up_keeps_every_acknowledged_record(tmp_path: Path) -> None:
    """Every acknowledged append is there, every failed one was reported, and freed room is used."""
    with mounted(tmp_path / "disk") as disk:
        file = LineFile(disk / "full.jsonl")
        kept, refused = [], 0
        for number in range(100):
            try:
                file.append({"n": number, "pad": "z" * 3000})
                kept.append(number)
            except StoreTrouble as error:
                assert "no space left on" in str(error).lower()
                refused += 1
        assert kept == list(range(len(kept)))
        assert refused > 50

        found, damaged = read(file.path)
        assert [record["n"] for record in found] == kept
        assert damaged == 0
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        file.append({"n": "more"})
        assert [record["n"] for record in read(file.path)[0]] == [*kept, "more"]


def test_a_torn_end_that_cannot_be_set_aside_stays_where_it_is(tmp_path: Path) -> None:
    """On a full disk the copy may be truncated too; then the only complete one is in the file."""
    path = tmp_path / "torn.jsonl"
    torn = b'{"torn":"' + b"t" * 5000
    path.write_bytes(encode({"n": 1}) + torn)

    run(LIMITED, path, 2000, 1)

    side_answer = path.with_name("torn.jsonl.torn")
    assert torn in path.read_bytes() or torn in side_answer.read_bytes()
    assert read(path)[0][0] == {"n": 1}


def test_files_and_directories_are_private(tmp_path: Path) -> None:
    """Conversations are private, also on shared machines, and so are the torn lines set aside."""
    file = LineFile(tmp_path / "a" / "b" / "private.jsonl")
    old = os.umask(0)
    try:
        file.append({"n": 1})
        with file.path.open("ab") as raw:
            raw.write(b"torn")
        file.append({"n": 2})
    finally:
        os.umask(old)

    modes = {str(path.relative_to(tmp_path)): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "a/b": 0o700, "a/b/private.jsonl": 0o600, "a/b/private.jsonl.torn": 0o600}


def traced(path: Path, script: str) -> list[tuple[str, str]]:
    """Return the calls of a script that write, truncate and sync below TOP, in order."""
    top, log = path.parents[1], path.parents[1] / "log"
    program = (
        "import os, sys; from pathlib import Path; from aish.storage.lines import LineFile\n"
        f"file = LineFile(Path(sys.argv[1]))\n{script}"
    )
    calls = "trace=mkdir,write,ftruncate,fsync,fdatasync,access"
    command = ["strace", "-f", "-y", "-qq", "-e", calls, "-o", str(log), sys.executable, "-c", program, str(path)]
    subprocess.run(command, check=True, timeout=60)
    text = log.read_text(encoding="utf-8").replace(str(top), "TOP")
    return re.findall(r'(\w+)\((?:\d+<|")(TOP[^>"]*|/acknowledged)', text)


@pytest.mark.proves("P5")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_an_append_returns_after_the_record_and_its_directories_are_synced(tmp_path: Path) -> None:
    """Otherwise a power cut could undo an acknowledged write; each record is one write."""
    path = tmp_path.resolve() / "new" / "synced.jsonl"

    assert traced(path, 'for n in (1, 2): file.append({"n": n}); os.access("/acknowledged", 0)') == [
        ("mkdir", "TOP/new"),
        ("fsync", "TOP"),
        ("write", "TOP/new/synced.jsonl"),
        ("fdatasync", "TOP/new/synced.jsonl"),
        ("fsync", "TOP/new"),
        ("access", "/acknowledged"),
        ("write", "TOP/new/synced.jsonl"),
        ("fdatasync", "TOP/new/synced.jsonl"),
        ("access", "/acknowledged"),
    ]


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_torn_line_is_synced_in_its_new_place_before_it_is_truncated(tmp_path: Path) -> None:
    """In another order a power cut loses it."""
    path = tmp_path.resolve() / "new" / "torn.jsonl"
    LineFile(path).append({"n": 1})
    with path.open("ab") as file:
        file.write(b'{"n": 2')

    assert traced(path, 'file.append({"n": 3})') == [
        ("write", "TOP/new/torn.jsonl.torn"),
        ("fsync", "TOP/new/torn.jsonl.torn"),
        ("ftruncate", "TOP/new/torn.jsonl"),
        ("write", "TOP/new/torn.jsonl"),
        ("fdatasync", "TOP/new/torn.jsonl"),
    ]
