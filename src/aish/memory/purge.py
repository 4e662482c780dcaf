"""Purging: removes words from every file of ours. Only fingerprints of them stay.

The ledger comes last: while it still has the words, an interrupted purge can be repeated.
"""

import fcntl
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from aish.memory.journal import Journal
from aish.storage.files import erase_from
from aish.storage.lines import LineFile
from aish.values.errors import StoreTrouble
from aish.values.items import FORGET
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Record

GONE = "[purged]"
_FIXED = {"kind", "role", "ts", "state", "crc", "n", "id", "what", "category"}.union(  # fields that no user writes
    "upkeep job consolidation".split()
)
_NAMES = _FIXED.union(  # field names of our files; without them a line could not be read
    "meta format content source origin conversation turn tags key target supersedes change undoes restores".split(),
    "reason purged confirmed ledger name tool_calls arguments call_id model ms usage prompt completion error".split(),
    "channel title trust ref undated background recovered started cwd path prompt_tokens completion_tokens".split(),
    "cached_tokens dollars sha256 made_of typed recalled own compaction directory recalled_notes".split(),
    "consolidation upkeep job turns number parent ids".split(),
    "goal check envelope paths programs network steps minutes tokens step plan answer commands command effect".split(),
    "decision status output tools files spent seconds calls unpriced result project".split(),
    "thinking host rows note before after section text made until refused terms base mine theirs".split(),
)
_CODES = {
    "user",
    "model",
    "file",
    "import",
    "summarize",
    "superseded",
    "pruned",
    "memory_add",
    *"queued done failed skipped refreshed tidied recalled tidying recall".split(),
}  # values of aish
_CODED = frozenset("source origin meta reason name trust made_of consolidation upkeep job".split())  # may have one
SHORT = 8
_BLANK = r"(?:\s|\\+[nrt]|\\+u00[aA]0|(?<=\n)\+)"  # the last: line breaks in the input history
LETTER = r"[^\W\u0e00-\u0eff\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"  # only scripts with blanks
_BEFORE = rf"(?:(?<!{LETTER})|(?<=\\[nrtbf])|(?<=\\u[0-9a-fA-F]{{4}}))"  # escapes are not part of a word


class Erased(NamedTuple):
    """The result of a purge."""

    places: int
    files: int
    busy: bool = False  # another aish is streaming an answer that contains the words


