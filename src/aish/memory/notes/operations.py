"""Operations on entries: the only changes that programs make to MEMORY.md and HISTORY.md.

Pure: documents and operations in, documents and results out. Nothing that a model returns can damage a note: each
operation is checked against the entries that are there now, and one that makes no sense changes nothing.
"""

import re
from collections.abc import Callable, Sequence

from aish.memory.ledger_lines import folded
from aish.memory.notes.document import SECTIONS, Document, Entry
from aish.memory.notes.entry import is_date
from aish.memory.notes.history import add_to_day
from aish.values.invisible import visible
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import one_line

MOST_AT_ONCE = 20
LONGEST_TEXT = 300
_LONGEST_SECTION = 60
_SMALL_CHANGE = 2  # so many entries may always be changed; a short note could not be corrected otherwise
_FORGED = pattern(r"<!--|-->|```|~~~")
_HEADING = pattern(r"#{1,6}(?:\s|$)")


class Add(NamedTuple):
    """Add an entry to MEMORY.md."""

    section: str
    text: str
    origin: str = ""
    source: str = ""
    until: str = ""
    said: str = ""  # the day; empty: today


class Supersede(NamedTuple):
    """Replace an entry by a newer one. The old text goes to HISTORY.md."""

    id: str
    text: str
    origin: str = ""
    source: str = ""
    said: str = ""


class Invalidate(NamedTuple):
    """An entry is no longer true. It goes to HISTORY.md."""

    id: str
    reason: str = ""


class ToHistory(NamedTuple):
    """Move an entry to HISTORY.md as it is."""

    id: str


class Forget(NamedTuple):
    """Remove an entry of MEMORY.md or HISTORY.md. No note keeps it."""

    id: str


class Milestone(NamedTuple):
    """Add an entry to the block of a day in HISTORY.md."""

    text: str
    origin: str = ""
    source: str = ""
    said: str = ""


class Confirm(NamedTuple):
    """The user confirms an entry: it has no probation, and counts as the user's words."""

    id: str


Operation = Add | Supersede | Invalidate | ToHistory | Forget | Milestone | Confirm


class Result(NamedTuple):
    """What became of an operation. `id` is the entry that it made or moved; for a duplicate, the one that is there."""

    operation: Operation
    applied: bool
    reason: str = ""  # why it was refused
    id: str = ""
    masked: str = ""  # the message for the user if secrets were masked


class Applied(NamedTuple):
    """The documents after the operations."""

    memory: Document
    history: Document
    results: list[Result]


def clean_text(text: str) -> tuple[str, str]:
    """Return a text as an entry keeps it, and why it cannot be one; one of both is empty."""
    flat = re.sub(r"^(?:[-*+]\s+)+", "", " ".join(visible(text).split()))
    if not re.search(r"\w", flat):
        return "", "the text is empty"
    if len(flat) > LONGEST_TEXT:
        return "", f"the text is longer than {LONGEST_TEXT} characters"
    if _FORGED.search(flat) or _HEADING.match(flat):
        return "", "the text contains a heading, a comment or a code block"
    return flat, ""


def apply(
    memory: Document,
    history: Document,
    operations: Sequence[Operation],
    *,
    today: str,
    new_id: Callable[[], str],
    refuse: Callable[[Operation], str] = lambda operation: "",
    by_user: bool = False,
) -> Applied:
    """Apply operations one after another. A list that would remove too much is refused as a whole."""
    if len(operations) > MOST_AT_ONCE:
        reason = f"more than {MOST_AT_ONCE} operations at once"
        return Applied(memory, history, [Result(one, applied=False, reason=reason) for one in operations])
    change = _Change(memory, history, today, new_id)
    results = [_one(change, operation, refuse) for operation in operations]
    if not by_user and (reason := _loses_too_much(memory, change.memory)):
        return Applied(
            memory,
            history,
            [one if not one.applied else one._replace(applied=False, reason=reason, id="") for one in results],
        )
    return Applied(change.memory, change.history, results)


class _Change:
    """The documents while operations are applied."""

    def __init__(self, memory: Document, history: Document, today: str, new_id: Callable[[], str]) -> None:
        self.memory, self.history, self.today = memory, history, today
        self._used = {entry.id for entry in (*memory.entries, *history.entries)}
        self._new_id = new_id

    def id(self) -> str:
        """Return an id that neither document uses."""
        id = self._new_id()
        while id in self._used:
            id = self._new_id()
        self._used.add(id)
        return id

    def retire(self, entry: Entry, text: str) -> None:
        """Move an entry to today's block of the history. A block that has the text already is left as it is."""
        same = [one for one in self.history.entries if one.section == self.today and folded(one.text) == folded(text)]
        if not same:
            id = (
                self.id() if self.history.find(entry.id) else entry.id
            )  # an interrupted change may have moved it before
            self.history = add_to_day(self.history, self.today, entry._replace(id=id, text=text, until=""))
        self.memory = self.memory.remove(entry.id)

    def known(self, text: str) -> Entry | None:
        """Return the entry that says the same."""
        wanted = folded(text)
        return next((entry for entry in self.memory.entries if folded(entry.text) == wanted), None)


