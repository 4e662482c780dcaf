"""The contract of a ledger, for every adapter: files, any log of records, and memory."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from world import at

from aish.memory.curation import Memory
from aish.memory.item_store import ItemStore
from aish.memory.ledger import Ledger
from aish.memory.ledger_lines import folded
from aish.memory.log_ledger import LogLedger
from aish.memory.purge import Eraser
from aish.memory.redaction import Redaction
from aish.storage.in_memory import InMemoryLog
from aish.storage.lines import LineFile
from aish.values.errors import Declined, NotFound
from aish.values.stores import START, StaleCursor

Open = Callable[[], ItemStore]


class Clock:
    """A clock that advances a second with every look."""

    def __init__(self) -> None:
        self.time = at("2026-05-01T10:00:00")

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


def mark(text: str) -> str:
    """A fingerprint that a test can recognize."""
    return f"mark of {sorted(folded(text))}"


def opener(kind: str, directory: Path, clock: Clock) -> Open:
    log = InMemoryLog()
    path = directory / f"memory-{len(list(directory.iterdir())) if directory.exists() else 0}.jsonl"
    adapters: dict[str, Open] = {
        "files": lambda: Ledger(path, now=clock, fingerprint=mark),
        "a log of lines": lambda: LogLedger(LineFile(path), now=clock, fingerprint=mark),
        "in memory": lambda: LogLedger(log, now=clock, fingerprint=mark),
    }
    return adapters[kind]


ADAPTERS = ["files", "a log of lines", "in memory"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=ADAPTERS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Open:
    return opener(request.param, tmp_path, clock)


def contents(ledger: ItemStore) -> list[str]:
    return [item.content for item in ledger.items()]


def test_items_are_read_newest_first_with_all_their_fields(ledger: Open) -> None:
    ledger().add("fact", "one", {"later": {"version": [2]}})
    ledger().add("pref", "two")
    [two, one] = ledger().items()

    assert (two.content, two.kind, two.id) == ("two", "pref", 2)
    assert one.record["later"] == {"version": [2]}
    assert ledger().get(1) == one
    assert ledger().get(3) is None


def test_two_writers_never_use_the_same_id(ledger: Open) -> None:
    one, other = ledger(), ledger()
    ids = [writer.add("fact", f"item {number}").item.id for number in range(4) for writer in (one, other)]

    assert ids == [1, 1, 2, 2, 3, 3, 4, 4]  # the same text is one item
    assert other.add("fact", "of the other").item.id == 5
    assert one.add("fact", "of one").item.id == 6


def test_the_cursor_gives_exactly_the_new_records_of_two_writers(ledger: Open) -> None:
    one, other = ledger(), ledger()
    one.add("fact", "one")
    seen = list(ledger().since(START))
    other.add("fact", "two")
    one.forget([1])
    later = list(ledger().since(seen[-1][0]))

    assert [record.get("content") for _, record in seen if "meta" not in record] == ["one"]
    assert [(record.get("content"), record.get("target")) for _, record in later] == [("two", None), (None, 1)]
    assert list(ledger().since(later[-1][0])) == []


def test_forgotten_superseded_and_undone_items_are_kept_but_not_active(ledger: Open, clock: Clock) -> None:
    store = ledger()
    store.add("fact", "editor = vim", {"key": "editor"})
    then = clock.time
    store.add("fact", "editor = helix", {"key": "editor"})
    store.add("fact", "edited", {"supersedes": [2]}, instead_of=2)
    store.add("fact", "gone")

    assert store.forget([4, 4, 99]) == [4]
    assert contents(ledger()) == ["edited"]
    assert [item.content for item in store.at(then)] == ["editor = vim"]
    assert [record.get("id") for record in store.records_back() if "id" in record] == [5, 4, 3, 2, 1]
    with pytest.raises(NotFound):
        store.add("fact", "x", instead_of=4)


def test_the_same_text_is_one_item_unless_it_gets_a_key(ledger: Open) -> None:
    store = ledger()
    first = store.add("fact", "editor = vim")
    assert store.add("fact", "Editor = vim.") == (first.item, False)
    assert store.known("EDITOR = VIM") == first.item

    keyed = store.add("fact", "editor = vim", {"key": "editor"})
    assert (keyed.new, contents(store)) == (True, ["editor = vim"])
    assert not store.state().shows(first.item.id)
    assert [record.get("change") for record in store.records_back() if "id" in record] == [2, 2, None]


def test_records_of_one_change_carry_its_number(ledger: Open) -> None:
    written = ledger().apply(lambda: [{"kind": "fact", "content": "a"}, {"kind": "fact", "content": "b"}])

    assert [(record["id"], record["change"]) for record in written] == [(1, 1), (2, 1)]
    assert "change" not in ledger().apply(lambda: [{"kind": "fact", "content": "c"}])[0]


def test_erased_text_is_nowhere_and_not_learned_again(ledger: Open, tmp_path: Path) -> None:
    store, reader = ledger(), ledger()
    store.add("fact", "the wolpertinger sleeps")
    store.add("fact", "rain", {"tags": ["wolpertinger"]})
    assert len(contents(reader)) == 2
    cursor = list(reader.since())[-1][0]

    assert store.erase(Eraser(["wolpertinger"], mark)) == 2
    assert not any(b"wolpertinger" in path.read_bytes() for path in tmp_path.iterdir())
    assert "wolpertinger" not in str(list(reader.records_back()))
    assert contents(reader) == contents(store) == ["rain"]
    with pytest.raises(StaleCursor):
        list(reader.since(cursor))
    with pytest.raises(Declined):
        reader.add("fact", "The wolpertinger sleeps")
    assert reader.add("fact", "sun").item.id == 3


def test_a_ledger_without_problems_is_healthy(ledger: Open) -> None:
    ledger().add("fact", "one")
    health = ledger().health()

    assert (health.damaged, health.problems, health.torn, health.set_aside) == (0, (), False, "")
    assert ledger().name


def test_an_invalid_item_is_a_problem_and_hides_nothing(tmp_path: Path, clock: Clock) -> None:
    for kind in ("files", "a log of lines"):
        store = opener(kind, tmp_path, clock)()
        store.add("fact", "one")
        path = Path(store.health().place)
        with path.open("ab") as file:
            file.write(b'{"id": 9, "kind": 7}\nnot JSON\n')
        store.add("fact", "two")

        assert contents(store) == ["two", "one"]
        assert (store.health().damaged, len(store.health().problems)) == (1, 1)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.sampled_from(["a", "b", "c d", "A."])),
        st.tuples(st.just("set"), st.sampled_from(["x", "y"])),
        st.tuples(st.just("forget"), st.integers(1, 6)),
        st.tuples(st.just("edit"), st.integers(1, 6)),
        st.tuples(st.just("undo"), st.none()),
    ),
    max_size=12,
)


class NoPatterns:
    """A redaction that masks nothing."""

    def redact(self, text: str, salt: bytes) -> tuple[str, list[tuple[str, int, int]]]:
        return text, []

    def fingerprint(self, text: str, salt: bytes) -> str:
        return mark(text)


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CHANGES)
def test_all_adapters_have_the_same_memory(tmp_path: Path, changes: list[tuple[str, object]]) -> None:
    """After any operations, every adapter has written the same records, and reads the same items."""
    found = []
    for kind in ADAPTERS:
        clock = Clock()
        directory = tmp_path / f"{len(list(tmp_path.iterdir()))}"
        directory.mkdir()
        store, pending = opener(kind, directory, clock)(), opener("in memory", directory, clock)()
        memory = Memory(store, pending, Redaction(directory / "salt", NoPatterns), clock)
        for verb, value in changes:
            try:
                match verb:
                    case "remember":
                        memory.remember(str(value))
                    case "set":
                        memory.set("key", str(value))
                    case "forget":
                        memory.forget([int(str(value))])
                    case "edit":
                        memory.edit(int(str(value)), f"edited {value}")
                    case "undo":
                        memory.undo()
            except NotFound:
                continue
        records = [record for record in memory.records() if "meta" not in record]
        found.append((records, list(memory.items()), list(memory.log())))
        memory.close()

    assert found[0] == found[1] == found[2]
