"""The contract of a log of records, for every adapter."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aish.memory.purge import Eraser
from aish.storage.in_memory import InMemoryLog
from aish.storage.lines import LineFile, encode, open_log
from aish.values.stores import START, Damage, Record, RecordLog, StaleCursor

Open = Callable[[], RecordLog]  # opens another writer or reader of the same log
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), JSON, max_size=4), max_size=6)


@pytest.fixture(params=["files", "in memory"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    if request.param == "files":
        return lambda: LineFile(tmp_path / "log.jsonl")
    one = InMemoryLog()
    return lambda: one


def followed(log: RecordLog, cursor: str = START) -> tuple[str, list[Record]]:
    """Return the records since the cursor, and the next cursor."""
    found = list(log.since(cursor))
    return found[-1][0] if found else cursor, [record for _, record in found]


def test_appended_records_are_read_in_order(log: Open) -> None:
    for number in range(5):
        log().append({"n": number})

    assert [record["n"] for record in log().read()] == [0, 1, 2, 3, 4]
    assert [record["n"] for record in log().read_back()] == [4, 3, 2, 1, 0]


def test_a_new_log_is_empty(log: Open) -> None:
    assert [*log().read(), *log().read_back(), *log().since()] == []
    assert log().health().damaged == 0


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RECORDS)
def test_every_field_survives(log: Open, records: list[Record]) -> None:
    """A later version may write fields that this one does not know."""
    before = len(list(log().read()))
    log().extend(lambda: records)

    assert list(log().read())[before:] == records


def test_a_record_that_was_read_cannot_change_the_log(log: Open) -> None:
    log().append({"tags": ["a"]})
    next(log().read())["tags"].append("b")

    assert list(log().read()) == [{"tags": ["a"]}]


def test_the_cursor_gives_exactly_the_new_records_of_two_writers(log: Open) -> None:
    one, other, reader = log(), log(), log()
    seen: list[int] = []
    cursor = START
    for number in range(0, 9, 3):
        one.append({"n": number})
        other.extend(lambda first=number: [{"n": first + 1}, {"n": first + 2}])  # type: ignore[misc]  # a default
        cursor, records = followed(reader, cursor)
        seen += [record["n"] for record in records]
        assert followed(reader, cursor) == (cursor, [])

    assert seen == list(range(9))


def test_every_record_has_a_cursor_to_resume_from(log: Open) -> None:
    log().extend(lambda: [{"n": number} for number in range(4)])
    for place, (cursor, record) in enumerate(list(log().since())):
        assert record == {"n": place}
        assert [each["n"] for _, each in log().since(cursor)] == list(range(place + 1, 4))


def test_records_are_made_under_the_lock(log: Open) -> None:
    """Numbers that depend on the last record cannot be used twice."""
    writer = log()
    for _ in range(3):
        writer.extend(lambda: [{"n": sum(1 for _ in log().read())}])

    assert [record["n"] for record in log().read()] == [0, 1, 2]


def test_records_that_cannot_be_made_leave_nothing_behind(log: Open) -> None:
    def make() -> Iterator[Record]:
        yield {"n": 1}
        raise RuntimeError("no second one")

    with pytest.raises(RuntimeError):
        log().extend(make)

    assert list(log().read()) == []


def test_erased_text_is_nowhere_and_older_cursors_are_stale(log: Open, tmp_path: Path) -> None:
    """A follower has derived data from the text, and must start again."""
    log().extend(lambda: [{"text": "the wolpertinger sleeps"}, {"text": "rain"}, {"name": {"Wolpertinger": 1}}])
    cursor, _ = followed(log())

    assert log().erase(Eraser(["wolpertinger"], str)) == 2
    assert "wolpertinger" not in json.dumps(list(log().read())).lower()
    assert not any(b"olpertinger" in path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(StaleCursor):
        list(log().since(cursor))
    log().append({"text": "later"})
    assert [record.get("text") for record in followed(log())[1]] == ["the [purged] sleeps", "rain", None, "later"]


def test_an_erasure_far_before_the_cursor_that_changes_no_length_makes_it_stale(log: Open) -> None:
    log().extend(lambda: [{"text": "wolperti"}, {"text": "x" * 500}])
    cursor, _ = followed(log())
    log().erase(Eraser(["wolperti"], str))

    with pytest.raises(StaleCursor):
        list(log().since(cursor))


def test_a_cursor_is_stale_after_two_erasures_too(log: Open) -> None:
    """The second new file may get the inode of the first file."""
    log().extend(lambda: [{"text": "wolperti"}, {"text": "elwetrit"}, {"text": "x" * 500}])
    cursor, _ = followed(log())
    for word in ("wolperti", "elwetrit"):
        log().erase(Eraser([word], str))

    with pytest.raises(StaleCursor):
        list(log().since(cursor))


@pytest.mark.parametrize("words", [",", '{"', "no such words"])
def test_only_records_that_change_are_counted(log: Open, words: str) -> None:
    """The words may be found in the notation of a record and not in its texts."""
    log().extend(lambda: [{"a": 1, "b": 2}])
    cursor, _ = followed(log())

    assert log().erase(Eraser([words], str)) == 0
    assert followed(log(), cursor) == (cursor, [])


def test_half_a_character_becomes_a_question_mark(log: Open) -> None:
    log().append({"text": "a\ud800b"})

    assert list(log().read()) == [{"text": "a?b"}]


def test_erasing_an_unknown_text_changes_nothing(log: Open) -> None:
    log().append({"text": "rain"})
    cursor, _ = followed(log())

    assert log().erase(Eraser(["wolpertinger"], str)) == 0
    assert followed(log(), cursor) == (cursor, [])


def test_a_log_starts_with_its_purpose(tmp_path: Path) -> None:
    first: dict[str, Any] = {"meta": {"format": 1, "what": "tests"}}
    for one in (open_log(tmp_path / "log.jsonl", "tests"), InMemoryLog(lambda: first)):
        one.append({"n": 1})
        assert list(one.read()) == [first, {"n": 1}]


# Files only: cases that no other adapter has


def test_damage_hides_no_other_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    damaged = encode({"n": 1}).replace(b'"n":1', b'"n":7')
    path.write_bytes(encode({"n": 0}) + damaged + b"not JSON\n" + encode({"n": 2}))
    damage = Damage()

    assert [record["n"] for record in LineFile(path).read(damage)] == [0, 2]
    assert damage.lines == LineFile(path).health().damaged == 2
    assert [record["n"] for _, record in LineFile(path).since()] == [0, 2]


def test_a_partial_line_is_read_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    line = encode({"n": 1})
    path.write_bytes(encode({"n": 0}) + line[:9])
    cursor, records = followed(LineFile(path))
    assert records == [{"n": 0}]
    with path.open("ab") as file:
        file.write(line[9:])

    assert followed(LineFile(path), cursor)[1] == [{"n": 1}]


@pytest.mark.parametrize("change", [bytes.upper, lambda data: data[9:], lambda data: b"", lambda data: b"\n" + data])
def test_a_file_that_was_edited_in_place_makes_cursors_stale(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log.jsonl"
    LineFile(path).append({"text": "one"})
    cursor, _ = followed(LineFile(path))
    path.write_bytes(change(path.read_bytes()))

    with pytest.raises(StaleCursor):
        list(LineFile(path).since(cursor))


def test_words_in_a_torn_end_and_in_damaged_lines_are_erased(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"wolpertinger": broken\n' + encode({"n": 1}) + b'{"text":"a wolpertin')
    LineFile(path).append({"n": 2})
    assert b"wolpertin" in LineFile(path).torn_path.read_bytes()

    assert LineFile(path).erase(Eraser(["wolpertin"], str)) == 2
    assert not any(b"wolpertin" in each.read_bytes() for each in tmp_path.iterdir())
    assert [record["n"] for record in LineFile(path).read()] == [1, 2]
