"""The notes of a channel: finding, forgetting and confirming entries, the log of upkeep, and tidying."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from aish.memory.fingerprint import fingerprint
from aish.memory.in_memory import InMemoryNotes
from aish.memory.notes.channel_notes import ChannelNotes, UpkeepEvent
from aish.memory.notes.document import Entry
from aish.memory.notes.files import NoteFiles
from aish.memory.notes.operations import Add, Invalidate, Milestone
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.storage.in_memory import InMemoryLog
from aish.storage.lines import open_log
from aish.values.errors import NotFound
from aish.values.stores import NoteName

CHANNEL = "garden-12ab"
SOURCE = "20261117-101500-abc/1-4"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SESSION = "# Session\n\n## Goal\n\n- Move billing <!-- bcdfg 2026-11-17 by=tool:exec from=x/1-2 -->\n"


class Garden(NamedTuple):
    """The notes under test, the text of each file, and a clock that can be set."""

    notes: ChannelNotes
    clock: list[datetime]

    def add(self, text: str, section: str = "Decisions", **more: str) -> str:
        (result,) = self.notes.notebook.apply([Add(section, text, source=SOURCE, **more)], reason="test")
        assert result.applied, result.reason
        return result.id

    def texts(self, name: str = "memory") -> list[str]:
        return [entry.text for entry in self.notes.read(name).entries]

    def entry(self, id: str) -> Entry:
        return self.notes.find(id)[0]

    def wait(self, **time: int) -> None:
        self.clock[0] += timedelta(**time)


@pytest.fixture(params=["memory", "files"])
def garden(request: pytest.FixtureRequest, tmp_path: Path) -> Garden:
    clock = [datetime(2026, 11, 17, 12, tzinfo=UTC)]
    files = request.param == "files"
    folder = tmp_path / "channels" / CHANNEL
    notes = ChannelNotes(
        NoteFiles(tmp_path) if files else InMemoryNotes(),
        CHANNEL,
        log=open_log(folder / "log.jsonl", "changes") if files else InMemoryLog(),
        context=open_log(folder / "context.jsonl", "upkeep") if files else InMemoryLog(),
        redaction=Redaction(tmp_path / "salt", lambda: SimpleNamespace(redact=redact, fingerprint=fingerprint)),
        now=lambda: clock[0],
    )
    return Garden(notes, clock)


def write_session(garden: Garden, text: str = SESSION) -> None:
    garden.notes.notebook.save_session("", text, reason="test")


# Entries


def test_a_note_is_found_by_its_short_name(garden: Garden) -> None:
    """Commands name notes as people do."""
    write_session(garden)

    assert garden.notes.exists("session")
    assert not garden.notes.exists("memory")
    assert garden.notes.names["workspace"] == NoteName("MEMORY.md")
    assert garden.notes.names["memory"] == NoteName("MEMORY.md", CHANNEL)
    assert garden.notes.channels() == [CHANNEL]


@pytest.mark.parametrize("id", ["zzzzz", "", "bcdf", "../..", "\x1b[31m"])
def test_an_unknown_id_is_said_and_changes_nothing(garden: Garden, id: str) -> None:
    """Ids are typed by hand."""
    garden.add("use Envoy")
    write_session(garden)
    for act in (garden.notes.find, garden.notes.forget, garden.notes.confirm):
        with pytest.raises(NotFound, match="there is no entry"):
            act(id)

    assert garden.texts() == ["use Envoy"]
    assert garden.texts("session") == ["Move billing"]


@pytest.mark.proves("S37")
def test_a_forgotten_entry_is_not_learned_again(garden: Garden) -> None:
    """Also reworded from the same turns."""
    id = garden.add("use Envoy for billing")
    assert garden.notes.forget(id).text == "use Envoy for billing"

    assert garden.texts() == []
    again = [Add("Decisions", text, source=SOURCE) for text in ("use Envoy for billing", "for billing use Envoy")]
    assert [result.applied for result in garden.notes.notebook.apply(again, reason="test")] == [False, False]


def test_an_entry_of_the_working_state_and_of_the_history_can_be_forgotten(garden: Garden) -> None:
    """The user sees it in all three files, and may remove it from each."""
    write_session(garden)
    (result,) = garden.notes.notebook.apply([Milestone("moved billing", "user", SOURCE)], reason="test")
    garden.notes.forget("bcdfg")
    garden.notes.forget(result.id)

    assert garden.texts("session") == []
    assert garden.texts("history") == []
    with pytest.raises(NotFound):
        garden.notes.forget("bcdfg")


@pytest.mark.proves("X4")
def test_a_confirmed_entry_is_the_users_and_has_no_probation(garden: Garden) -> None:
    """The user said so."""
    id = garden.add("use Envoy", origin="model", until="2026-12-17")
    garden.notes.confirm(id)

    assert (garden.entry(id).origin, garden.entry(id).until) == ("", "")


@pytest.mark.proves("X4")
def test_a_line_of_the_working_state_can_be_confirmed(garden: Garden) -> None:
    """It was based on the output of a command, and is now as good as the user's words."""
    write_session(garden)
    garden.notes.confirm("bcdfg")

    assert garden.entry("bcdfg").origin == ""
    assert garden.entry("bcdfg").text == "Move billing"
    assert garden.entry("bcdfg").source == "x/1-2"


