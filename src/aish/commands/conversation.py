"""Commands about the conversation: begin, find, name, continue, show and export one; and leave."""

from itertools import islice

from aish.commands.files import write_new
from aish.commands.recall import hit_id
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.memory.conversations import as_json, as_markdown
from aish.values.errors import BadUsage, NotFound
from aish.values.text import counted, one_line


@COMMANDS.add("help", argument="[COMMAND]")
async def show_help(shell: Shell, arguments: Arguments) -> str:
    """List the commands, or explain one.

    `:help resume` shows all there is to know about `:resume`.
    """
    words = arguments.text
    if words:
        name, _, more = words.removeprefix(":").partition(" ")
        command, _ = COMMANDS.resolve(name, more)
        below = "\n".join(f"{one.usage:<32} {one.summary}" for one in COMMANDS.below(command.name))
        return "\n\n".join(part for part in (f"{command.usage}\n{command.summary}", command.details, below) if part)
    return (
        COMMANDS.help()
        + "\n\nEverything else runs in your shell or is a question for the model; the sign at the prompt tells."
        "\n`!` in front makes a command of any line, `?` a question; `?` alone asks why a command failed."
    )


@COMMANDS.add("new")
async def begin_new(shell: Shell, arguments: Arguments) -> str:
    """Begin another conversation.

    The one before stays in its journal; `:sessions` lists it and `:resume` brings it back.
    """
    shell.session.start_new()
    return "a new conversation"


@COMMANDS.add("reset")
async def reset(shell: Shell, arguments: Arguments) -> str:
    """Forget what was said so far, for the model only.

    The next question starts from nothing, but the conversation goes on in the same journal.
    """
    shell.session.reset()
    return "the model starts from nothing; the journal keeps what was said"


@COMMANDS.add("save", argument="NAME")
async def save(shell: Shell, arguments: Arguments) -> str:
    """Give this conversation a name, so that `:resume NAME` finds it.

    Every conversation is kept anyway; a name only makes it easier to find. Another conversation that had the name
    loses it.
    """
    words = arguments.text
    if not words:
        raise BadUsage("a name is missing: :save NAME")
    if not shell.session.remembers:
        raise BadUsage("this conversation is not kept (--no-memory), so there is nothing to find by a name")
    shell.program.conversations.save(shell.session.journal.id, words)
    return f"this conversation is called {words}"


@COMMANDS.add("sessions", argument="[N]")
async def sessions(shell: Shell, arguments: Arguments) -> str:
    """List the newest conversations.

    The number in front is what `:resume` takes. Twenty are shown unless you give another number.
    """
    limit = _number(arguments.text, 20)
    listed = shell.program.conversations.list(limit)
    if not listed:
        return "no conversation is kept yet"
    rows = []
    for place, item in enumerate(listed, start=1):
        mark = "*" if item.id == shell.session.journal.id else " "
        name = f"[{item.name}] " if item.name else ""
        when = item.time.astimezone().strftime("%Y-%m-%d %H:%M")
        turns = counted(item.turns, "turn")
        title = one_line(f"{name}{item.title}", max(shell.width - 34, 6))
        rows.append(f"{place:>3}{mark} {when}  {turns:>9}  {title}")
    return "\n".join(rows)


@COMMANDS.add("resume", argument="[NUMBER|NAME|ID]")
async def resume(shell: Shell, arguments: Arguments) -> str:
    """Go on with an earlier conversation, by default the newest other one.

    Takes a number of `:sessions`, a name given with `:save`, the beginning of an id, or a hit of `:recall` (`@1`). As
    many of its turns as fit are in the prompt again. If aish was killed in the middle of an answer, the part that was
    shown is there.
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
    total, notices = shell.session.resume(wanted)
    lines = [notice.text for notice in notices]
    lines.append(f"resumed {wanted}: {total} turns, {len(shell.session.history.turns)} of them in the prompt")
    lines += [_shown(role, text, shell.width) for role, text in _last(shell, 2)]
    return "\n".join(lines)


@COMMANDS.add("history", argument="[N]")
async def history(shell: Shell, arguments: Arguments) -> str:
    """Show the last N turns of this conversation, from its journal (10 unless you say).

    Also those that no longer fit into the prompt. An answer that was stopped or broke off is marked.
    """
    lines = [f"{role}: {text}" for role, text in _last(shell, _number(arguments.text, 10))]
    return "\n".join(lines) or "nothing was said yet"


@COMMANDS.add("export", argument="[md|json] [FILE]")
async def export(shell: Shell, arguments: Arguments) -> str:
    """Write this conversation out as Markdown (for people) or JSON lines (for programs).

    Without FILE it is shown. A file that exists is not overwritten.
    """
    form, rest = arguments.take_word(("md", "json"))
    target = rest.text.strip()
    journal = shell.session.journal
    pieces = as_json(journal) if form == "json" else as_markdown(journal, f"Conversation {journal.id}")
    if not target:
        return "".join(pieces).rstrip("\n")
    return write_new(target, pieces)


@COMMANDS.add("quit", aliases=("exit", "q"))
async def leave(shell: Shell, arguments: Arguments) -> str:
    """Leave aish. Ctrl-D does the same."""
    shell.leaving = True
    return ""


def _last(shell: Shell, count: int) -> list[tuple[str, str]]:
    """Role and text of the newest turns, oldest first."""
    entries = list(islice(shell.session.journal.entries_back(), count))
    states = {"complete": "", "interrupted": " [interrupted]", "failed": " [failed]"}
    turns = [entry.turn for entry in reversed(entries)]
    return [(turn.role, turn.content + states[turn.state]) for turn in turns]


def _shown(role: str, text: str, width: int) -> str:
    return one_line(f"{role}: {text}", width)


def _number(words: str, default: int) -> int:
    if not words:
        return default
    if not words.isdecimal() or len(words) > 7 or not 1 <= int(words) <= 1_000_000:
        raise BadUsage(f"expected a number from 1 up, got {words!r}")
    return int(words)
