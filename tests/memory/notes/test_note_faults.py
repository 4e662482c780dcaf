"""A short run of each fault test of the notes, proof that it would detect a loss, two writers at once, a full disk."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "faults.py"
sys.path.insert(0, str(SCRIPT.parent))  # as when the script is run
notes = import_module("fault_notes")

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import fault_notes
from aish.memory.notes.operations import Add, Supersede
book = fault_notes.Home(Path(sys.argv[2])).open()
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    book.apply([Add("Decisions", f"{sys.argv[3]} {number}"), Add("Decisions", f"both {number}")], reason="told")
"""
FULL = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import fault_notes
from aish.memory.notes.operations import Add, ToHistory
from aish.values.errors import StoreTrouble
book = fault_notes.Home(Path(sys.argv[2])).open()
ids = [one.id for one in book.apply([Add("A", "x" * 280 + str(n)) for n in range(9)], reason="told")]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
try:
    book.apply([Add("A", "y" * 280), ToHistory(ids[0])], reason="told")
except StoreTrouble as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
book.apply([Add("A", "room again")], reason="told")
"""


def run(kind: str, rounds: int) -> str:
    """Run the tool and return its output without the random numbers; skip what cannot run here."""
    command = [sys.executable, str(SCRIPT), kind, "--rounds", str(rounds), "--seconds", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    said = done.stdout + done.stderr
    if "skipped" in said:
        pytest.skip(said)
    assert done.returncode == int("0 problems" not in said), said
    return re.sub(r"\d+ acknowledged", "N acknowledged", " ".join(said.split()))


@pytest.mark.proves("S13", "X3")
def test_kills_at_random_lose_nothing_acknowledged() -> None:
    """Neither an entry, nor an edit of the person at the same moment, nor the wish to forget."""
    assert run("notes-kill", 20) == "notes-kill 10 rounds N acknowledged 0 problems"


@pytest.mark.proves("S8", "X3")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize("kind", ["notes-points", "notes-errors"])
def test_a_crash_or_an_error_at_a_system_call_loses_nothing_acknowledged(kind: str) -> None:
    """A sample of all places; `make faults` tries every one."""
    assert re.fullmatch(rf"{kind} \d\d places N acknowledged 0 problems", run(kind, 12))


def test_a_full_disk_loses_nothing_acknowledged() -> None:
    assert run("notes-full", 40) == "notes-full 4 disks N acknowledged 0 problems"


def test_a_power_cut_loses_nothing_acknowledged() -> None:
    assert run("notes-power", 50) == "notes-power 2 cuts N acknowledged 0 problems"


def test_eight_writers_killed_one_by_one_lose_nothing() -> None:
    assert run("notes-crowd", 50) == "notes-crowd 1 crowds N acknowledged 0 problems"


@pytest.mark.proves("S37")
def test_two_programs_at_once_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Each adds its own entries, and both add the same ones."""
    commands = [
        [sys.executable, "-c", WRITER, str(SCRIPT.parent), str(tmp_path), name, "15"] for name in ("one", "two")
    ]
    writers = [subprocess.Popen(each, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for each in commands]
    for writer in writers:
        assert writer.stdout and writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.communicate("go\n", timeout=60)

    texts = [entry.text for entry in notes.Home(tmp_path).note("MEMORY.md").entries]
    assert sorted(texts) == sorted(f"{name} {number}" for name in ("one", "two", "both") for number in range(15))


def change_with_room(home: Path, room: int) -> list[str]:
    """Change notes while no file can grow over `room` bytes, then once more with room, and return the texts."""
    command = [sys.executable, "-c", FULL, str(SCRIPT.parent), str(home), str(room)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("cannot write ")
    assert not [path for path in home.rglob("*") if path.name.endswith((".tmp", ".swap"))]
    return [entry.text for entry in notes.Home(home).note("MEMORY.md").entries]


@pytest.mark.proves("S13")
@pytest.mark.parametrize("room", [0, 100, 1000, 2000])
def test_a_full_disk_in_the_middle_of_a_change_leaves_the_old_notes(tmp_path: Path, room: int) -> None:
    """HISTORY.md may be written when MEMORY.md is not: what moves is then in both, never in none."""
    texts = change_with_room(tmp_path, room)

    assert texts == [*("x" * 280 + str(number) for number in range(9)), "room again"]
    history = notes.Home(tmp_path).note("HISTORY.md")
    assert [entry.text for entry in history.entries] == (["x" * 280 + "0"] if room >= 1000 else [])


def test_a_change_that_could_not_be_logged_is_logged_by_the_next_one(tmp_path: Path) -> None:
    texts = change_with_room(tmp_path, 3300)

    assert texts == [*("x" * 280 + str(number) for number in range(1, 9)), "y" * 280, "room again"]
    found = next(change for change in notes.Home(tmp_path).open().log() if change.what == "found")
    assert "y" * 280 in [row.after.text for row in found.rows]


# The check itself


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Run a writer without faults."""
    for work in notes.WORKS:
        notes.write(tmp_path / "home", tmp_path / "acks", work)
    return tmp_path


def problems_of(written: Path) -> list[str]:
    found: list[str] = notes.judge(written / "home", written / "acks", "kill")
    return [re.sub(r"w[0-9a-f]+\.\d+:", "NAME", problem) for problem in found]


def test_a_writer_without_faults_has_no_problems(written: Path) -> None:
    assert problems_of(written) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("MEMORY.md", r"- \S+: is .*\n\Z", "", "NAME is lost"),
        ("MEMORY.md", r"- \S+hand\n", "", "the edit NAMEhand is lost"),
        ("MEMORY.md", r"best .*\n\Z", "best", "MEMORY.md: the entry NAME is incomplete"),
        ("MEMORY.md", r"\A# Mem", "mory", "MEMORY.md has 'moryory'"),
        ("HISTORY.md", r"- \S+: is .*\n|- Until .*\n", "", "NAME did not move"),
    ],
    ids=["entry", "edit", "end", "start", "history"],
)
def test_damage_is_detected(written: Path, file: str, old: str, new: str, problem: str) -> None:
    path = notes.Home(written / "home").folder / file
    text, count = re.subn(old, new, path.read_text(encoding="utf-8"), count=1)
    assert count
    path.write_text(text, encoding="utf-8")

    assert problem in problems_of(written)


def test_a_wish_to_forget_that_is_lost_is_detected(written: Path) -> None:
    log = written / "home" / "log.jsonl"
    lines = [line for line in log.read_text(encoding="utf-8").split("\n") if '"forgotten"' not in line]
    log.write_text("\n".join(lines), encoding="utf-8")

    assert any("can be learned again" in problem for problem in problems_of(written))
