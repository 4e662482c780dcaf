"""A note as a document: its entries, and edits that keep every other byte.

Pure: text in, document out. Each edit returns a new document, and makes sure that all other entries stay as they were.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from aish.memory.ledger_lines import folded
from aish.memory.notes.blocks import BLANK, BULLET, ENTRY, HEADING, OPEN, PROSE, MarkdownBlock, offset, split
from aish.memory.notes.entry import COMMENT, Entry, read_entry, render, with_id
from aish.values.errors import NotFound
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

__all__ = ["EMPTY", "LARGEST_WRITTEN", "SECTIONS", "Document", "Entry", "parse", "plain", "problem_of"]

SECTIONS = ("Identity / Participants", "Preferences", "Ongoing Work", "Constraints", "Decisions", "Open Loops")
LARGEST_WRITTEN = 1 << 20  # bytes; a larger note is read, but not changed
_MERGE_MARKER = pattern(r"^(?:<{7}|>{7}|\|{7})(?:[ \t\r]|$)", re.MULTILINE)
_BULLETS = ("- ", "* ", "+ ")
_APART = "<!-- -->"  # ends a list item


class NotePart(NamedTuple):
    """A block in its section, with its entry if it is one."""

    block: MarkdownBlock
    section: str
    entry: Entry | None = None


class Document(NamedTuple):
    """A parsed note. `problem` says why the program must not write it; empty: it may."""

    parts: tuple[NotePart, ...] = ()
    problem: str = ""

    @property
    def text(self) -> str:
        return "".join(part.block.raw for part in self.parts)

    @property
    def entries(self) -> list[Entry]:
        return [part.entry for part in self.parts if part.entry]

    @property
    def sections(self) -> list[str]:
        """The titles of all headings, in order."""
        return [part.block.title for part in self.parts if part.block.kind == HEADING]

    @property
    def prose(self) -> list[tuple[str, str]]:
        """All paragraphs and code outside entries, each with its section."""
        return [(part.section, part.block.raw.strip()) for part in self.parts if part.block.kind in (PROSE, OPEN)]

    @property
    def outside(self) -> str:
        """The text outside entries."""
        return "".join(part.block.raw for part in self.parts if not part.entry)

    def find(self, id: str) -> Entry | None:
        """Return the entry with this id."""
        return next((entry for entry in self.entries if entry.id == id), None) if id else None

    def add(self, section: str, entry: Entry, order: Sequence[str] = SECTIONS) -> "Document":
        """Add an entry at the end of a section, which is made if it is missing: in this order, or at the end."""
        place = self._heading(section)
        tries = self._after_last(section) if place is not None or not section else self._new_section(section, order)
        return self._spliced(tries, entry._replace(section=section))

    def replace(self, id: str, entry: Entry) -> "Document":
        """Put an entry in the place of another. Raises `NotFound`."""
        return self.replace_at(self._place(id), entry)

    def remove(self, id: str) -> "Document":
        """Remove an entry. Raises `NotFound`."""
        return self.remove_at(self._place(id))

    def with_ids(self, new_id: Callable[[], str]) -> "Document":
        """Give an id to each entry that has none."""
        used = {id for id, _ in COMMENT.findall(self.text)}
        raws = []
        for part in self.parts:
            raw = part.block.raw
            if part.entry and not part.entry.id:
                id = next(id for id in iter(new_id, None) if id not in used)
                used.add(id)
                raw = with_id(raw, id)
            raws.append(raw)
        return parse("".join(raws))

    # By place in `parts`, which also works for entries without an id

    def replace_at(self, place: int, entry: Entry) -> "Document":
        part = self.parts[place]
        if folded(entry.section) != folded(part.section):
            return self.remove_at(place).add(entry.section, entry)
        raw = part.block.raw
        bullet = BULLET.match(raw)
        own = bullet[0] if bullet and bullet[3] else "- "
        marks = (own, *(own.replace(own.strip(), mark.strip()) for mark in _BULLETS), *_BULLETS)
        ends = ((self.newline if raw.endswith("\n") else ""), f"{self.newline}{_APART}{self.newline}")
        tries = (_Try(place, place + 1, "", mark, end) for end in ends for mark in marks)
        return self._spliced(tries, entry._replace(section=part.section))

    def remove_at(self, place: int) -> "Document":
        before = [part.block.raw for part in self.parts[:place]]
        after = [part.block.raw for part in self.parts[place + 1 :]]
        wanted = [part.entry for part in (*self.parts[:place], *self.parts[place + 1 :]) if part.entry]
        # What is left may join into something else; a blank line or, at worst, an empty comment keeps it apart.
        for apart in ("", self.newline, f"{self.newline}{_APART}{self.newline}"):
            found = parse("".join([*before, apart, *after]))
            if _same(found.entries, wanted) and _counted(found) == _counted(self) + apart.count(_APART):
                return found
        raise NotFound("the entry cannot be removed")  # cannot happen: a comment separates everything

    @property
    def newline(self) -> str:
        """The line end of most lines."""
        text = self.text
        return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"

    def _place(self, id: str) -> int:
        for place, part in enumerate(self.parts):
            if id and part.entry and part.entry.id == id:
                return place
        raise NotFound(f"there is no entry {id or 'without an id'}")

    def _heading(self, section: str) -> int | None:
        """Return the place of the heading of a section, whatever its case."""
        wanted = folded(section)
        titles = ((place, part.block) for place, part in enumerate(self.parts) if part.block.kind == HEADING)
        return next((place for place, block in titles if section and folded(block.title) == wanted), None)

    def _end(self, start: int, level: int = 7) -> int:
        """Return the end of the section whose content starts there: the next heading of this level or above."""
        for place in range(start, len(self.parts)):
            block = self.parts[place].block
            if block.kind == OPEN or (block.kind == HEADING and block.level <= level):
                return place
        return len(self.parts)

    def _after_last(self, section: str) -> Iterator["_Try"]:
        """Yield where an entry can go in a section that exists: after its last entry, or after its text."""
        heading = self._heading(section)
        start = 0 if heading is None else heading + 1
        end = self._end(start)
        last = next((place for place in range(end - 1, start - 1, -1) if self.parts[place].entry), None)
        if last is not None:
            bullet = BULLET.match(self.parts[last].block.raw)
            mark = bullet[2] if bullet and bullet[2] in "-*+" else "-"
            yield _Try(last + 1, last + 1, "", f"{mark} ", self.newline)
            if bullet:  # with the same column, what follows belongs to it no more than before
                indent = " " * (offset(bullet) - len(bullet[1]) - 1)
                yield _Try(last + 1, last + 1, "", f"{bullet[1]}{mark}{indent}", self.newline)
        end = self._before_blanks(end, start)
        yield from self._tries(end, "")
        yield from self._tries(end, f"{_APART}{self.newline * 2}")

    def _new_section(self, section: str, order: Sequence[str]) -> Iterator["_Try"]:
        """Yield where a new section can go."""
        known = [folded(title) for title in order]
        ranks = {
            place: (known.index(title), part.block.level)
            for place, part in enumerate(self.parts)
            if part.block.kind == HEADING and (title := folded(part.block.title)) in known
        }
        level = next((level for _, level in ranks.values()), 2)
        end, title = self._end(0, 0), section
        if folded(section) in known:
            rank = known.index(folded(section))
            title = order[rank]
            earlier = [place for place, (other, _) in ranks.items() if other < rank]
            later = [place for place, (other, _) in ranks.items() if other > rank]
            if earlier and (after := self._end(max(earlier) + 1, ranks[max(earlier)][1])) <= end:
                end = after
            elif later:
                end = min(later)
        end = self._before_blanks(end, 0)
        return self._tries(end, f"{'#' * level} {title}{self.newline * 2}")

    def _before_blanks(self, end: int, start: int) -> int:
        """Return the end without blank lines; one at the end of the text is used."""
        if end == len(self.parts) > start and self.parts[-1].block.raw in ("\n", "\r\n"):
            return end
        while end > start and self.parts[end - 1].block.kind == BLANK:
            end -= 1
        return end

    def _tries(self, place: int, lead: str) -> Iterator["_Try"]:
        """Yield ways to put an entry at a place, apart from what is around it."""
        after = self.parts[place].block if place < len(self.parts) else MarkdownBlock(BLANK, "")
        gap = "" if after.kind == BLANK else self.newline
        ends = (self.newline + gap, f"{self.newline * 2}{_APART}{self.newline}{gap}")
        yield from (_Try(place, place, self._gap(place) + lead, mark, end) for end in ends for mark in _BULLETS)

    def _gap(self, place: int) -> str:
        """Return the line ends that make a blank line after the parts before this place."""
        before = "".join(part.block.raw for part in self.parts[max(place - 2, 0) : place])
        if not before.strip("\ufeff"):
            return ""
        return self.newline * (2 - (before[-1:] == "\n") - (before.rstrip("\r").endswith(("\n\n", "\n\r\n"))))

    def _spliced(self, tries: Iterable["_Try"], entry: Entry) -> "Document":
        """Put an entry at the first place where everything can be read back, and all other entries are the same."""
        raws = [part.block.raw for part in self.parts]
        entry = entry._replace(text="\n".join(line.rstrip() for line in entry.text.split("\n")).strip())
        written = _read_back(entry)
        for start, end, lead, bullet, tail in tries:
            wanted = [part.entry for part in self.parts[:start] if part.entry]
            wanted += [written, *(part.entry for part in self.parts[end:] if part.entry)]
            before = "".join(raws[:start])
            lead = lead or ("" if not before.strip("\ufeff") or before.endswith("\n") else self.newline)
            raw = render(entry, bullet, self.newline).removesuffix(self.newline)
            found = parse("".join([before, lead, raw, tail, *raws[end:]]))
            added = (lead + tail).count(_APART) + ("#" in lead)
            if _same(found.entries, wanted) and _counted(found) == _counted(self) + added:
                return found
        raise NotFound(f"found no place for {entry.text!r}")


class _Try(NamedTuple):
    """A way to put an entry into a text: in the place of parts, with a text before it, a bullet and a line end."""

    start: int
    end: int
    lead: str
    bullet: str
    tail: str


EMPTY = Document()


def parse(text: str) -> Document:
    """Parse any text. Of two entries with the same id, the second counts as without one."""
    parts, section, seen = list[NotePart](), "", set[str]()
    for block in split(text):
        if block.kind == HEADING:
            section = block.title
        entry = read_entry(block.raw, section) if block.kind == ENTRY else None
        if entry and entry.id in seen:
            entry = entry._replace(id="")
        elif entry and entry.id:
            seen.add(entry.id)
        parts.append(NotePart(block, section, entry))
    return Document(tuple(parts), problem_of(text))


def plain(document: Document) -> str:
    """Return the text as the model sees it: without ids and fields."""
    return COMMENT.sub("", document.text)


def problem_of(text: str) -> str:
    """Tell why the program must not write a note with this text; empty: it may."""
    if "\0" in text:
        return "it contains NUL bytes, so it is not a text"
    if len(text) > LARGEST_WRITTEN or len(text.encode("utf-8", "replace")) > LARGEST_WRITTEN:
        return "it is larger than 1 MB"
    if _MERGE_MARKER.search(text):
        return "it contains merge markers; resolve the merge first"
    return ""


def _read_back(entry: Entry) -> Entry:
    """Return an entry as it is after writing and reading: with the fields that can be written."""
    back = read_entry(render(entry), entry.section)
    return back if back and back.text == entry.text else entry


def _counted(document: Document) -> int:
    """Return the number of parts that are neither entries nor blank."""
    return sum(part.entry is None and part.block.kind != BLANK for part in document.parts)


def _same(found: list[Entry], wanted: list[Entry]) -> bool:
    """Are these the same entries? The second one with an id may have become the only one."""
    return len(found) == len(wanted) and all(
        (one.id == other.id or not other.id)
        and one.content == other.content
        and folded(one.section) == folded(other.section)
        for one, other in zip(found, wanted, strict=True)
    )
