"""The ledger as something to break: who writes to it, what that writer was told, and what must hold after.

Run as `fault_ledger.py write HOME ACKS WORK` it is the writer. WORK is one operation after the other, or `any` for
more of them than a writer will live for.
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
# The first begins with nothing, the second with a ledger that is worth an index.
WORKS = ("add set add edit undo forget purge add clear undo reopen purge add", "tidy add purge forget reopen add")
SMALL = "add set add edit forget undo set purge add"
LONG_AGO = (10**18, 10**18)
# What masks secrets and seals what is purged. Loaded at once, so that no import meets a broken disk.
PATTERNS = SimpleNamespace(redact=secret_patterns.redact, fingerprint=fingerprint.fingerprint)
NAME = re.compile(r"w[0-9a-f]+\.\d+:")


class Plan(NamedTuple):
    """An operation that can be done now: what is active after it, what is purged by it, and how to do it."""

    after: list[str]
    gone: list[str]
    act: Callable[[], object]


def open_home(home: Path) -> tuple[Memory, Places]:
    """Memory as a program would open it whose files are all below `home`."""
    places = find_places({"AISH_HOME": str(home)})
    redaction = Redaction(places.salt, lambda: PATTERNS)
    return open_memory(places.memory, places.indexes / "ledger", redaction, lambda: datetime.now(UTC))[0], places


def ledger_of(memory: Memory) -> Ledger:
    """The file behind a memory."""
    assert isinstance(memory._ledger, Ledger)
    return memory._ledger


def prepare(home: Path) -> None:
    """A ledger that is long enough to be worth an index."""
    memory, _ = open_home(home)
    ledger_of(memory).apply(lambda: [{"kind": "fact", "content": text(f"w0.{number}:")} for number in range(140)])
    memory.close()


def text(name: str) -> str:
    """What an item says: mostly short, sometimes longer than a page of memory; its name tells it all."""
    number = zlib.crc32(name.encode())
    return f"{name} is the best " + "ü" * (number // 16 % (50 if number % 16 else 3000)) + "."


def name_in(content: str) -> str:
    found = NAME.search(content)
    return found[0] if found else content


class Teller:
    """A writer that says what it is about to do, does it, and says what it was told: all of it, each on one line."""

    def __init__(self, home: Path, acks: Path, work: str = "any") -> None:
        self._home = home
        self._log = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._memory, self._places = open_home(home)
        again = work != "any"  # the same work makes the same calls, whenever it is done
        self._names = f"w{zlib.crc32(work.encode()) if again else time.monotonic_ns():x}"
        self._chance = random.Random(work if again else None)
        self._count = 0
        self._before: list[list[str]] = []  # what was active before each change that can be undone

    def close(self) -> None:
        self._memory.close()
        os.close(self._log)

    def do(self, operation: str) -> None:
        """Try one operation. Nothing is said where there is nothing to do it to."""
        try:
            before = self._active()
            plan = self._plan(operation, before)
            if not plan:
                return
            self._tell(tries=operation, before=names(before), after=plan.after, gone=plan.gone)
            plan.act()
            after = self._active()
        except StoreTrouble as error:
            self._tell(trouble=operation, reason=str(error))
            self._before.clear()
            return
        except NotFound as error:  # somebody else was faster
            self._tell(refused=operation, reason=str(error))
            return
        new = {id: name for id, name in after.items() if id not in before}
        self._tell(
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
        """Say it in a conversation too, and purge it everywhere."""
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

    def _tell(self, **said: Any) -> None:
        # Not by `write`: what is said must not be among the calls that fail from one on. On a line of its own, also
        # where somebody was killed before the end of another.
        os.writev(self._log, [b"\n", json.dumps(said).encode(), b"\n"])


def names(active: dict[int, str]) -> list[str]:
    return sorted(active.values())


def write(home: Path, acks: Path, work: str) -> None:
    """Be the writer."""
    teller = Teller(home, acks, work)
    print("ready", flush=True)
    while work == "any":
        teller.do(random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0])
    for operation in work.split():
        teller.do(operation)
    teller.close()


def read_acks(acks: Path) -> list[dict[str, Any]]:
    """Every line a writer said; one that is not whole was not said."""
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
    """Add one more item as the next program would, and say what is wrong with what is there."""
    told = read_acks(acks)
    teller = Teller(home, acks)
    teller.do("add")
    teller.close()
    last = read_acks(acks)[len(told) :]
    if "done" not in last[-1]:
        return [f"nothing can be added any more: {last[-1]}"]
    told += last
    memory, _ = open_home(home)
    found = [*never_right(memory), *lost(memory, told), *left_of_purges(home, memory, told)]
    if fault != "crowd":
        found += [*surprises(told), *without_a_way_back(home, memory, told)]
    memory.close()
    return found


def never_right(memory: Memory) -> Iterator[str]:
    """What no crash may cause: damage, ids that are given twice, an item that is not whole, an index that lies."""
    lines = [line for line in ledger_of(memory).path.read_bytes().split(b"\n") if line.strip()]
    records = [decode(line) for line in lines]
    broken_lines = (place for place, record in enumerate(records) if record is None)
    yield from (f"line {place + 1} is damaged: {lines[place][:60]!r}…{lines[place][-60:]!r}" for place in broken_lines)
    ids = [record["id"] for record in records if record and "meta" not in record]
    yield from (f"the id {id} comes after {before}" for before, id in pairwise(ids) if id <= before)
    if not records or not records[0] or "meta" not in records[0]:
        yield "the first line does not say what the file is"
    yield from (f"there is a problem: {problem}" for problem in ledger_of(memory).state().problems)
    yield from broken(ledger_of(memory))
    yield from disagreements(ledger_of(memory))


def broken(ledger: Ledger) -> Iterator[str]:
    """Items that say something else than what was written."""
    for item in ledger.items():
        if item.content.removeprefix(f"{item.key} = ") != text(name_in(item.content)):
            yield f"item {item.id} is not whole"


def disagreements(ledger: Ledger) -> Iterator[str]:
    """What an index answers otherwise than the file itself."""
    plain = Ledger(ledger.path, now=lambda: datetime.now(UTC))
    for what, with_index, without in zip(("items", "state"), answers(ledger), answers(plain), strict=True):
        if with_index != without:
            yield f"with an index the {what} are not what they are without"


def answers(ledger: Ledger) -> tuple[object, object]:
    """All that can be asked of a ledger."""
    state = ledger.state()
    counters = state.size, state.crc, state.lines, state.damaged, state.last_id, state.problems
    hidden = [id for id in range(state.last_id + 1) if not state.shows(id)]
    return list(ledger.items()), (counters, sorted(state.purged), sorted(state.keys.items()), hidden)


def lost(memory: Memory, told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What was acknowledged and does not hold."""
    ledger, gone = ledger_of(memory), {name for line in told for name in line.get("gone", ())}
    for line in told:
        if "done" in line:
            for id, name in line["new"].items():
                item = ledger.get(int(id))
                if name not in gone and (item is None or name_in(item.content) != name):
                    yield f"item {id} is lost"
            yield from (f"item {id} is back" for id in line["hidden"] if ledger.state().shows(id))


