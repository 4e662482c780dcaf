"""Several processes with one ledger: nothing is lost, duplicated or damaged, and none waits forever."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aish.memory.ledger import Ledger
from aish.storage.lines import LOCK_SECONDS, decode, encode
from aish.values.errors import StoreTrouble
from aish.values.stores import Record

HEAD = """
import subprocess, sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.ledger import Ledger
from aish.values.errors import AishError
path = Path(sys.argv[1])
ledger = Ledger(path, path.with_name("index"), now=lambda: datetime.now(UTC))
def ready(word="ready"):
    print(word, flush=True)
    return sys.stdin.readline()
"""
ADD = """
ready()
me, count = sys.argv[2], int(sys.argv[3])
for number in range(count):
    added = ledger.add("fact", f"{me} says {number}", {"source": me})
    assert added.new
    print(added.item.id, flush=True)
    if number % 5 == 4:
        ledger.forget([added.item.id])
ledger.close()
"""
SAME = """
ready()
for number in range(int(sys.argv[2])):
    added = ledger.add("fact", f"all say {number}", {"source": "user"})
    print(added.item.id, int(added.new), flush=True)
ledger.close()
"""
HOLD = """
ledger.hold()
ledger.add("fact", "from the holder")
if "child" in sys.argv:
    subprocess.Popen(["sleep", "60"], close_fds=False, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
ready("held")
ledger.close()
ready("closed")
"""
IN_A_WRITE = """
def changes():
    ready("held")
    return [{"kind": "fact", "content": "slow"}]
ledger.apply(changes)
ready("written")
"""
PURGE = """
from aish.storage.lines import decode, encode
ready()
def change(line):
    record = decode(line)
    return encode({**record, "content": "gone"}) if word in line else line
for number in range(int(sys.argv[2])):
    word = b"purge%03d" % number
    print(ledger.rewrite(change), flush=True)
"""
WAIT_FOR_TURN = """
ready()
print(ledger.add("fact", "late").item.id, flush=True)
"""

Child = subprocess.Popen[str]


def now() -> datetime:
    return datetime(2026, 11, 15, 12, tzinfo=UTC)


@contextmanager
def started(script: str, *arguments: object) -> Iterator[Child]:
    """Run another process with the ledger until the end of the block."""
    command = [sys.executable, "-c", HEAD + script, *map(str, arguments)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin
    assert child.stdout
    with child.stdin, child.stdout:
        try:
            yield child
        finally:
            child.kill()
            child.wait(10)


def says(child: Child) -> str:
    assert child.stdout
    return child.stdout.readline().rstrip("\n")


def go(child: Child) -> None:
    assert child.stdin
    child.stdin.write("go\n")
    child.stdin.flush()


def all_at_once(stack: ExitStack, scripts: list[tuple[str, tuple[object, ...]]]) -> list[list[str]]:
    """Run these at the same time, and return the output of each."""
    children = [stack.enter_context(started(script, *arguments)) for script, arguments in scripts]
    for child in children:
        assert says(child) == "ready"
    for child in children:
        go(child)
    said = [child.communicate(timeout=40)[0].splitlines() for child in children]
    assert [child.returncode for child in children] == [0] * len(children)
    return said


def records(path: Path) -> list[Record]:
    """Return every line of the file; none may be damaged."""
    found = [decode(line) for line in path.read_bytes().splitlines()]
    assert None not in found
    return [record for record in found if record is not None]


@pytest.mark.proves("M5", "M16", "M20")
@pytest.mark.parametrize(("writers", "count"), [(2, 40), (6, 12)])
def test_concurrent_processes_get_unique_ids_and_lose_nothing(tmp_path: Path, writers: int, count: int) -> None:
    """Each holds the lock only for its own write, so all make progress."""
    path = tmp_path / "data" / "memory.jsonl"
    with ExitStack() as stack:
        said = all_at_once(stack, [(ADD, (path, f"w{me}", count)) for me in range(writers)])

    first, *others = records(path)
    ids = [record["id"] for record in others]
    assert first.keys() == {"meta"}
    assert ids == list(range(1, writers * (count + count // 5) + 1))
    for me, mine in enumerate(said):
        written = [record for record in others if record.get("source") == f"w{me}"]
        assert [record["content"] for record in written] == [f"w{me} says {number}" for number in range(count)]
        assert [str(record["id"]) for record in written] == mine
    forgotten = {record["target"] for record in others if record["kind"] == "forget"}
    assert len(forgotten) == writers * (count // 5)
    active = {item.id for item in Ledger(path, path.with_name("index"), now=now).items()}
    assert active == set(ids) - forgotten - {record["id"] for record in others if record["kind"] == "forget"}
    assert {entry.name for entry in path.parent.iterdir()} <= {"memory.jsonl", "index"}


@pytest.mark.proves("M20", "M57")
def test_the_same_text_from_concurrent_processes_is_written_once(tmp_path: Path) -> None:
    """The second writer reads what the first one wrote before it writes."""
    path = tmp_path / "memory.jsonl"
    with ExitStack() as stack:
        said = all_at_once(stack, [(SAME, (path, 25))] * 4)

    assert [record["content"] for record in records(path)[1:]] == [f"all say {number}" for number in range(25)]
    answers = [line.split() for lines in said for line in lines]
    assert sorted(int(id) for id, new in answers if new == "1") == list(range(1, 26))
    assert {lines[number].split()[0] for lines in said for number in (0,)} == {"1"}


@pytest.mark.proves("M16", "M17", "M21")
def test_waiting_for_a_slow_writer_fails_after_two_seconds(tmp_path: Path) -> None:
    """Another shell may hang during a write; reading still works, and nothing is written without the lock."""
    path = tmp_path / "memory.jsonl"
    ledger = Ledger(path, now=now)
    ledger.add("fact", "before")
    with started(IN_A_WRITE, path) as child:
        assert says(child) == "held"
        before = path.read_bytes()
        began = time.monotonic()
        assert [item.content for item in ledger.items()] == ["before"]
        assert ledger.known("BEFORE")
        assert [record.get("content") for record in ledger.records_back()] == ["before", None]
        assert time.monotonic() - began < LOCK_SECONDS  # it did not wait for the lock

        began = time.monotonic()
        with pytest.raises(StoreTrouble, match=r"^memory\.jsonl held by another aish process$"):
            ledger.add("fact", "now")
        assert time.monotonic() - began > 1.8
        assert path.read_bytes() == before

        go(child)
        assert says(child) == "written"
        assert ledger.add("fact", "now").item.id == 3
    assert [record["content"] for record in records(path)[1:]] == ["before", "slow", "now"]


@pytest.mark.proves("M17", "M19", "M21")
def test_an_exclusive_ledger_keeps_others_out_from_open_to_close(tmp_path: Path) -> None:
    """Another exclusive open fails at once; readers never need the lock."""
    path = tmp_path / "memory.jsonl"
    with started(HOLD, path) as child:
        assert says(child) == "held"
        ledger = Ledger(path, now=now)
        began = time.monotonic()
        with pytest.raises(StoreTrouble, match=r"^memory\.jsonl held by another aish process$"):
            ledger.hold()
        assert [item.content for item in ledger.items()] == ["from the holder"]
        assert time.monotonic() - began < LOCK_SECONDS  # it did not wait for the lock

        go(child)
        assert says(child) == "closed"  # and it keeps running
        ledger.hold()
        assert ledger.add("fact", "mine").item.id == 2
        ledger.close()


@pytest.mark.proves("M19")
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV])
def test_a_holder_that_dies_by_any_signal_frees_the_ledger_at_once(tmp_path: Path, signum: signal.Signals) -> None:
    """There is no lock file that could be left behind."""
    path = tmp_path / "memory.jsonl"
    with started(HOLD, path) as child:
        assert says(child) == "held"
        child.send_signal(signum)
        child.wait(10)

        ledger = Ledger(path, now=now)
        ledger.hold()
        ledger.close()


@pytest.mark.proves("M19")
@pytest.mark.parametrize("how", ["killed", "closed"])
def test_a_child_that_keeps_running_does_not_keep_the_lock(tmp_path: Path, how: str) -> None:
    """Shells start programs, and some of them outlive the shell."""
    path = tmp_path / "memory.jsonl"
    with started(HOLD, path, "child") as child:
        assert says(child) == "held"
        children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        sleeper = int(children.read_text(encoding="ascii").split()[0]) if children.exists() else 0
        try:
            if how == "killed":
                child.kill()
                child.wait(10)
            else:
                go(child)
                assert says(child) == "closed"
            ledger = Ledger(path, now=now)
            ledger.hold()
            ledger.close()
        finally:
            if sleeper:
                os.kill(sleeper, signal.SIGKILL)


@pytest.mark.proves("M17", "M18")
def test_an_exclusive_ledger_refuses_a_second_one_in_the_same_process(tmp_path: Path) -> None:
    """A `lockf` lock would allow it, and would be dropped when the second one is closed."""
    path = tmp_path / "memory.jsonl"
    first, second, third = (Ledger(path, now=now) for _ in range(3))
    first.hold()
    for _ in range(2):
        with pytest.raises(StoreTrouble, match=r"^memory\.jsonl held by another aish process$"):
            second.hold()
    assert list(second.items()) == []  # opens and closes the file
    second.close()
    with pytest.raises(StoreTrouble, match="held by another aish process"):
        third.hold()

    assert [first.add("fact", word).item.id for word in ("one", "two")] == [1, 2]
    assert [item.content for item in third.items()] == ["two", "one"]
    first.close()
    third.hold()
    third.close()


@pytest.mark.proves("M18")
def test_an_exclusive_ledger_cannot_be_held_again(tmp_path: Path) -> None:
    """The second attempt is an error, and the first lock stays in force."""
    path = tmp_path / "memory.jsonl"
    first, other = Ledger(path, now=now), Ledger(path, now=now)
    first.hold()

    with pytest.raises(StoreTrouble, match="held by another aish process"):
        first.hold()

    with pytest.raises(StoreTrouble, match="held by another aish process"):
        other.hold()
    first.close()
    other.hold()
    other.close()


@pytest.mark.proves("M16")
def test_others_can_write_between_two_writes(tmp_path: Path) -> None:
    """The lock is for one write, not for the life of a shell, also after a refused write."""
    path = tmp_path / "memory.jsonl"
    ledgers = [Ledger(path, now=now) for _ in range(4)]

    ids = [ledger.add("fact", f"{turn} {place}").item.id for turn in range(3) for place, ledger in enumerate(ledgers)]
    for ledger in ledgers:
        with pytest.raises(StoreTrouble, match=r"^no$"):
            ledger.apply(refuse)
        assert ledgers[0].add("fact", f"after {ledger!r}").new

    assert ids == list(range(1, 13))
    assert len({ledger.state().last_id for ledger in ledgers}) == 1
    for ledger in ledgers:
        ledger.close()


def refuse() -> list[Record]:
    raise StoreTrouble("no")


@pytest.mark.proves("M1", "M20")
def test_a_purge_while_others_remember_loses_nothing(tmp_path: Path) -> None:
    """The file is replaced again and again while others append."""
    path = tmp_path / "memory.jsonl"
    old: list[Record] = [
        {"id": id, "ts": "", "kind": "fact", "content": f"purge{id - 1:03} this"} for id in range(1, 21)
    ]
    path.write_bytes(b"".join(encode(record) for record in [{"meta": {}}, *old]))
    with ExitStack() as stack:
        said = all_at_once(stack, [(PURGE, (path, 20)), *((ADD, (path, f"w{me}", 15)) for me in range(3))])

    found = records(path)[1:]
    assert said[0] == ["1"] * 20
    assert [record["id"] for record in found] == list(range(1, 21 + 3 * 18))
    assert [record["content"] for record in found[:20]] == ["gone"] * 20
    for me in range(3):
        mine = [record["content"] for record in found if record.get("source") == f"w{me}"]
        assert mine == [f"w{me} says {number}" for number in range(15)]
    assert [entry.name for entry in tmp_path.iterdir() if entry.suffix == ".tmp"] == []


def waits_for(child: Child, path: Path) -> bool:
    """Return whether the process has opened the file."""
    for link in Path(f"/proc/{child.pid}/fd").iterdir():
        try:
            if link.readlink() == path.resolve():
                return True
        except OSError:
            pass  # closed meanwhile
    return False


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        os.sched_yield()


@pytest.mark.proves("M16")
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_writer_that_waited_during_a_purge_writes_into_the_new_file(tmp_path: Path) -> None:
    """The file it had opened is no longer the ledger when it gets the lock."""
    path = tmp_path / "memory.jsonl"
    ledger = Ledger(path, now=now)
    ledger.add("fact", "one")
    with started(WAIT_FOR_TURN, path) as child:
        assert says(child) == "ready"

        def change(line: bytes) -> bytes:
            if b"one" in line:  # we have the lock now
                go(child)
                until(lambda: waits_for(child, path))
                return encode({"id": 1, "kind": "forget", "target": 1})
            return line

        assert ledger.rewrite(change) == 1
        assert says(child) == "2"

    assert [record.get("content") for record in records(path)[1:]] == [None, "late"]
    assert [item.content for item in ledger.items()] == ["late"]
    ledger.close()


@pytest.mark.proves("M17")
def test_an_exclusive_ledger_continues_after_an_editor_replaced_the_file(tmp_path: Path) -> None:
    """The locked file was replaced and is invisible; new items must go into the visible one."""
    path = tmp_path / "memory.jsonl"
    holder, other = Ledger(path, now=now), Ledger(path, now=now)
    holder.hold()
    holder.add("fact", "one")
    edited = path.with_name("edited")
    edited.write_bytes(path.read_bytes() + b'{"id":5,"kind":"fact","content":"by hand"}\n')
    edited.replace(path)

    assert holder.add("fact", "two").item.id == 6

    assert sorted(item.content for item in other.items()) == ["by hand", "one", "two"]
    with pytest.raises(StoreTrouble, match="held by another aish process"):
        other.hold()
    holder.close()


@pytest.mark.proves("M21")
def test_readers_see_consistent_states_while_others_write(tmp_path: Path) -> None:
    """At any time, no id is missing between the first and the last one shown."""
    path = tmp_path / "memory.jsonl"
    ledger = Ledger(path, path.with_name("index"), now=now)
    with started(SAME, path, 60) as child:
        assert says(child) == "ready"
        go(child)
        seen = 0
        while seen < 60:
            ids = sorted(item.id for item in ledger.items())
            assert ids == list(range(1, len(ids) + 1))
            assert len(ids) >= seen
            assert child.poll() is None or seen <= len(ids)
            seen = len(ids)
            if child.poll() is not None:
                assert len(list(ledger.items())) == 60
    assert ledger.state().damaged == 0
    ledger.close()
