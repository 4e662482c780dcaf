"""Curated memory below the commands: add, forget, set, edit, undo and history."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from world import at

from aish.memory import fingerprint, secret_patterns
from aish.memory.curation import Memory, open_memory
from aish.memory.ledger import Ledger
from aish.memory.redaction import Redaction
from aish.places import find_places
from aish.storage.lines import decode, encode
from aish.values.errors import AishError, BadUsage, Declined, NotFound, StoreTrouble
from aish.values.items import Item
from aish.values.stores import Record


class Clock:
    """A clock that advances a second with every look, and can be set."""

    def __init__(self, start: str = "2026-05-01T10:00:00") -> None:
        self.time = at(start)

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


class Patterns:
    """The patterns of the product."""

    def redact(self, text: str, salt: bytes) -> tuple[str, list[tuple[str, int, int]]]:
        masked, found = secret_patterns.redact(text, salt)
        return masked, [(one.kind, one.start, one.end) for one in found]

    def fingerprint(self, text: str, salt: bytes) -> str:
        return fingerprint.fingerprint(text, salt)


def memory_in(directory: Path, clock: Clock, *, allow_duplicates: bool = False, exclusive: bool = False) -> Memory:
    redaction = Redaction(directory / "salt", Patterns)
    path, index = directory / "memory.jsonl", directory / "cache" / "ledger"
    memory, trouble = open_memory(path, index, redaction, clock, allow_duplicates=allow_duplicates, exclusive=exclusive)
    assert trouble == ""
    return memory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    memory = memory_in(tmp_path, clock)
    yield memory
    memory.close()


def ledger_of(memory: Memory) -> Ledger:
    """Return the ledger of a memory."""
    assert isinstance(memory._ledger, Ledger)
    return memory._ledger


def lines_of(memory: Memory) -> list[Record]:
    found = [decode(line) for line in ledger_of(memory).path.read_bytes().splitlines()]
    assert None not in found
    return [record for record in found if record is not None]


def contents(memory: Memory) -> list[str]:
    return [item.content for item in memory.items()]


def by_hand(memory: Memory, *lines: Record | bytes) -> None:
    """Append lines to the file, as a user with an editor would."""
    data = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    ledger_of(memory).path.parent.mkdir(parents=True, exist_ok=True)
    with ledger_of(memory).path.open("ab") as file:
        file.write(b"".join(line + b"\n" for line in data))


# The file


@pytest.mark.proves("M1")
def test_the_ledger_is_one_file_beside_the_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No conversation name can point to it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    places = find_places({})

    assert places.memory == tmp_path / ".local" / "share" / "aish" / "memory.jsonl"
    assert find_places({"XDG_DATA_HOME": "/elsewhere"}).memory == Path("/elsewhere/aish/memory.jsonl")
    assert places.sessions.parent == places.memory.parent
    assert not places.memory.is_relative_to(places.sessions)


@pytest.mark.proves("M1", "M9")
def test_every_change_leaves_the_bytes_before_it_alone(memory: Memory) -> None:
    """Backups and readers of the history can rely on it."""
    changes: list[Callable[[], object]] = [
        lambda: memory.remember("one"),
        lambda: memory.set("tea", "green"),
        lambda: memory.set("tea", "black"),
        lambda: memory.edit(1, "another one"),
        lambda: memory.forget([4]),
        memory.undo,
        lambda: memory.forget([3, 6]),
        memory.undo,
        lambda: memory.prune(-1),
        memory.undo,
    ]
    before = b""
    for change in changes:
        change()
        after = ledger_of(memory).path.read_bytes()
        assert after.startswith(before)
        assert len(after) > len(before)
        before = after


@pytest.mark.proves("M3", "M4", "M5")
def test_an_item_is_written_with_its_number_time_kind_text_and_what_else_is_known(memory: Memory) -> None:
    """This is the format that other programs read."""
    kept = memory.remember("tea, never coffee", "pref", tags=["drinks"], source="user", mood={"calm": 1})

    record = lines_of(memory)[1]
    assert record == {
        "id": 1,
        "ts": "2026-05-01T10:00:01.000Z",
        "kind": "pref",
        "content": "tea, never coffee",
        "tags": ["drinks"],
        "source": "user",
        "mood": {"calm": 1},
    }
    assert kept.item == Item(1, record["ts"], "pref", "tea, never coffee", record)
    assert list(memory.items()) == [kept.item]


@pytest.mark.proves("M6", "M13")
@pytest.mark.parametrize("start", [None, b"", b'{"id":1,"ki'], ids=["missing", "empty", "torn"])
def test_a_new_file_begins_with_its_format_and_directories_are_made(
    tmp_path: Path, clock: Clock, start: bytes | None
) -> None:
    """A missing and an empty file both mean an empty memory; only a change creates the file."""
    memory = memory_in(tmp_path / "deep" / "down", clock)
    path = ledger_of(memory).path
    if start is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(start)

    assert contents(memory) == []
    assert (ledger_of(memory).known("x"), memory.get(1), list(memory.log())) == (None, None, [])
    assert memory.forget([1]) == []
    assert path.exists() == (start is not None) or lines_of(memory)[1:] == []
    with pytest.raises(NotFound, match="nothing to undo"):
        memory.undo()
    assert memory.remember("first").item.id == 1
    assert memory.remember("second").item.id == 2

    first, *others = lines_of(memory)
    assert first.keys() == {"meta"}
    assert (first["meta"]["format"], first["meta"]["what"]) == (1, "memory")
    assert [record["id"] for record in others] == [1, 2]
    memory.close()


@pytest.mark.proves("M6")
def test_a_file_started_by_hand_gets_no_header(memory: Memory) -> None:
    """The header is for new files; it is never an item, at any position."""
    by_hand(memory, {"id": 4, "kind": "fact", "content": "by hand"}, {"meta": {"format": 1}, "content": "none"})

    assert memory.remember("by aish").item.id == 5

    assert contents(memory) == ["by aish", "by hand"]
    assert ledger_of(memory).state().problems == []
    assert sum("meta" in record for record in lines_of(memory)) == 1


@pytest.mark.proves("M5", "M8", "M9", "M11")
def test_tombstones_take_ids_and_no_id_is_reused(memory: Memory) -> None:
    """A number that the user has seen always means the same item."""
    for word in ("one", "two", "three"):
        memory.remember(word)

    assert memory.forget([2]) == [2]
    assert memory.forget([2, 99, 0, -1, 10**20]) == []
    assert memory.forget([1, 3, 1]) == [1, 3]
    assert memory.remember("four").item.id == 7

    assert [(r["id"], r["kind"], r.get("target")) for r in lines_of(memory)[4:]] == [
        (4, "forget", 2),
        (5, "forget", 1),
        (6, "forget", 3),
        (7, "fact", None),
    ]
    assert contents(memory) == ["four"]


@pytest.mark.proves("M7")
def test_the_next_id_comes_from_the_file(tmp_path: Path, clock: Clock) -> None:
    """There is no separate counter that could be lost or wrong."""
    memory_in(tmp_path, clock).remember("one")
    path = tmp_path / "memory.jsonl"
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    path.write_bytes(path.read_bytes() + b'{"id":41,"kind":"wish"}\n{"id":20,"kind":"fact","content":"by hand"}\n')

    assert memory_in(tmp_path, clock).remember("two").item.id == 42


@pytest.mark.proves("M4", "M14")
def test_damaged_and_unknown_lines_hide_nothing_and_stay_in_the_file(memory: Memory) -> None:
    """They are counted and named, and stay in the file for repair."""
    memory.remember("one")
    strange: list[Record] = [
        {"id": 5, "kind": "wish", "content": "of another version"},
        {"id": 6, "kind": "fact"},
        {"kind": "fact", "content": "no number"},
        {"id": 1, "kind": "fact", "content": "taken"},
    ]
    broken = [b"\x00\xff noise", encode({"id": 7, "kind": "fact", "content": "x"}).strip().replace(b"x", b"y"), b"[]"]
    by_hand(memory, *strange, *broken)
    before = ledger_of(memory).path.read_bytes()
    assert memory.remember("two").item.id == 7

    state = ledger_of(memory).state()
    assert contents(memory) == ["two", "one"]
    assert state.damaged == 3
    assert state.problems == [
        "line 3 has the unknown kind 'wish'",
        "line 4 has no content",
        "line 5 has no usable id",
        "line 6 has the id 1, which another line already has",
    ]
    assert ledger_of(memory).path.read_bytes().startswith(before)


@pytest.mark.proves("M14")
def test_a_torn_end_is_set_aside_by_the_next_change_not_by_a_reader(memory: Memory) -> None:
    """Another process may still be writing it."""
    memory.remember("one")
    torn = b'{"id":2,"ts":"2026'
    with ledger_of(memory).path.open("ab") as file:
        file.write(torn)
    whole = ledger_of(memory).path.read_bytes()

    assert contents(memory) == ["one"]
    assert ledger_of(memory).state().damaged == 0
    assert ledger_of(memory).path.read_bytes() == whole

    assert memory.remember("two").item.id == 2
    assert ledger_of(memory).path.with_name("memory.jsonl.torn").read_bytes() == torn + b"\n"
    assert [record["id"] for record in lines_of(memory)[1:]] == [1, 2]


@pytest.mark.proves("M12", "M13")
@pytest.mark.parametrize("start", ["1969-12-31T23:59:50", "2036-02-07T06:28:10", "2026-05-01T10:00:00"])
def test_items_come_newest_first_by_their_time_whatever_the_clock_does(tmp_path: Path, start: str) -> None:
    """A clock that was set back makes a later item older, but ids still increase."""
    clock = Clock(start)
    memory = memory_in(tmp_path, clock)
    memory.remember("one")
    memory.remember("two")
    clock.time = at("1968-01-01T00:00:00")
    memory.remember("from the past")
    clock.time = at("2100-01-01T00:00:00")
    memory.remember("from the future")

    assert contents(memory) == ["from the future", "two", "one", "from the past"]
    assert [item.id for item in memory.items()] == [4, 2, 1, 3]
    memory.close()
    assert contents(memory_in(tmp_path, clock)) == ["from the future", "two", "one", "from the past"]


@pytest.mark.proves("M12")
def test_of_two_items_with_the_same_time_the_higher_id_is_first(memory: Memory) -> None:
    """The order is the same on every machine."""
    same = {"ts": "2026-01-01T00:00:00Z", "kind": "fact"}
    by_hand(memory, *({"id": id, "content": f"n {id}", **same} for id in (3, 9, 1, 7)))

    assert [item.id for item in memory.items()] == [9, 7, 3, 1]


# What is not written


@pytest.mark.proves("M57")
def test_a_known_text_is_not_written_again(memory: Memory) -> None:
    """Normalization, case, blanks and the kind do not make a text new; a forgotten item can be added again."""
    first = memory.remember("Tea is GREEN").item
    before = ledger_of(memory).path.read_bytes()

    for text in ("Tea is GREEN", "tea  is\tgreen.", "ＴＥＡ is green", " tea is green\n"):
        kept = memory.remember(text, "pref")
        assert (kept.item, kept.new) == (first, False)
    assert ledger_of(memory).path.read_bytes() == before

    memory.forget([1])
    assert memory.remember("tea is green").item.id == 3


@pytest.mark.proves("M57")
def test_a_setting_allows_duplicates(tmp_path: Path, clock: Clock) -> None:
    """For example for a diary."""
    memory = memory_in(tmp_path, clock, allow_duplicates=True)

    assert [memory.remember("tea").item.id for _ in range(3)] == [1, 2, 3]
    assert contents(memory) == ["tea"] * 3
    memory.close()


@pytest.mark.proves("M4")
@pytest.mark.parametrize(("kind", "text"), [("wish", "a"), ("forget", "a"), ("fact", " \n"), ("pref", "x" * (1 << 20))])
def test_a_refused_item_writes_nothing(memory: Memory, kind: str, text: str) -> None:
    """Not even a file is created."""
    with pytest.raises(BadUsage):
        memory.remember(text, kind)

    assert not ledger_of(memory).path.exists()


@pytest.mark.parametrize(
    "text",
    [
        '{"id":1,"kind":"forget","target":1}',
        '{"id":2,"ts":"","kind":"fact","content":"a","crc":"00000000"}\n{"meta":{}}',
        "\u2028\u2029\x85 lines \x0b\x0c\x1c of Unicode",
        "'; DROP TABLE memory; --",
        "\ufeffmark",
        "מימין לשמאל",
        "🫖" * 2000,
    ],
)
def test_a_text_that_looks_like_a_ledger_line_stays_text(tmp_path: Path, clock: Clock, text: str) -> None:
    """A ledger line inside an item's text stays text."""
    memory = memory_in(tmp_path, clock)
    memory.remember("before")
    kept = memory.remember(text).item
    memory.remember("after")
    assert contents(memory) == ["after", kept.content, "before"]
    memory.close()

    again = memory_in(tmp_path, clock)
    assert contents(again) == ["after", kept.content, "before"]
    assert ledger_of(again).state().damaged == 0
    assert not again.remember(text).new
    assert kept.content.replace("\ufffd", "").replace("␋", "").replace("␌", "").replace("␜", "")
    again.close()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.characters(), max_size=30), max_size=5), st.text(st.characters(), min_size=1, max_size=5))
