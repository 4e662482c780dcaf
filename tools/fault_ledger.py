"""Fault test of the ledger: a writer that logs what it tries and what was acknowledged, and checks of what is left.

Run as `fault_ledger.py write HOME ACKS WORK`, this is the writer. WORK is a list of operations, or `any` for random
operations until the writer is killed.
"""

import json
import os
import random
import re
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, NamedTuple

from aish.memory import fingerprint, secret_patterns
from aish.memory.curation import Memory, open_memory
from aish.memory.journal import Journal
from aish.memory.ledger import Ledger
from aish.memory.ledger_lines import folded
from aish.memory.ledger_snapshot import LedgerSnapshot
from aish.memory.redaction import Redaction
from aish.places import Places, find_places
from aish.storage.lines import decode
from aish.values.errors import Declined, NotFound, StoreTrouble
from aish.values.turns import Turn

OPERATIONS = {"add": 9, "set": 3, "edit": 3, "forget": 3, "undo": 3, "reopen": 1, "clear": 1, "purge": 1}
KEYS = ("editor", "shell", "pager")
# The first work starts with an empty home, the second with a ledger that is long enough for an index.
WORKS = ("add set add edit undo forget purge add clear undo reopen purge add", "tidy add purge forget reopen add")
SMALL = "add set add edit forget undo set purge add"
LONG_AGO = (10**18, 10**18)
# The functions that mask secrets and fingerprint purged items. Loaded early, so that no import reads from a faulty
# disk.
PATTERNS = SimpleNamespace(redact=secret_patterns.redact, fingerprint=fingerprint.fingerprint)
NAME = re.compile(r"w[0-9a-f]+\.\d+:")


class Plan(NamedTuple):
    """An operation that is possible now: the active names after it, the names it purges, and the call that does it."""

    after: list[str]
    gone: list[str]
    act: Callable[[], object]


def open_home(home: Path) -> tuple[Memory, Places]:
    """Open the memory whose files are all below `home`."""
    places = find_places({"AISH_HOME": str(home)})
    redaction = Redaction(places.salt, lambda: PATTERNS)
    return open_memory(places.memory, places.indexes / "ledger", redaction, lambda: datetime.now(UTC))[0], places


def ledger_of(memory: Memory) -> Ledger:
    """Return the ledger of a memory."""
    assert isinstance(memory._ledger, Ledger)
    return memory._ledger


def prepare(home: Path) -> None:
    """Write a ledger that is long enough for an index."""
    memory, _ = open_home(home)
    ledger_of(memory).apply(lambda: [{"kind": "fact", "content": text(f"w0.{number}:")} for number in range(140)])
    memory.close()


