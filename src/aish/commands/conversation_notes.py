"""The notes commands in a conversation, and the commands that need one: :channel and :compact."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from aish.commands import notes
from aish.commands.model import percent
from aish.commands.notes_scope import NOTES_COMMANDS
from aish.commands.shell import COMMANDS, Shell
from aish.conversation.channels import check_channel
from aish.conversation.compaction import Compacted, compact
from aish.intake.commands import Arguments
from aish.jobs.notes import finish_conversation
from aish.values.channels import is_channel
from aish.values.errors import BadUsage, NotFound
from aish.values.replies import Reply
from aish.values.text import counted

if TYPE_CHECKING:  # loaded when the first note is read
    from aish.memory.notes.channel_notes import ChannelNotes

__all__ = ["ConversationNotes", "channel", "compact_prompt", "notes"]


class ConversationNotes:
    """The `NotesScope` of a shell."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell

    @property
    def channel(self) -> str:
        return self._shell.session.channel

    @property
    def notes(self) -> "ChannelNotes":
        if not self._shell.session.remembers:
            raise BadUsage("notes are switched off for this run (--no-memory)")
        return self._shell.session.notes

    @property
    def width(self) -> int:
        return self._shell.width

    @property
    def edit_text(self) -> Callable[[str, str], str]:
        raise BadUsage("run the command `aish notes edit`, or open the file; :notes shows where it is")


COMMANDS.include(NOTES_COMMANDS, ConversationNotes)


@COMMANDS.add("channel", argument="[NAME|link NAME|unlink]")
async def channel(shell: Shell, arguments: Arguments) -> Reply:
    """List the channels, or use the notes of another one in this shell.

    A channel is the project you are in; its notes are used everywhere in that project and in all its worktrees.
    `:channel NAME` switches this shell, also to a new name; `:channel -` goes back. `:channel link NAME` connects this
    project to a channel permanently, for example a second clone; `:channel unlink` ends that.
    """
    words, session = arguments.text.split(), shell.session
    known = shell.program.channel_names()
    if not words:
        rows = [f"{'*' if name == session.channel else ' '} {name}" for name in sorted({*known, session.channel})]
        return Reply("\n".join(rows), data={"channel": session.channel, "channels": sorted(known)})
    if words == ["unlink"]:
        session.services.channels.link(session.cwd, "")
        return Reply(f"this project has its own channel again: {session.services.channels.at(session.cwd)}")
    linking = words[0] == "link"
    if len(words) != 1 + linking:
        raise BadUsage("use :channel, :channel NAME, :channel link NAME or :channel unlink")
    name = "" if words == ["-"] else _known(words[-1], known)
    told = [one.text for one in await finish_conversation(session)]
    if linking:
        session.services.channels.link(session.cwd, name)
        session.named_channel = ""
    else:
        session.named_channel = name
    session.start_new()
    what = "this project is linked to" if linking else "now in"
    text = "\n".join([*told, f"{what} channel {session.channel}; a new conversation begins"])
    return Reply(text, data={"channel": session.channel})


@COMMANDS.add("compact", argument="[N]")
async def compact_prompt(shell: Shell, arguments: Arguments) -> Reply:
    """Shorten the prompt: update the notes, then drop all but the newest N exchanges (default: 2).

    The journal keeps every turn. If no model can be asked now, the facts are kept later.
    """
    text = arguments.text.strip()
    if text and not (text.isdecimal() and 1 <= int(text) <= 1_000):
        raise BadUsage(f"expected a number of exchanges from 1 to 1000, got {text!r}")
    done = await compact(shell.session, int(text or 2))
    budget = (await shell.session.endpoints.limits(shell.session.backend)).token_budget
    lines = [*(one.text for one in done.notices), *picture(done, budget, shell.width)]
    covered = done.covered
    data = {"before": done.before.total, "after": done.after.total, "turns": done.turns}
    data |= {"first": covered.first, "last": covered.last} if covered else {}
    return Reply("\n".join(lines), data=data)


def picture(done: Compacted, budget: int, width: int) -> list[str]:
    """Draw the prompt before and after."""
    room = max(min(width, 100) - 32, 10)
    rows = []
    for name, tokens in (("before", done.before.total), ("after", done.after.total)):
        full = min(round(room * tokens / max(budget, 1)), room)
        rows.append(f"{name:<12} {'█' * full + '░' * (room - full)} {tokens:>7,} {percent(tokens, budget):>6}")
    kept = f"{counted(done.turns, 'turn')} left the prompt"
    if done.covered:
        kept += f"; turns {done.covered.first} to {done.covered.last} are in the journal (:history)"
    return [*rows, kept]


def _known(wanted: str, known: list[str]) -> str:
    """Return the channel that a name means, or a new one. Raises `BadUsage`."""
    matching = [name for name in known if is_channel(name, wanted)]
    if len(matching) > 1:
        raise NotFound(f"{wanted!r} could be {' or '.join(matching)}")
    if not matching:
        check_channel(wanted)
    return matching[0] if matching else wanted
