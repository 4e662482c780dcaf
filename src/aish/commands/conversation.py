"""Commands about conversations: start, name, list, resume, show and export one, and quit."""

from itertools import islice

from aish.commands.files import write_new
from aish.commands.recall import hit_id
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.jobs.notes import finish_conversation
from aish.memory.conversations import is_conversation
from aish.values.errors import BadUsage, NotFound
from aish.values.hits import local_or_no_date
from aish.values.text import counted, one_line
from aish.values.typed_words import split_typed

_FORMS = {"md": "markdown", "json": "jsonl", "openai": "openai", "claude-code": "claude-code"}
EXPORT_FORMATS = tuple(_FORMS)  # that are offered for completion
_FORMS |= {name: name for name in _FORMS.values()}  # the names that `aish export --format` takes


@COMMANDS.add("new")
async def begin_new(shell: Shell, arguments: Arguments) -> str:
    """Start a new conversation.

    The current one stays in its journal; `:sessions` lists it and `:resume` continues it. The notes are brought up to
    date first, and the working state in SESSION.md stays.
    """
    told = [one.text for one in await finish_conversation(shell.session)]
    shell.session.start_new()
    return "\n".join([*told, "started a new conversation"])


@COMMANDS.add("reset")
async def reset(shell: Shell, arguments: Arguments) -> str:
    """Clear the model's context.

    The next question starts with an empty history. The conversation continues in the same journal, and memory stays.
    """
    shell.session.reset()
    return "the model's context is empty; the journal keeps the conversation"


@COMMANDS.add("save", argument="NAME")
async def save(shell: Shell, arguments: Arguments) -> str:
    """Name this conversation, so that `:resume NAME` finds it.

    Every conversation is saved anyway; a name only makes it easier to find. If another conversation has the name, it
    loses it.
    """
    words = arguments.text
    if not words:
        raise BadUsage("missing name; use :save NAME")
    if not shell.session.remembers:
        raise BadUsage("this conversation is not recorded (--no-memory), so it cannot be named")
    shell.program.conversations.save(shell.session.journal.id, words)
    return f"this conversation is now named {words}"


@COMMANDS.add("sessions", argument="[N]")
async def sessions(shell: Shell, arguments: Arguments) -> str:
    """List the newest conversations (default: 20).

    Use the number at the start of a line with `:resume`.
    """
    limit = _number(arguments.text, 20)
    listed = shell.program.conversations.list(limit)
    if not listed:
        return "no conversations yet"
    rows = []
    for place, item in enumerate(listed, start=1):
        mark = "*" if item.id == shell.session.journal.id else " "
        name = f"[{item.name}] " if item.name else ""
        when = f"{local_or_no_date(item.time):16}"
        turns = counted(item.turns, "turn")
        title = one_line(f"{name}{item.title}", max(shell.width - 34, 6))
        rows.append(f"{place:>3}{mark} {when}  {turns:>9}  {title}")
    return "\n".join(rows)


@COMMANDS.add("resume", argument="[NUMBER|NAME|ID]")
async def resume(shell: Shell, arguments: Arguments) -> str:
    """Continue an earlier conversation (default: the newest other one).

    Takes a number from `:sessions`, a name from `:save`, the beginning of an id, or a hit of `:recall` (`@1`). As many
    of its turns as fit go into the prompt. If aish was killed during an answer, the part that was shown is included.
    """
    words = arguments.text
    conversations = shell.program.conversations
    if words:
        wanted = conversations.find(hit_id(shell, words).partition("/")[0])
    else:
        others = (id for id in conversations.own_ids() if id != shell.session.journal.id)
        found = next(others, None)
        if found is None:
            raise NotFound("there is no other conversation to resume")
        wanted = found
    told = await finish_conversation(shell.session)
    total, notices = shell.session.resume(wanted)
    notices = [*told, *notices]
    lines = [notice.text for notice in notices]
    lines.append(f"resumed {wanted}: {total} turns, {len(shell.session.history.turns)} of them in the prompt")
    lines += [_shown(who, text, shell.width) for who, text in _last(shell, 2, only_typed=True)]
    return "\n".join(lines)


@COMMANDS.add("history", argument="[N]")
async def history(shell: Shell, arguments: Arguments) -> str:
    """Show the last N turns of this conversation (default: 10).

    They come from the journal, so turns that were dropped from the prompt are included. Interrupted and failed answers
    are marked.
    """
    lines = [f"{who}: {text}" for who, text in _last(shell, _number(arguments.text, 10))]
    return "\n".join(lines) or "no turns yet"


@COMMANDS.add("export", argument="[FORMAT] [FILE]")
async def export(shell: Shell, arguments: Arguments) -> str:
    """Export this conversation as Markdown (for people) or JSON lines (for programs).

    FORMAT is `md` (if none is given), `json`, `openai` or `claude-code`; `markdown` and `jsonl` are the same as `md`
    and `json`. `json` is the format that `aish import` reads without loss, `openai` has the messages of a chat API,
    `claude-code` a session for that program. Without FILE it is shown on the screen. An
    existing file is not overwritten. `aish export` exports all conversations.
    """
    form, rest = arguments.take_word(tuple(_FORMS))
    target = rest.text.strip()
    journal = shell.session.journal
    name = shell.program.conversations.names().get(journal.id, "")
    pieces = shell.program.export(_FORMS[form or "md"], journal, name)
    if not target:
        return "".join(pieces).rstrip("\n")
    return write_new(target, pieces)


@COMMANDS.add("quit", aliases=("exit", "q"))
async def leave(shell: Shell, arguments: Arguments) -> str:
    """Quit aish. Ctrl-D does the same."""
    shell.leaving = True
    return ""


def _last(shell: Shell, count: int, *, only_typed: bool = False) -> list[tuple[str, str]]:
    """Return speaker and text of the newest turns, oldest first; of the user's perhaps only what was typed."""
    entries = list(islice(filter(is_conversation, shell.session.journal.entries_back()), count))
    states = {"complete": "", "interrupted": " [interrupted]", "failed": " [failed]"}
    shown = []
    for entry in reversed(entries):
        typed = split_typed(entry)[1] if only_typed and entry.turn.role == "user" else ""
        shown.append((entry.speaker, (typed or entry.turn.content) + states[entry.turn.state]))
    return shown


def _shown(who: str, text: str, width: int) -> str:
    return one_line(f"{who}: {text}", width)


def _number(words: str, default: int) -> int:
    if not words:
        return default
    if not words.isdecimal() or len(words) > 7 or not 1 <= int(words) <= 1_000_000:
        raise BadUsage(f"expected a number of 1 or more, got {words!r}")
    return int(words)
