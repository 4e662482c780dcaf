"""Break the journal on purpose, and see whether anything is lost that was acknowledged.

kill     a writer is killed at a random moment, again and again
points   a writer is killed before each of its system calls in turn         (needs strace)
errors   its system calls fail or do half their work: a full or broken disk (needs strace)
power    the power is cut under a writer on a disk of its own               (needs root and a loop device)
control  the same without any sync, which must lose something               (needs eatmydata too)

One line is printed for each; the exit code is 1 when something was lost.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from aish.memory.journal import Entry, Journal
from aish.storage.lines import Damage
from aish.values.errors import StoreTrouble
from aish.values.turns import Turn

NAME, NOW = "talk", datetime(2026, 11, 15, tzinfo=UTC)
CALLS = ("mkdir", "openat", "flock", "write", "fdatasync", "fsync", "ftruncate", "unlink")
# At one call, and from one call on (+).
ERRORS = ("write:error=ENOSPC", "write:error=ENOSPC+", "write:retval=7", "fdatasync:error=EIO", "openat:error=EROFS")


class Skipped(Exception):
    """This fault cannot be tried here, for the reason given."""


class Outcome(NamedTuple):
    """What came of one kind of fault."""

    tried: str
    acknowledged: int
    problems: list[str]


class Acks(NamedTuple):
    """What a writer was told is safe: turns by number, and pieces of answers; and how often it was told of trouble."""

    turns: dict[int, str]
    pieces: list[str]
    troubles: int


def write(directory: Path, acks: Path, exchanges: int) -> None:
    """Be the writer that is killed: talk, and say elsewhere what was acknowledged, after it was."""
    journal = Journal(directory, NAME)
    log = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def attempt(kind: str, name: str, act: Callable[[], int | None]) -> None:
        try:
            done = f"{kind} {name} {act() or 0}\n"
        except StoreTrouble:
            done = f"trouble {name} 0\n"
        os.write(log, done.encode())

    print("ready", flush=True)
    for number in range(exchanges):
        question, answer = f"q{os.getpid()}.{number}", f"a{os.getpid()}.{number}"
        attempt("turn", question, partial(journal.add, Turn("user", text(question)), NOW))
        for piece in pieces(answer):
            attempt("piece", piece.split(" ")[0], partial(journal.show, piece))
        attempt("turn", answer, partial(journal.add, Turn("assistant", text(answer)), NOW))


def pieces(name: str) -> list[str]:
    """The text of a turn in pieces of many sizes, some longer than a page of memory; its name tells it all."""
    return [f"{name}:{place} " + "ü" * (zlib.crc32(f"{name}{place}".encode()) % 3000) + " " for place in range(3)]


def text(name: str) -> str:
    return "".join(pieces(name))


def read_acks(path: Path) -> Acks:
    """Read what was acknowledged; a last line without an end was not."""
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [line.split(" ") for line in written.split("\n")[:-1]]
    return Acks(
        turns={int(number): name for kind, name, number in lines if kind == "turn"},
        pieces=[name for kind, name, _ in lines if kind == "piece"],
        troubles=sum(kind == "trouble" for kind, *_ in lines),
    )


def judge(directory: Path, acks: Acks, *, shown: bool = True) -> list[str]:
    """Open the journal as the next program would, and say what is wrong; `shown`: pieces count as acknowledged too."""
    journal, damage = Journal(directory, NAME), Damage()
    journal.recover(NOW)
    journal.add(Turn("user", text(f"after{time.monotonic_ns()}")), NOW)
    entries = list(journal.entries(damage))
    turns = {(entry.number, entry.turn.content) for entry in entries}
    words = {word for entry in entries for word in entry.turn.content.split(" ")}
    return [
        *(f"turn {number} is lost" for number, name in acks.turns.items() if (number, text(name)) not in turns),
        *(f"piece {name} is lost" for name in acks.pieces if shown and name not in words),
        *never_right(entries),
        *(["the live file is still there"] if journal.live_path.exists() else []),
        *([f"{damage.lines} lines are damaged"] if damage.lines else []),
    ]


def never_right(entries: Sequence[Entry]) -> Iterator[str]:
    """Find what no crash may cause: numbers given twice, turns told twice, half an answer that is called whole."""
    numbers = [entry.number for entry in entries]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the numbers are {numbers}"
    names = Counter(entry.turn.content.split(":")[0] for entry in entries)
    yield from (f"{name} is there {count} times" for name, count in names.items() if count > 1)
    for entry in entries:
        if entry.turn.state == "complete" and entry.turn.content != text(entry.turn.content.split(":")[0]):
            yield f"turn {entry.number} is not whole and called complete"


def start(directory: Path, acks: Path, exchanges: int, *around: str) -> subprocess.Popen[bytes]:
    """Start a writer inside the program `around`."""
    command = [*around, sys.executable, __file__, "write", str(directory), str(acks), str(exchanges)]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)


def end(writer: subprocess.Popen[bytes]) -> None:
    """Kill a writer and what is around it."""
    os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()


def kill(rounds: int, seconds: float) -> Outcome:
    """One conversation for all rounds, so that each has to live with what the one before left behind."""
    problems: list[str] = []
    with TemporaryDirectory() as work:
        directory, log = Path(work) / "sessions", Path(work) / "acks"
        for _ in range(rounds):
            writer = start(directory, log, 1_000_000)
            assert writer.stdout
            writer.stdout.readline()
            time.sleep(random.uniform(0, seconds))
            end(writer)
            problems += judge(directory, read_acks(log))
        acks = read_acks(log)
    return Outcome(f"{rounds} rounds", len(acks.turns) + len(acks.pieces), problems)


def points(rounds: int, seconds: float) -> Outcome:
    """Each call that touches the journal, in two exchanges: one that makes the file and one that finds it."""
    return sweep([f"{call}:signal=SIGKILL" for call in CALLS], 100)


def errors(rounds: int, seconds: float) -> Outcome:
    """The writer is told, goes on, and nothing is lost but what it was told of; one failed call costs one turn."""
    return sweep(ERRORS, 12)


def sweep(faults: Sequence[str], most: int) -> Outcome:
    """Put each fault at the first call, the second, and so on."""

    def walk(fault: str) -> list[Outcome]:
        found: list[Outcome] = []
        for place in range(1, most + 1):
            code, acks, problems = inject(f"{fault.rstrip('+')}:when={place}{'+' * fault.count('+')}")
            if "SIGKILL" in fault and code == 0:
                break  # there was no such call any more
            if "SIGKILL" not in fault and code != 0:
                problems.append(f"the writer ended with {code}")
            if "+" not in fault and acks.troubles > 1:
                problems.append(f"{acks.troubles} were refused for one error")
            found.append(Outcome("", len(acks.turns), [f"{fault} {place}: {problem}" for problem in problems]))
        return found or [Outcome("", 0, [f"{fault} was never met"])]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [outcome for walked in pool.map(walk, faults) for outcome in walked]
    problems = [problem for outcome in found for problem in outcome.problems]
    return Outcome(f"{len(found)} places", sum(outcome.acknowledged for outcome in found), problems)


def inject(fault: str) -> tuple[int, Acks, list[str]]:
    """Run a writer with a fault in the calls that touch the journal: its exit code, its acks, what is wrong after."""
    strace = shutil.which("strace")
    if not strace:
        raise Skipped("strace is not installed")
    with TemporaryDirectory() as work:
        directory, log = Path(work).resolve() / "sessions", Path(work) / "acks"
        names = ("", f"{NAME}.jsonl", f"{NAME}.live")
        paths = [word for name in names for word in ("-P", str(directory / name))]
        what = ["-e", f"trace={fault.split(':')[0]}", "-e", f"inject={fault}"]
        writer = start(directory, log, 2, strace, "-f", "-qq", "-o", "/dev/null", *paths, *what)
        writer.communicate(timeout=60)
        acks = read_acks(log)
        # Where a call fails, the answer may be refused after it was shown; the user was told then.
        return writer.returncode, acks, judge(directory, acks, shown="SIGKILL" in fault)


def power(rounds: int, seconds: float) -> Outcome:
    """A disk is found as it was at some moment: what was never synced is not on it."""
    return cut(max(1, rounds // 5), seconds)


def control(rounds: int, seconds: float) -> Outcome:
    """Without syncs something must be lost, or a cut proves nothing."""
    eatmydata = shutil.which("eatmydata")
    if not eatmydata:
        raise Skipped("eatmydata is not installed")
    found = cut(2, seconds, eatmydata)
    return found._replace(problems=[] if found.problems else ["nothing was lost, so a power cut proves nothing here"])


def cut(rounds: int, seconds: float, *around: str) -> Outcome:
    acknowledged, problems = 0, []
    with TemporaryDirectory() as work:
        image, after, log = Path(work) / "image", Path(work) / "after", Path(work) / "acks"
        for number in range(rounds):
            log.unlink(missing_ok=True)
            with disk(image, fresh=True) as top:
                writer = start(top / "data" / "sessions", log, 1_000_000, *around)
                try:
                    while not read_acks(log).turns and writer.poll() is None:
                        time.sleep(0.01)
                    time.sleep(random.uniform(0, seconds))
                    os.killpg(writer.pid, signal.SIGSTOP)
                    acks = read_acks(log)  # before the disk, which may only have more
                    shutil.copyfile(image, after)
                finally:
                    end(writer)
            with disk(after) as top:
                found = judge(top / "data" / "sessions", acks, shown=False)
            acknowledged += len(acks.turns)
            problems += [f"cut {number}: {problem}" for problem in found]
    return Outcome(f"{rounds} cuts", acknowledged, problems)


@contextmanager
def disk(image: Path, *, fresh: bool = False) -> Iterator[Path]:
    """The file system in a file. It does not write back by itself while we look."""
    if os.geteuid():
        raise Skipped("only root may mount a disk")
    top = image.with_name("disk")
    top.mkdir(exist_ok=True)
    try:
        if fresh:
            image.write_bytes(b"")
            os.truncate(image, 32 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True, check=True)
        subprocess.run(["mount", "-o", "loop,commit=300", image, top], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if not fresh:
            raise  # the cut must leave a disk that mounts
        raise Skipped(f"no disk can be made here: {error}") from error
    try:
        yield top
    finally:
        subprocess.run(["umount", top], check=True)


KINDS = {"kill": kill, "points": points, "errors": errors, "power": power, "control": control}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; all unless you say")
    parser.add_argument("--rounds", type=int, default=100, help="how often to kill; the power is cut a fifth as often")
    parser.add_argument("--seconds", type=float, default=0.3, help="how long a writer may live at most")
    options = parser.parse_args()
    if unknown := set(options.kinds) - KINDS.keys():
        parser.error(f"no such kind: {', '.join(sorted(unknown))}")
    lost = False
    for kind in options.kinds or KINDS:
        try:
            tried, acknowledged, problems = KINDS[kind](options.rounds, options.seconds)
        except Skipped as reason:
            print(f"{kind:<8} skipped: {reason}", flush=True)
            continue
        problems += [] if acknowledged else ["nothing was acknowledged, so nothing was tried"]
        print(f"{kind:<8} {tried:>12} {acknowledged:>8} acknowledged {len(problems):>6} problems", flush=True)
        print(*(f"    {problem}\n" for problem in problems[:20]), sep="", end="", flush=True)
        lost = lost or bool(problems)
    return int(lost)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
