"""JSON line files: records are read as they were written, and damage affects only its own line."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.storage.lines import LineFile, decode, encode
from aish.values.stores import Damage, Record

ODD_CHARACTERS = "\u2028\u2029\x85\x00\r\n\x0b\x1c\x7f\ufeff\"\\{}'\U0001f600"
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(ODD_CHARACTERS)), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
records = st.dictionaries(texts | st.sampled_from(["crc", "n", "meta"]), values, max_size=6)

FOUR: list[Record] = [
    {"meta": {"format": 1}},
    {"n": 1, "content": "first \u2028 ü"},
    {"n": 2, "list": [1, {"a": None}]},
    {"n": 3, "content": "lägt}"},
]


def read(path: Path) -> tuple[list[Record], int]:
    damage = Damage()
    return list(LineFile(path).read(damage)), damage.lines


def read_back(path: Path) -> tuple[list[Record], int]:
    damage = Damage()
    return list(LineFile(path).read_back(damage)), damage.lines


def write(path: Path, content: list[Record]) -> bytes:
    data = b"".join(encode(record) for record in content)
    path.write_bytes(data)
    return data


@settings(deadline=None)
@given(st.lists(records, max_size=5))
def test_any_records_are_read_as_written_from_both_ends(written: list[Record]) -> None:
    """Unicode line separators, NUL, NaN and fields that look like a checksum are plain data."""
    with TemporaryDirectory() as directory:
        file = LineFile(Path(directory) / "any.jsonl")
        for record in written:
            file.append(record, sync=False)

        # repr distinguishes NaN, -0.0, 1 and True; == does not
        assert repr(list(file)) == repr(written)
        assert repr(list(file.read_back())) == repr(written[::-1])
        assert not file.path.with_name("any.jsonl.torn").exists()


@given(records.filter(bool))
def test_every_line_is_json_that_other_programs_read(record: Record) -> None:
    """The file belongs to the user: each line is one object for any tool."""
    line = encode(record)

    assert line.count(b"\n") == 1
    seen = json.loads(line)
    assert isinstance(seen.pop("crc"), str)
    assert repr(seen) == repr({key: value for key, value in record.items() if key != "crc"})


def test_half_a_character_is_replaced_and_the_record_kept(tmp_path: Path) -> None:
    """A lone surrogate has no UTF-8 form, and the file must stay valid text."""
    file = LineFile(tmp_path / "half.jsonl")

    file.append({"content": "a\ud83db", "n": 1})

    assert list(file) == [{"content": "a?b", "n": 1}]
    assert "a?b" in file.path.read_text(encoding="utf-8")


@pytest.mark.parametrize("record", [{"n": 10**4200}, {"deep": json.loads("[" * 300 + "]" * 300)}], ids=["int", "deep"])
def test_huge_numbers_and_deep_nesting_survive(tmp_path: Path, record: Record) -> None:
    """Everything Python can read must not count as damaged."""
    file = LineFile(tmp_path / "huge.jsonl")

    file.append(record)

    assert list(file) == [record]


def test_a_line_of_ten_megabytes_is_a_line_like_any_other(tmp_path: Path) -> None:
    """Users paste whole logs."""
    file = LineFile(tmp_path / "long.jsonl")
    long: list[Record] = [{"n": 1}, {"content": "ö\u2028" * 2_000_000}, {"n": 3}]
    for record in long:
        file.append(record, sync=False)

    assert file.path.stat().st_size > 10_000_000
    assert read(file.path) == (long, 0)
    assert read_back(file.path) == (long[::-1], 0)


def nested(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "make", [lambda: 10**5000, lambda: nested(100_000), object], ids=["5,001 digits", "100,000 brackets", "no JSON"]
)
def test_an_invalid_record_is_refused_and_the_file_is_unchanged(tmp_path: Path, make: Callable[[], object]) -> None:
    """A mistake of the caller must not damage existing records."""
    file = LineFile(tmp_path / "kept.jsonl")
    before = write(file.path, FOUR)

    with pytest.raises((ValueError, RecursionError, TypeError)):
        file.append({"bad": make()})

    assert file.path.read_bytes() == before
    file.append({"n": 4})
    assert read(file.path) == ([*FOUR, {"n": 4}], 0)


def test_lines_the_parser_rejects_are_skipped_and_counted(tmp_path: Path) -> None:
    """Digits, brackets and bytes that the JSON parser rejects must not stop aish."""
    path = tmp_path / "hostile.jsonl"
    hostile = [b'{"n":' + b"9" * 5000 + b"}", b'{"n":' + b"[" * 100_000 + b"}", b'{"n":"\xff\xfe"}', b"[1]", b"null"]
    path.write_bytes(b"\n".join([encode({"n": 1}).strip(), *hostile, b'{"n":2}', b""]))

    assert read(path) == ([{"n": 1}, {"n": 2}], len(hostile))
    assert read_back(path) == ([{"n": 2}, {"n": 1}], len(hostile))


def test_a_truncated_file_keeps_its_complete_lines_and_sets_the_rest_aside(tmp_path: Path) -> None:
    """A crash may stop a write anywhere; earlier and later lines are not affected."""
    path, torn_path = tmp_path / "cut.jsonl", tmp_path / "cut.jsonl.torn"
    data = write(path, FOUR)
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        torn_path.unlink(missing_ok=True)
        whole = sum(end - 1 <= cut for end in ends)  # a line without only its newline is complete
        torn = data[ends[whole - 1] if whole else 0 : cut]

        assert read(path) == (FOUR[:whole], int(bool(torn))), cut
        assert read_back(path) == (FOUR[:whole][::-1], int(bool(torn))), cut
        LineFile(path).append({"n": "next"}, sync=False)

        assert path.read_bytes() == b"".join(encode(record) for record in [*FOUR[:whole], {"n": "next"}]), cut
        assert (torn_path.read_bytes() if torn_path.exists() else b"") == (torn + b"\n" if torn else b""), cut


def test_torn_ends_are_collected_and_none_replaces_another(tmp_path: Path) -> None:
    """Each may be the only remaining part of an answer."""
    file = LineFile(tmp_path / "twice.jsonl")
    for place in range(2):
        with file.path.open("ab") as raw:
            raw.write(b'{"torn":%d' % place)
        file.append({"n": place})

    assert read(file.path) == ([{"n": 0}, {"n": 1}], 0)
    assert file.path.with_name("twice.jsonl.torn").read_bytes() == b'{"torn":0\n{"torn":1\n'


def test_a_flipped_byte_loses_only_its_own_line_and_is_counted(tmp_path: Path) -> None:
    """A record is read completely, or it is missing and counted."""
    path = tmp_path / "flip.jsonl"
    data = write(path, FOUR)
    with path.open("r+b", buffering=0) as raw:
        for place, byte in enumerate(data):
            mine = data.count(b"\n", 0, place)
            struck = {mine, mine + 1} if byte == ord("\n") else {mine}  # without its newline a line joins the next
            sound = [record for number, record in enumerate(FOUR) if number not in struck]
            for value in {byte ^ 1 << bit for bit in range(8)} | set(b'\n\r\x00 "}') - {byte}:
                os.pwrite(raw.fileno(), bytes([value]), place)

                found, damaged = read(path)

                others = [record for record in found if record not in sound]
                assert [record for record in found if record in sound] == sound, (place, value)
                assert all(any(FOUR[n].items() <= record.items() for n in struck if n < 4) for record in others)
                assert (damaged > 0) == (len(found) < len(FOUR)), (place, value)
                assert read_back(path) == (found[::-1], damaged), (place, value)
            os.pwrite(raw.fileno(), bytes([byte]), place)


def test_lines_written_by_hand_need_no_checksum(tmp_path: Path) -> None:
    """The file belongs to the user; editors and scripts write to it too."""
    path = tmp_path / "hand.jsonl"
    path.write_bytes(encode({"n": 1}) + b'\n  {"n": 2, "note": "by hand"}  \n\t\n{"n":3}')

    assert read(path) == ([{"n": 1}, {"n": 2, "note": "by hand"}, {"n": 3}], 0)
    LineFile(path).append({"n": 4})

    assert read(path) == ([{"n": 1}, {"n": 2, "note": "by hand"}, {"n": 3}, {"n": 4}], 0)
    assert not path.with_name("hand.jsonl.torn").exists()


def test_a_line_changed_by_hand_under_its_old_checksum_is_damaged(tmp_path: Path) -> None:
    """Such a change looks like disk damage, so it is reported and not used."""
    path = tmp_path / "changed.jsonl"
    path.write_bytes(encode({"n": 1}).replace(b"1", b"7", 1) + encode({"n": 2}))

    assert read(path) == ([{"n": 2}], 1)


@pytest.mark.parametrize("with_checksum", [True, False], ids=["with checksums", "by hand"])
def test_windows_line_ends_and_a_byte_order_mark_are_no_damage(tmp_path: Path, with_checksum: bool) -> None:
    """Some editors add both when they save."""
    path = tmp_path / "windows.jsonl"
    lines = [encode(record).strip() if with_checksum else json.dumps(record).encode() for record in FOUR]
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([*lines, b""]))

    assert read(path) == (FOUR, 0)
    assert read_back(path) == (FOUR[::-1], 0)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from([0, 1, 32_760, *range(65_500, 65_540), 131_050, 131_072, 200_000]), max_size=6))
def test_reading_backwards_equals_reading_reversed_for_any_line_length(sizes: list[int]) -> None:
    """Files are read backwards in blocks of 64 KiB, and a line may end before, at or after a block border."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "blocks.jsonl"
        written: list[Record] = [{"n": place, "pad": "x" * size} for place, size in enumerate(sizes)]
        data = write(path, written)
        assert read_back(path) == (written[::-1], 0)

        path.write_bytes(data[:-1])  # and the same with an unfinished last line
        assert read_back(path) == (written[::-1], 0)