def text(name: str) -> str:
    """Return the content for a name, always the same: mostly short, sometimes longer than a memory page."""
    number = zlib.crc32(name.encode())
    return f"{name} is the best " + "ü" * (number // 16 % (50 if number % 16 else 3000)) + "."


def name_in(content: str) -> str:
    found = NAME.search(content)
    return found[0] if found else content


class LoggingWriter:
    """A writer that logs what it will do, does it, and logs the result, one line each."""

    def __init__(self, home: Path, acks: Path, work: str = "any") -> None:
        self._home = home
        self._log = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._memory, self._places = open_home(home)
        again = work != "any"  # the same work must make the same system calls in every run
        self._names = f"w{zlib.crc32(work.encode()) if again else time.monotonic_ns():x}"
        self._chance = random.Random(work if again else None)
        self._count = 0
        self._before: list[list[str]] = []  # the active names before each change that can be undone

    def close(self) -> None:
        self._memory.close()
        os.close(self._log)

    def do(self, operation: str) -> None:
        """Try one operation; log nothing if it is not possible now."""
        try:
            before = self._active()
            plan = self._plan(operation, before)
            if not plan:
                return
            self._log_line(tries=operation, before=names(before), after=plan.after, gone=plan.gone)
            plan.act()
            after = self._active()
        except StoreTrouble as error:
            self._log_line(trouble=operation, reason=str(error))
            self._before.clear()
            return
        except NotFound as error:  # another writer was faster
            self._log_line(refused=operation, reason=str(error))
            return
        new = {id: name for id, name in after.items() if id not in before}
        self._log_line(
            done=operation, after=names(after), new=new, hidden=[id for id in before if id not in after], gone=plan.gone
        )
        if operation == "purge":
            self._before.clear()
        elif operation not in ("undo", "reopen", "tidy"):
            self._before.append(names(before))

    def _plan(self, operation: str, before: dict[int, str]) -> Plan | None:
        self._count += 1
        memory, name, active = self._memory, f"{self._names}.{self._count}:", names(before)
        chosen = self._chance.choice(list(before)) if before else 0
        others = sorted(other for id, other in before.items() if id != chosen)
        match operation:
            case "add":
                return Plan(sorted([*active, name]), [], partial(memory.remember, text(name), source="user"))
            case "set":
                key = self._chance.choice(KEYS)
                items = memory.items()
                others = sorted(name_in(item.content) for item in items if item.key != key)
                return Plan(sorted([*others, name]), [], partial(memory.set, key, text(name), source="user"))
            case "edit" if before:
                return Plan(sorted([*others, name]), [], partial(memory.edit, chosen, text(name)))
            case "forget" if before:
                return Plan(others, [], partial(memory.forget, [chosen]))
            case "clear" if before:
                return Plan([], [], partial(memory.forget, list(before)))
            case "undo" if self._before:
                return Plan(self._before.pop(), [], memory.undo)
            case "purge" if before:
                return Plan(others, [before[chosen]], partial(self._purge, chosen))
            case "tidy":
                return Plan(active, [], ledger_of(memory).tidy)
            case "reopen":
                return Plan(active, [], self._reopen)
        return None

    def _purge(self, id: int) -> None:
        """Add the item to a conversation too, then purge it everywhere."""
        phrases, _ = self._memory.phrases(str(id))
        journal = Journal(self._places.sessions, f"talk-{self._names}")
        journal.add(Turn("user", f"Is it so that {phrases[0]}?"), datetime.now(UTC))
        places = self._places
        self._memory.purge(phrases, (places.data, places.state, places.indexes), [places.salt])

    def _reopen(self) -> None:
        self._memory.close()
        self._memory, self._places = open_home(self._home)

    def _active(self) -> dict[int, str]:
        return {item.id: name_in(item.content) for item in self._memory.items()}

    def _log_line(self, **said: Any) -> None:
        # Use `writev`, so that the log is not hit by injected `write` errors. Start with a newline, because another
        # writer may have been killed in the middle of a line.
        os.writev(self._log, [b"\n", json.dumps(said).encode(), b"\n"])


def names(active: dict[int, str]) -> list[str]:
    return sorted(active.values())


def write(home: Path, acks: Path, work: str) -> None:
    """Run as the writer."""
    writer = LoggingWriter(home, acks, work)
    print("ready", flush=True)
    while work == "any":
        writer.do(random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0])
    for operation in work.split():
        writer.do(operation)
    writer.close()


def read_acks(acks: Path) -> list[dict[str, Any]]:
    """Return every complete line of the log."""
    written = acks.read_bytes() if acks.exists() else b""
    return [
        json.loads(line)
        for line in written.split(b"\n")
        if line.endswith(b"}") and line.count(b"{") == line.count(b"}")
    ]


def acknowledged(acks: Path) -> int:
    return sum("done" in line for line in read_acks(acks))


def troubles(acks: Path) -> int:
    return sum("trouble" in line for line in read_acks(acks))


def judge(home: Path, acks: Path, fault: str) -> list[str]:
    """Add one more item as the next program would, and report what is wrong."""
    log = read_acks(acks)
    writer = LoggingWriter(home, acks)
    writer.do("add")
    writer.close()
    last = read_acks(acks)[len(log) :]
    if "done" not in last[-1]:
        return [f"adding fails: {last[-1]}"]
    log += last
    memory, _ = open_home(home)
    found = [*corruption(memory), *lost(memory, log), *purge_leftovers(home, memory, log)]
    if fault != "crowd":
        found += [*unexpected_states(log), *unfinished_purges(home, memory, log)]
    memory.close()
    return found


