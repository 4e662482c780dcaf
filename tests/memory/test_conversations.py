"""Conversations are listed, named, found, opened at their end, and exported."""

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import at

from aish.memory.conversations import Conversations, Listed, window
from aish.memory.journal import Journal
from aish.storage.lines import encode
from aish.values.errors import BadUsage, NotFound
from aish.values.stores import Damage, Record
from aish.values.turns import Turn

NOW = at("2026-11-15T19:09:46")
FIRST, SECOND, THIRD = "20261113-100000-aaaaaa", "20261114-100000-bbbbbb", "20261115-100000-bbbbcc"


def say(directory: Path, name: str, *contents: str) -> Journal:
    """Write a conversation of alternating questions and answers."""
    journal = Journal(directory, name)
    for place, content in enumerate(contents):
        journal.add(Turn(role="assistant" if place % 2 else "user", content=content), NOW + timedelta(minutes=place))
    return journal


@pytest.fixture
def conversations(tmp_path: Path) -> Conversations:
    """Write three conversations, the third with one question only."""
    say(tmp_path, FIRST, "how are you", "fine")
    say(tmp_path, SECOND, "why is the sky blue", "because", "and\n\nthe sea " + "very " * 20, "likewise")
    say(tmp_path, THIRD, "hello")
    return Conversations(tmp_path)


def long_journal(directory: Path, exchanges: int) -> Journal:
    """Write a long conversation at once."""
    journal = Journal(directory, FIRST)
    lines: list[Record] = [{"meta": {"format": 1, "id": FIRST}}]
    for number in range(1, 2 * exchanges + 1):
        role = "user" if number % 2 else "assistant"
        lines.append({"n": number, "ts": "2026-11-15T19:09:46.000Z", "role": role, "content": f"turn {number} " * 20})
    journal.path.write_bytes(b"".join(encode(line) for line in lines))
    return journal


def bytes_read() -> int:
    """Return how many bytes this process has read so far."""
    path = Path("/proc/self/io")
    if not path.exists():
        pytest.skip("this system does not count what is read")
    counters = path.read_text(encoding="ascii").split()
    return int(counters[counters.index("rchar:") + 1])


@pytest.mark.proves("P5")
def test_a_list_has_the_newest_first_with_its_turns_its_time_its_name_and_its_first_question(
    conversations: Conversations,
) -> None:
    """These are what a user recognizes a conversation by."""
    conversations.save(SECOND, "sky")

    assert conversations.list() == [
        Listed(id=THIRD, name="", turns=1, time=NOW, title="hello"),
        Listed(id=SECOND, name="sky", turns=4, time=NOW + timedelta(minutes=3), title="why is the sky blue"),
        Listed(id=FIRST, name="", turns=2, time=NOW + timedelta(minutes=1), title="how are you"),
    ]
    assert [listed.id for listed in conversations.list(2)] == [THIRD, SECOND]
    assert conversations.list(0) == []


def test_only_conversations_with_turns_are_listed(conversations: Conversations, tmp_path: Path) -> None:
    """Other files in the directory are ignored, and an unreadable file hides no other."""
    directory = tmp_path
    (directory / "20270101-000000-empty.jsonl").touch()
    (directory / "20270101-000001-meta.jsonl").write_bytes(encode({"meta": {"format": 1}}))
    (directory / "20270101-000002-torn.jsonl.torn").write_bytes(b"torn")
    (directory / "20270101-000003-note.txt").write_text("a note", encoding="utf-8")
    (directory / "20270101-000004-live.live").write_bytes(b"2\nshown")
    (directory / "20270101-000005-folder.jsonl").mkdir()

    assert [listed.id for listed in conversations.list()] == [THIRD, SECOND, FIRST]
    assert conversations.find() == THIRD


def test_a_conversation_with_only_a_live_answer_is_listed(tmp_path: Path) -> None:
    """Only its live file exists, and `:resume` must find it."""
    (tmp_path / f"{FIRST}.live").write_bytes(b"1\nshown")

    assert Conversations(tmp_path).ids() == [FIRST]
    assert Conversations(tmp_path / "missing").ids() == []


@pytest.mark.proves("P5")
@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("", THIRD),
        ("1", THIRD),
        ("3", FIRST),
        ("sky", SECOND),
        ("a b", FIRST),
        (FIRST, FIRST),
        ("20261113", FIRST),
        ("20261114-1", SECOND),
    ],
)
def test_a_conversation_is_found_by_number_name_or_beginning(
    conversations: Conversations, wanted: str, found: str
) -> None:
    """An empty name means the newest."""
    conversations.save(SECOND, "sky")
    conversations.save(FIRST, "a b")

    assert conversations.find(wanted) == found


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("0", "no conversation '0'; see :sessions"),
        ("4", "no conversation '4'; see :sessions"),
        ("sk", "no conversation 'sk'; see :sessions"),
        ("../" + FIRST, f"no conversation '../{FIRST}'; see :sessions"),
        ("202611", "3 conversations start with '202611'; type more of the id"),
    ],
)
def test_an_unknown_or_ambiguous_name_is_reported(conversations: Conversations, wanted: str, message: str) -> None:
    """Opening the wrong conversation would be worse than opening none."""
    conversations.save(SECOND, "sky")

    with pytest.raises(NotFound) as caught:
        conversations.find(wanted)
    assert str(caught.value) == message