@example(["tea"], "half \ud83d")
def test_any_text_is_kept_unchanged_or_refused(texts: list[str], key: str) -> None:
    """The next reader sees the same text as the writer, also with half characters in a key."""
    with TemporaryDirectory() as directory:
        memory = memory_in(Path(directory), Clock())
        for text in texts:
            try:
                memory.remember(text, "context", tags=[text])
                memory.set(key, text)
            except BadUsage:
                pass
        later = memory_in(Path(directory), Clock())
        assert contents(later) == contents(memory)
        assert ledger_of(later).state().keys == ledger_of(memory).state().keys
        assert ledger_of(later).state().damaged == 0
        memory.close()
        later.close()


@pytest.mark.parametrize("id", [(1 << 53) - 1, (1 << 53) - 2])
def test_exhausted_ids_are_reported(memory: Memory, id: int) -> None:
    """A typo in the file must not make new items disappear or reuse a number."""
    by_hand(memory, {"id": id, "kind": "fact", "content": "by hand"})
    seen = {id}
    for number in range(4):
        before = ledger_of(memory).path.read_bytes()
        try:
            kept = memory.remember(f"new {number}").item
        except AishError:
            assert ledger_of(memory).path.read_bytes() == before
            continue
        assert kept.id not in seen
        assert kept.content in contents(memory)
        seen.add(kept.id)


