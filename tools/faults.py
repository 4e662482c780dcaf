"""Break the journal, the ledger and the notes on purpose, and check that nothing acknowledged is lost.

kill     a writer is killed at a random moment, again and again
points   a writer is killed before each of its system calls in turn         (needs strace)
errors   its system calls fail or write only a part: full or broken disk    (needs strace)
power    the power is cut while a writer uses its own disk                  (needs root and a loop device)
control  the same without any sync; must lose something                     (needs eatmydata too)

These test the journal. The same exist for the ledger (ledger-kill, …). For the ledger only:

ledger-full     the disk is full after each page of it in turn              (needs root)
ledger-crowd    eight writers at once, killed one by one
ledger-damage   the file is cut at each byte, and each byte is changed

For the notes: notes-kill, notes-points, notes-errors, notes-full, notes-power and notes-crowd.

For the index of all conversations:

index-kill      shells, importers, indexers and readers at once, all killed

Prints one line for each; the exit code is 1 when something was lost.
"""

import argparse
import math
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

import fault_index
import fault_ledger
import fault_notes

from aish.memory.journal import Journal
from aish.values.errors import StoreTrouble
from aish.values.stores import Damage
from aish.values.turns import JournalEntry, Turn

NAME, NOW = "talk", datetime(2026, 11, 15, tzinfo=UTC)
WHOLE = 500  # rounds of a full run
ROUNDS_A_HOME = 100
CROWD = 8
# System calls that change files. A `?` marks calls that not every machine has.
CALLS = (
    "openat flock write pwrite64 fdatasync fsync ftruncate ?mkdir ?mkdirat ?rename ?renameat ?renameat2 ?link ?linkat"
    " ?unlink ?unlinkat ?chmod ?fchmodat".split()
)
# Errors at one call, or at one call and all after it (+).
ERRORS = (
    *("write:error=ENOSPC", "write:error=ENOSPC+", "write:retval=7", "pwrite64:error=ENOSPC"),
    *("fdatasync:error=EIO", "fdatasync:error=EIO+", "fsync:error=EIO", "fsync:error=EIO+"),
    *("renameat2:error=EIO", "renameat2:error=ENOSYS+", "link:error=EIO", "link:error=EPERM", "chmod:error=EIO"),
    *("openat:error=EROFS", "openat:error=EROFS+", "mkdir:error=EROFS", "rename:error=EROFS", "unlink:error=EROFS"),
)


class Skipped(Exception):
    """This fault cannot be tried here, for the given reason."""


class Outcome(NamedTuple):
    """The result of one kind of fault."""

    tried: str
    acknowledged: int
    problems: list[str]


class Subject(NamedTuple):
    """The store under test: a program that writes and logs what was acknowledged, and a check of what is left."""

    program: Path  # run as PROGRAM write HOME ACKS WORK
    works: tuple[str, ...]  # what the writer does in runs that try every system call
    prepare: Callable[[Path], None]  # prepares the home for all works but the first
    long: str  # work that never ends before the writer is killed
    acknowledged: Callable[[Path], int]
    troubles: Callable[[Path], int]
    judge: Callable[[Path, Path, str], list[str]]  # home, acks, fault


class Acks(NamedTuple):
    """What a writer logged: acknowledged turns by number, acknowledged pieces of answers, and the number of errors."""

    turns: dict[int, str]
    pieces: list[str]
    troubles: int


