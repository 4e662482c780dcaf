"""The contract of a feed. Every adapter must pass it; a new one adds a store to `STORES`."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from aish.memory.finding.feed import ConversationMeta, Feed, FeedEntry, Revision
from aish.memory.in_memory_feed import InMemoryFeed
from aish.memory.journal import Journal
from aish.memory.journal_feed import JournalFeed
from aish.values.errors import StoreTrouble
from aish.values.turns import Turn

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
MISSING = Revision("1-1", 100)


class Store(Protocol):
    """The changes a test makes to the conversations behind a feed."""

    feed: Feed

    def describe(self, name: str, meta: ConversationMeta) -> None:
        """Start a conversation with this metadata."""

    def say(self, name: str, *texts: str) -> None: ...

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text of the same length in a turn, as an editor or a purge does."""

    def delete(self, name: str) -> None: ...


class JournalStore:
    def __init__(self, top: Path) -> None:
        self._sessions = top / "sessions"
        self.feed: Feed = JournalFeed(self._sessions)

    def describe(self, name: str, meta: ConversationMeta) -> None:
        Journal(self._sessions, name, meta._asdict()).add(Turn("user", "the first turn"), NOW)

    def say(self, name: str, *texts: str) -> None:
        Journal(self._sessions, name).extend((Turn("user", text), NOW, {}) for text in texts)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self._sessions / f"{name}.jsonl"
        text = path.read_text(encoding="utf-8").replace(',"crc":', ',"old":')
        path.write_text(text.replace(old, new), encoding="utf-8")

    def delete(self, name: str) -> None:
        path = self._sessions / f"{name}.jsonl"
        path.rename(self._sessions.parent / path.name)  # kept elsewhere, so that no new file gets its inode


class InMemoryStore:
    def __init__(self, top: Path) -> None:
        self._memory = InMemoryFeed()
        self.feed: Feed = self._memory

    def describe(self, name: str, meta: ConversationMeta) -> None:
        self._memory.describe(name, meta)
        self.say(name, "the first turn")

    def say(self, name: str, *texts: str) -> None:
        for text in texts:
            self._memory.add(name, Turn("user", text), NOW)

    def edit(self, name: str, old: str, new: str) -> None:
        revision = self._memory.revisions()[name]
        for item in self._memory.entries(name, revision):
            if item.entry and old in item.entry.turn.content:
                self._memory.edit(name, item.entry.number, item.entry.turn.content.replace(old, new))

    def delete(self, name: str) -> None:
        self._memory.delete(name)


STORES: list[Callable[[Path], Store]] = [JournalStore, InMemoryStore]


