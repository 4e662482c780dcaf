"""A short run of the fault tool on the journal, and proof that it would detect a loss."""

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from aish.memory.journal import Journal
from aish.values.turns import Turn

SCRIPT = Path(__file__).parents[2] / "tools" / "faults.py"


sys.path.insert(0, str(SCRIPT.parent))  # as when the script is run
faults = import_module("faults")


def run(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def talk(tmp_path: Path) -> Journal:
    """Write two exchanges, all acknowledged in `acks`."""
    faults.write(tmp_path / "sessions", tmp_path / "acks", 2)
    return Journal(tmp_path / "sessions", faults.NAME)


def problems_of(journal: Journal) -> list[str]:
    found: list[str] = faults.judge(journal.path.parent, faults.read_acks(journal.path.parents[1] / "acks"))
    return [re.sub(r"\d+\.", "", problem) for problem in found]


@pytest.mark.proves("P5", "N24")
def test_fifteen_kills_at_random_lose_nothing_acknowledged() -> None:
    """Neither an added turn nor a shown piece is lost, and no partial answer is marked as complete."""
    code, said = run("kill", "--rounds", "75", "--seconds", "0.1")

    assert re.fullmatch(r"kill +15 rounds +\d+ acknowledged +0 problems\n", said), said
    assert code == 0


@pytest.mark.proves("P5", "N24")
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_a_crash_before_any_system_call_loses_nothing_acknowledged() -> None:
    """Random kills do not hit the short moments between two calls, so each one is tried."""
    code, said = run("points")

    found = re.fullmatch(r"points +(\d+) places +\d+ acknowledged +0 problems\n", said)
    assert found, said
    assert int(found[1]) >= 30
    assert code == 0


def test_a_writer_without_faults_has_no_problems(talk: Journal) -> None:
    """The check must not report false problems."""
    assert problems_of(talk) == []


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        (0, []),
        (1, ["turn 1 is lost", "the numbers are [2, 3, 4, 5]"]),
        (2, ["turn 2 is lost", *(f"piece a0:{n} is lost" for n in range(3)), "the numbers are [1, 3, 4, 5]"]),
        (4, ["turn 4 is lost", *(f"piece a1:{n} is lost" for n in range(3))]),
    ],
)
def test_a_lost_line_is_detected(talk: Journal, line: int, problems: list[str]) -> None:
    """This is the loss it looks for; lines that are no turns do not count."""
    lines = talk.path.read_bytes().splitlines(keepends=True)
    talk.path.write_bytes(b"".join(lines[:line] + lines[line + 1 :]))

    assert problems_of(talk) == problems


def test_duplicates_false_completion_and_damage_are_detected(talk: Journal) -> None:
    """A duplicate turn, a partial answer marked as complete, and damage."""
    entries = list(talk.entries())
    talk.add(entries[0].turn, faults.NOW)
    talk.add(Turn("assistant", entries[1].turn.content[:-5].replace("a", "b", 1)), faults.NOW)
    with talk.path.open("ab") as raw:
        raw.write(b"garbage\n")

    assert problems_of(talk) == [
        "q0 is there 2 times",
        "turn 6 is incomplete but marked as complete",
        "1 lines are damaged",
    ]


def test_a_shown_piece_that_is_not_recovered_is_detected(talk: Journal) -> None:
    """A piece counts as acknowledged once it may be on the screen."""
    with (talk.path.parents[1] / "acks").open("a", encoding="utf-8") as acks:
        acks.write("piece a7.2:0 0\npiece a7.2:1 0\npiece a7.2:2")
    talk.live_path.write_bytes(f"5\n{faults.pieces('a7.2')[0]}".encode())

    assert problems_of(talk) == ["piece a2:1 is lost"]


def test_a_run_without_any_acknowledgement_is_no_success() -> None:
    """A tool that tests nothing finds nothing."""
    code, said = run("kill", "--rounds", "0")

    assert code == 1
    assert "nothing was acknowledged, so nothing was tested" in said


def test_an_unknown_kind_is_refused() -> None:
    """A typo must not look like a run without losses."""
    code, said = run("kil")

    assert code == 2
    assert "unknown kind: kil" in said
