"""A page of turns: under their conversations, a line each, with the part that was looked for."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from aish.conversation.library import Library
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import NO_DATE, Finder, Hit, SearchResult
from aish.values.replies import Reply
from aish.values.snippets import Places, cells, snippet
from aish.values.text import for_terminal, one_line
from aish.values.times import age

_LEAST = 10  # columns of a text, however narrow the window
_NAME = 40  # characters of a speaker's name, or of a title
_Line = tuple[str, Places]


def found_page(library: Library, found: SearchResult, width: int, *, numbered: bool = True) -> Reply:
    """What a search found: each hit with the turn before and after it, and why it is one.

    Hits are numbered @1, @2, … where that can be used afterwards, or else have their turn after a slash: ID/TURN.
    """
    if not found.hits:
        return Reply("nothing like that was said", found=False)
    places = {
        (hit.conversation, hit.turn): f"@{place}" if numbered else f"/{hit.turn}"
        for place, hit in enumerate(found.hits, start=1)
    }
    lines: list[_Line] = []
    for first, turns in _by_conversation(found.hits):
        lines += _head(library, first, width)
        shown: set[int] = set()
        for hit in turns:
            for turn in library.finder.thread(hit.conversation, hit.turn, 1):
                at = places.get((turn.conversation, turn.turn), "")
                if turn.turn in shown or (at and turn.turn != hit.turn):
                    continue
                shown.add(turn.turn)
                lines.append(_line(library.finder, turn, found if at else SearchResult(), at, width))
                if at and hit.why:
                    lines.append((f"     {_because(hit.why, max(width - 5, _LEAST))}", []))
    return _page(lines)


def recent_page(library: Library, hits: Sequence[Hit], width: int) -> str:
    """Turns under their conversations, the conversation of the first one first."""
    lines: list[_Line] = []
    for first, turns in _by_conversation(hits):
        lines += [
            *_head(library, first, width),
            *(_line(library.finder, turn, SearchResult(), "", width) for turn in turns),
        ]
    return _page(lines).text


def thread_page(library: Library, wanted: str, around: int) -> Reply:
    """A conversation, whole or around one turn. Raises `NotFound`."""
    name, _, number = wanted.strip().partition("/")
    if not name or (number and not re.fullmatch(r"\d{1,18}", number)):
        raise BadUsage("which conversation? an ID, or ID/TURN; aish search and :recall show them")
    id = library.conversations.find(name)
    hits = library.finder.thread(id, int(number) if number else None, around)
    if not hits:
        raise NotFound(f"conversation {id} has no turn {number}" if number else f"conversation {id} has no turns")
    head = f"{id} · {hits[0].channel or 'no channel'}" + (f" · from {hits[0].source}" if hits[0].source else "")
    lines = [for_terminal(head)]
    for hit in hits:
        mark = "▸" if number and hit.turn == int(number) else " "
        text = hit.text.replace("\n", "\n       ")  # no line of it is to be taken for a turn or a word of ours
        lines.append(f"{mark} {hit.turn:>4} {hit.when}  {for_terminal(hit.speaker)}: {for_terminal(text)}")
    return Reply("\n".join(lines), data=[hit.record() for hit in hits])


def matching_part(finder: Finder, hit: Hit, found: SearchResult, room: int) -> _Line:
    """As much of a turn as fits into one line, around the words that were looked for."""
    flat = for_terminal(" ".join(hit.text.split()))
    return snippet(flat, finder.marks(flat, found.sought) if found.sought else (), room)


def _by_conversation(hits: Sequence[Hit]) -> Iterator[tuple[Hit, list[Hit]]]:
    """The first of each conversation, and all of it in its order."""
    groups: dict[str, dict[int, Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.conversation, {})[hit.turn] = hit
    return ((next(iter(turns.values())), [turns[turn] for turn in sorted(turns)]) for turns in groups.values())


def _head(library: Library, first: Hit, width: int) -> Iterator[_Line]:
    """The line over a conversation, in a narrow window several, and a blank one before it."""
    source = f"from {first.source}" if first.source else ""
    when = f"{first.when} ({age(first.time, library.now())})" if first.when != NO_DATE else NO_DATE
    yield "", []
    title = one_line(first.title, _NAME)
    line = when
    for part in filter(None, (title, first.channel, source, first.conversation)):
        if cells(f"{line} · {part}") > width:  # between the parts: an id that is broken cannot be copied
            yield line, []
            line = f"  {part}"
        else:
            line = f"{line} · {part}"
    yield line, []


def _because(why: str, room: int) -> str:
    """As many reasons as fit; `:why` tells all."""
    reasons = why.split("; ")
    while len(reasons) > 1 and cells(f"because: {'; '.join(reasons)}") > room:
        reasons.pop()
    return snippet(f"because: {'; '.join(reasons)}", (), room)[0]


def _line(finder: Finder, turn: Hit, found: SearchResult, at: str, width: int) -> _Line:
    start = f"{at:>4} {for_terminal(one_line(turn.speaker, _NAME))}: "
    text, marks = matching_part(finder, turn, found, max(width - cells(start), _LEAST))
    return f"{start}{text}", [(begin + len(start), end + len(start)) for begin, end in marks]


def _page(lines: Sequence[_Line]) -> Reply:
    """The lines as one text, but the blank one at the top."""
    shown = [(for_terminal(text), places) for text, places in lines[1:]]
    starts = accumulate((len(text) + 1 for text, _ in shown), initial=0)
    marks = [
        (start + begin, start + end) for start, (_, places) in zip(starts, shown, strict=False) for begin, end in places
    ]
    return Reply("\n".join(text for text, _ in shown), marks=tuple(marks))