def _day(said: str, today: str) -> str:
    """Return the day on which something was said; today if it is not a date."""
    return said if is_date(said) else today


def _one(change: _Change, operation: Operation, refuse: Callable[[Operation], str]) -> Result:
    refused = Result(operation, applied=False)
    text = ""
    if isinstance(operation, Add | Supersede | Milestone):
        text, reason = clean_text(operation.text)
        reason = reason or refuse(operation._replace(text=text))
        if reason:
            return refused._replace(reason=reason)
    if isinstance(operation, Add):
        return _add(change, operation, text)
    if isinstance(operation, Milestone):
        return _add_milestone(change, operation, text)
    entry = change.memory.find(operation.id)
    if isinstance(operation, Forget) and change.history.find(operation.id):  # an interrupted move leaves it in both
        change.history = change.history.remove(operation.id)
        if entry is None:
            return Result(operation, applied=True, id=operation.id)
    if entry is None:
        return refused._replace(reason=f"there is no entry {one_line(operation.id, 20) or 'without an id'}")
    match operation:
        case Supersede():
            return _supersede(change, operation, entry, text)
        case Invalidate():
            reason = _aside(operation.reason)
            change.retire(entry, f"Until {change.today}: {entry.text}{f' ({reason})' if reason else ''}")
        case ToHistory():
            change.retire(entry, entry.text)
        case Forget():
            change.memory = change.memory.remove(entry.id)
        case Confirm():
            change.memory = change.memory.replace(
                entry.id, entry._replace(text=visible(entry.text), origin="", until="")
            )
    return Result(operation, applied=True, id=entry.id)


def _add(change: _Change, operation: Add, text: str) -> Result:
    section = one_line(visible(operation.section), _LONGEST_SECTION).strip("# ")
    if not section or _FORGED.search(section):
        return Result(operation, applied=False, reason=f"no such section; use one of: {', '.join(SECTIONS)}")
    if known := change.known(text):
        return Result(operation, applied=False, reason="already known", id=known.id)
    day = _day(operation.said, change.today)
    entry = Entry(change.id(), section, text, day, operation.until, operation.origin, operation.source)
    change.memory = change.memory.add(section, entry)
    return Result(operation, applied=True, id=entry.id)


def _add_milestone(change: _Change, operation: Milestone, text: str) -> Result:
    day = _day(operation.said, change.today)
    block = [entry for entry in change.history.entries if entry.section == day]
    known = next((entry for entry in block if folded(entry.text) == folded(text)), None)
    if known:
        return Result(operation, applied=False, reason="already known", id=known.id)
    entry = Entry(change.id(), day, text, day, "", operation.origin, operation.source)
    change.history = add_to_day(change.history, day, entry)
    return Result(operation, applied=True, id=entry.id)


def _supersede(change: _Change, operation: Supersede, old: Entry, text: str) -> Result:
    known = change.known(text)
    if known == old:
        return Result(operation, applied=False, reason="already known", id=old.id)
    if known is None:
        day = _day(operation.said, change.today)
        until = "" if operation.origin in ("", "user") else old.until  # a trial goes on until the user says it
        new = Entry(change.id(), old.section, text, day, until, operation.origin, operation.source)
        place = change.memory
        change.retire(old, f"Until {change.today}: {old.text}")
        change.memory = place.replace(old.id, new)
        return Result(operation, applied=True, id=new.id)
    change.retire(old, f"Until {change.today}: {old.text}")
    return Result(operation, applied=True, id=known.id)


def _aside(reason: str) -> str:
    """Return a reason that fits behind a text; nothing if it is not one."""
    flat, problem = clean_text(one_line(reason, 100))
    return "" if problem else flat


def _loses_too_much(before: Document, after: Document) -> str:
    """Tell why a change removes too much: more than 60 % of the text, or half of the entries."""
    old, new = before.entries, after.entries
    kept = {entry.id for entry in new}
    touched = sum(entry.id not in kept for entry in old if entry.id)
    if touched <= _SMALL_CHANGE:
        return ""
    if (len(old) - len(new)) * 2 >= len(old):
        return "together, the operations would remove half of the entries"
    if sum(len(entry.text) for entry in new) < 0.4 * sum(len(entry.text) for entry in old):
        return "together, the operations would remove most of the text"
    return ""