@pytest.mark.parametrize("target", [1 << 63, -(1 << 63) - 1, 10**400], ids=["high", "low", "very high"])
def test_a_tombstone_for_an_impossible_id_changes_nothing(memory: Memory, target: int) -> None:
    """A long ledger with such a line still has an index."""
    by_hand(memory, *({"id": id, "kind": "fact", "content": f"n {id}"} for id in range(1, 200)))
    by_hand(memory, {"id": 200, "kind": "forget", "target": target})
    by_hand(memory, {"id": 201, "kind": "fact", "content": "last", "supersedes": [target]})

    assert len(contents(memory)) == 200
    ledger_of(memory).tidy()
    assert len(contents(memory)) == 200
    assert [change.id for change in memory.log()][:2] == [201, 200]


# Keys and edits


@pytest.mark.proves("M59")
def test_a_key_has_one_item_and_the_older_ones_stay_hidden(memory: Memory) -> None:
    """An old fact must not return when the new one is forgotten."""
    memory.set("Editor ", "vim")
    memory.set("editor", "helix")
    memory.set("shell", "fish")
    assert contents(memory) == ["shell = fish", "editor = helix"]

    memory.forget([2])
    assert contents(memory) == ["shell = fish"]
    assert ledger_of(memory).known("editor = vim") is None
    assert memory.set("EDITOR", "vim").new
    assert contents(memory) == ["editor = vim", "shell = fish"]
    assert not memory.set("editor", "VIM").new


