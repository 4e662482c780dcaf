"""The contract of conversations, for every adapter."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from world import at

from aish.memory.conversations import Conversations
from aish.memory.in_memory import InMemoryJournals
from aish.memory.journal import JournalFiles
from aish.memory.purge import Eraser
from aish.values.errors import StoreTrouble
from aish.values.stores import StaleCursor
from aish.values.turns import Turn

NOW = at("2026-05-12T12:00:00")
Open = Callable[[], Conversations]


@pytest.fixture(params=["files", "in memory"])
def conversations(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    store = JournalFiles(tmp_path / "sessions") if request.param == "files" else InMemoryJournals()
    return lambda: Conversations(store)


def texts(conversations: Conversations, id: str) -> list[str]:
    return [entry.turn.content for entry in conversations.open(id).entries()]


def test_turns_of_two_writers_are_numbered_and_read_in_order(conversations: Open) -> None:
    one, other = conversations().open("talk", {"cwd": "/home"}), conversations().open("talk")
    for number in range(3):
        assert one.add(Turn("user", f"question {number}"), NOW, {"later": [number]}) == 2 * number + 1
        assert other.add(Turn("assistant", f"answer {number}"), NOW) == 2 * number + 2
    entries = list(conversations().open("talk").entries())

    assert [entry.number for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[4].meta == {"later": [2]}
    assert list(conversations().open("talk").entries_back()) == entries[::-1]
    assert conversations().open("talk").meta()["cwd"] == "/home"
    assert [record["n"] for record in one.records_with("later")] == [1, 3, 5]


def test_the_cursor_gives_exactly_the_turns_since(conversations: Open) -> None:
    talk = conversations().open("talk")
    talk.add(Turn("user", "one"), NOW)
    [(cursor, _)] = talk.since()
    conversations().open("talk").add(Turn("assistant", "two"), NOW)

    assert [entry.turn.content for _, entry in talk.since(cursor)] == ["two"]


def test_a_conversation_exists_from_its_first_turn(conversations: Open) -> None:
    new = conversations().new(NOW, {"model": "m"})
    assert conversations().ids() == []
    new.add(Turn("user", "hello"), NOW)
    conversations().open("00000000-older").add(Turn("user", "before"), NOW - timedelta(days=1))

    assert conversations().ids() == [new.id, "00000000-older"]
    assert [listed.title for listed in conversations().list()] == ["hello", "before"]
    assert conversations().find() == new.id


def test_all_readers_see_a_name(conversations: Open) -> None:
    conversations().open("a").add(Turn("user", "hello"), NOW)
    conversations().save("a", "work")

    assert conversations().names() == {"a": "work"}
    assert conversations().find("work") == "a"


def test_the_shown_answer_of_a_killed_program_is_recovered_once(conversations: Open) -> None:
    talk = conversations().open("talk")
    talk.add(Turn("user", "why?"), NOW)
    talk.show("Because ", "import")
    talk.show("of")
    assert conversations().open("talk").recover(NOW) == 0, "the answer is still being given"
    with pytest.raises(StoreTrouble, match="another aish is answering"):
        conversations().open("talk").show("Me too")
    talk._live.close()

    assert conversations().open("talk").recover(NOW) == 2
    assert conversations().open("talk").recover(NOW) == 0
    assert next(conversations().open("talk").entries_back()).meta == {"recovered": True, "made_of": "import"}
    assert texts(conversations(), "talk") == ["why?", "Because of"]


def test_an_answer_that_reached_the_journal_leaves_nothing_to_recover(conversations: Open) -> None:
    talk = conversations().open("talk")
    talk.show("Yes")
    talk.add(Turn("assistant", "Yes"), NOW)
    talk.show("And ")
    talk.add(Turn("assistant", "And no"), NOW)

    assert conversations().open("talk").recover(NOW) == 0
    assert texts(conversations(), "talk") == ["Yes", "And no"]


def test_erased_text_is_in_no_turn_name_or_leftover(conversations: Open, tmp_path: Path) -> None:
    talk = conversations().open("talk")
    talk.add(Turn("user", "where is the wolpertinger?"), NOW)
    talk.show("The wolpertinger")
    talk._live.close()
    conversations().save("talk", "wolpertinger")
    [(cursor, _)] = talk.since()

    assert conversations().erase(Eraser(["wolpertinger"], str), NOW) == 3
    assert texts(conversations(), "talk") == ["where is the [purged]?", "The [purged]"]
    assert conversations().names() == {"talk": "[purged]"}
    assert not any(b"wolpertinger" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    with pytest.raises(StaleCursor):
        list(talk.since(cursor))


def test_healthy_conversations_pass_their_checks(conversations: Open) -> None:
    conversations().open("talk").add(Turn("user", "hello"), NOW)

    assert [check().damaged for check in conversations().checks()] == [0, 0]
