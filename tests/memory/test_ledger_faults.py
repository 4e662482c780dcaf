"""A short run of each fault test of the ledger, and proof that it would detect a loss."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from world import World

SCRIPT = Path(__file__).parents[2] / "tools" / "faults.py"
sys.path.insert(0, str(SCRIPT.parent))  # as when the script is run
ledger = import_module("fault_ledger")
WORK = "add set add edit forget undo add purge add forget"


def run(kind: str, rounds: int) -> str:
    """Run the tool and return its output without the random numbers; skip what cannot run here."""
    command = [sys.executable, str(SCRIPT), kind, "--rounds", str(rounds), "--seconds", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    if "skipped" in said:
        pytest.skip(said)
    assert done.returncode == int("0 problems" not in said), said
    return re.sub(r"\d+ acknowledged", "N acknowledged", " ".join(said.split()))


@pytest.mark.proves("M5", "M8", "M61")
def test_kills_at_random_lose_nothing_acknowledged() -> None:
    """Neither an item nor a tombstone is lost, and an acknowledged purge leaves nothing behind."""
    assert run("ledger-kill", 15) == "ledger-kill 15 rounds N acknowledged 0 problems"


@pytest.mark.proves("M61")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("kind", ["ledger-points", "ledger-errors"])
def test_a_crash_or_an_error_at_a_system_call_loses_nothing_acknowledged(kind: str) -> None:
    """A sample of all places; `make faults` tries every one."""
    assert re.fullmatch(rf"{kind} \d\d places N acknowledged 0 problems", run(kind, 20))


def test_a_full_disk_loses_nothing_acknowledged() -> None:
    """The user gets an error, and items added later, when there is room, are kept."""
    assert run("ledger-full", 40) == "ledger-full 4 disks N acknowledged 0 problems"


def test_a_power_cut_loses_nothing_acknowledged() -> None:
    """Acknowledged changes are on the disk, not only in memory."""
    assert run("ledger-power", 20) == "ledger-power 2 cuts N acknowledged 0 problems"


def test_a_power_cut_without_syncs_is_detected() -> None:
    """Otherwise the test above proves nothing."""
    assert run("ledger-control", 20) == "ledger-control 1 cuts N acknowledged 0 problems"


@pytest.mark.proves("M16", "M19", "M20")
def test_eight_writers_killed_one_by_one_lose_nothing() -> None:
    """They share one file, use no id twice, and a killed one does not block the others."""
    assert run("ledger-crowd", 50) == "ledger-crowd 1 crowds N acknowledged 0 problems"


@pytest.mark.proves("M14")
def test_damage_anywhere_hides_only_the_line_it_is_in() -> None:
    """Cut or changed at a sample of bytes: other lines survive, it is reported, and an item can be added."""
    assert re.fullmatch(r"ledger-damage \d+ places N acknowledged 0 problems", run("ledger-damage", 12))


@pytest.mark.proves("M14")
def test_doctor_counts_damaged_lines(world: World) -> None:
    """The same counters, where the user looks for them."""
    world.script()
    ledger.write(world.home, world.directory / "acks", ledger.SMALL)
    path = world.places.memory
    data = path.read_bytes()
    places = [match.start() for match in re.finditer(b"is the best", data)]
    for place in places[:2]:
        data = data[:place] + b"?" + data[place + 1 :]
    path.write_bytes(data[:-9])

    assert "2 damaged line(s) are skipped" in world.aish("doctor").out
    assert world.aish("memory", "add", "Tea is ready.").code == 0
    assert "an incomplete last line of memory.jsonl was moved to" in world.aish("doctor").out
    assert path.with_name("memory.jsonl.torn").exists()


class Written:
    """A home written without faults, and the check of what a test did to it."""

    def __init__(self, directory: Path) -> None:
        self.home, self.acks = directory / "home", directory / "acks"
        ledger.write(self.home, self.acks, WORK)
        self.path = self.home / "data" / "memory.jsonl"

    def change(self, change: Callable[[list[bytes]], list[bytes]]) -> None:
        lines = self.path.read_bytes().splitlines(keepends=True)
        self.path.write_bytes(b"".join(change(lines)))

    def problems(self, fault: str = "kill") -> list[str]:
        found: list[str] = ledger.judge(self.home, self.acks, fault)
        return [re.sub(r"w[0-9a-f]+\.", "w.", problem) for problem in found]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def test_a_writer_without_faults_has_no_problems(written: Written) -> None:
    """The check must not report false problems, and every operation was tried."""
    done = [line["done"] for line in ledger.read_acks(written.acks) if "done" in line]

    assert done == WORK.split()
    assert written.problems() == []


def test_a_lost_item_is_detected(written: Written) -> None:
    """This is the loss it looks for."""
    written.change(lambda lines: [*lines[:-2], lines[-1]])

    assert any("is lost" in problem for problem in written.problems())


def test_a_lost_tombstone_is_detected(written: Written) -> None:
    """A forgotten item would return."""
    written.change(lambda lines: lines[:-1])

    assert [problem.split(" is ")[-1] for problem in written.problems("crowd")] == ["back"]


def test_duplicate_joined_or_damaged_lines_are_detected(written: Written) -> None:
    """A crash must not cause any of these."""
    written.change(lambda lines: [*lines, lines[-2], lines[2].rstrip(b"\n") + lines[3], b"garbage\n"])

    found = written.problems()

    assert sum("is damaged" in problem for problem in found) == 2
    assert any("comes after" in problem for problem in found)
    assert any("another line already has" in problem for problem in found)


def test_leftovers_of_a_purge_are_detected(written: Written) -> None:
    """In any file, including unknown ones; a missing fingerprint is detected too."""
    gone = next(line["gone"][0] for line in ledger.read_acks(written.acks) if line.get("done") == "purge")
    (written.home / "data" / ".old.tmp").write_bytes(f"x{gone}x".encode())
    (written.home / "data" / "salt").write_bytes(bytes(32))
    short = re.sub(r"w[0-9a-f]+\.", "w.", gone)

    assert written.problems() == [f"{short} is still in .old.tmp", f"{short} can be learned again"]


def test_a_partly_done_operation_is_detected(written: Written) -> None:
    """It was announced, and the state is neither the one before nor the one after it."""
    last = [line for line in ledger.read_acks(written.acks) if "done" in line][-1]["after"]
    tries = {"tries": "edit", "before": last, "after": [*last[1:], "w1.1:"], "gone": []}
    with written.acks.open("a", encoding="utf-8") as acks:
        acks.write(json.dumps(tries) + "\n")
    memory, _ = ledger.open_home(written.home)
    item = next(item for item in memory.items() if last[0] in item.content)
    memory.forget([item.id])
    memory.close()

    assert [problem.split(" found ")[0] for problem in written.problems()] == ["before add"]
    assert written.problems("crowd") == []


def test_a_wrong_index_is_detected(written: Written) -> None:
    """It covers the file, has the right checksum, and hides an existing item."""
    memory, places = ledger.open_home(written.home)
    state = ledger.ledger_of(memory).state()
    state.hidden.add(next(state.newest())[0])
    ledger.LedgerSnapshot.write(places.indexes / "ledger", state.snapshot((0, 0, 0)))

    assert any("with an index" in problem for problem in written.problems("crowd"))


@pytest.mark.proves("M21")
def test_a_reader_during_a_purge_sees_all_other_items(tmp_path: Path) -> None:
    """The file is replaced while a reader without a lock reads it; no item may seem to be missing."""
    memory, places = ledger.open_home(tmp_path)
    contents = [f"Note {number} {'x' * 3900}" for number in range(2300)]
    ledger.ledger_of(memory).apply(lambda: [{"kind": "fact", "content": content} for content in contents])

    def purge(done: int, whole: int) -> None:
        if memory.get(1):
            memory.purge(contents[:1], [places.data], [places.salt])

    reader = ledger.Ledger(places.memory, now=lambda: datetime.now(UTC), progress=purge)

    assert {item.content for item in reader.items()} >= set(contents[1:])


@pytest.mark.proves("M61")
def test_a_purge_does_not_touch_the_temporary_file_of_another(tmp_path: Path) -> None:
    """Otherwise partial files or wrong checksums would be put in place. The owner of the file cleans it."""
    _, places = ledger.open_home(tmp_path)
    live, unfinished = places.sessions / "talk.live", places.data / ".costs.jsonl.1.tmp"

    def now() -> datetime:
        if live.exists():  # the purge is running, and has removed older files
            unfinished.write_text("Tea at fo", encoding="utf-8")
        return datetime.now(UTC)

    redaction = ledger.Redaction(places.salt, lambda: ledger.PATTERNS)
    memory, _ = ledger.open_memory(places.memory, places.indexes / "ledger", redaction, now)
    memory.remember("Tea at")
    live.parent.mkdir()
    live.write_text("1\nTea", encoding="utf-8")
    memory.purge(["Tea at"], [places.data], [places.salt])

    assert unfinished.read_text(encoding="utf-8") == "Tea at fo"


def test_a_run_that_acknowledges_nothing_is_no_success() -> None:
    """A tool that tries nothing finds nothing."""
    assert "nothing was acknowledged, so nothing was tested" in run("ledger-kill", 0)