@pytest.fixture(params=STORES, ids=["journals", "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    made: Store = request.param(tmp_path)
    return made


def entries(store: Store, name: str, start: int = 0, at_most: int | None = None) -> list[FeedEntry]:
    return list(store.feed.entries(name, store.feed.revisions()[name], start, at_most=at_most))


def texts(found: list[FeedEntry]) -> list[str]:
    return [item.entry.turn.content for item in found if item.entry]


def test_a_store_without_conversations_is_empty(store: Store) -> None:
    assert store.feed.revisions() == {}
    assert store.feed.watch().poll() == (True, {})


def test_a_conversation_that_does_not_exist_is_not_an_error(store: Store) -> None:
    """It may have been deleted a moment ago."""
    store.say("b", "a heron")
    assert list(store.feed.entries("a", MISSING)) == []
    assert store.feed.entries_at("a", [(0, 10), (10, 10)]) == [None, None]
    assert store.feed.meta("a") == ConversationMeta()
    assert store.feed.fingerprint("a", MISSING, 10) == ""


def test_every_conversation_is_listed_by_its_name(store: Store) -> None:
    store.say("a", "a heron")
    store.say("b", "an otter")
    assert store.feed.revisions().keys() == {"a", "b"}


def test_turns_come_in_order_with_number_time_and_role(store: Store) -> None:
    store.say("a", "a heron", "an otter", "a badger")
    found = [item.entry for item in entries(store, "a") if item.entry]
    assert [(entry.number, entry.turn.content) for entry in found] == [(1, "a heron"), (2, "an otter"), (3, "a badger")]
    assert {(entry.time, entry.turn.role) for entry in found} == {(NOW, "user")}


def test_positions_are_contiguous_and_end_at_the_revision(store: Store) -> None:
    """A reader that has read all entries has reached the revision."""
    store.say("a", "a heron", "", "an otter")
    found, revision = entries(store, "a"), store.feed.revisions()["a"]
    assert found[0].position == 0
    assert all(item.length > 0 for item in found)
    ends = [item.position + item.length for item in found]
    assert [item.position for item in found[1:]] + [revision.end] == ends


def test_a_turn_is_read_again_by_its_place(store: Store) -> None:
    """In any order, also after the conversation has grown."""
    store.say("a", "a heron", "an otter")
    found = [item for item in entries(store, "a") if item.entry]
    store.say("a", "a badger")
    places = [(item.position, item.length) for item in reversed(found)]
    assert store.feed.entries_at("a", places) == [found[1].entry, found[0].entry]


def test_a_place_without_a_turn_gives_none(store: Store) -> None:
    """An index may be older than the conversation."""
    store.say("a", "a heron")
    end = store.feed.revisions()["a"].end
    assert store.feed.entries_at("a", [(end + 5, 10)]) == [None]


def test_reading_continues_from_the_end_of_an_entry(store: Store) -> None:
    store.say("a", "a heron", "an otter")
    end = store.feed.revisions()["a"].end
    store.say("a", "a badger")
    found = entries(store, "a", start=end)
    assert texts(found) == ["a badger"]
    assert found[0].position == end


def test_reading_stops_at_the_revision(store: Store) -> None:
    """Entries added meanwhile belong to a later revision."""
    store.say("a", "a heron")
    revision = store.feed.revisions()["a"]
    store.say("a", "an otter")
    assert texts(list(store.feed.entries("a", revision))) == ["a heron"]


def test_only_the_newest_entries_are_read_if_there_are_too_many(store: Store) -> None:
    """The first one is a whole entry, and positions are those of a full read."""
    store.say("a", *[f"otter number {number}" for number in range(100)])
    everything, end = entries(store, "a"), store.feed.revisions()["a"].end
    newest = entries(store, "a", at_most=end // 2)
    assert newest == everything[-len(newest) :]
    assert 30 < len(newest) < 70
    assert entries(store, "a", at_most=end) == everything


def test_a_revision_stays_the_same_until_something_changes(store: Store) -> None:
    store.say("a", "a heron")
    store.say("b", "an otter")
    before = store.feed.revisions()
    assert store.feed.revisions() == before
    store.say("a", "a badger")
    after = store.feed.revisions()
    assert after["a"] != before["a"]
    assert after["a"].end > before["a"].end
    assert after["b"] == before["b"]


def test_an_edit_that_keeps_the_length_changes_the_revision(store: Store) -> None:
    """A purge or an editor may replace words by others of the same length."""
    store.say("a", "a heron", "an otter")
    before = store.feed.revisions()["a"]
    store.edit("a", "heron", "stork")
    assert store.feed.revisions()["a"] != before
    assert texts(entries(store, "a")) == ["a stork", "an otter"]


def test_the_fingerprint_stays_the_same_while_a_conversation_only_grows(store: Store) -> None:
    """It tells the index that it can continue reading."""
    store.say("a", "a heron")
    first = store.feed.revisions()["a"]
    fingerprint = store.feed.fingerprint("a", first, first.end)
    assert fingerprint
    store.say("a", "an otter")
    assert store.feed.fingerprint("a", store.feed.revisions()["a"], first.end) == fingerprint


def test_the_fingerprint_differs_after_a_rewrite(store: Store) -> None:
    """Otherwise the index would keep purged turns."""
    store.say("a", "a heron")
    first = store.feed.revisions()["a"]
    fingerprint = store.feed.fingerprint("a", first, first.end)
    store.edit("a", "heron", "stork")
    store.say("a", "an otter")
    assert store.feed.fingerprint("a", store.feed.revisions()["a"], first.end) != fingerprint


def test_the_fingerprint_differs_after_a_conversation_is_replaced(store: Store) -> None:
    """Under the same name. A reader of the old one gets none, so that its fingerprint is not used for the new one."""
    store.say("a", "a heron")
    first = store.feed.revisions()["a"]
    fingerprint = store.feed.fingerprint("a", first, first.end)
    store.delete("a")
    store.say("a", "a stork", "an otter")
    assert store.feed.fingerprint("a", first, first.end) == ""
    assert store.feed.fingerprint("a", store.feed.revisions()["a"], first.end) != fingerprint


def test_metadata_is_that_of_the_conversation(store: Store) -> None:
    store.describe("a", ConversationMeta("pots", "chatgpt", "Kilns of the north"))
    store.say("b", "a heron")
    assert store.feed.meta("a") == ConversationMeta("pots", "chatgpt", "Kilns of the north")
    assert store.feed.meta("b") == ConversationMeta()


def test_a_deleted_conversation_is_not_listed(store: Store) -> None:
    store.say("a", "a heron")
    store.say("b", "an otter")
    store.delete("a")
    assert store.feed.revisions().keys() == {"b"}


def test_the_first_poll_and_a_full_one_are_complete(store: Store) -> None:
    store.say("a", "a heron")
    watch = store.feed.watch()
    assert watch.poll() == (True, store.feed.revisions())
    assert watch.poll(full=True) == (True, store.feed.revisions())


def changed(store: Store, change: Callable[[], None]) -> set[str]:
    """Return the names of the changes that a watch reports."""
    watch = store.feed.watch()
    before = dict(watch.poll().revisions)
    change()
    poll = watch.poll()
    now = store.feed.revisions()
    assert poll.complete or now.keys() == before.keys(), "a poll must be complete if the conversations are others"
    assert all(poll.revisions[name] == now[name] for name in poll.revisions)
    seen = {name for name, revision in poll.revisions.items() if before.get(name) != revision}
    return seen | (before.keys() - poll.revisions.keys() if poll.complete else set())


def test_the_next_poll_notices_every_kind_of_change(store: Store) -> None:
    """A turn is found the moment it is written."""
    store.say("a", "a heron")
    store.say("b", "an otter")
    assert changed(store, lambda: None) == set()
    assert changed(store, lambda: store.say("a", "a badger")) == {"a"}
    assert changed(store, lambda: store.edit("b", "otter", "stoat")) == {"b"}
    assert changed(store, lambda: store.say("c", "a lynx")) == {"c"}
    assert changed(store, lambda: store.delete("a")) == {"a"}


def test_a_change_is_reported_once_and_to_each_watch(store: Store) -> None:
    """Two readers do not consume each other's changes."""
    store.say("a", "a heron")
    first, second = store.feed.watch(), store.feed.watch()
    first.poll()
    second.poll()
    store.say("a", "an otter")
    now = store.feed.revisions()
    assert dict(first.poll().revisions) == now
    assert dict(second.poll().revisions) == now
    again = first.poll()
    assert again.complete or again.revisions == {}


def test_a_journal_directory_that_cannot_be_read_is_not_an_empty_store(tmp_path: Path) -> None:
    """Otherwise the index would delete everything. Only the journals can be made unreadable here."""
    store = JournalStore(tmp_path)
    store.say("a", "a heron")
    watch = store.feed.watch()
    watch.poll()
    (tmp_path / "sessions").rename(tmp_path / "away")
    (tmp_path / "sessions").write_text("a file in its place", encoding="utf-8")
    for read in (store.feed.revisions, lambda: watch.poll(full=True)):
        with pytest.raises(StoreTrouble, match=r"cannot read .*sessions: Not a directory"):
            read()
    (tmp_path / "sessions").unlink()
    (tmp_path / "away").rename(tmp_path / "sessions")
    assert watch.poll() == (True, store.feed.revisions())


def test_an_entry_that_is_still_being_written_is_read_when_it_is_complete(tmp_path: Path) -> None:
    """Until then the reader has not reached the revision, and it continues from where it stopped."""
    store = JournalStore(tmp_path)
    store.say("a", "a heron")
    end = store.feed.revisions()["a"].end
    line = b'{"n":2,"ts":"2026-05-20T12:00:00Z","role":"user","content":"an otter"}\n'
    with (tmp_path / "sessions" / "a.jsonl").open("ab") as file:
        file.write(line[:30])
        file.flush()
        assert entries(store, "a", start=end) == []
        file.write(line[30:])
    assert texts(entries(store, "a", start=end)) == ["an otter"]
