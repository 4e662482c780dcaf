"""Commands that find earlier turns: search, newest turns, one conversation, and a timeline."""

import re
from collections.abc import Sequence
from datetime import timedelta
from textwrap import fill
from typing import Any

from aish.commands.shell import COMMANDS, Shell
from aish.commands.turn_pages import found_page, matching_part, recent_page, search_for_page, thread_page
from aish.context.blocks import Block, arrange
from aish.intake.commands import Arguments
from aish.memory.compactions import Compaction, compactions
from aish.program import Program
from aish.prompt.recalled_notes import RecalledNotesLayer
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import UNITS, Scope, Unit
from aish.values.recall import Recalled
from aish.values.replies import Reply
from aish.values.text import for_terminal, one_line

_LEVELS = " ▁▂▃▄▅▆▇█"
_WEEKS = 8  # the default length of a timeline
_MOST_LEFT_OUT = 10  # notes shown that were not brought to the question
_MOST = 1_000  # turns shown at once


@COMMANDS.add("recall", argument="WORDS")
async def recall(shell: Shell, arguments: Arguments) -> Reply:
    """Search all conversations, and show the turns around each hit.

    The search uses words, meaning, speaker and time together: `:recall deploy window last Tuesday`. A hit must contain
    every "quoted phrase" and no `-word`. `role:me`, `in:PROJECT`, `since:May` and `until:yesterday` narrow the search.
    `:why` explains the hits, `:thread @1` opens the first one, `:resume @1` continues its conversation.
    """
    words = arguments.text
    if not words.strip():
        raise BadUsage("missing search words; use :recall WORDS")
    found = search_for_page(shell.program, words, 10)
    shell.session.found = found
    page = found_page(shell.program, found, shell.width)
    return page._replace(data=[hit.record() for hit in found.hits]).after(_notes(found.notes))


@COMMANDS.add("thread", argument="@NUMBER|ID[/TURN]")
async def thread(shell: Shell, arguments: Arguments) -> Reply:
    """Show a conversation: a hit of the last `:recall`, or an id.

    `:thread @1` shows the first hit and the turns around it. `:thread ID` shows the whole conversation.
    """
    wanted = hit_id(shell, arguments.text)
    return thread_page(shell.program, wanted, 5)


@COMMANDS.add("recent", argument="[N] [UNIT]|[TIME]")
async def recent(shell: Shell, arguments: Arguments) -> Reply:
    """Show the newest turns of all conversations (default: 20 turns).

    UNIT is turns, exchanges, threads or days: `:recent 3 days`. Threads are the most recently active conversations,
    each with its newest 10 turns. You can also give a time: `:recent yesterday`, `:recent last week`.
    """
    hits = shell.program.finder.recent(*_how_many(shell.program, arguments.text))
    notes = _notes(shell.program.finder.missing())
    if not hits:
        return Reply(f"{notes}no turns found", data=[], found=False)
    return Reply(f"{notes}{recent_page(shell.program, hits, shell.width)}", data=[hit.record() for hit in hits])


@COMMANDS.add("timeline", argument="[WEEKS]")
async def timeline(shell: Shell, arguments: Arguments) -> Reply:
    """Show how many turns each day had, and their topics (default: 8 weeks)."""
    words = arguments.text
    if words and not (re.fullmatch(r"\d{1,3}", words) and 1 <= int(words) <= 520):
        raise BadUsage(f"expected a number of weeks from 1 to 520, got {words!r}")
    now = shell.program.now()
    since = now - timedelta(weeks=int(words or _WEEKS))
    days = shell.program.finder.days(since)
    notes = _notes(shell.program.finder.missing())
    if not days:
        return Reply(f"{notes}no turns in that period", data=[], found=False)
    data = [{"day": day, "turns": n, "about": about} for day, n, about in days]
    return Reply(f"{notes}{picture(days, shell.width)}", data=data)