def corruption(memory: Memory) -> Iterator[str]:
    """Report what no crash may cause: damage, duplicate ids, incomplete items, a wrong index."""
    lines = [line for line in ledger_of(memory).path.read_bytes().split(b"\n") if line.strip()]
    records = [decode(line) for line in lines]
    broken_lines = (place for place, record in enumerate(records) if record is None)
    yield from (f"line {place + 1} is damaged: {lines[place][:60]!r}…{lines[place][-60:]!r}" for place in broken_lines)
    ids = [record["id"] for record in records if record and "meta" not in record]
    yield from (f"the id {id} comes after {before}" for before, id in pairwise(ids) if id <= before)
    if not records or not records[0] or "meta" not in records[0]:
        yield "the first line has no format header"
    yield from (f"reported problem: {problem}" for problem in ledger_of(memory).state().problems)
    yield from broken(ledger_of(memory))
    yield from disagreements(ledger_of(memory))


def broken(ledger: Ledger) -> Iterator[str]:
    """Report items whose content differs from what was written."""
    for item in ledger.items():
        if item.content.removeprefix(f"{item.key} = ") != text(name_in(item.content)):
            yield f"item {item.id} is incomplete"


def disagreements(ledger: Ledger) -> Iterator[str]:
    """Report answers of the index that differ from the file."""
    plain = Ledger(ledger.path, now=lambda: datetime.now(UTC))
    for what, with_index, without in zip(("items", "state"), answers(ledger), answers(plain), strict=True):
        if with_index != without:
            yield f"the {what} differ with an index"


def answers(ledger: Ledger) -> tuple[object, object]:
    """Return everything that a ledger can be asked for."""
    state = ledger.state()
    counters = state.size, state.crc, state.lines, state.damaged, state.last_id, state.problems
    hidden = [id for id in range(state.last_id + 1) if not state.shows(id)]
    return list(ledger.items()), (counters, sorted(state.purged), sorted(state.keys.items()), hidden)