def test_an_entry_is_found_by_its_text_if_there_is_only_one(garden: Garden) -> None:
    """A model names an entry by its text, because it never sees ids."""
    garden.add("use Envoy for billing")
    garden.add("use Envoy for auth")
    garden.add("Short answers", "Preferences")

    assert garden.notes.find_text("short  ANSWERS") == garden.entry(garden.notes.read("memory").entries[0].id)
    billing = garden.notes.find_text("billing")
    assert billing
    assert billing.text == "use Envoy for billing"
    assert garden.notes.find_text("use Envoy") is None, "two could be meant"
    assert garden.notes.find_text("") is None
    assert garden.notes.find_text("nginx") is None


def test_an_exact_text_wins_over_one_that_contains_it(garden: Garden) -> None:
    """Otherwise a short entry could never be named."""
    garden.add("use Envoy")
    garden.add("use Envoy for auth")

    found = garden.notes.find_text("Use envoy")
    assert found
    assert found.text == "use Envoy"


# The log of upkeep


@pytest.mark.proves("S42")
def test_upkeep_is_logged_newest_first(garden: Garden) -> None:
    """The user can see what was done, skipped and failed, and why."""
    garden.notes.record("done", "working state")
    garden.wait(minutes=1)
    garden.notes.record("failed", "lasting facts", "server\nnot reachable")
    garden.notes.record("recalled", "recall", ids=["bcdfg", "hjkmn"])

    assert list(garden.notes.events()) == [
        UpkeepEvent("2026-11-17T12:01:00.000Z", "recalled", "recall", "", ("bcdfg", "hjkmn")),
        UpkeepEvent("2026-11-17T12:01:00.000Z", "failed", "lasting facts", "server not reachable"),
        UpkeepEvent("2026-11-17T12:00:00.000Z", "done", "working state"),
    ]


@pytest.mark.proves("M62")
def test_a_reason_with_a_secret_is_masked_and_short(garden: Garden) -> None:
    """Servers repeat keys in their errors, and some send a page of HTML."""
    garden.notes.record("failed", "lasting facts", f"{TOKEN} is not valid " + "x" * 1000)

    (event,) = garden.notes.events()
    assert TOKEN not in event.reason
    assert len(event.reason) <= 200


def test_the_queue_and_the_log_share_a_file_without_confusion(garden: Garden) -> None:
    """Each reads its own records."""
    garden.notes.record("done", "working state")
    queued = garden.notes.queue.add("c1", 1, 2, garden.clock[0])
    garden.notes.record("done", "lasting facts")

    assert [event.job for event in garden.notes.events()] == ["lasting facts", "working state"]
    assert garden.notes.queue.waiting() == [queued]


# Tidying


@pytest.mark.proves("S22")
def test_what_was_recalled_during_probation_stays(garden: Garden) -> None:
    """One recall shows that it was of use."""
    id = garden.add("use Envoy", until="2026-12-17")
    garden.notes.tidy([f"memory:{id}", "ledger:7", "history:zzzzz", "memory:¶0", "memory:#1"])
    garden.wait(days=40)
    garden.notes.tidy([])

    assert garden.entry(id).until == ""
    assert id in next(event.ids for event in garden.notes.events() if event.outcome == "recalled")
    assert garden.texts() == ["use Envoy"]


