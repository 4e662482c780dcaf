"""Fault test of the notes: a writer that logs what it tries and what was acknowledged, and checks of what is left.

Run as `fault_notes.py write HOME ACKS WORK`, this is the writer. WORK is a list of operations, `any` for random
operations until the writer is killed, or `crowd` for those that several writers can do at once.
"""

import json
import os
import random
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from fault_ledger import read_acks

from aish.memory import fingerprint, secret_patterns
from aish.memory.notes.document import Document, parse
from aish.memory.notes.files import NoteFiles, exchange_files
from aish.memory.notes.notebook import Notebook
from aish.memory.notes.operations import Add, Forget, Invalidate, Operation, Supersede, ToHistory
from aish.memory.notes.review_log import CHANGE
from aish.memory.redaction import Redaction
from aish.storage.lines import LineFile
from aish.values.errors import NotFound, StoreTrouble
from aish.values.stores import Damage

CHANNEL = "garden-12ab"
SHARED = {"add": 6, "supersede": 2, "invalidate": 2, "move": 1, "forget": 2}  # several writers can do these at once
OPERATIONS = SHARED | {"session": 2, "undo": 1, "edit": 1, "race": 2}
# `race`: a person saves the note at the moment when the writer replaces it.
WORKS = ("add race add supersede session forget undo session race", "race invalidate move edit forget add session")
NOW = datetime(2026, 11, 17, tzinfo=UTC)
PATTERNS = SimpleNamespace(redact=secret_patterns.redact, fingerprint=fingerprint.fingerprint)
NAME = re.compile(r"w[0-9a-f]+\.\d+:")
# All lines that a note can have. A partial write would leave another one.
LINE = re.compile(r"|# (Memory|History)|## (Decisions|2026-11-17|State)|- .+")
BY_HAND = 10**6  # numbers of what a person wrote
MANY_CHECKED = 5  # forgotten entries that are added again after each fault


class Home(NamedTuple):
    """The notes and the log of one channel, all below a directory."""

    top: Path

    @property
    def folder(self) -> Path:
        return self.top / "workspace" / "channels" / CHANNEL

    def open(self, exchange: Callable[[Path, Path], None] = exchange_files) -> Notebook:
        redaction = Redaction(self.top / "salt", lambda: PATTERNS)
        store = NoteFiles(self.top / "workspace", exchange)
        return Notebook(store, CHANNEL, LineFile(self.top / "log.jsonl"), redaction, lambda: NOW)

    def note(self, file: str) -> Document:
        path = self.folder / file
        return parse(path.read_bytes().decode() if path.exists() else "")


def prepare(home: Path) -> None:
    """Write notes with some entries."""
    book = Home(home).open()
    for number in range(6):
        book.apply([Add("Decisions", text(f"w0.{number}:"), "model", "c/1-2")], reason="prepared")
    book.save_session("", "## State\n\n- w0.9: state\n", reason="prepared")


def text(name: str) -> str:
    """Return the text of an entry, always the same for a name."""
    return f"{name} is the best {'ü' * (zlib.crc32(name.encode()) % 200)}."


def name_in(content: str) -> str:
    found = NAME.search(content)
    return found[0] if found else content


