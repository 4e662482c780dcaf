"""Three-way merge of a note, entry by entry.

Pure: documents in, document out. When both sides changed the same entry in different ways, the text on disk wins and
the conflict is reported.
"""

from aish.memory.ledger_lines import folded
from aish.memory.notes.document import Document, Entry
from aish.values.named_tuple import NamedTuple


class Conflict(NamedTuple):
    """An entry that both sides changed. An empty text: removed, or (`base`) not there yet."""

    id: str
    base: str
    mine: str
    theirs: str


class Merged(NamedTuple):
    """The merged document, and what could not be merged."""

    document: Document
    conflicts: list[Conflict]


class _Row(NamedTuple):
    """An entry in its three versions."""

    base: Entry | None
    mine: Entry | None
    theirs: Entry | None


def merge(base: Document, mine: Document, theirs: Document) -> Merged:
    """Merge two versions that come from `base`. `theirs` is what is on disk: the person's side, which wins."""
    if mine.text == base.text or mine.text == theirs.text:
        return Merged(theirs, [])
    if theirs.text == base.text:
        return Merged(mine, [])
    conflicts = list[Conflict]()
    # The text around the entries comes from the person, unless only the program changed it.
    skeleton = mine if theirs.outside == base.outside != mine.outside else theirs
    if base.outside not in (mine.outside, theirs.outside) and mine.outside != theirs.outside:
        conflicts.append(Conflict("", base.outside.strip(), mine.outside.strip(), theirs.outside.strip()))
    result = skeleton
    for row in _rows(base, mine, theirs):
        wanted, conflict = _decide(row)
        conflicts += [conflict] if conflict else []
        result = _realized(result, row.mine if skeleton is mine else row.theirs, wanted)
    return Merged(result, conflicts)


def _rows(base: Document, mine: Document, theirs: Document) -> list[_Row]:
    """Match the entries of the three versions."""
    ours, hers = _matched(base.entries, mine.entries), _matched(base.entries, theirs.entries)
    rows = [
        _Row(
            entry,
            mine.entries[ours[place]] if place in ours else None,
            theirs.entries[hers[place]] if place in hers else None,
        )
        for place, entry in enumerate(base.entries)
    ]
    new_mine = [entry for place, entry in enumerate(mine.entries) if place not in ours.values()]
    new_theirs = [entry for place, entry in enumerate(theirs.entries) if place not in hers.values()]
    both = _matched(new_mine, new_theirs)
    rows += [
        _Row(None, entry, new_theirs[both[place]] if place in both else None) for place, entry in enumerate(new_mine)
    ]
    return rows + [_Row(None, None, entry) for place, entry in enumerate(new_theirs) if place not in both.values()]


def _matched(first: list[Entry], second: list[Entry]) -> dict[int, int]:
    """Match entries by id, then those where one side has no id by their text. Returns places by places."""
    by_id = {entry.id: place for place, entry in enumerate(second) if entry.id}
    found = {place: by_id[entry.id] for place, entry in enumerate(first) if entry.id in by_id}
    taken, by_text = set(found.values()), dict[str, list[int]]()
    for place, entry in enumerate(second):
        if place not in taken:
            by_text.setdefault(folded(entry.text), []).append(place)
    for place, entry in enumerate(first):
        others = by_text.get(folded(entry.text), []) if place not in found else []
        match = next((other for other in others if not entry.id or not second[other].id), None)
        if match is not None:
            others.remove(match)
            found[place] = match
    return found


def _decide(row: _Row) -> tuple[Entry | None, Conflict | None]:
    """Return the entry that the result has, and the conflict if both sides differ."""
    base, mine, theirs = row
    if base is None:
        if mine and theirs and mine.id and mine.id == theirs.id and mine.content != theirs.content:
            return theirs, _conflict(row)
        return theirs or mine, None
    if mine is None:
        if theirs is None or _same(base, theirs):
            return None, None
        return theirs, _conflict(row)
    if theirs is None:
        return None, None if _same(base, mine) else _conflict(row)
    section, differs = _pick(folded(base.section), folded(mine.section), folded(theirs.section))
    content, differ = _pick(base.content, mine.content, theirs.content)
    chosen = (mine if content else theirs)._replace(
        section=mine.section if section else theirs.section, id=theirs.id or mine.id
    )
    return chosen, _conflict(row) if differs or differ else None


def _pick(base: object, mine: object, theirs: object) -> tuple[bool, bool]:
    """Is it mine that counts, and do both differ?"""
    if theirs == base:
        return True, False
    return False, mine not in (base, theirs)


def _same(one: Entry, other: Entry) -> bool:
    return one.content == other.content and folded(one.section) == folded(other.section)


def _conflict(row: _Row) -> Conflict:
    id = next((entry.id for entry in (row.theirs, row.mine, row.base) if entry and entry.id), "")
    texts = [entry.text if entry else "" for entry in row]
    return Conflict(id, *texts)


def _realized(document: Document, there: Entry | None, wanted: Entry | None) -> Document:
    """Change one entry of the skeleton into the wanted one."""
    if there is None:
        return document.add(wanted.section, wanted) if wanted and wanted not in document.entries else document
    place = next((place for place, part in enumerate(document.parts) if part.entry == there), None)
    if place is None or wanted == there:
        return document
    return document.remove_at(place) if wanted is None else document.replace_at(place, wanted)
