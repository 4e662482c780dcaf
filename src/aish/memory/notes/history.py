"""HISTORY.md: dated blocks, oldest first, which become coarser with time.

    ## 2026-11-17      a day
    ## 2026-09         a month: days that are more than 60 days old
    ## 2025            a year: months that are more than a year old

Pure: documents in, documents out.
"""

from datetime import date, timedelta

from aish.memory.ledger_lines import folded
from aish.memory.notes.blocks import HEADING
from aish.memory.notes.document import Document, Entry, parse
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import one_line

DAYS_AS_DAYS = 60
DAYS_AS_MONTHS = 365
MOST_IN_A_MONTH = 40  # entries; the originals are in the archive
MOST_IN_A_YEAR = 60
_LONGEST_LINE = 200
_PERIOD = pattern(r"\d{4}(?:-\d\d(?:-\d\d)?)?")


class DatedBlock(NamedTuple):
    """A dated block: its heading, the day after it ends, and its entries."""

    name: str
    end: date
    entries: list[Entry]


class Folded(NamedTuple):
    """The history after folding, and the text for the archive."""

    kept: Document
    archived: str


def add_to_day(history: Document, day: str, entry: Entry) -> Document:
    """Add an entry to the block of a day, which is made in order of time."""
    order = sorted({day, *(name for name in history.sections if _PERIOD.fullmatch(name))})
    return history.add(day, entry, order)


def periods(history: Document) -> list[DatedBlock]:
    """Return the dated blocks in their order."""
    return [
        DatedBlock(name, end, [part.entry for part in history.parts[start:stop] if part.entry])
        for start, stop, name in _ranges(history)
        if (end := _end(name))
    ]


def fold(history: Document, today: str) -> Folded:
    """Fold old blocks into months and years. Each keeps the first lines of its entries; all originals are archived."""
    now, archived = date.fromisoformat(today), list[str]()
    for period in periods(history):
        coarser = _coarser(period, now)
        if not coarser:
            continue
        start, stop = next((start, stop) for start, stop, name in _ranges(history) if name == period.name)
        raws = [part.block.raw for part in history.parts]
        archived.append("".join(raws[start:stop]).rstrip() + history.newline * 2)
        moved = [entry._replace(section=coarser, text=_first_line(entry.text)) for entry in period.entries]
        history = _with_entries(parse("".join(raws[:start] + raws[stop:])), coarser, moved)
    return Folded(history, "".join(archived))


def _ranges(history: Document) -> list[tuple[int, int, str]]:
    """Return start, end and name of each dated block: its heading and everything below it."""
    found, heads = list[tuple[int, int, str]](), [(n, part.block) for n, part in enumerate(history.parts)]
    heads = [(place, block) for place, block in heads if block.kind == HEADING]
    for number, (start, block) in enumerate(heads):
        if _end(block.title):
            after = (place for place, other in heads[number + 1 :] if other.level <= block.level or _end(other.title))
            found.append((start, next(after, len(history.parts)), block.title))
    return found


def _end(name: str) -> date | None:
    """Return the day after a period."""
    if not _PERIOD.fullmatch(name):
        return None
    year, month, day = (*map(int, name.split("-")), 0, 0)[:3]
    try:
        if day:
            return date(year, month, day) + timedelta(days=1)
        return date(year + (month in (0, 12)), month % 12 + 1 if month else 1, 1)
    except (ValueError, OverflowError):
        return None


def _coarser(period: DatedBlock, today: date) -> str:
    """Return the name of the block that a period belongs into; empty if it stays."""
    age = (today - period.end).days
    if len(period.name) > 4 and age >= DAYS_AS_MONTHS:
        return period.name[:4]
    return period.name[:7] if len(period.name) > 7 and age >= DAYS_AS_DAYS else ""


def _first_line(text: str) -> str:
    return one_line(text.partition("\n")[0], _LONGEST_LINE)


def _with_entries(history: Document, name: str, entries: list[Entry]) -> Document:
    """Add entries to a block, without repeating any, up to a limit."""
    there = [entry for entry in history.entries if entry.section == name]
    known, room = {folded(entry.text) for entry in there}, MOST_IN_A_YEAR if len(name) == 4 else MOST_IN_A_MONTH
    room -= len(there)
    for entry in entries:
        if room > 0 and entry.text and folded(entry.text) not in known:
            history, room = add_to_day(history, name, entry), room - 1
            known.add(folded(entry.text))
    return history