def test_without_conversations_the_message_says_so(tmp_path: Path) -> None:
    """The message does not say that the name was wrong."""
    with pytest.raises(NotFound, match=r"^there is no conversation yet$"):
        Conversations(tmp_path).find()
    assert Conversations(tmp_path).list() == []


@pytest.mark.proves("P5")
def test_a_name_belongs_to_the_conversation_that_got_it_last(conversations: Conversations, tmp_path: Path) -> None:
    """Names can be moved and changed; every change is a new line, and other processes see it."""
    conversations.save(FIRST, "work")
    conversations.save(SECOND, "other")
    Conversations(tmp_path).save(THIRD, "work")
    conversations.save(SECOND, "play")

    assert {id: name for id, name in conversations.names().items() if name} == {SECOND: "play", THIRD: "work"}
    assert conversations.find("work") == THIRD
    with pytest.raises(NotFound):
        conversations.find("other")
    assert [listed.name for listed in conversations.list()] == ["work", "play", ""]


@pytest.mark.parametrize("name", ["", "7", "2026", "١"])
def test_a_name_that_looks_like_a_place_in_the_list_is_refused(conversations: Conversations, name: str) -> None:
    """It could never be used to open the conversation."""
    with pytest.raises(BadUsage, match="a name needs at least one letter"):
        conversations.save(FIRST, name)
    assert conversations.names() == {}


def test_a_name_wins_over_the_beginning_of_an_id(conversations: Conversations) -> None:
    """The user chose the name on purpose."""
    conversations.save(THIRD, "20261113-1")

    assert conversations.find("20261113-1") == THIRD


@pytest.mark.proves("P5")
def test_a_window_of_ten_thousand_turns_reads_only_the_last_ones(tmp_path: Path) -> None:
    """Resuming a very long conversation must be quick: the damaged first half is never read."""
    journal = long_journal(tmp_path, 5000)
    size = journal.path.stat().st_size
    with journal.path.open("r+b") as raw:
        raw.seek(200)
        raw.write(b"#" * (size // 2))
    damage = Damage()

    before = bytes_read()
    entries = window(journal, 40, 100_000, damage)
    read = bytes_read() - before

    assert [entry.number for entry in entries] == list(range(9961, 10_001))
    assert damage.lines == 0
    assert read < size / 20


def test_a_list_reads_both_ends_of_a_long_conversation_and_not_its_middle(tmp_path: Path) -> None:
    """`:sessions` must be quick with years of conversations."""
    size = long_journal(tmp_path, 5000).path.stat().st_size

    before = bytes_read()
    (listed,) = Conversations(tmp_path).list()

    assert bytes_read() - before < size / 10
    assert (listed.turns, listed.title) == (10_000, "turn 1 turn 1 turn 1 turn 1 turn 1 turn 1 turn 1 turn 1 tur…")


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 30), max_size=12), st.integers(1, 14), st.integers(0, 200))
def test_a_window_is_the_longest_end_that_fits_and_starts_with_a_question(
    sizes: list[int], turns: int, chars: int
) -> None:
    """A prompt never starts in the middle of an exchange, and always has the newest turn."""
    with TemporaryDirectory() as directory:
        journal = say(Path(directory), FIRST, *("x" * size for size in sizes))
        whole = list(journal.entries())
        fitting = [
            whole[start:]
            for start in range(len(whole))
            if len(whole) - start <= turns and (sum(sizes[start:]) <= chars or start == len(whole) - 1)
        ]
        expected = next((end for end in fitting), [])
        if expected and expected[0].turn.role != "user":
            expected = expected[1:]

        assert window(journal, turns, chars) == expected


def test_what_another_model_thought_is_not_sent_when_a_conversation_goes_on(tmp_path: Path) -> None:
    """An imported conversation has it as turns of their own; a model would take it for its answer."""
    journal = Journal(tmp_path, FIRST)
    journal.add(Turn("user", "Slugs?"), NOW)
    journal.extend([(Turn("assistant", "[thinking] hm"), NOW, {"name": "thinking"})])
    journal.extend([(Turn("assistant", "Use beer."), NOW, {})])

    assert [entry.turn.content for entry in window(journal, 10, 1_000)] == ["Slugs?", "Use beer."]