@pytest.mark.proves("M59")
@pytest.mark.parametrize(("key", "value"), [("", "a"), (" ", "a"), ("a", ""), ("a", " \n")])
def test_a_key_without_a_name_or_a_value_is_refused(memory: Memory, key: str, value: str) -> None:
    """The message shows the syntax."""
    with pytest.raises(BadUsage, match="editor = helix"):
        memory.set(key, value)
    assert not ledger_of(memory).path.exists()


@pytest.mark.proves("M59")
def test_a_text_that_is_known_without_its_key_can_still_get_one(memory: Memory) -> None:
    """Otherwise the key would not be set although the user asked for it."""
    memory.remember("tea = green")
    assert memory.set("tea", "green").new
    memory.set("tea", "black")

    assert contents(memory) == ["tea = black"]  # the item without the key was superseded


@pytest.mark.proves("M3", "M60")
def test_an_edit_replaces_an_item_and_keeps_its_fields(memory: Memory) -> None:
    """Unknown fields belong to another program."""
    memory.remember("tea is blue", "pref", tags=["t"], source="model", origin="tool:web", mood=[1], key="tea")

    kept = memory.edit(1, "tea is green")

    record = kept.item.record
    assert (kept.new, kept.item.id, kept.item.kind) == (True, 2, "pref")
    assert (record["tags"], record["mood"], record["key"], record["supersedes"]) == (["t"], [1], "tea", [1])
    assert (kept.item.source, kept.item.origin) == ("user", "user")  # these are the user's words now
    assert contents(memory) == ["tea is green"]
    assert memory.get(1)
    assert not memory.edit(2, " tea is green ").new
    assert memory.edit(2, "Tea is GREEN").new  # a change of case only is still an edit


@pytest.mark.parametrize("id", [0, -3, 7, 2, 1, 10**30])
def test_only_active_items_can_be_edited(memory: Memory, id: int) -> None:
    """Not an unknown id, not a tombstone, not a forgotten item."""
    memory.remember("one")
    memory.forget([1])
    before = ledger_of(memory).path.read_bytes()

    with pytest.raises(NotFound):
        memory.edit(id, "two")

    assert ledger_of(memory).path.read_bytes() == before