def pattern_of(phrases: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds the phrases in any of our files.

    It ignores case, whitespace and Unicode form, and also finds text that is escaped in JSON, or in JSON inside JSON.
    """
    forms = {unicodedata.normalize(form, phrase) for phrase in phrases for form in ("NFC", "NFD", "NFKC")}
    return re.compile("|".join(_form(form) for form in sorted(forms, key=len, reverse=True) if form.strip()))


def _form(phrase: str) -> str:
    raw = phrase.split()
    words = ["".join(_letter(letter) for letter in word) for word in raw]
    text = words[0]
    for place, word in enumerate(words[1:], start=1):  # an item `key = value` may have been typed as `key=value`
        text += _BLANK + ("*" if "=" in raw[place - 1 : place + 1] else "+") + word
    flat = phrase.strip()
    if len(words) == 1 and len(flat) < SHORT:  # otherwise `cat` would be erased from `concatenate`
        before = _BEFORE if re.match(LETTER, flat[0]) else ""
        return before + text + (f"(?!{LETTER})" if re.match(LETTER, flat[-1]) else "")
    return text


def _letter(letter: str) -> str:
    ways = {letter, letter.lower(), letter.upper(), letter.casefold()}
    ways |= {"ς"} if "σ" in ways else set()
    texts = {rf"\\*{re.escape(one)}" if one in '"\\/' else re.escape(one) for one in ways}
    texts |= {_escaped(one) for one in ways if len(one) == 1 and not (one.isascii() and one.isalnum())}
    return f"(?:{'|'.join(sorted(texts))})"


def _escaped(letter: str) -> str:
    """The letter as JSON may write it, whatever the case of the digits; beyond 16 bits it takes two escapes."""
    digits = letter.encode("utf-16-be", "surrogatepass").hex()
    either = [f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits]
    return "".join(rf"\\+u{''.join(either[place : place + 4])}" for place in range(0, len(either), 4))


class Eraser:
    """Erases phrases from files. Each file is replaced atomically."""

    def __init__(self, phrases: Iterable[str], fingerprint: Callable[[str], str]) -> None:
        self._pattern = pattern_of(phrases)
        self._fingerprint = fingerprint
        self.places = 0

    def found_in(self, text: str) -> bool:
        return bool(self._pattern.search(text))

    def clean(self, text: str) -> str:
        """Return the text without the phrases."""
        text, count = self._pattern.subn(GONE, text)
        self.places += count
        return text

    def clean_file(self, path: Path) -> bool:
        """Erase the phrases from a file of any format, and tell whether it had them. Raises `StoreTrouble`."""
        if path.suffix != ".jsonl" or path.is_symlink() or not path.is_file():
            return erase_from(path, self)
        return LineFile(path).erase(self) > 0

    def clean_record(self, record: Record) -> Record:
        """Return a record without the phrases. Field names and codes of aish are kept."""
        return {
            key if key in _NAMES else self.clean(key): one if _is_ours(key, one) else self._clean_value(one)
            for key, one in record.items()
        }

    def clean_item(self, record: Record) -> Record:
        """Clean a record of a ledger. An item with the phrases becomes its own tombstone, with its fingerprint."""
        id, content = record.get("id"), record.get("content")
        if not isinstance(content, str) or not self.found_in(content):
            return self.clean_record(record)
        self.places += 1
        return {"id": id, "ts": record.get("ts"), "kind": FORGET, "target": id, "purged": self._fingerprint(content)}

    def _clean_value(self, value: Any) -> Any:
        match value:
            case str():
                return self.clean(value)
            case list():
                return [self._clean_value(one) for one in value]
            case dict():
                return self.clean_record(value)
        return value


def _is_ours(key: str, value: Any) -> bool:
    """Did aish itself set this value? Then it is kept, whatever is purged."""
    return key in _FIXED or (key in _CODED and isinstance(value, str) and value in _CODES)


def files_below(directories: Iterable[Path], leave: Iterable[Path] = ()) -> Iterator[Path]:
    """Yield every file below these directories once, except those in `leave`, which may be named by any path.

    Links to directories are followed only for the given directories, because others may lead to foreign files.
    """
    left, seen = {path.resolve() for path in leave}, set[Path]()
    for directory in directories:
        for folder, folders, names in os.walk(directory, onerror=_unreadable):
            real = Path(folder).resolve()
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            yield from (Path(folder, name) for name in sorted(names) if real / name not in left)


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise StoreTrouble(f"cannot look into {error.filename}: {error.strerror or error}") from error


def purge_files(
    eraser: Eraser, directories: Iterable[Path], leave: Iterable[Path], now: Callable[[], datetime]
) -> tuple[int, bool]:
    """Erase the phrases from all files below the directories. Return how many had them, and whether one is in use."""
    count, busy = 0, False
    for path in list(files_below(directories, leave)):
        if _is_temporary(path):
            _remove(path)  # left by a process that was killed while it replaced a file
        elif (
            path.suffix == ".live"
        ):  # move the partial answer of a killed process to its journal, which is cleaned below
            Journal(path.parent, path.stem).recover(now())
            busy = busy or (_in_use(path) and eraser.found_in(path.read_text("utf-8", "replace")))
    for path in list(files_below(directories, leave)):
        if _is_temporary(path):
            continue  # new: another process is about to rename it, and must not rename a damaged one
        count += not (path.suffix == ".live" and _in_use(path)) and eraser.clean_file(path)
    return count, busy


def _is_temporary(path: Path) -> bool:
    return path.name.startswith(".") and path.suffix == ".tmp"


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreTrouble(f"cannot purge {path}: {error.strerror or error}") from error


def _in_use(path: Path) -> bool:
    """Is another process streaming an answer into this file?"""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False