def write(directory: Path, acks: Path, exchanges: int) -> None:
    """Run as the writer that is killed: write turns, and log each one after it was acknowledged."""
    journal = Journal(directory, NAME)
    log = os.open(acks, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    said = os.pread(log, os.fstat(log).st_size, 0)
    os.ftruncate(log, said.rfind(b"\n") + 1)  # an earlier writer may have been killed in the middle of a line

    def attempt(kind: str, name: str, act: Callable[[], int | None]) -> None:
        try:
            done = f"{kind} {name} {act() or 0}\n"
        except StoreTrouble:
            done = f"trouble {name} 0\n"
        os.writev(log, [done.encode()])  # not `write`, which may be set to fail

    print("ready", flush=True)
    for number in range(exchanges):
        question, answer = f"q{os.getpid()}.{number}", f"a{os.getpid()}.{number}"
        attempt("turn", question, partial(journal.add, Turn("user", text(question)), NOW))
        for piece in pieces(answer):
            attempt("piece", piece.split(" ")[0], partial(journal.show, piece))
        attempt("turn", answer, partial(journal.add, Turn("assistant", text(answer)), NOW))


def pieces(name: str) -> list[str]:
    """Return the text of a turn in pieces of many sizes, always the same for one name; some exceed a memory page."""
    return [f"{name}:{place} " + "ü" * (zlib.crc32(f"{name}{place}".encode()) % 3000) + " " for place in range(3)]


def text(name: str) -> str:
    return "".join(pieces(name))


def read_acks(path: Path) -> Acks:
    """Read the acknowledgements; an incomplete last line does not count."""
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = [line.split(" ") for line in written.split("\n")[:-1]]
    return Acks(
        turns={int(number): name for kind, name, number in lines if kind == "turn"},
        pieces=[name for kind, name, _ in lines if kind == "piece"],
        troubles=sum(kind == "trouble" for kind, *_ in lines),
    )


def judge(directory: Path, acks: Acks, *, shown: bool = True) -> list[str]:
    """Open the journal as the next program would, and report problems; `shown`: pieces count as acknowledged."""
    journal, damage = Journal(directory, NAME), Damage()
    journal.recover(NOW)
    journal.add(Turn("user", text(f"after{time.monotonic_ns()}")), NOW)
    entries = list(journal.entries(damage))
    turns = {(entry.number, entry.turn.content) for entry in entries}
    words = {word for entry in entries for word in entry.turn.content.split(" ")}
    return [
        *(f"turn {number} is lost" for number, name in acks.turns.items() if (number, text(name)) not in turns),
        *(f"piece {name} is lost" for name in acks.pieces if shown and name not in words),
        *corruption(entries),
        *(["the live file is still there"] if journal.live_path.exists() else []),
        *([f"{damage.lines} lines are damaged"] if damage.lines else []),
    ]


def corruption(entries: Sequence[JournalEntry]) -> Iterator[str]:
    """Report what no crash may cause: duplicate numbers, duplicate turns, a partial answer marked as complete."""
    numbers = [entry.number for entry in entries]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the numbers are {numbers}"
    names = Counter(entry.turn.content.split(":")[0] for entry in entries)
    yield from (f"{name} is there {count} times" for name, count in names.items() if count > 1)
    for entry in entries:
        if entry.turn.state == "complete" and entry.turn.content != text(entry.turn.content.split(":")[0]):
            yield f"turn {entry.number} is incomplete but marked as complete"


def judge_files(home: Path, acks: Path, fault: str) -> list[str]:
    # When a call fails, the answer may be refused after it was shown; the user was told about that.
    return judge(home, read_acks(acks), shown=fault == "kill")


def start(subject: Subject, home: Path, acks: Path, work: str, *around: str) -> subprocess.Popen[bytes]:
    """Start a writer, wrapped in the command `around`."""
    command = [*around, sys.executable, str(subject.program), "write", str(home), str(acks), work]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)


def end(writer: subprocess.Popen[bytes]) -> None:
    """Kill a writer and the command around it."""
    if writer.poll() is None:
        os.killpg(writer.pid, signal.SIGKILL)
    writer.communicate()