# Undo


@pytest.mark.proves("M3", "M60")
def test_undoing_a_forget_brings_back_a_copy_with_all_its_fields(memory: Memory) -> None:
    """The tombstone stays; the copy names the item it restores."""
    memory.remember("one", "context", tags=["t"], source="user", mood={"a": 1}, key="k")
    memory.forget([1])

    said, back = memory.undo()

    [item] = memory.items()
    assert (said, back) == ("forgot 1: one", (3,))
    assert item.id == 3
    old = lines_of(memory)[1]
    assert item.record == {**old, "id": 3, "ts": item.ts, "restores": 1, "undoes": 2}


@pytest.mark.proves("M60")
def test_undo_reports_each_change_it_reverts_until_none_is_left(memory: Memory) -> None:
    """Each undo goes one change further back, and an undo is not a change itself."""
    memory.remember("one")
    memory.set("tea", "green")
    memory.set("tea", "black")
    memory.edit(1, "uno")
    memory.forget([3, 4])

    said = [memory.undo().said for _ in range(5)]

    assert said == [
        "forgot 3: tea = black and 1 more",
        "edited 1 into 4: (fact) uno",
        "set 3: (fact) tea = black",
        "set 2: (fact) tea = green",
        "added 1: (fact) one",
    ]
    assert contents(memory) == []
    with pytest.raises(NotFound, match="nothing to undo"):
        memory.undo()


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["remember", "forget", "edit", "set", "clear", "undo"]), st.integers(0, 3)),
    max_size=14,
)
WORDS = ["oak", "elm", "ash", "fir"]


def do(memory: Memory, name: str, number: int) -> bool:
    """Make one change as a user would; return whether it changed anything."""
    ids = sorted(item.id for item in memory.items())
    if name == "remember":
        return memory.remember(WORDS[number], "pref").new
    if name == "set":
        return memory.set(f"key {number % 2}", WORDS[number]).new
    if not ids:
        return False
    if name == "edit":
        return memory.edit(ids[number % len(ids)], f"{WORDS[number]} tree").new
    return bool(memory.forget([ids[number % len(ids)]] if name == "forget" else ids))


@pytest.mark.proves("M60")
@settings(deadline=None, max_examples=70)
@given(OPERATIONS)
@example([("set", 0), ("forget", 0), ("set", 2), ("undo", 0), ("undo", 0), ("undo", 0)])
@example([("set", 0), ("set", 2), ("edit", 1), ("clear", 0), ("undo", 0), ("edit", 3), ("forget", 0)])
def test_any_changes_can_be_undone_one_by_one(operations: list[tuple[str, int]]) -> None:
    """Also undos in between: memory returns to the state before each change, back to the beginning."""
    with TemporaryDirectory() as directory:
        memory = memory_in(Path(directory), Clock())
        steps: list[Counter[tuple[str, str, str]]] = [Counter()]
        for name, number in [*operations, *[("undo", 0)] * len(operations)]:
            if name == "undo" and len(steps) > 1:
                steps.pop()
                memory.undo()
            elif name == "undo":
                with pytest.raises(NotFound):
                    memory.undo()
            elif do(memory, name, number):
                steps.append(shown(memory))
            assert shown(memory) == steps[-1]
        reread = memory_in(Path(directory), Clock())
        assert shown(reread) == Counter()
        used = [record["id"] for record in lines_of(memory)[1:]] if ledger_of(memory).path.exists() else []
        assert used == list(range(1, len(used) + 1))
        memory.close()
        reread.close()


def shown(memory: Memory) -> Counter[tuple[str, str, str]]:
    return Counter((item.kind, item.content, item.key) for item in memory.items())


@pytest.mark.proves("M60")
def test_a_prune_is_undone_as_one_change(memory: Memory, clock: Clock) -> None:
    """The user made one change."""
    memory.remember("one")
    memory.remember("two")
    clock.time += timedelta(days=10)
    assert memory.prune(5) == 2

    assert memory.undo().said == "pruned 2: two and 1 more"

    assert sorted(contents(memory)) == ["one", "two"]


@pytest.mark.proves("M60")
def test_an_undo_waits_for_the_lock_and_sees_what_others_wrote(tmp_path: Path, clock: Clock) -> None:
    """The last change is the last one in the file, whoever made it."""
    mine, other = memory_in(tmp_path, clock), memory_in(tmp_path, clock)
    mine.remember("mine")
    other.remember("theirs")

    assert mine.undo().said == "added 2: (fact) theirs"
    assert other.undo().said == "added 1: (fact) mine"
    assert contents(mine) == contents(other) == []
    mine.close()
    other.close()


