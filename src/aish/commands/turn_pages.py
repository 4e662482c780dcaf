"""Pages that list turns, grouped by conversation, one line for each turn around the matching words."""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate

from aish.conversation.library import Library
from aish.memory.compactions import compactions
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import EVERYWHERE, NO_DATE, Finder, Hit, Scope, SearchResult
from aish.values.invisible import visible
from aish.values.replies import Reply
from aish.values.snippets import Places, cells, snippet
from aish.values.text import for_terminal, one_line
from aish.values.times import age

_LEAST = 10  # minimum columns for a turn's text, even in a narrow window
_NAME = 40  # maximum characters of a speaker's name or a title
_MORE = 3  # times as many hits are searched as are shown, because some are only beside others
_Line = tuple[str, Places]


def search_for_page(library: Library, query: str, limit: int, scope: Scope = EVERYWHERE) -> SearchResult:
    """Search for people: turns in which nothing matches are no hits, but are shown with those that they are next to."""
    found = library.finder.search(query, limit * _MORE, scope)
    own = tuple(hit for hit in found.hits if not hit.beside)
    return found._replace(hits=(own or found.hits)[:limit])


def found_page(library: Library, found: SearchResult, width: int, *, numbered: bool = True) -> Reply:
    """Show each hit of a search with the turns before and after it, and why it matched.

    Hits are numbered @1, @2, … if a later command can use the numbers. Otherwise they show their turn as /TURN.
    """
    if not found.hits:
        return Reply("nothing found", found=False)
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
    """Show turns grouped by conversation. The conversation of the first turn comes first."""
    lines: list[_Line] = []
    for first, turns in _by_conversation(hits):
        lines += [
            *_head(library, first, width),
            *(_line(library.finder, turn, SearchResult(), "", width) for turn in turns),
        ]
    return _page(lines).text


def thread_page(library: Library, wanted: str, around: int) -> Reply:
    """Show a whole conversation, or the turns around one turn. Raises `NotFound`."""
    name, _, number = wanted.strip().partition("/")
    if not name or (number and not re.fullmatch(r"\d{1,18}", number)):
        raise BadUsage("expected a conversation ID or ID/TURN; aish search and :recall show them")
    id = library.conversations.find(name)
    hits = library.finder.thread(id, int(number) if number else None, around)
    if not hits:
        raise NotFound(f"conversation {id} has no turn {number}" if number else f"conversation {id} has no turns")
    head = f"{id} · {hits[0].channel or 'no channel'}" + (f" · from {hits[0].source}" if hits[0].source else "")
    lines = [visible(head)]
    ends = {one.last: one for one in compactions(library.conversations.open(id))}
    for hit in hits:
        mark = "▸" if number and hit.turn == int(number) else " "
        text = hit.text.replace("\n", "\n       ")  # indented, so that text cannot imitate a turn or a message
        lines.append(f"{mark} {hit.turn:>4} {hit.when}  {visible(hit.speaker)}: {visible(text)}")
        if hit.turn in ends:
            one = ends[hit.turn]
            lines.append(f"  ── turns {one.first} to {one.last} left the prompt here ({one.kind}) ──")
    return Reply("\n".join(lines), data=[hit.record() for hit in hits])


def matching_part(finder: Finder, hit: Hit, found: SearchResult, room: int) -> _Line:
    """Return the part of a turn around the matching words that fits into one line.

    Output of commands in front of a question is shown only if the words are there and not in the question.
    """

    def part(text: str) -> tuple[str, Places]:
        flat = visible(" ".join(text.split()))
        return flat, list(finder.marks(flat, found.sought)) if found.sought else []

    flat, marks = part(hit.text[hit.said_from :] or hit.text)
    if hit.said_from and not marks and not hit.says_nothing:
        front, in_front = part(hit.text[: hit.said_from])
        if in_front:
            return snippet(front, in_front, room)
    return snippet(flat, marks, room)


def _by_conversation(hits: Sequence[Hit]) -> Iterator[tuple[Hit, list[Hit]]]:
    """Group hits by conversation: the first hit of each, and all its hits in turn order."""
    groups: dict[str, dict[int, Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.conversation, {})[hit.turn] = hit
    return ((next(iter(turns.values())), [turns[turn] for turn in sorted(turns)]) for turns in groups.values())


def _head(library: Library, first: Hit, width: int) -> Iterator[_Line]:
    """Yield a blank line and the heading of a conversation, which wraps in a narrow window."""
    source = f"from {first.source}" if first.source else ""
    when = f"{first.when} ({age(first.time, library.now())})" if first.when != NO_DATE else NO_DATE
    yield "", []
    title = one_line(visible(first.title), _NAME)
    line = when
    for part in filter(None, (title, first.channel, source, first.conversation)):
        if cells(f"{line} · {part}") > width:  # wrap between the parts, so that ids can be copied
            yield line, []
            line = f"  {part}"
        else:
            line = f"{line} · {part}"
    yield line, []


def _because(why: str, room: int) -> str:
    """Return as many reasons as fit. `:why` shows all of them."""
    reasons = why.split("; ")
    while len(reasons) > 1 and cells(f"because: {'; '.join(reasons)}") > room:
        reasons.pop()
    return snippet(f"because: {'; '.join(reasons)}", (), room)[0]


def _line(finder: Finder, turn: Hit, found: SearchResult, at: str, width: int) -> _Line:
    start = f"{at:>4} {one_line(visible(turn.speaker), _NAME)}: "
    text, marks = matching_part(finder, turn, found, max(width - cells(start), _LEAST))
    return f"{start}{text}", [(begin + len(start), end + len(start)) for begin, end in marks]


def _page(lines: Sequence[_Line]) -> Reply:
    """Join the lines into one text, without the blank line at the top."""
    shown = [(for_terminal(text), places) for text, places in lines[1:]]
    starts = accumulate((len(text) + 1 for text, _ in shown), initial=0)
    marks = [
        (start + begin, start + end) for start, (_, places) in zip(starts, shown, strict=False) for begin, end in places
    ]
    return Reply("\n".join(text for text, _ in shown), marks=tuple(marks))