class LoggingWriter:
    """A writer that logs what it will do, does it, and logs the result, one line each."""

    def __init__(self, home: Path, acks: Path, work: str) -> None:
        self._log = os.open(acks, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._home, self._edit = Home(home), ""
        self._book = self._home.open(self._exchange)
        again = work not in ("any", "crowd")  # the same work must make the same system calls in every run
        self._names = f"w{zlib.crc32(work.encode()) if again else time.monotonic_ns():x}"
        self._chance = random.Random(work if again else None)
        self._count = 0

    def close(self) -> None:
        os.close(self._log)

    def do(self, operation: str) -> None:
        """Try one operation; log nothing if it is not possible now."""
        self._count += 1
        name, hand = f"{self._names}.{self._count}:", f"{self._names}.{self._count + BY_HAND}:hand"
        source = f"{self._names}/{self._count}-{self._count}"
        try:
            entries = [entry for entry in self._book.read(self._book.memory).entries if entry.id]
            chosen = self._chance.choice(entries) if entries else None
            old = name_in(chosen.text) if chosen else ""
            match operation:
                case "add" | "race":
                    self._edit = hand if operation == "race" else ""
                    self._apply(operation, [Add("Decisions", text(name), "model", source)], new=name)
                case "supersede" if chosen:
                    self._apply(operation, [Supersede(chosen.id, text(name), "model", source)], new=name, moved=old)
                case "invalidate" if chosen:
                    self._apply(operation, [Invalidate(chosen.id)], moved=old)
                case "move" if chosen:
                    self._apply(operation, [ToHistory(chosen.id)], moved=old)
                case "forget" if chosen:
                    self._apply(operation, [Forget(chosen.id)], gone=old)
                case "session":
                    self._save(name)
                case "undo":
                    self._undo()
                case "edit":
                    self._by_hand(hand)
        except StoreTrouble as error:
            self._log_line(trouble=operation, reason=str(error))

    def _apply(self, operation: str, operations: list[Operation], **names: str) -> None:
        self._log_line(tries=operation, **names)
        [result] = self._book.apply(operations, reason=operation)
        if result.applied:
            self._log_line(done=operation, **names)
        else:  # another writer was faster
            self._log_line(refused=operation, reason=result.reason, **names)

    def _save(self, name: str) -> None:
        self._log_line(tries="session", state=name)
        before = self._book.read(self._book.session).text
        self._book.save_session(before, f"## State\n\n- {text(name)}\n", reason="session")
        self._log_line(done="session", state=name)

    def _undo(self) -> None:
        changes = (one for one in self._book.log(1000) if one.what == CHANGE and one.rows and not one.undoes)
        changed = next((one for one in changes if not one.undone), None)
        names = sorted({name_in(one.text) for row in (changed.rows if changed else ()) for one in row[2:] if one})
        self._log_line(tries="undo", loose=names)
        try:
            self._book.undo()
        except NotFound:
            return
        self._log_line(done="undo", loose=names)

    def _exchange(self, first: Path, second: Path) -> None:
        if self._edit and second.name == "MEMORY.md":
            name, self._edit = self._edit, ""
            self._by_hand(name)
        exchange_files(first, second)

    def _by_hand(self, name: str) -> None:
        """Save MEMORY.md as editors do: write another file, and rename it."""
        path = self._home.folder / "MEMORY.md"
        if not path.exists():
            return
        self._log_line(tries="hand", hand=name)
        aside = path.with_name("MEMORY.md~")
        try:
            fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(fd, "wb", buffering=0):
                os.writev(fd, [path.read_bytes(), f"- {name}\n".encode()])
                os.fdatasync(fd)
            aside.replace(path)
        except OSError:  # the editor tells the person, who tries again later
            return
        self._log_line(done="hand", hand=name)

    def _log_line(self, **said: Any) -> None:
        # Use `writev`, so that the log is not hit by injected `write` errors.
        os.writev(self._log, [b"\n", json.dumps(said).encode(), b"\n"])


def write(home: Path, acks: Path, work: str) -> None:
    """Run as the writer."""
    writer = LoggingWriter(home, acks, work)
    print("ready", flush=True)
    chances = SHARED if work == "crowd" else OPERATIONS
    while work in ("any", "crowd"):
        writer.do(random.choices(list(chances), list(chances.values()))[0])
    for operation in work.split():
        writer.do(operation)
    writer.close()


def judge(home: Path, acks: Path, fault: str) -> list[str]:
    """Check each note as it was left, then make one more change as the next program would, and check everything."""
    found = [*_partial(Home(home))]
    writer = LoggingWriter(home, acks, "any")
    writer.do("add")
    writer.do("session")
    writer.close()
    log = read_acks(acks)
    if "done" not in log[-1] or "done" not in log[-3]:
        return [*found, f"the next change fails: {log[-4:]}"]
    return [*found, *_partial(Home(home)), *_lost(Home(home), log), *_broken_log(home), *_back(Home(home), log)]


def _partial(home: Home) -> Iterator[str]:
    """Report notes that are neither an old nor a new version."""
    for file in ("MEMORY.md", "HISTORY.md", "SESSION.md"):
        note = home.note(file)
        if note.problem:
            yield f"{file}: {note.problem}"
        yield from (f"{file} has {line[:60]!r}" for line in note.text.split("\n") if not LINE.fullmatch(line))
        for entry in note.entries:
            name = name_in(entry.text)
            if name not in entry.text or (
                entry.text.rpartition(name)[2] not in ("hand", " state", text(name)[len(name) :])
            ):
                yield f"{file}: the entry {name} is incomplete"
        ids = [entry.id for entry in note.entries]
        yield from (f"{file}: {id} is there twice" for id in set(ids) if id and ids.count(id) > 1)
        if note.text and not note.text.endswith("\n"):
            yield f"{file} has no end"


def _lost(home: Home, log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report acknowledged changes that are not there, and entries that are there twice."""
    memory, history = (
        [name_in(entry.text) for entry in home.note(file).entries] for file in ("MEMORY.md", "HISTORY.md")
    )
    tried = [line for line in log if "tries" in line]
    loose = {name for line in tried for name in line.get("loose", ())}
    moved = {line["moved"] for line in tried if "moved" in line} | loose
    gone = {line["gone"] for line in tried if "gone" in line} | loose
    for line in log:
        if "done" not in line:
            continue
        new, old, out = line.get("new"), line.get("moved"), line.get("gone")
        if new and new not in gone and new not in memory and not (new in moved and new in history):
            yield f"{new} is lost"
        if old and old not in loose and (old in memory or (old not in history and old not in gone)):
            yield f"{old} did not move"
        if out and out not in loose and out in memory:
            yield f"{out} is back"
    hands = [line["hand"] for line in log if line.get("done") == "hand"]
    texts = {entry.text for entry in home.note("MEMORY.md").entries}
    yield from (f"the edit {hand} is lost" for hand in hands if hand not in texts)
    states = [line["state"] for line in log if line.get("done") == "session"]
    if states and states[-1] not in home.note("SESSION.md").text:
        yield f"the working state {states[-1]} is lost"
    yield from (f"{name} is there twice" for name in set(memory) if memory.count(name) > 1)
    left = [path.name for path in home.folder.glob(".MEMORY.md.*") if path.name.endswith(".swap")]
    yield from (f"{name} was not finished" for name in left)


def _broken_log(home: Path) -> Iterator[str]:
    damage = Damage()
    for _ in LineFile(home / "log.jsonl").read(damage):
        pass
    if damage.lines:
        yield f"{damage.lines} lines of the log are damaged"


def _back(home: Home, log: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Report forgotten entries that can be learned again."""
    loose = {name for line in log for name in line.get("loose", ())}
    forgotten = [line["gone"] for line in log if line.get("done") == "forget" and line["gone"] not in loose]
    book = home.open()
    for name in forgotten[-MANY_CHECKED:]:
        [result] = book.apply([Add("Decisions", text(name))], reason="again")
        if result.applied or result.reason != "was forgotten":
            yield f"{name} can be learned again: {result.reason}"


if __name__ == "__main__":
    write(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