def left_of_purges(home: Path, memory: Memory, told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What of a purge that was acknowledged can still be found, or learned again."""
    tried, done = purges(told)
    gone = [name for name, count in done.items() if count == tried[name]]  # else somebody said it again, and died
    yield from still_there(home, gone)
    known = ledger_of(memory).state().purged
    for name in gone:
        if all(memory.redaction.fingerprint(folded(content)) not in known for content in versions(name)):
            yield f"{name} can be learned again"


def without_a_way_back(home: Path, memory: Memory, told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What an interrupted purge left somewhere after the item was gone that the user would purge again."""
    tried, done = purges(told)
    items = ledger_of(memory).path.read_bytes()
    yield from still_there(home, [name for name in tried if not done[name] and name.encode() not in items])


def purges(told: Sequence[dict[str, Any]]) -> tuple[Counter[str], Counter[str]]:
    """How often the purge of each name was tried and done."""
    tried = Counter(name for line in told if "tries" in line for name in line["gone"])
    return tried, Counter(name for line in told if "done" in line for name in line["gone"])


def still_there(home: Path, gone: Sequence[str]) -> Iterator[str]:
    files = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} if gone else {}
    for name in gone:
        yield from (f"{name} is still in {path.name}" for path, data in files.items() if name.encode() in data)


