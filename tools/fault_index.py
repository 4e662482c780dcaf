"""Fault test of the index: shells, an importer, indexers and readers run at once and are killed; then the index is
checked.

Run as `fault_index.py ROLE HOME ACKS`, this is one of those processes. Every turn contains a unique name, so that a
search shows which turns are found. A name is written to ACKS once its turn was acknowledged.
"""

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

from aish.memory.finding.finder import ConversationFinder
from aish.memory.finding.index import Indexer
from aish.memory.importing import Importer
from aish.memory.journal import Journal, new_id
from aish.memory.journal_feed import JournalFeed
from aish.memory.redaction import Redaction
from aish.values.errors import StoreTrouble
from aish.values.hits import Hit
from aish.values.imported import ImportedTurn
from aish.values.turns import Turn

ROLES = ("shell", "shell", "import", "index", "index", "read", "read")
ROUNDS_A_HOME = 25  # a larger home takes longer to check
ALL = 1 << 20  # more turns than any home has
PAUSE = 0.01  # seconds between two turns of a shell; keeps the number of turns small enough to check
SOME = 50
NO_MASKS = Redaction(Path(os.devnull), lambda: SimpleNamespace())  # these turns contain no secrets


def finder(home: Path) -> ConversationFinder:
    return ConversationFinder(JournalFeed(home / "sessions"), home / "index", now=lambda: datetime.now(UTC))


def steps() -> Iterator[int]:
    """Count up until the parent process is gone."""
    parent = os.getppid()
    yield from takewhile(lambda _: os.getppid() == parent, count())


def shell(home: Path, acks: Path) -> None:
    """Write turns, and start a new conversation every seventh turn."""
    journal = Journal(home / "sessions", new_id(datetime.now(UTC)))
    for number in steps():
        if number % 7 == 6:
            journal = Journal(home / "sessions", new_id(datetime.now(UTC)))
        name = f"w{os.getpid()}x{number}"
        journal.add(Turn("user", f"{name} was said here"), datetime.now(UTC))
        acknowledge(acks, [name])
        time.sleep(random.uniform(0, PAUSE))


def import_turns(home: Path, acks: Path) -> None:
    """Import the same growing file again and again; each of its turns must exist exactly once."""
    importer = Importer(home / "sessions", "llm", NO_MASKS)
    for step in steps():
        names = [f"i{number}" for number in range(20 * step + 20)]
        importer.take(
            [
                ImportedTurn(f"talk{number // 9}", None, "user", f"{name} was imported", ref=name)
                for number, name in enumerate(names)
            ]
        )
        acknowledge(acks, names)
        time.sleep(random.uniform(0, 20 * PAUSE))


def index(home: Path, acks: Path) -> None:
    for _ in steps():
        Indexer(JournalFeed(home / "sessions"), home / "index").catch_up()


def read(home: Path, acks: Path) -> None:
    """Search during the changes: every acknowledged turn is found, and none is found twice."""
    found = finder(home)
    for _ in steps():
        known = acknowledged(acks)
        name = random.choice(known[-30:]) if known else "nothing"
        result = found.search(name, 50)
        hits = [hit for hit in result.hits if name in hit.text.split()]
        recent = found.recent(40)
        if known and len(hits) != 1 and not result.notes:  # a note says that too many turns are not indexed yet
            complain(acks, f"{name} was found {len(hits)} times by a reader")
        if twice := [name for name, times in Counter(map(place, recent)).items() if times > 1]:
            complain(acks, f"{twice[0]} was twice among the recent turns")


ROLE = {"shell": shell, "import": import_turns, "index": index, "read": read}


def place(hit: Hit) -> tuple[str, int]:
    return hit.conversation, hit.turn


def acknowledge(acks: Path, names: list[str]) -> None:
    _append(acks, "".join(f"{name}\n" for name in names))


def complain(acks: Path, problem: str) -> None:
    _append(acks.with_name("complaints"), problem + "\n")


def _append(path: Path, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def acknowledged(acks: Path) -> list[str]:
    """Return the acknowledged names; an incomplete last line does not count."""
    written = acks.read_text(encoding="utf-8") if acks.exists() else ""
    return list(dict.fromkeys(written.split("\n")[:-1]))


def kill(rounds: int, seconds: float) -> tuple[str, int, list[str]]:
    """Run all roles at once and kill them at random moments; keep the home for the next rounds."""
    total, problems = 0, []
    for first in range(0, rounds, ROUNDS_A_HOME):
        with TemporaryDirectory(ignore_cleanup_errors=True) as work:  # a thread may still write
            home, acks = Path(work) / "home", Path(work) / "acks"
            for number in range(first, min(first + ROUNDS_A_HOME, rounds)):
                crowd(home, acks, seconds)
                problems += [f"round {number}: {problem}" for problem in judge(home, acks)]
            total += len(acknowledged(acks))
    return f"{rounds} rounds", total, problems


def crowd(home: Path, acks: Path, seconds: float) -> None:
    """Start one process per role, and kill them one by one in random order."""
    program = [sys.executable, str(Path(__file__))]
    crowd = [subprocess.Popen([*program, role, str(home), str(acks)], stdout=subprocess.PIPE) for role in ROLES]
    for member in crowd:
        assert member.stdout
        member.stdout.readline()
    random.shuffle(crowd)
    for member in crowd:
        time.sleep(random.uniform(0, seconds))
        member.kill()
    for member in crowd:
        member.communicate()


def judge(home: Path, acks: Path) -> Iterator[str]:
    """Check as the next program would: before the index is brought up to date, and after."""
    complaints = acks.with_name("complaints")
    if complaints.exists():
        yield from complaints.read_text(encoding="utf-8").splitlines()
        complaints.unlink()
    known = acknowledged(acks)
    if not finder(home).search("anything").notes:  # a note says that too many turns are not indexed yet
        yield from (f"at once: {problem}" for problem in missing(home, known))
    try:
        Indexer(JournalFeed(home / "sessions"), home / "index").catch_up()
    except StoreTrouble as error:
        yield f"the index cannot be brought up to date: {error}"
    yield from (f"indexed: {problem}" for problem in missing(home, known))


def missing(home: Path, known: list[str]) -> Iterator[str]:
    """Report turns that are not found exactly once: all of them by `recent`, a sample by a search."""
    found = finder(home)
    recent = found.recent(ALL)
    counts = Counter(hit.text.split()[0] for hit in recent)
    yield from (f"{name} is {counts[name]} times among the recent turns" for name in known if counts[name] != 1)
    yield from (f"{name} is there twice" for name, times in Counter(map(place, recent)).items() if times > 1)
    if [hit.time for hit in recent] != sorted((hit.time for hit in recent), reverse=True):
        yield "the recent turns are not in order"
    for name in random.sample(known, min(len(known), SOME)):
        hits = [place(hit) for hit in found.search(name, 50).hits if name in hit.text.split()]
        if len(hits) != 1:
            yield f"{name} is found {len(hits)} times"


if __name__ == "__main__":
    print("ready", flush=True)
    ROLE[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