@COMMANDS.add("why")
async def why(shell: Shell, arguments: Arguments) -> Reply:
    """Explain the last answer: which notes were brought to it, which search was made, and the parts of its prompt.

    For each note: its score, the reasons, and whether it was shown. The others were left out: `weak` (score too low),
    `known` (already in the conversation), `duplicate`, `superseded` (by a newer note), `quota` or `budget` (no room).
    The search may be yours, the model's, or the one that added earlier turns to your question. Then follow the parts of
    the prompt and what summaries stand for.
    """
    session = shell.session
    found, blocks = session.found, arrange(session.last_blocks)
    layers = [(block.name, f"{block.why}{_limit(block)}") for block in blocks if block.why]
    layers += [(f"turns {one.first}-{one.last}", _left(one)) for one in _compacted(shell)]
    recalled = session.layer(RecalledNotesLayer).last
    notes = _notes_page(recalled, session.settings.notes.recall_tokens, shell.width) if recalled else []
    if found is None and not layers and not notes:
        raise NotFound("no answer and no search yet in this shell; use :recall WORDS")
    told = [*notes, *(_folded(f"{name:<12} {why}", 13, shell.width) for name, why in layers)]
    data: dict[str, Any] = {"prompt": dict(layers), "notes": _notes_data(recalled) if recalled else []}
    if found is None:
        return Reply(for_terminal("\n".join(told)), data=data)
    lines = [_folded(f"{name:<12} {value}", 13, shell.width) for name, value in found.asked]
    lines.append(f"{'considered':<12} {found.considered:,} turns in {found.milliseconds:.0f} ms")
    for place, hit in enumerate(found.hits, start=1):
        text, _ = matching_part(shell.program.finder, hit, found, max(shell.width - 14, 10))
        lines.append(f"{f'@{place}':>4} {hit.score:6.2f}  {text}")
        lines.append(_folded(f"{'':14}{hit.why}", 14, shell.width))
    data |= {"asked": dict(found.asked), "hits": [hit.record() for hit in found.hits]}
    return Reply(for_terminal("\n".join(lines + told)), data=data)


def _notes_page(recalled: Recalled, budget: int, width: int) -> list[str]:
    """Return one row for each note that was considered closely."""
    known = any(judged.outcome == "known" for judged in recalled.left_out)
    none = "nothing new for the question" if known else "nothing fits the question"
    shown = f"{recalled.tokens} of {budget} tokens" if recalled.shown else none
    wanted = f"; the question is about: {', '.join(recalled.intents)}" if recalled.intents else ""
    rows = [_folded(f"{'notes':<12} {recalled.considered:,} considered, {shown}{wanted}", 13, width)]
    for judged in (*recalled.shown, *recalled.left_out[:_MOST_LEFT_OUT]):
        memo = judged.memo
        rows.append(f"{judged.outcome:>12} {judged.score:5.2f}  {one_line(memo.text, max(width - 20, 20))}")
        reasons = "; ".join([*judged.reasons, *([judged.note] if judged.note else [])])
        rows.append(_folded(f"{'':20}{memo.key}: {reasons}", 20, width))
    return rows


def _notes_data(recalled: Recalled) -> list[dict[str, Any]]:
    return [
        {"key": one.memo.key, "outcome": one.outcome, "score": one.score, "reasons": list(one.reasons)}
        for one in (*recalled.shown, *recalled.left_out)
    ]


def _compacted(shell: Shell) -> list[Compaction]:
    """Return what left the prompt of this conversation."""
    return compactions(shell.session.journal) if shell.session.recorder.conversation else []


def _left(one: Compaction) -> str:
    how = {"evicted": "dropped from the prompt", "compacted": "dropped by :compact", "summary": "summarised"}
    return f"{how.get(one.kind, one.kind)}; the journal has them (:history)"


def _limit(block: Block) -> str:
    return f" (limit: {block.limit:,} characters)" if block.limit else ""


def _folded(line: str, indent: int, width: int) -> str:
    """Wrap a line that is too long for the window, and indent what follows."""
    width = max(width, indent + 10)
    return line if len(line) <= width else fill(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def hit_id(shell: Shell, words: str) -> str:
    """Return ID/TURN for a hit such as `@1`. Return other words unchanged."""
    if not words.startswith("@"):
        return words
    hits = shell.session.found.hits if shell.session.found else ()
    number = words[1:].strip()
    if not re.fullmatch(r"\d{1,4}", number) or not 1 <= int(number) <= len(hits):
        raise NotFound(f"no hit {words}; :recall WORDS numbers its hits @1, @2, …")
    hit = hits[int(number) - 1]
    return f"{hit.conversation}/{hit.turn}"


def _notes(notes: Sequence[str]) -> str:
    return "".join(f"{note}\n" for note in notes)


def picture(days: Sequence[tuple[str, int, str]], width: int) -> str:
    """Draw a bar for each day, with its topics."""
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
    """Parse the arguments of `:recent`: a number and a unit, or a time."""
    if counted := re.fullmatch(r"(\d{0,4}) *(?:(turn|exchange|thread|day)s?)?", words.strip()):
        unit = next((unit for unit in UNITS if unit == counted[2]), UNITS[0])
        limit = int(counted[1] or (20 if unit == "turn" else 5))
        if not 1 <= limit <= _MOST:
            raise BadUsage(f"expected a number from 1 to {_MOST}")
        return limit, Scope(), unit
    since, until = (program.finder.moment(words, end=end) for end in (False, True))
    if until is None:
        since = program.moment(words)  # "Monday" alone means "since Monday"; raises if it is not a time
    return _MOST, Scope(since=since, until=until), "turn"
