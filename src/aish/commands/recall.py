"""Commands that find what was said: search, the newest, one conversation, and how it was over time."""

import re
from collections.abc import Sequence
from datetime import timedelta
from textwrap import fill
from typing import Any

from aish.commands.shell import COMMANDS, Shell
from aish.commands.turn_pages import found_page, matching_part, recent_page, thread_page
from aish.context.blocks import arrange
from aish.intake.commands import Arguments
from aish.program import Program
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import UNITS, Scope, Unit
from aish.values.replies import Reply
from aish.values.text import for_terminal, one_line

_LEVELS = " ▁▂▃▄▅▆▇█"
_WEEKS = 8  # that a timeline shows unless asked otherwise
_MOST = 1_000  # turns that are shown at once


@COMMANDS.add("recall", argument="WORDS")
async def recall(shell: Shell, arguments: Arguments) -> Reply:
    """Find what was said in any conversation, with the lines around it.

    Words, meaning, speaker and time count together: `:recall deploy window last Tuesday`. "A phrase" must be there as
    it is, `-word` must not; `role:me`, `in:PROJECT`, `since:May` and `until:yesterday` narrow it. `:why` tells how the
    hits were found, `:thread @1` opens the first, `:resume @1` goes on with it.
    """
    words = arguments.text
    if not words.strip():
        raise BadUsage("what should be found? :recall WORDS")
    found = shell.program.finder.search(words, 10)
    shell.session.found = found
    page = found_page(shell.program, found, shell.width)
    return page._replace(data=[hit.record() for hit in found.hits]).after(_notes(found.notes))


@COMMANDS.add("thread", argument="@NUMBER|ID[/TURN]")
async def thread(shell: Shell, arguments: Arguments) -> Reply:
    """Open a conversation: a hit of the last `:recall`, or an id.

    `:thread @1` shows the first hit with the turns around it, `:thread ID` the whole conversation.
    """
    wanted = hit_id(shell, arguments.text)
    return thread_page(shell.program, wanted, 5)


@COMMANDS.add("recent", argument="[N] [UNIT]|[TIME]")
async def recent(shell: Shell, arguments: Arguments) -> Reply:
    """Show the newest turns of all conversations, 20 unless you say.

    UNIT is turns, exchanges, threads or days: `:recent 3 days`. Threads are the conversations that were last active,
    each with its newest 10 turns. A time does as well: `:recent yesterday`, `:recent last week`.
    """
    hits = shell.program.finder.recent(*_how_many(shell.program, arguments.text))
    notes = _notes(shell.program.finder.missing())
    if not hits:
        return Reply(f"{notes}nothing was said", data=[], found=False)
    return Reply(f"{notes}{recent_page(shell.program, hits, shell.width)}", data=[hit.record() for hit in hits])


@COMMANDS.add("timeline", argument="[WEEKS]")
async def timeline(shell: Shell, arguments: Arguments) -> Reply:
    """Show how much was said on which days, and what about."""
    words = arguments.text
    if words and not (re.fullmatch(r"\d{1,3}", words) and 1 <= int(words) <= 520):
        raise BadUsage(f"expected a number of weeks from 1 to 520, got {words!r}")
    now = shell.program.now()
    since = now - timedelta(weeks=int(words or _WEEKS))
    days = shell.program.finder.days(since)
    notes = _notes(shell.program.finder.missing())
    if not days:
        return Reply(f"{notes}nothing was said in that time", data=[], found=False)
    data = [{"day": day, "turns": n, "about": about} for day, n, about in days]
    return Reply(f"{notes}{picture(days, shell.width)}", data=data)


@COMMANDS.add("why")
async def why(shell: Shell, arguments: Arguments) -> Reply:
    """Tell how the last search came to its hits: what was asked, what was weighed, and what spoke for each hit.

    Also of a search that the model made, or that brought earlier turns to your question. Below that, how the parts of
    the last prompt came about.
    """
    found, blocks = shell.session.found, arrange(shell.session.last_blocks)
    layers = [(block.name, block.why) for block in blocks if block.why]
    if found is None and not layers:
        raise NotFound("nothing was searched for yet in this shell; :recall WORDS searches")
    told = [_folded(f"{name:<12} {why}", 13, shell.width) for name, why in layers]
    data: dict[str, Any] = {"prompt": dict(layers)}
    if found is None:
        return Reply(for_terminal("\n".join(told)), data=data)
    lines = [_folded(f"{name:<12} {value}", 13, shell.width) for name, value in found.asked]
    lines.append(f"{'weighed':<12} {found.considered:,} turns in {found.milliseconds:.0f} ms")
    for place, hit in enumerate(found.hits, start=1):
        text, _ = matching_part(shell.program.finder, hit, found, max(shell.width - 14, 10))
        lines.append(f"{f'@{place}':>4} {hit.score:6.2f}  {text}")
        lines.append(_folded(f"{'':14}{hit.why}", 14, shell.width))
    data |= {"asked": dict(found.asked), "hits": [hit.record() for hit in found.hits]}
    return Reply(for_terminal("\n".join(lines + told)), data=data)


def _folded(line: str, indent: int, width: int) -> str:
    """A line that goes on under its own beginning, where a window is too narrow for it."""
    width = max(width, indent + 10)
    return line if len(line) <= width else fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def hit_id(shell: Shell, words: str) -> str:
    """What `@1` stands for: the conversation and turn of a hit. Anything else stands for itself."""
    if not words.startswith("@"):
        return words
    hits = shell.session.found.hits if shell.session.found else ()
    number = words[1:].strip()
    if not re.fullmatch(r"\d{1,4}", number) or not 1 <= int(number) <= len(hits):
        raise NotFound(f"there is no hit {words}; :recall WORDS numbers them @1, @2, …")
    hit = hits[int(number) - 1]
    return f"{hit.conversation}/{hit.turn}"


def _notes(notes: Sequence[str]) -> str:
    return "".join(f"{note}\n" for note in notes)


def picture(days: Sequence[tuple[str, int, str]], width: int) -> str:
    """A bar for each day, and what it was about."""
    most = max(count for _, count, _ in days)
    room = max(min(width - 50, 40), 8)
    rows = []
    for day, count, about in days:
        size = count * room / most
        bar = "█" * int(size) + (_LEVELS[int(size % 1 * 8)] if size % 1 * 8 >= 1 else "")
        start = f"{day} {count:>5} {bar or '▏':<{room}} "
        rows.append(f"{start}{one_line(about, max(width - len(start), 0))}".rstrip())
    return "\n".join(rows)


def _how_many(program: Program, words: str) -> tuple[int, Scope, Unit]:
    """What `:recent` is asked for: a number, of turns or of something else, or a time."""
    if counted := re.fullmatch(r"(\d{0,4}) *(?:(turn|exchange|thread|day)s?)?", words.strip()):
        unit = next((unit for unit in UNITS if unit == counted[2]), UNITS[0])
        limit = int(counted[1] or (20 if unit == "turn" else 5))
        if not 1 <= limit <= _MOST:
            raise BadUsage(f"a number from 1 to {_MOST}, please")
        return limit, Scope(), unit
    since, until = (program.finder.moment(words, end=end) for end in (False, True))
    if until is None:
        since = program.moment(words)  # as in "since Monday", unless it is no time at all
    return _MOST, Scope(since=since, until=until), "turn"