ODD_LINES: list[Record] = [
    {"id": 2, "kind": "forget"},
    {"id": 2, "kind": "forget", "target": "1"},
    {"id": 2, "kind": "forget", "target": [1]},
    {"id": 2, "kind": "forget", "target": None},
    {"id": 2, "kind": "forget", "target": 1.5},
    {"id": 2, "kind": "forget", "target": 77},
    {"id": 2, "kind": "forget", "target": 1, "change": [1]},
    {"id": 2, "kind": "forget", "target": 1, "undoes": "x"},
    {"id": 2, "kind": "fact", "content": "two", "supersedes": 1},
    {"id": 2, "kind": "fact", "content": "two", "supersedes": "1"},
    {"id": 2, "kind": "fact", "content": "two", "supersedes": {"a": 1}},
    {"id": 2, "kind": "fact", "content": "two", "supersedes": [None]},
    {"id": 2, "kind": "fact", "content": "two", "restores": [1]},
    {"id": 2, "kind": "fact", "content": "two", "key": ["k"]},
    {"id": 2, "kind": "fact", "content": "two", "change": {}},
    {"id": 2, "kind": "wish", "content": "two"},
    {"id": 2, "kind": ["fact"]},
    {"id": "2", "kind": "fact", "content": "two", "key": "k"},
    {"id": 0, "kind": "fact", "content": "two", "key": "k"},
    {"id": True, "kind": "fact", "content": "two"},
    {"id": 2},
]


@pytest.mark.proves("M60")
@pytest.mark.parametrize("line", ODD_LINES, ids=[json.dumps(line) for line in ODD_LINES])
def test_invalid_lines_break_neither_the_log_nor_undo(memory: Memory, line: Record) -> None:
    """They come from users and other programs; readable parts are used, and the rest is ignored."""
    memory.remember("one")
    by_hand(memory, line)
    memory.set("k", "three")

    assert [change.text for change in memory.log()][-1] == "1: (fact) one"
    assert memory.undo().said.endswith("k = three")
    for _ in range(3):
        try:
            memory.undo()
        except NotFound:
            break
    assert contents(memory) == []
    assert ledger_of(memory).state().damaged == 0


# Looking back


@pytest.mark.proves("M60")
def test_the_log_lists_every_change_newest_first(memory: Memory) -> None:
    """Including undone changes and undos."""
    memory.remember("one")
    memory.set("tea", "green")
    memory.edit(1, "uno")
    memory.forget([2])
    memory.undo()
    memory.remember("two")
    memory.undo()
    memory.prune(-1)

    assert [(change.id, change.what, change.text) for change in memory.log()] == [
        (9, "pruned", "3: uno"),
        (8, "pruned", "5: tea = green"),
        (7, "undid", "6: two"),
        (6, "added", "6: (fact) two"),
        (5, "restored 2 as", "5: (fact) tea = green"),
        (4, "forgot", "2: tea = green"),
        (3, "edited 1 into", "3: (fact) uno"),
        (2, "set", "2: (fact) tea = green"),
        (1, "added", "1: (fact) one"),
    ]
    assert all(change.ts.startswith("2026-05-01T10:00:") for change in memory.log())


@pytest.mark.proves("M60")
@settings(deadline=None, max_examples=40)
@given(OPERATIONS)
def test_memory_can_be_seen_as_it_was_after_each_change(operations: list[tuple[str, int]]) -> None:
    """Every past state can be queried, and later changes do not alter it."""
    with TemporaryDirectory() as directory:
        clock = Clock()
        memory = memory_in(Path(directory), clock)
        seen: list[tuple[datetime, list[Item]]] = [(clock.time, [])]
        for name, number in operations:
            if name != "undo":
                do(memory, name, number)
            elif any("kind" in record and "undoes" not in record for record in ledger_of(memory).records_back()):
                try:
                    memory.undo()
                except NotFound:
                    pass
            seen.append((clock.time, list(memory.items())))

        for time, then in seen:
            assert memory.at(time) == then
        memory.close()


@pytest.mark.proves("M60")
def test_a_past_state_does_not_include_later_changes(memory: Memory, clock: Clock) -> None:
    """This holds for all fields; a line without a time counts as always present."""
    by_hand(memory, {"id": 1, "kind": "fact", "content": "always"})
    memory.remember("one", meta={"x": 1})
    then = clock.time
    memory.remember("two", meta={"x": 1})
    memory.forget([2])

    assert [item.content for item in memory.at(then)] == ["one", "always"]
    assert [item.content for item in memory.at(then - timedelta(milliseconds=1))] == ["always"]
    assert [item.content for item in memory.at(clock.time)] == contents(memory) == ["two", "always"]


