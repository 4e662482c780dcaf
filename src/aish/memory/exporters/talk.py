"""A conversation to export: what the formats need to know of it, and its turns, read one at a time."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from aish.memory.conversations import Conversations, is_conversation
from aish.memory.importers.fields import label
from aish.memory.journal import TurnLog
from aish.values.channels import is_channel
from aish.values.named_tuple import NamedTuple
from aish.values.stores import Damage
from aish.values.text import for_keeping
from aish.values.turns import JournalEntry, ToolCall

OWN_FORMAT = "jsonl"  # the source of conversations that came from an export of aish
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TurnPeriod(NamedTuple):
    """The turns that are wanted: from `since` on, before `until`. Turns without a time are in no period."""

    since: datetime | None = None
    until: datetime | None = None

    def has(self, entry: JournalEntry) -> bool:
        if self.since is None and self.until is None:
            return True
        time = time_of(entry)
        if time is None or (self.since and time < self.since):
            return False
        return self.until is None or time < self.until


class Talk(NamedTuple):
    """One conversation.

    `conversation` is its id in the tool that it came from, named by `source`; both have the same value after the export
    was imported elsewhere. `id` is the one of its journal.
    """

    id: str
    conversation: str
    source: str
    channel: str
    title: str
    directory: str  # where it was held, if that is known
    turns: Callable[[], Iterator[JournalEntry]]


def talk_of(journal: TurnLog, name: str = "", period: TurnPeriod | None = None, damage: Damage | None = None) -> Talk:
    """Return the conversation in a journal; `name` is the one that the user gave. Raises `StoreTrouble`."""
    meta = journal.meta()
    wanted = period or TurnPeriod()
    source, conversation = label(meta.get("source")), label(meta.get("conversation"))

    def turns() -> Iterator[JournalEntry]:
        return (entry for entry in journal.entries(damage) if says_something(entry) and wanted.has(entry))

    return Talk(
        journal.id,
        conversation if source and conversation else journal.id,
        "" if source == OWN_FORMAT else source,
        label(meta.get("channel")),
        label(name) or label(meta.get("title")),
        for_keeping(cwd) if isinstance(cwd := meta.get("cwd"), str) else "",
        turns,
    )


def find_talks(
    conversations: Conversations,
    ids: list[str],
    period: TurnPeriod,
    channel: str = "",
    damage: Damage | None = None,
) -> list[Talk]:
    """Return the conversations that have a wanted turn, oldest first. Raises `StoreTrouble`.

    The order depends only on what is exported, so it is the same after an import elsewhere.
    """
    names, found = conversations.names(), []
    for id in ids:
        talk = talk_of(conversations.open(id), names.get(id, ""), period, damage)
        if channel and not (talk.channel and is_channel(talk.channel, channel)):
            continue
        begun = _begin(talk)
        if begun is not None:
            found.append((begun, talk.conversation, talk.source, talk))
    return [talk for *_, talk in sorted(found, key=lambda one: one[:3])]


def time_of(entry: JournalEntry) -> datetime | None:
    """Return the time of a turn. None if its source did not give one."""
    return None if entry.meta.get("undated") else entry.time


def name_of(entry: JournalEntry) -> str:
    """Return the name of who said it, as far as it is known: a model, a tool, or another name of the source."""
    model = entry.meta.get("model") if entry.turn.role == "assistant" else ""
    return label(entry.meta.get("name")) or label(model)


def says_something(entry: JournalEntry) -> bool:
    """Is it a turn of the conversation that holds something? A call, its result or a failure may have no text."""
    turn = entry.turn
    holds = turn.content.strip() or calls_of(entry) or turn.call_id or turn.state != "complete"
    return bool(holds) and is_conversation(entry)


def calls_of(entry: JournalEntry) -> list[ToolCall]:
    """Return the tool calls of a turn that say anything."""
    calls = (ToolCall(*map(for_keeping, call)) for call in entry.turn.tool_calls)
    return [call for call in calls if call.name or call.arguments]


def _begin(talk: Talk) -> datetime | None:
    """Return the first time in a conversation; the epoch if no turn has one. None if it has no turns."""
    some = False
    for entry in talk.turns():
        some = True
        if time := time_of(entry):
            return time
    return _EPOCH if some else None