@pytest.mark.proves("R15", "S22")
def test_what_nobody_needed_leaves_without_a_trace_and_may_be_learned_again(garden: Garden) -> None:
    """It was only probably lasting. Nobody wished to forget it."""
    garden.add("use Envoy", until="2026-12-17")
    garden.add("stays")
    garden.wait(days=30)
    garden.notes.tidy([])
    assert garden.texts() == ["use Envoy", "stays"], "the last day counts"
    garden.wait(days=1)
    garden.notes.tidy([])

    assert garden.texts() == ["stays"]
    assert garden.texts("history") == []
    garden.add("use Envoy", until="2027-01-17")


def test_what_tidying_did_is_in_the_log(garden: Garden) -> None:
    """Entries that vanish without a word would look like a bug."""
    id = garden.add("use Envoy", until="2026-12-17")
    garden.add("use nginx", until="2026-11-01")
    garden.notes.tidy([f"memory:{id}"])

    assert [event.reason for event in garden.notes.events() if event.outcome == "tidied"] == ["1 promoted, 1 expired"]


@pytest.mark.proves("R11")
def test_tidying_is_due_twice_a_day_or_after_a_recall(garden: Garden) -> None:
    """The check is cheap and asks no model."""
    assert garden.notes.needs_tidying([])
    garden.notes.tidy([])
    assert not garden.notes.needs_tidying([])
    assert garden.notes.needs_tidying(["memory:bcdfg"])
    garden.wait(hours=11)
    assert not garden.notes.needs_tidying([])
    garden.wait(hours=2)
    assert garden.notes.needs_tidying([])


def test_a_clock_that_jumps_back_does_not_stop_tidying(garden: Garden) -> None:
    """A wrong date in the log would otherwise count as the last time for years."""
    garden.wait(days=10_000)
    garden.notes.tidy([])
    garden.wait(days=-10_000)

    assert garden.notes.needs_tidying([])
    garden.notes.tidy([])
    assert not garden.notes.needs_tidying([]), "and it does not repeat all the time"


def test_a_clock_that_jumps_forward_and_back_loses_only_what_was_on_probation(garden: Garden) -> None:
    """Entries without probation never depend on the clock."""
    garden.add("lasting")
    garden.wait(days=10_000)
    garden.notes.tidy([])
    garden.wait(days=-10_000)
    garden.notes.tidy([])

    assert garden.texts() == ["lasting"]


def test_tidying_leaves_the_persons_text_alone(garden: Garden) -> None:
    """Nothing is rewritten that needs no change."""
    own = "My notes\n=======\n\n* by hand\n\n| a | b |\n|---|---|\n"
    garden.notes.notebook.save_edited(garden.notes.names["memory"], "", own)
    garden.notes.tidy(["memory:#0", "memory:¶1", "workspace:zzzzz"])

    assert garden.notes.read("memory").text == own


def test_an_entry_that_went_to_the_history_is_not_learned_again_after_it_is_forgotten(garden: Garden) -> None:
    """There it starts with "Until …", but what must stay forgotten is the statement."""
    notes = garden.notes
    (added,) = notes.notebook.apply([Add("Decisions", "Deploys run from main.", "model", "c/1-2")], reason="test")
    notes.notebook.apply([Invalidate(added.id)], reason="test")

    notes.forget(added.id)

    (again,) = notes.notebook.apply([Add("Decisions", "Deploys run from main.", "model", "d/5-6")], reason="test")
    assert (again.applied, again.reason) == (False, "was forgotten")


def test_a_line_of_the_working_state_that_was_forgotten_is_not_written_again(garden: Garden) -> None:
    """A model may say it again in the next state."""
    write_session(garden)
    entry = garden.notes.read("session").entries[0]

    garden.notes.forget(entry.id)

    assert garden.notes.read("session").find(entry.id) is None
    assert garden.notes.notebook.was_forgotten(entry.text, "other/7-9")
    assert not garden.notes.notebook.was_forgotten("something else entirely", "other/7-9")