def kill(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Kill a writer many times. Rounds share a home, so that each one starts with what the last one left behind."""
    acknowledged, problems = 0, []
    for first in range(0, rounds, ROUNDS_A_HOME):
        with TemporaryDirectory() as work:
            home, log = Path(work) / "home", Path(work) / "acks"
            for number in range(first, min(first + ROUNDS_A_HOME, rounds)):
                writer = start(subject, home, log, subject.long)
                assert writer.stdout
                writer.stdout.readline()
                time.sleep(random.uniform(0, seconds))
                end(writer)
                problems += [f"kill {number}: {problem}" for problem in subject.judge(home, log, "kill")]
            acknowledged += subject.acknowledged(log)
    return Outcome(f"{rounds} rounds", acknowledged, problems)


def crowd(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Kill several writers one by one; the others must be able to go on."""
    acknowledged, problems = 0, []
    for number in range(rounds):
        with TemporaryDirectory() as work:
            home, log = Path(work) / "home", Path(work) / "acks"
            writers = [start(subject, home, log, subject.long) for _ in range(CROWD)]
            for writer in writers:
                assert writer.stdout
                writer.stdout.readline()
            for writer in writers:
                time.sleep(random.uniform(0, seconds))
                end(writer)
            problems += [f"crowd {number}: {problem}" for problem in subject.judge(home, log, "crowd")]
            acknowledged += subject.acknowledged(log)
    return Outcome(f"{rounds} crowds", acknowledged, problems)


def points(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Kill the writer before each system call that touches its home, with an empty and with a prepared home."""
    runs = [(work, call, place, "signal=SIGKILL") for work in subject.works for call, place, _ in calls(subject, work)]
    return sweep(subject, runs, rounds)


def errors(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Let each call fail. The writer reports it and goes on; one failed call costs at most one change."""
    found = {work: calls(subject, work) for work in subject.works}
    runs = [
        (work, call, place, error)
        for fault in ERRORS
        for name, _, error in [fault.partition(":")]
        for work in subject.works
        for call, place, line in found[work]
        # The kernel never reports a partial write that it did not do. With a retry, such a result would be wrong.
        if call == name and ("retval" not in error or ".tmp" not in line)
    ]
    return sweep(subject, runs, rounds)


def calls(subject: Subject, work: str) -> list[tuple[str, int, str]]:
    """List the system calls of a whole run that touch its home: name, count of that name so far, and trace line."""
    with TemporaryDirectory() as top:
        home, log = make_home(subject, work, Path(top)), Path(top) / "calls"
        trace = strace("-y", "-o", str(log), "-e", f"trace={','.join(CALLS)}")
        start(subject, home, Path(top) / "acks", work, *trace).communicate(timeout=60)
        counts: Counter[str] = Counter()
        found = []
        for line in log.read_text("utf-8", "replace").splitlines():
            name = line.partition("(")[0].split(" ")[-1]
            counts[name] += 1
            if str(home) in line:
                found.append((name, counts[name], line))
        return found


def strace(*options: str) -> list[str]:
    program = shutil.which("strace")
    if not program:
        raise Skipped("strace is not installed")
    return [program, "-f", "-qq", *options]


def make_home(subject: Subject, work: str, top: Path) -> Path:
    """Return the home for a work; the first work starts with nothing."""
    home = top.resolve() / "home"
    if work != subject.works[0]:
        subject.prepare(home)
    return home


def sweep(subject: Subject, runs: Sequence[tuple[str, str, int, str]], rounds: int) -> Outcome:
    """Inject each fault at its place; with fewer rounds than a full run, only a sample of them."""
    some = [
        runs[place * len(runs) // count]
        for count in [min(len(runs), len(runs) * rounds // WHOLE)]
        for place in range(count)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda run: inject(subject, *run), some))
    problems = [problem for outcome in found for problem in outcome.problems]
    return Outcome(f"{len(found)} places", sum(outcome.acknowledged for outcome in found), problems)


def inject(subject: Subject, work: str, call: str, place: int, error: str) -> Outcome:
    """Run a writer with a fault at one call, or at that call and all after it."""
    with TemporaryDirectory() as top:
        home, log = make_home(subject, work, Path(top)), Path(top) / "acks"
        sticky, dies = error.endswith("+"), "SIGKILL" in error
        fault = f"{call}:{error.rstrip('+')}:when={place}{'+' * sticky}"
        fast = [] if dies else ["--seccomp-bpf"]  # with this option, strace does not send the signal
        around = strace("-o", "/dev/null", *fast, "-e", f"trace={call}", "-e", f"inject={fault}")
        writer = start(subject, home, log, work, *around)
        writer.communicate(timeout=60)
        problems, troubles = [], subject.troubles(log)
        if writer.returncode != (-signal.SIGKILL if dies else 0):
            problems.append(f"the writer ended with {writer.returncode}")
        if troubles > 1 and not sticky:
            problems.append(f"{troubles} changes failed after one error")
        acknowledged = subject.acknowledged(log)
        problems += subject.judge(home, log, "kill" if dies else "error")
        return Outcome("", acknowledged, [f"{fault} in {work!r}: {problem}" for problem in problems])


def full(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Fill the disk up to a given number of free pages. There is room again when the result is checked."""
    acknowledged, problems = 0, []
    for pages in range(rounds):
        with TemporaryDirectory() as work, mounted(Path(work) / "disk", "-t", "tmpfs", "-o", "size=1m", "tmpfs") as top:
            home, log, filler = make_home(subject, subject.works[pages % 2], top), Path(work) / "acks", top / "filler"
            with filler.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, (os.statvfs(top).f_bavail - pages // 2) * 4096 or 1)
            writer = start(subject, home, log, subject.works[pages % 2])
            writer.communicate(timeout=60)
            filler.unlink()
            found = subject.judge(home, log, "error")
            found += [f"the writer ended with {writer.returncode}"] if writer.returncode else []
            acknowledged += subject.acknowledged(log)
            problems += [f"{pages // 2} pages: {problem}" for problem in found]
    return Outcome(f"{rounds} disks", acknowledged, problems)


def power(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Check a copy of the disk as it was at one moment: without what was never synced."""
    return cut(subject, rounds, seconds)


def control(subject: Subject, rounds: int, seconds: float) -> Outcome:
    """Run without syncs: something must be lost, or the power test proves nothing."""
    eatmydata = shutil.which("eatmydata")
    if not eatmydata:
        raise Skipped("eatmydata is not installed")
    found = cut(subject, rounds, seconds, eatmydata)
    return found._replace(problems=[] if found.problems else ["nothing was lost, so a power cut proves nothing here"])


def cut(subject: Subject, rounds: int, seconds: float, *around: str) -> Outcome:
    """Copy the disk during long work, and after each step of short work, where no later sync hides a missing one."""
    acknowledged, problems = 0, []
    with TemporaryDirectory() as work:
        image, after, log, acks = (Path(work) / name for name in ("image", "after", "log", "acks"))
        for number in range(rounds):
            log.unlink(missing_ok=True)
            with disk(image, fresh=True) as top:
                steps = subject.works[0].split()
                short = " ".join(steps[: 1 + number // 2 % len(steps)]) if number % 2 else ""
                writer = start(subject, top / "data" / "home", log, short or subject.long, *around)
                try:
                    if short:
                        writer.wait(timeout=60)
                    else:
                        while not subject.acknowledged(log) and writer.poll() is None:
                            time.sleep(0.01)
                        time.sleep(random.uniform(0, seconds))
                        os.killpg(writer.pid, signal.SIGSTOP)
                    shutil.copyfile(log, acks)  # before the disk, which may be newer than the log but never older
                    shutil.copyfile(image, after)
                finally:
                    end(writer)
            acknowledged += subject.acknowledged(acks)
            with disk(after) as top:
                found = subject.judge(top / "data" / "home", acks, "cut")
            problems += [f"cut {number}: {problem}" for problem in found]
    return Outcome(f"{rounds} cuts", acknowledged, problems)


@contextmanager
def disk(image: Path, *, fresh: bool = False) -> Iterator[Path]:
    """Mount a file system that is kept in a file, with late write-back, so that a missing sync shows."""
    if fresh:
        image.write_bytes(b"")
        os.truncate(image, 32 << 20)
        try:
            subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise Skipped(f"cannot make a disk: {error}") from error
    # After a cut the disk must still mount.
    with mounted(image.with_name("disk"), "-o", "loop,commit=300,noauto_da_alloc", str(image), must=not fresh) as top:
        yield top


@contextmanager
def mounted(top: Path, *options: str, must: bool = False) -> Iterator[Path]:
    if os.geteuid():
        raise Skipped("only root may mount a disk")
    top.mkdir(exist_ok=True)
    try:
        subprocess.run(["mount", *options, top], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        if must:
            raise
        raise Skipped(f"cannot mount a disk: {error}") from error
    try:
        yield top
    finally:
        subprocess.run(["umount", top], check=True)


JOURNAL = Subject(
    program=Path(__file__),
    works=("2",),
    prepare=lambda home: None,
    long="1000000",
    acknowledged=lambda acks: len(read_acks(acks).turns) + len(read_acks(acks).pieces),
    troubles=lambda acks: read_acks(acks).troubles,
    judge=judge_files,
)
LEDGER = Subject(
    program=Path(fault_ledger.__file__),
    works=fault_ledger.WORKS,
    prepare=fault_ledger.prepare,
    long="any",
    acknowledged=fault_ledger.acknowledged,
    troubles=fault_ledger.troubles,
    judge=fault_ledger.judge,
)
NOTES = Subject(
    program=Path(fault_notes.__file__),
    works=fault_notes.WORKS,
    prepare=fault_notes.prepare,
    long="any",
    acknowledged=fault_ledger.acknowledged,
    troubles=fault_ledger.troubles,
    judge=fault_notes.judge,
)
# The function, and the share of the rounds it gets.
KINDS: dict[str, tuple[Callable[[int, float], tuple[str, int, list[str]]], float]] = {
    "kill": (partial(kill, JOURNAL), 1 / 5),
    "points": (partial(points, JOURNAL), 1),
    "errors": (partial(errors, JOURNAL), 1),
    "power": (partial(power, JOURNAL), 1 / 25),
    "control": (partial(control, JOURNAL), 1 / 250),
    "ledger-kill": (partial(kill, LEDGER), 1),
    "ledger-points": (partial(points, LEDGER), 1),
    "ledger-errors": (partial(errors, LEDGER), 1),
    "ledger-full": (partial(full, LEDGER), 1 / 10),
    "ledger-power": (partial(power, LEDGER), 1 / 10),
    "ledger-control": (partial(control, LEDGER), 1 / 250),
    "ledger-crowd": (partial(crowd, LEDGER), 1 / 50),
    "ledger-damage": (fault_ledger.damage, 1),
    "notes-kill": (partial(kill, NOTES), 1 / 2),
    "notes-points": (partial(points, NOTES), 1),
    "notes-errors": (partial(errors, NOTES), 1),
    "notes-full": (partial(full, NOTES), 1 / 10),
    "notes-power": (partial(power, NOTES), 1 / 25),
    "notes-crowd": (partial(crowd, NOTES._replace(long="crowd")), 1 / 50),
    "index-kill": (fault_index.kill, 1 / 10),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"{', '.join(KINDS)}; default: all")
    parser.add_argument("--rounds", type=int, default=WHOLE, help=f"how much to try; {WHOLE} is a full run")
    parser.add_argument("--seconds", type=float, default=0.3, help="maximum life of a writer")
    options = parser.parse_args()
    if unknown := set(options.kinds) - KINDS.keys():
        parser.error(f"unknown kind: {', '.join(sorted(unknown))}")
    lost = False
    for kind in options.kinds or KINDS:
        try:
            fault, part = KINDS[kind]
            tried, acknowledged, problems = fault(math.ceil(options.rounds * part), options.seconds)
        except Skipped as reason:
            print(f"{kind:<14} skipped: {reason}", flush=True)
            continue
        problems += [] if acknowledged else ["nothing was acknowledged, so nothing was tested"]
        print(f"{kind:<14} {tried:>12} {acknowledged:>8} acknowledged {len(problems):>6} problems", flush=True)
        print(*(f"    {problem}\n" for problem in problems[:20]), sep="", end="", flush=True)
        lost = lost or bool(problems)
    return int(lost)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
    else:
        sys.exit(main())
