"""The working state as a document: read from `SESSION.md`, and written back into it.

Pure: documents in, documents out. The program writes the sections always in the same order.
"""

from collections.abc import Callable, Sequence
from datetime import date

from aish.memory.notes.blocks import HIDDEN
from aish.memory.notes.document import Document, Entry, parse
from aish.memory.notes.transcript import significant
from aish.memory.notes.working_state import BY_HEADING, BY_NAME, FIELDS, StateLine
from aish.values.invisible import visible

TITLE = "# Session\n"
ORDER = tuple(field.heading for field in FIELDS)


def state_in(document: Document) -> list[StateLine]:
    """Return the working state in a document. Sections with other headings are the user's own, and not part of it."""
    return [
        StateLine(
            BY_HEADING[entry.section.casefold()].name, visible(" ".join(entry.text.split())), entry.origin or "user"
        )
        for entry in document.entries
        if entry.section.casefold() in BY_HEADING
    ]


def with_state(
    base: Document, lines: Sequence[StateLine], *, source: str, today: date, new_id: Callable[[], str]
) -> Document:
    """Return the document with these lines as the working state.

    A line that is the same or similar keeps its id, so that changes by the user can be merged. Lines that the user
    wrote stay, and so does everything outside of the known sections.
    """
    old = [entry for entry in base.entries if entry.section.casefold() in BY_HEADING]
    own = [entry for entry in old if not entry.id or not entry.source]  # without a source: written by hand
    texts = {(entry.section.casefold(), entry.text.casefold()) for entry in own}
    document, left = base if base.text.strip() else parse(TITLE), [entry for entry in old if entry not in own]
    new: list[Entry] = []
    for line in lines:
        heading = BY_NAME[line.field].heading
        if (heading.casefold(), line.text.casefold()) in texts:
            continue
        match = _match(line, heading, left)
        entry = Entry(match.id if match else new_id(), heading, line.text, today.isoformat(), "", line.origin, source)
        if match is None:
            new.append(entry)
            continue
        left.remove(match)
        if match.text != line.text:
            document = document.replace(match.id, entry)
    for entry in left:
        document = document.remove(entry.id)
    for entry in new:
        document = document.add(entry.section, entry, ORDER)
    return _tidied(document)


def _tidied(document: Document) -> Document:
    """Return the document without empty sections, unless the user has written more into it than entries."""
    known = {heading.casefold() for heading in ORDER} | {"session"}
    if document.prose or any(part.block.kind == HIDDEN for part in document.parts):
        return document
    if any(section.casefold() not in known for section in document.sections):
        return document
    tidy = parse(TITLE)
    for heading in ORDER:
        for entry in document.entries:
            if entry.section.casefold() == heading.casefold():
                tidy = tidy.add(heading, entry, ORDER)
    lost = len(document.entries) - len(tidy.entries)  # entries before the first section
    return document if lost else tidy


def _match(line: StateLine, heading: str, entries: Sequence[Entry]) -> Entry | None:
    """Return the old entry that a line continues: the same text, or most of its words in the same section."""
    same = [entry for entry in entries if entry.section.casefold() == heading.casefold()]
    wanted = set(significant(line.text))
    best, most = None, 0.6
    for entry in same:
        if entry.text == line.text:
            return entry
        words = set(significant(entry.text))
        share = len(words & wanted) / max(len(words | wanted), 1)
        if share >= most:
            best, most = entry, share
    return best