def test_reading_backwards_reads_only_as_far_as_needed(tmp_path: Path) -> None:
    """The newest turn of a long conversation must not need the whole file: its damaged start is never read."""
    path = tmp_path / "lazy.jsonl"
    size = len(write(path, [{"n": place, "pad": "x" * 1000} for place in range(1000)]))
    with path.open("r+b") as raw:
        raw.write(b"#" * (size // 2))
    damage = Damage()

    lines = LineFile(path).read_back(damage)
    newest = [next(lines)["n"] for _ in range(100)]

    assert newest == list(range(999, 899, -1))
    assert damage.lines == 0
    assert next(reversed(list(lines)))["n"] > 490
    assert damage.lines == 1


def test_a_file_that_is_missing_or_empty_holds_no_records(tmp_path: Path) -> None:
    """Both are normal for a new file, and reading creates nothing."""
    path = tmp_path / "none" / "none.jsonl"
    assert (read(path), read_back(path)) == (([], 0), ([], 0))
    assert list(tmp_path.iterdir()) == []

    path.parent.mkdir()
    path.touch()
    assert (read(path), read_back(path)) == (([], 0), ([], 0))


@pytest.mark.parametrize("start", [None, b"", b'{"me'], ids=["missing", "empty", "torn in its first line"])
def test_the_first_line_is_written_once_and_before_all_others(tmp_path: Path, start: bytes | None) -> None:
    """It names the format of the file."""
    path = tmp_path / "new" / "first.jsonl"
    if start is not None:
        path.parent.mkdir()
        path.write_bytes(start)
    file = LineFile(path, first=lambda: {"meta": 1})

    file.append({"n": 1})
    LineFile(path, first=lambda: {"meta": 2}).append({"n": 2})

    assert read(path) == ([{"meta": 1}, {"n": 1}, {"n": 2}], 0)


def test_a_line_contains_its_own_checksum() -> None:
    """The format is fixed for other programs: CRC-32 of the object without it, in hex, as the last field."""
    assert encode({"n": 1}) == b'{"n":1,"crc":"d44b3b7e"}\n'
    assert decode(b'{"n":1,"crc":"d44b3b7e"}') == {"n": 1}
    assert decode(b'{"n":1,"crc":"d44b3b7f"}') is None
