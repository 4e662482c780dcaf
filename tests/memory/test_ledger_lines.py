"""The lines of a ledger: which ones are items, and when two items have the same text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.ledger_lines import MAX_CONTENT, checked, fold_number, folded, quick_item, read_item, targets, valid_id
from aish.storage.lines import decode, encode
from aish.values.errors import BadUsage
from aish.values.items import KINDS, Item, read_time, stamp

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(["id", "ts", "kind", "content", "tags", "source", "key", "target", "supersedes", "meta", "x"])


@pytest.mark.proves("M3")
def test_an_item_has_every_field_of_its_line() -> None:
    """Other or later programs may add fields."""
    record = {"id": 3, "ts": "2026-05-01T10:00:00.000Z", "kind": "pref", "content": "tea", "tags": ["t"], "mood": [1]}

    item = read_item(record)

    assert item == Item(3, "2026-05-01T10:00:00.000Z", "pref", "tea", record)
    assert isinstance(item, Item)
    assert (item.tags, item.record["mood"]) == (("t",), [1])


@pytest.mark.proves("M4")
@pytest.mark.parametrize("kind", KINDS)
def test_the_three_kinds_are_items_and_may_be_added(kind: str) -> None:
    """There are no other kinds."""
    assert KINDS == ("fact", "pref", "context")
    assert isinstance(read_item({"id": 1, "kind": kind, "content": "a"}), Item)
    assert checked(kind, "a") == "a"


@pytest.mark.proves("M4")
@pytest.mark.parametrize("kind", ["forget", "Fact", "facts", "", "meta", None, 7, ["fact"], {"fact": 1}])
def test_a_line_of_another_kind_is_no_item_and_says_why(kind: Any) -> None:
    """It may be from a later version; its meaning is unknown."""
    found = read_item({"id": 1, "kind": kind, "content": "a"})

    assert isinstance(found, str)
    assert found.startswith("has the unknown kind ")


@pytest.mark.proves("M4")
@pytest.mark.parametrize("kind", ["forget", "Fact", "", "secret"])
def test_an_item_of_another_kind_is_refused_with_the_kinds_there_are(kind: str) -> None:
    """A tombstone is not an item either: it is written by forgetting."""
    with pytest.raises(BadUsage, match="fact, pref, context"):
        checked(kind, "a")


@pytest.mark.proves("M5")
@pytest.mark.parametrize("id", [0, -1, True, False, 1.0, "1", None, [1], 1 << 53, 10**40, float("nan")])
def test_an_id_is_a_positive_integer(id: Any) -> None:
    """Numbers that other JSON readers round would make two ids equal."""
    assert read_item({"id": id, "kind": "fact", "content": "a"}) == "has no usable id"
    assert valid_id(1)
    assert valid_id((1 << 53) - 1)


@pytest.mark.parametrize("content", ["", " \n\t", None, 5, ["a"], {"a": 1}])
def test_a_line_without_text_is_no_item(content: Any) -> None:
    """There would be nothing to show."""
    assert read_item({"id": 1, "kind": "fact", "content": content}) == "has no content"


@given(st.dictionaries(names, values, max_size=8))
def test_any_record_is_an_item_or_has_a_reason(record: dict[str, Any]) -> None:
    """Lines come from other programs and from users; no line may stop the reader."""
    found = read_item(record)

    assert isinstance(found, Item | str)
    assert all(isinstance(id, int) for id in targets(record))
    if isinstance(found, Item):  # later code must work with any value
        assert found.time.tzinfo
        assert isinstance(found.source + found.origin + found.key, str)
        assert all(isinstance(tag, str) for tag in found.tags)


usual = st.fixed_dictionaries(
    {
        "id": st.integers(-1, 10**16),
        "ts": st.sampled_from(["2026-05-01T10:00:00.000Z", "-", "Z", "", "tomorrow"]),
        "kind": st.sampled_from([*KINDS, "forget", "facts"]),
        "content": st.text(max_size=12) | st.sampled_from([" ", "\x7f\u2028", 'a"b', "c\\d"]),
        "source": st.sampled_from(["user", "tool:web", "", "ünï", "a b"]),
    },
    optional={"key": st.just("k")},
)
ends = st.sampled_from([b"\n", b"\r\n", b"", b" \n", b"\x85\n", b"x\n", b"}\n"])


@given(usual, ends, st.sampled_from([b"", b" ", b"\xef\xbb\xbf"]), st.integers(0, 400), st.booleans())
def test_the_fast_parser_agrees_with_the_full_one(
    record: dict[str, Any], end: bytes, front: bytes, place: int, rot: bool
) -> None:
    """It may only be faster: when unsure it returns nothing, and damage is never an item."""
    line = front + encode(record).rstrip(b"\n")
    if rot:
        place %= len(line)
        line = line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]
    line += end

    quick = quick_item(line)

    if quick is not None:
        slow = decode(line)
        assert slow is not None
        assert quick == read_item(slow)


def test_the_fast_parser_handles_usual_lines() -> None:
    """Otherwise it would be useless."""
    record = {"id": 1, "ts": "2026-05-01T10:00:00.000Z", "kind": "fact", "content": "grüner Tee", "source": "user"}

    line = encode(record)
    assert quick_item(line) == read_item(record)
    for place in range(len(line) - 1):  # and it detects damage at any position
        assert quick_item(line[:place] + bytes([line[place] ^ 1]) + line[place + 1 :]) is None, place


@pytest.mark.parametrize(("given", "kept"), [("  a b \n", "a b"), ("a\r\nb", "a\nb"), ("a\x1b[2Jb", "a␛[2Jb")])
def test_kept_text_has_no_control_characters_or_surrounding_blanks(given: str, kept: str) -> None:
    """The file is also printed to terminals."""
    assert checked("fact", given) == kept


@pytest.mark.parametrize("content", ["", "   ", "\n\n", "\t"])
def test_an_empty_text_is_refused(content: str) -> None:
    """An empty item would only take up space."""
    with pytest.raises(BadUsage, match="empty"):
        checked("fact", content)


def test_a_text_may_be_four_thousand_characters_long_and_not_longer() -> None:
    """A whole log does not belong in memory; the message says where it does."""
    assert checked("fact", "ö" * MAX_CONTENT) == "ö" * MAX_CONTENT
    with pytest.raises(BadUsage, match="4,000 characters, this one has 1,048,576; save the text in a file"):
        checked("fact", "ö" * (1 << 20))


@given(st.text(max_size=60))
def test_checking_a_text_again_changes_nothing(text: str) -> None:
    """Kept text can be exported and imported again."""
    try:
        once = checked("fact", text)
    except BadUsage:
        return
    assert checked("fact", once) == once
    assert once.encode("utf-8").decode("utf-8") == once


@pytest.mark.proves("M57")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tea is GREEN", "tea  is\n green"),
        ("ﬁne ①", "fine 1"),
        ("Straße", "STRASSE"),
        ("Cafe\u0301", "Café"),
        ("tea is green", "tea is green."),
        ("\u3000tea\u00a0is green", "tea is green"),
    ],
)
def test_normalization_case_and_blanks_make_no_difference(one: str, other: str) -> None:
    """The same sentence typed on another keyboard is the same sentence."""
    assert folded(one) == folded(other)
    assert fold_number(folded(one)) == fold_number(folded(other))


@pytest.mark.proves("M57")
@pytest.mark.parametrize(("one", "other"), [("port 80", "port 8080"), ("a-b", "a b"), ("...", "!!"), ("C", "C++")])
def test_other_words_or_numbers_make_another_text(one: str, other: str) -> None:
    """A new text must not be taken for a known one."""
    assert folded(one) != folded(other)


@given(st.text(st.characters(), max_size=40))
def test_every_text_has_its_own_fold(text: str) -> None:
    """The hash fits into a 64-bit column for any text, also with half characters."""
    flat = folded(text)

    assert folded(flat) == flat
    assert 0 <= fold_number(flat) < 1 << 63


def test_a_tombstone_hides_its_target_and_an_item_what_it_supersedes() -> None:
    """Any other value in such a field is ignored."""
    assert targets({"kind": "forget", "target": 4, "supersedes": [5]}) == [4]
    assert targets({"kind": "forget", "target": "4"}) == []
    assert targets({"kind": "forget"}) == []
    assert targets({"kind": "fact", "supersedes": [2, "3", None, 4], "target": 9}) == [2, 4]
    assert targets({"kind": "fact", "supersedes": 2}) == []


@pytest.mark.parametrize("value", [True, False])
def test_true_is_not_the_item_with_the_number_one(value: bool) -> None:
    """In Python `True == 1`, in other programs it is not."""
    assert targets({"kind": "forget", "target": value}) == []
    assert targets({"kind": "fact", "supersedes": [value, 2]}) == [2]


@pytest.mark.proves("M3")
@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("1969-12-31T23:59:59.500+00:00", "1969-12-31T23:59:59.500Z"),
        ("2036-02-07T08:28:16+02:00", "2036-02-07T06:28:16.000Z"),
        ("2026-05-01T10:00:00.000999+00:00", "2026-05-01T10:00:00.000Z"),
    ],
)
def test_times_are_utc_to_the_millisecond_with_a_z(time: str, text: str) -> None:
    """The same format everywhere, also before 1970 and after 2036."""
    assert stamp(read_time(time)) == text
    assert stamp(read_time(text)) == text
