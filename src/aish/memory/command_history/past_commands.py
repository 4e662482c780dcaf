"""The commands of the past in memory: each once, newest first, prepared for search while the user types.

Pure: commands come in, commands go out. Times are arguments.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

from aish.values.named_tuple import NamedTuple
from aish.values.past_command import LONGEST_COMMAND, PastCommand

MOST_KEPT = 250_000  # commands; about as many as a person types in twenty years
PER_CHUNK = 2_048  # a chunk is searched in less than a millisecond
_AFTER_ALL = "\U0010ffff"  # sorts after every other character
_AT_ONCE = 200  # results
_GAP = 12  # characters between two letters of a fuzzy match
_LONGEST_FUZZY = 40  # letters
_NOT_STARTED = (126, 127)  # exit status of a line that was no command
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=\S*\s+")

Status = Literal["", "succeeded", "failed"]


class Wanted(NamedTuple):
    """What to search for: words, which may be abbreviated, and bounds for the last run."""

    words: str = ""
    directory: str = ""
    status: Status = ""
    since: float = 0.0
    until: float = 0.0  # 0: until now
    only_commands: bool = False
    abbreviations: bool = True  # also commands that only have the letters of the words

    def admits(self, one: PastCommand) -> bool:
        """Is a command within the bounds?"""
        if self.directory and one.directory != self.directory:
            return False
        if self.status and (one.status is None or (one.status == 0) != (self.status == "succeeded")):
            return False
        if (self.since and one.time < self.since) or (self.until and not 0 < one.time < self.until):
            return False
        return one.is_command or not self.only_commands


class Chunk:
    """Some thousand commands, newest first, as columns: 250,000 tuples would slow down the garbage collector."""

    __slots__ = ("_details", "_order", "_sorted", "_times", "blob", "texts")

    def __init__(self, texts: list[str], times: list[float], details: list[tuple[Any, ...]]) -> None:
        self.texts, self._times, self._details = texts, times, details
        self.blob = _searchable(texts)
        self._order = sorted(range(len(texts)), key=texts.__getitem__)
        self._sorted = [texts[place] for place in self._order]

    def __len__(self) -> int:
        return len(self.texts)

    def command(self, place: int) -> PastCommand:
        return PastCommand(self.texts[place], self._times[place], *self._details[place])

    def complete(self, place: int, run: PastCommand) -> None:
        """Add what a run knows to a command that another history knows by its text only."""
        if not self._details[place][0]:
            self._times[place], self._details[place] = run.time, run[2:]

    def newest_with(self, start: str) -> str:
        """Return the newest command that begins with a text and is longer; empty if there is none."""
        low, high = bisect_left(self._sorted, start), bisect_left(self._sorted, start + _AFTER_ALL)
        if low < high and self._sorted[low] == start:
            low += 1
        return self.texts[min(self._order[low:high])] if low < high else ""


class PastCommands:
    """The list. Another thread may load it while it is used: what is loaded is replaced at once.

    1. Each command is in the list once, at its newest place.
    2. No lookup during typing goes through all commands in one step.
    """

    def __init__(self) -> None:
        self._chunks: tuple[Chunk, ...] = ()
        self._recent: dict[str, PastCommand] = {}  # of this shell, oldest first
        self._words: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._chunks)) + len(self._recent)

    def replace(self, chunks: Iterable[Chunk], words: "Counter[str]") -> None:
        """Use other commands from now on, beside those that were added here."""
        self._chunks, self._words = tuple(chunks), words + Counter(_names(self._recent.values()))

    def add(self, command: PastCommand) -> None:
        """Add a command that was just run, or a line that was just typed."""
        before = self._recent.pop(command.text, None)
        known = before is not None and before.is_command and not command.is_command
        self._recent[command.text] = before if known and before else command
        self._words.update(_names([command]))

    def clear(self) -> None:
        """Forget everything, before it is loaded again."""
        self._chunks, self._recent, self._words = (), {}, Counter()

    def texts(self) -> Iterator[str]:
        """Yield the texts of all commands, newest first."""
        recent = set(self._recent)
        yield from reversed(list(self._recent))
        for chunk in self._chunks:
            yield from (text for text in chunk.texts if text not in recent)

    def newest(self) -> Iterator[PastCommand]:
        """Yield all commands, newest first."""
        for batch in self.search(Wanted()):
            yield from batch

    def ran(self, word: str) -> int:
        """Return how many known commands begin with this word, so that it is the name of a command."""
        return self._words[word]

    def suggest(self, start: str) -> str:
        """Return the newest line that begins with a text and is longer; empty if there is none."""
        if len(start) >= LONGEST_COMMAND:  # pasted data; comparing it at each key would take seconds
            return ""
        for text in reversed(self._recent):
            if text.startswith(start) and text != start:
                return text
        for chunk in self._chunks:
            found = chunk.newest_with(start)
            if found:
                return found
        return ""

    def search(self, wanted: Wanted) -> Iterator[list[PastCommand]]:
        """Yield what is wanted in small steps: first commands with the words, then those with their letters in order.

        Within each kind the newest come first. A step may find nothing; a caller may stop at any time.
        """
        terms = wanted.words.split()
        recent = list(reversed(self._recent.values()))
        chunks, hidden = self._chunks, set(self._recent)
        fuzzy = wanted.abbreviations and any(1 < len(term) <= _LONGEST_FUZZY for term in terms)
        for letters in (False, True) if fuzzy else (False,):
            yield [one for one in recent if _has(one.text, terms, letters=letters) and wanted.admits(one)]
            for chunk in chunks:
                places = _places(chunk, terms, letters=letters)
                here = (chunk.command(place) for place in places if chunk.texts[place] not in hidden)
                found = (one for one in here if wanted.admits(one))
                while batch := list(islice(found, _AT_ONCE)):
                    yield batch
                yield []


def narrowed(found: list[PastCommand], words: str) -> Iterator[list[PastCommand]]:
    """Yield from all results of a search those that match longer words, in the order of `PastCommands.search`."""
    terms = words.split()
    for letters in (False, True):
        for start in range(0, len(found), _AT_ONCE):
            yield [one for one in found[start : start + _AT_ONCE] if _has(one.text, terms, letters=letters)]


class Builder:
    """Makes the chunks of a list from commands, newest first. Each text counts at its first appearance."""

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.words: Counter[str] = Counter()
        self._places: dict[str, int] = {}
        self._texts: list[str] = []
        self._times: list[float] = []
        self._details: list[tuple[Any, ...]] = []
        self._same: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # most commands of another shell have equal details

    @property
    def full(self) -> bool:
        return len(self._places) >= MOST_KEPT

    def add(self, one: PastCommand) -> None:
        text, details = one.text, tuple(one[2:])
        if "\0" in text:  # separates texts below, and no shell has it in a command
            return
        place = self._places.get(text)
        if place is not None:
            if one.directory:
                self._complete(place, one, details)
            return
        self._places[text] = len(self._places)
        self._texts.append(text)
        self._times.append(one.time)
        self._details.append(details if one.directory else self._same.setdefault(details, details))
        self.words.update(_names([one]))
        if len(self._texts) == PER_CHUNK:
            self.finish()

    def finish(self) -> list[Chunk]:
        """Return all chunks, also the last one, which may be short."""
        if self._texts:
            self.chunks.append(Chunk(self._texts, self._times, self._details))
            self._texts, self._times, self._details = [], [], []
        return self.chunks

    def _complete(self, place: int, one: PastCommand, details: tuple[Any, ...]) -> None:
        number, place = divmod(place, PER_CHUNK)
        if number < len(self.chunks):
            self.chunks[number].complete(place, one)
        elif not self._details[place][0]:
            self._times[place], self._details[place] = one.time, details


def _searchable(texts: Iterable[str]) -> bytes:
    """Return all texts in lower case, each in one line; bytes are searched faster than text."""
    flat = "\0".join(texts).replace("\n", " ").replace("\0", "\n")
    return f"\n{flat.lower()}\n".encode("utf-8", "replace")


def _places(chunk: Chunk, terms: list[str], *, letters: bool) -> Iterable[int]:
    """Yield the places of commands that have all terms; with `letters`, of those that only have their letters."""
    if not terms:
        return range(len(chunk))
    return _matching(chunk, terms, letters=letters)


def _matching(chunk: Chunk, terms: list[str], *, letters: bool) -> Iterator[int]:
    longest = max(terms, key=len).lower()
    needle, pattern, blob, at, line = longest.encode("utf-8", "replace"), _letters(longest), chunk.blob, 0, -1
    while True:
        start = _start(pattern.search(blob, at)) if letters else blob.find(needle, at)  # faster than a pattern
        if start < 0:
            return
        line += blob.count(b"\n", at, start)
        at = blob.find(b"\n", start)
        if _has(chunk.texts[line], terms, letters=letters):
            yield line


def _start(found: re.Match[bytes] | None) -> int:
    return found.start() if found else -1


def _has(text: str, terms: list[str], *, letters: bool) -> bool:
    """Has a command all terms? With `letters`, only in abbreviated form: those that have them in full are left out."""
    if not terms:
        return not letters
    lower = text.lower()
    chosen = [(term, lower if term.lower() == term else text) for term in terms]  # capitals count if they are typed
    full = all(term in where for term, where in chosen)
    if full or not letters:
        return full and not letters
    return all(_letters(term).search(where.encode("utf-8", "replace")) for term, where in chosen)


@lru_cache(maxsize=64)
def _letters(term: str) -> re.Pattern[bytes]:
    """Return a pattern for the letters of a term in order and close together.

    Each step is atomic: it takes the next such letter, so that no text makes the search slow.
    """
    first, *rest = (re.escape(letter.encode("utf-8", "replace")) for letter in term)
    if len(term) > _LONGEST_FUZZY:
        return re.compile(first + b"".join(rest))
    return re.compile(first + b"".join(b"(?>[^\\n]{0,%d}?%s)" % (_GAP, one) for one in rest))


def _names(commands: Iterable[PastCommand]) -> Iterator[str]:
    """Yield the first word of each line that was run as a command."""
    for one in commands:
        if one.is_command and one.status not in _NOT_STARTED:
            text = one.text
            if "=" in text and (assignment := _ASSIGNMENT.match(text)):
                text = text[assignment.end() :]
            yield from islice(text.split(None, 1), 1)