def versions(name: str) -> list[str]:
    return [text(name), *(f"{key} = {text(name)}" for key in KEYS)]


def surprises(told: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Where one writer alone did not find what it left: each operation is done, or it is not."""
    allowed: list[set[str]] = []  # what there may be; nothing is known at first
    half = False
    for line in told:
        if "tries" in line:
            there = set(line["before"])
            part = half and allowed[0] & allowed[1] <= there <= allowed[0] | allowed[1]
            if allowed and there not in allowed and not part:
                yield f"before {line['tries']} {difference(there, allowed[-1])}"
            allowed = [there, set(line["after"])]
            half = line["tries"] in ("clear", "undo")  # many lines; when they are not acknowledged, some may be there
        elif "done" in line:
            there = set(line["after"])
            if there != allowed[-1]:
                yield f"after {line['done']} {difference(there, allowed[-1])}"
            allowed, half = [there], False
        elif "trouble" in line:
            half = False  # who was told that it failed finds all of it undone


def difference(there: set[str], expected: set[str]) -> str:
    return f"there is {sorted(there - expected)} too much and {sorted(expected - there)} is missing"


def damage(rounds: int, seconds: float) -> tuple[str, int, list[str]]:
    """Cut a small ledger at each byte, and change each byte: what is around the damage is there, and it is reported."""
    problems: list[str] = []
    with TemporaryDirectory() as work:
        home, tried = Path(work) / "home", 0
        teller = Teller(home, Path(work) / "acks", SMALL)
        for operation in SMALL.split():
            teller.do(operation)
        teller.close()
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
                os.utime(places.memory, ns=LONG_AGO)  # no time stamp tells of it, so what is known is not read again
                problems += [f"{name} in silence: {problem}" for problem in broken(ledger_of(memory))]
                os.utime(places.memory)
            problems += [f"{name}: {problem}" for problem in judge_damage(home, kept, adds=tried % 8 == 0)]
    return f"{tried} places", tried, problems


def damaged(whole: bytes, step: int) -> Iterator[tuple[str, bytes, list[bytes]]]:
    """A name for each damage, the damaged file, and the lines that must have survived it."""
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
    """Compare a damaged ledger with one that has only the lines that must be there."""
    memory, places = open_home(home)
    ledger, other = ledger_of(memory), Ledger(places.data / "kept", now=lambda: datetime.now(UTC))
    other.path.write_bytes(b"".join(kept))
    try:
        yield from disagreements(ledger)
        yield from broken(ledger)
        there, expected = list(ledger.records_back()), list(other.records_back())
        if missing := [record for record in expected if record not in there]:
            yield f"lost: {missing}"
        hurt = len(there) == len(expected)  # else the line can still be read, without its checksum
        if hurt and list(ledger.items()) != list(other.items()):
            yield "the items are not those of the lines that are whole"
        state, size = ledger.state(), places.memory.stat().st_size
        torn, told = size - state.size, state.damaged > 0
        if hurt and not torn and not told and size != other.path.stat().st_size:
            yield "nobody is told"
        if adds:
            added = memory.remember(text("w1.1:")).item
            if added.id <= other.state().last_id or ledger.get(added.id) != added:
                yield "what is added is not found"
            if torn and not places.memory.with_name("memory.jsonl.torn").exists():
                yield "a torn line is gone"
    except (StoreTrouble, Declined, OSError, ValueError) as error:
        yield f"{type(error).__name__}: {error}"
    finally:
        memory.close()


if __name__ == "__main__":
    write(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