@pytest.mark.proves("M53")
def test_only_old_items_are_pruned_by_tombstones(memory: Memory, clock: Clock) -> None:
    """An item of exactly that age stays."""
    clock.time = at("2026-01-01T00:00:00")
    memory.remember("old")
    memory.remember("at the edge")
    memory.remember("new")
    before = ledger_of(memory).path.read_bytes()
    clock.time = at("2026-01-31T00:00:01")

    assert memory.prune(30) == 1

    assert contents(memory) == ["new", "at the edge"]
    assert ledger_of(memory).path.read_bytes().startswith(before)
    [line] = lines_of(memory)[4:]
    assert (line["id"], line["kind"], line["target"], line["reason"]) == (4, "forget", 1, "pruned")


@pytest.mark.proves("M53")
@pytest.mark.parametrize("days", [30, 40_000, 10**6, 10**9, 10**12])
def test_pruning_where_nothing_is_old_writes_nothing(memory: Memory, days: int) -> None:
    """Also with a very large number of days, which some users write for "never"."""
    memory.remember("new")
    before = ledger_of(memory).path.read_bytes()

    assert memory.prune(days) == 0

    assert ledger_of(memory).path.read_bytes() == before


# Imports and purged items


@pytest.mark.proves("M3")
@pytest.mark.parametrize("trusted", [True, False])
def test_fields_of_any_name_are_imported(memory: Memory, trusted: bool) -> None:
    """Fields called `self` or `plain` by another program are data."""
    records: list[Record] = [
        {"id": 1, "kind": "fact", "content": "one", "self": 1, "plain": 2, "fields": 3, "mood": [4], "record": 5}
    ]

    assert memory.take_in(records, trusted=trusted) == (1, 0, 0)

    [item] = (ledger_of(memory) if trusted else memory._pending).items()
    assert {name: item.record.get(name) for name in ("self", "plain", "fields", "mood", "record")} == {
        "self": 1,
        "plain": 2,
        "fields": 3,
        "mood": [4],
        "record": 5,
    }


@pytest.mark.parametrize(
    "id",
    [
        [1],
        {"a": 1},
        "a-b-c",
        None,
        0,
        -1,
        2.5,
        10**30,
    ],
    ids=repr,
)
def test_an_import_continues_after_invalid_ids(memory: Memory, id: object) -> None:
    """Other programs use other ids; invalid records are counted, and the next one is imported."""
    records: list[Record] = [
        {"id": id, "kind": "fact", "content": "one"},
        {"id": 5, "kind": "forget", "target": 4},
        {"kind": "fact", "content": "two"},
    ]

    new, known, refused = memory.take_in(records, trusted=True)

    assert (new + refused, known) == (2, 0)
    assert "two" in contents(memory)


@pytest.mark.proves("M62")
@pytest.mark.parametrize("trusted", [True, False])
def test_no_field_of_an_import_disables_redaction(memory: Memory, trusted: bool) -> None:
    """A file may come from anywhere; only the user at the keyboard can insist on keeping a secret."""
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"

    memory.take_in([{"kind": "fact", "content": f"my token is {secret}", "plain": True}], trusted=trusted)

    assert len(list(memory.items() if trusted else memory.pending_items())) == 1
    path = ledger_of(memory).path
    assert secret.encode() not in (path if trusted else path.with_suffix(".pending.jsonl")).read_bytes()


def test_a_purged_text_is_not_learned_again_and_a_refusal_writes_nothing(memory: Memory, tmp_path: Path) -> None:
    """Also not with other spelling, nor by another shell."""
    memory.remember("the cellar door is open")
    memory.remember("two")
    memory.purge(["the cellar door is open"], [tmp_path], [tmp_path / "salt"])
    before = ledger_of(memory).path.read_bytes()

    for text in ("the cellar door is open", "The  cellar DOOR is open."):
        with pytest.raises(Declined, match="purged"):
            memory.remember(text)
    assert ledger_of(memory).path.read_bytes() == before
    assert b"cellar" not in before
    assert contents(memory) == ["two"]
    assert memory.remember("three").item.id == 3


@pytest.mark.proves("M61")
def test_words_in_a_torn_end_of_the_ledger_are_purged_too(memory: Memory, tmp_path: Path) -> None:
    """The rewrite moves the torn end to another file, which must be purged too."""
    memory.remember("the cellar door is open")
    with ledger_of(memory).path.open("ab") as file:
        file.write(b'{"id":2,"kind":"fact","content":"the cellar door is open, ')

    memory.purge(["the cellar door is open"], [tmp_path], [tmp_path / "salt"])

    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"cellar" not in path.read_bytes(), path