def lost(memory: Memory, log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report acknowledged changes that are not there."""
    ledger, gone = ledger_of(memory), {name for line in log for name in line.get("gone", ())}
    for line in log:
        if "done" in line:
            for id, name in line["new"].items():
                item = ledger.get(int(id))
                if name not in gone and (item is None or name_in(item.content) != name):
                    yield f"item {id} is lost"
            yield from (f"item {id} is back" for id in line["hidden"] if ledger.state().shows(id))


def purge_leftovers(home: Path, memory: Memory, log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report acknowledged purges whose words can still be found or learned again."""
    tried, done = purges(log)
    gone = [name for name, count in done.items() if count == tried[name]]  # else a writer added it again and died
    yield from still_there(home, gone)
    known = ledger_of(memory).state().purged
    for name in gone:
        if all(memory.redaction.fingerprint(folded(content)) not in known for content in versions(name)):
            yield f"{name} can be learned again"


def unfinished_purges(home: Path, memory: Memory, log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report what an interrupted purge left behind without an item that the user could purge again."""
    tried, done = purges(log)
    items = ledger_of(memory).path.read_bytes()
    yield from still_there(home, [name for name in tried if not done[name] and name.encode() not in items])


def purges(log: Sequence[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """Count how often the purge of each name was tried and done."""
    tried = Counter(name for line in log if "tries" in line for name in line["gone"])
    return tried, Counter(name for line in log if "done" in line for name in line["gone"])


def still_there(home: Path, gone: Sequence[str]) -> Iterator[str]:
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} if gone else {}
    for name in gone:
        yield from (f"{name} is still in {path.name}" for path, data in files.items() if name.encode() in data)


def versions(name: str) -> list[str]:
    return [text(name), *(f"{key} = {text(name)}" for key in KEYS)]


def unexpected_states(log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report where a single writer found something else than it left: each operation is done or not done."""
    allowed: list[set[str]] = []  # the states that are possible; empty at first: any state
    half = False
    for line in log:
        if "tries" in line:
            there = set(line["before"])
            part = half and allowed[0] & allowed[1] <= there <= allowed[0] | allowed[1]
            if allowed and there not in allowed and not part:
                yield f"before {line['tries']} {difference(there, allowed[-1])}"
            allowed = [there, set(line["after"])]
            half = line["tries"] in ("clear", "undo")  # several lines; some may be there without an acknowledgement
        elif "done" in line:
            there = set(line["after"])
            if there != allowed[-1]:
                yield f"after {line['done']} {difference(there, allowed[-1])}"
            allowed, half = [there], False
        elif "trouble" in line:
            half = False  # after a reported failure the whole operation must be undone


def difference(there: set[str], expected: set[str]) -> str:
    return f"found unexpected {sorted(there - expected)}, missing {sorted(expected - there)}"


def damage(rounds: int, seconds: float) -> tuple[str, int, list[str]]:
    """Cut a small ledger at each byte, and change each byte: all other lines survive, and the damage is reported."""
    problems: list[str] = []
    with TemporaryDirectory() as work:
        home, tried = Path(work) / "home", 0
        writer = LoggingWriter(home, Path(work) / "acks", SMALL)
        for operation in SMALL.split():
            writer.do(operation)
        writer.close()
        memory, places = open_home(home)
        index, torn = places.indexes / "ledger", places.memory.with_name("memory.jsonl.torn")
        os.utime(places.memory, ns=LONG_AGO)
        LedgerSnapshot.write(index, ledger_of(memory).state().snapshot((0, 0, 0)))
        whole, before = places.memory.read_bytes(), index.read_bytes()
        for name, data, kept in damaged(whole, max(1, 500 // max(1, rounds))):
            tried += 1
            places.memory.write_bytes(data)
            index.write_bytes(before)
            torn.unlink(missing_ok=True)
            if len(data) == len(whole):
                os.utime(places.memory, ns=LONG_AGO)  # an unchanged time stamp: the known part is not read again
                problems += [f"{name}, undetected: {problem}" for problem in broken(ledger_of(memory))]
                os.utime(places.memory)
            problems += [f"{name}: {problem}" for problem in judge_damage(home, kept, adds=tried % 8 == 0)]
    return f"{tried} places", tried, problems


def damaged(whole: bytes, step: int) -> Iterator[tuple[str, bytes, list[bytes]]]:
    """Yield a label for each kind of damage, the damaged file, and the lines that must survive."""
    lines = whole.splitlines(keepends=True)
    owners = [number for number, line in enumerate(lines) for _ in line]
    for place in range(0, len(whole) + 1, step):
        kept = whole[:place].splitlines(keepends=True)
        if kept and decode(kept[-1]) is None:
            kept.pop()
        yield f"cut at {place}", whole[:place], kept
    for place in range(0, len(whole), step):
        hurt = {owners[place], owners[place] + (whole[place] == ord("\n"))}
        kept = [line for number, line in enumerate(lines) if number not in hurt]
        for value in {whole[place] ^ 1, whole[place] ^ 128, 0, ord("\n"), ord('"')} - {whole[place]}:
            yield f"{value} at {place}", whole[:place] + bytes([value]) + whole[place + 1 :], kept


def judge_damage(home: Path, kept: list[bytes], *, adds: bool) -> Iterator[str]:
    """Compare a damaged ledger with one that has only the surviving lines."""
    memory, places = open_home(home)
    ledger, other = ledger_of(memory), Ledger(places.data / "kept", now=lambda: datetime.now(UTC))
    other.path.write_bytes(b"".join(kept))
    try:
        yield from disagreements(ledger)
        yield from broken(ledger)
        there, expected = list(ledger.records_back()), list(other.records_back())
        if missing := [record for record in expected if record not in there]:
            yield f"lost: {missing}"
        hurt = len(there) == len(expected)  # otherwise the line is still readable, without its checksum
        if hurt and list(ledger.items()) != list(other.items()):
            yield "the items differ from those of the undamaged lines"
        state, size = ledger.state(), places.memory.stat().st_size
        torn, reported = size - state.size, state.damaged > 0
        if hurt and not torn and not reported and size != other.path.stat().st_size:
            yield "the damage is not reported"
        if adds:
            added = memory.remember(text("w1.1:")).item
            if added.id <= other.state().last_id or ledger.get(added.id) != added:
                yield "the added item is not found"
            if torn and not places.memory.with_name("memory.jsonl.torn").exists():
                yield "a torn line was not kept"
    except (StoreTrouble, Declined, OSError, ValueError) as error:
        yield f"{type(error).__name__}: {error}"
    finally:
        memory.close()


if __name__ == "__main__":
    write(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