# Unusable files


def make_link(path: Path) -> None:
    path.with_name("real.jsonl").write_bytes(b'{"id":1,"kind":"fact","content":"linked"}\n')
    path.symlink_to("real.jsonl")


@pytest.mark.parametrize(
    ("make", "reason"),
    [(Path.mkdir, "Is a directory"), (make_link, "symbolic link"), (os.mkfifo, "not a regular file")],
    ids=["directory", "link", "pipe"],
)
def test_only_a_regular_file_is_written(memory: Memory, make: Callable[[Path], None], reason: str) -> None:
    """A link could redirect private text elsewhere; the message names the file and the reason."""
    make(ledger_of(memory).path)
    before = sorted(path.name for path in ledger_of(memory).path.parent.iterdir())

    changes: list[Callable[[], object]] = [
        lambda: memory.remember("one"),
        lambda: memory.forget([1]),
        memory.undo,
        lambda: ledger_of(memory).rewrite(lambda line: line + b" "),
        ledger_of(memory).hold,
    ]
    for change in changes:
        with pytest.raises(StoreTrouble, match=rf"memory\.jsonl for writing: .*{reason}"):
            change()
    assert sorted(path.name for path in ledger_of(memory).path.parent.iterdir()) == before


READ_ALL = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.ledger import Ledger
from aish.values.errors import StoreTrouble
ledger = Ledger(Path(sys.argv[1]), now=lambda: datetime.now(UTC))
for read in (ledger.items, ledger.records_back, lambda: ledger.at(datetime.now(UTC)), lambda: ledger.get(1)):
    try:
        list(read() or [])
    except StoreTrouble as error:
        print(error)
"""


@pytest.mark.proves("M21")
def test_reading_a_pipe_in_place_of_the_ledger_never_hangs(tmp_path: Path) -> None:
    """A shell that waits for a writer that never comes would seem to hang."""
    path = tmp_path / "memory.jsonl"
    os.mkfifo(path)

    done = subprocess.run([sys.executable, "-c", READ_ALL, str(path)], capture_output=True, timeout=20, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_directory_in_place_of_the_ledger_is_an_error_for_readers(memory: Memory) -> None:
    """It is not treated as an empty memory."""
    ledger_of(memory).path.mkdir()
    (ledger_of(memory).path / "inside").touch()

    with pytest.raises(StoreTrouble, match="Is a directory"):
        contents(memory)


def test_a_file_in_place_of_the_directory_is_reported_on_writing(tmp_path: Path, clock: Clock) -> None:
    """Before that there is nothing to read, and no error."""
    (tmp_path / "data").write_text("in the way", encoding="utf-8")
    ledger = Ledger(tmp_path / "data" / "memory.jsonl", now=clock)

    assert list(ledger.items()) == []
    with pytest.raises(StoreTrouble, match=r"Not a directory|File exists"):
        ledger.add("fact", "one")


AS_NOBODY = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from aish.memory.ledger import Ledger
from aish.values.errors import StoreTrouble
ledger = Ledger(Path(sys.argv[1]), Path(sys.argv[2]), now=lambda: datetime.now(UTC))
for name, do in (("read", lambda: [item.content for item in ledger.items()]),
                 ("write", lambda: ledger.add("fact", "mine").item.id)):
    try:
        print(name, do())
    except StoreTrouble as error:
        print(name, str(error).rpartition(": ")[2])
ledger.close()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (0o600, ["read Permission denied", "write Permission denied"]),
        (0o644, ["read ['one']", "write Permission denied"]),
    ],
    ids=["private", "readable"],
)
def test_a_file_of_another_user_is_read_if_permitted_and_never_replaced(mode: int, expected: list[str]) -> None:
    """A permission error is one line, and nothing changes."""
    with TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        path = Path(directory) / "memory.jsonl"
        path.write_bytes(b'{"id":1,"kind":"fact","content":"one"}\n')
        path.chmod(mode)
        nobody = ["setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", AS_NOBODY]
        command = [*nobody, str(path), str(Path(directory) / "cache" / "index")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, cwd="/")
        if "Permission denied" in done.stderr or "ModuleNotFoundError" in done.stderr:
            pytest.skip("the user nobody cannot run this Python")

        assert done.stdout.splitlines() == expected
        assert path.read_bytes() == b'{"id":1,"kind":"fact","content":"one"}\n'
