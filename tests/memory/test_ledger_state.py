"""The state of a ledger: read at once, in parts, from a snapshot, and after an edit of the file."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from aish.memory.ledger import Ledger
from aish.memory.ledger_lines import fold_number, folded
from aish.memory.ledger_snapshot import LedgerSnapshot
from aish.memory.ledger_state import State
from aish.storage.lines import decode, encode
from aish.values.errors import NotFound
from aish.values.items import KINDS, stamp
from aish.values.stores import Record

BOM = b"\xef\xbb\xbf"
TEXTS = ["green tea", "Green  TEA.", "black coffee", "a walk\nat noon", "日本の茶", "\u2028 odd \x7f"]
TIMES = ["2026-03-01T08:00:00.000Z", "2026-03-01T08:00:00.001Z", "1969-12-31T23:59:59.900Z", "no time", "2036-02-08"]
HUGE = (1 << 53) - 1

ids = st.integers(1, 7) | st.integers(1, 12)
odd: st.SearchStrategy[Any] = st.sampled_from(
    [0, -4, None, True, "3", 2.5, HUGE, 1 << 53, 1 << 63, -(1 << 70), [1], {}]
)
items = st.fixed_dictionaries(
    {"id": ids, "ts": st.sampled_from(TIMES), "kind": st.sampled_from(KINDS), "content": st.sampled_from(TEXTS)},
    optional={
        "key": st.sampled_from(["tea", "dog", ""]),
        "supersedes": st.lists(ids | odd, max_size=2) | odd,
        "meta": st.just({"x": 1}),
        "later": st.just([None]),
    },
)
usual = st.fixed_dictionaries(
    {"id": ids, "ts": st.sampled_from(TIMES), "kind": st.sampled_from(KINDS), "content": st.sampled_from(TEXTS)}
).map(lambda record: {**record, "source": "user"})
tombstones = st.fixed_dictionaries(
    {"id": ids, "kind": st.just("forget"), "target": ids | odd}, optional={"purged": st.sampled_from(["f00", 5])}
)
strange = st.fixed_dictionaries(
    {}, optional={"id": ids | odd, "kind": st.sampled_from(["wish", 9, None]), "content": st.sampled_from(["", 5, "a"])}
)
meta = st.just({"meta": {"format": 1}})
records: st.SearchStrategy[Record] = st.one_of(items, usual, tombstones, strange, meta)
checked_lines = records.map(lambda record: encode(record).rstrip(b"\n"))
by_hand = records.map(lambda record: json.dumps(record).encode())
damaged = st.one_of(
    checked_lines.map(lambda line: line.replace(b'"', b"#", 1)),
    checked_lines.map(lambda line: line[: len(line) // 2]),
    st.binary(max_size=20).map(lambda data: b"\xff" + data.replace(b"\n", b"").replace(b"{", b"")),
    st.sampled_from(
        [b"[1]", b"null", b"{", b'{"id":' + b"9" * 5000 + b"}", b'{"id":1,"kind":"fact","content":"\xc3"}']
    ),
)
blank = st.sampled_from([b"", b"  ", b"\t"])
lines = st.one_of(checked_lines, checked_lines, by_hand, damaged, blank, checked_lines.map(lambda line: BOM + line))
ended = st.tuples(lines, st.sampled_from([b"\n", b"\n", b"\r\n"])).map(b"".join)
files = st.builds(lambda whole, rest: b"".join(whole) + rest, st.lists(ended, max_size=12), st.just(b"") | lines)

quick = settings(deadline=None, max_examples=90, suppress_health_check=[HealthCheck.too_slow])


def read(*parts: bytes) -> State:
    """Return the state after reading the parts one by one, as from a file that grows."""
    return go_on(State(), *parts)


def go_on(state: State, *parts: bytes) -> State:
    left = b""
    for part in parts:
        before = state.size
        left += part
        state.take_bytes(left)
        left = left[state.size - before :]
    return state


def meaning(state: State) -> dict[str, Any]:
    """Return everything that can be asked of a state."""
    folds = {fold_number(folded(text)) for text in [*TEXTS, "a"]}
    return {
        "read": (state.size, state.crc, state.lines, state.damaged, state.last_id),
        "said": (state.problems, state.purged, state.keys),
        "newest": list(state.newest()),
        "rows": {id: (state.row(id), state.shows(id)) for id in [*range(15), HUGE]},
        "alike": {fold: sorted(state.alike(fold)) for fold in folds},
    }


def expected(data: bytes) -> list[int]:
    """Return the ids of the active items, computed in the simplest way."""
    found: dict[int, Record] = {}
    gone: set[int] = set()
    keyed: dict[str, list[int]] = {}
    for record in [decode(line) or {} for line in data.split(b"\n")]:
        id, kind, content, older = (record.get(name) for name in ("id", "kind", "content", "supersedes"))
        hides = [record.get("target")] if kind == "forget" else older if isinstance(older, list) else []
        gone |= {one for one in hides if isinstance(one, int) and one is not True}
        usable = type(id) is int and 0 < id < 1 << 53 and kind in KINDS and isinstance(content, str) and content.strip()
        if usable and isinstance(id, int) and id not in found:
            found[id] = record
            if record.get("key"):
                keyed.setdefault(record["key"], []).append(id)
    for same in keyed.values():
        gone |= set(same) - {max(same)}
    return sorted(found.keys() - gone, key=lambda id: (moment(found[id]), id), reverse=True)


def moment(record: Record) -> datetime:
    try:
        time = datetime.fromisoformat(str(record.get("ts")))
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return time.replace(tzinfo=time.tzinfo or UTC)


@pytest.mark.proves("M10", "M11", "M12", "M14")
@quick
@given(files)
@example(b"".join(b'{"id":%d,"kind":"fact","content":"k","key":"k"}\n' % id for id in (5, 3, 4)))
@example(encode({"id": 2, "kind": "forget", "target": 1}) + encode({"id": 1, "kind": "fact", "content": "a", "ts": ""}))
def test_active_items_are_those_not_hidden_newest_first(data: bytes) -> None:
    """With tombstones at any position and for any target, and with damaged lines in between."""
    state = read(data)

    assert [id for id, *_ in state.newest()] == expected(data)
    assert [id for id, *_ in state.newest() if not state.shows(id)] == []


@pytest.mark.proves("M7", "M10")
@quick
@given(files, st.integers(0, 100))
def test_reading_a_growing_file_gives_the_same_state_as_reading_it_at_once(data: bytes, percent: int) -> None:
    """A reader may see a write of another shell half done."""
    cut = len(data) * percent // 100

    assert meaning(read(data[:cut], data[cut:])) == meaning(read(data))


@pytest.mark.proves("M7", "M10")
@quick
@given(files, st.integers(0, 100))
@example(b'{"id":1,"kind":"forget","target":9223372036854775808}\n', 50)
def test_a_snapshot_plus_the_rest_gives_the_same_state_as_the_file(data: bytes, percent: int) -> None:
    """The snapshot is only a shortcut, also when a tombstone and its target are on different sides of its end."""
    cut = len(data) * percent // 100
    first = read(data[:cut])
    with TemporaryDirectory() as directory:
        path = Path(directory) / "index"
        LedgerSnapshot.write(path, first.snapshot((0, 0, 0)))
        base = LedgerSnapshot.load(path)
        assert base
        state = go_on(State(base), data[first.size :])

        assert meaning(state) == meaning(read(data))
        LedgerSnapshot.write(path, state.snapshot((0, 0, 0)))  # and again with a snapshot made from a snapshot
        base.close()
        again = LedgerSnapshot.load(path)
        assert again
        assert meaning(State(again)) == meaning(read(data))
        again.close()


@pytest.mark.proves("M12")
def test_a_millisecond_is_enough_to_be_newer() -> None:
    """Scripts add many items per second, and the clock may go back between two of them."""
    start = datetime(2026, 7, 1, 12, tzinfo=UTC)
    times = [stamp(start + timedelta(milliseconds=count)) for count in range(1000)]
    record = {"kind": "fact", "content": "a"}
    data = b"".join(encode({**record, "id": 2000 - count, "ts": time}) for count, time in enumerate(times))

    assert [id for id, *_ in read(data).newest()] == list(range(1001, 2001))


@pytest.mark.proves("M5", "M8")
@given(st.lists(ids, min_size=1), st.sampled_from([{"kind": "forget"}, {"kind": "wish"}, {"kind": "fact"}, {}]))
def test_the_last_id_is_the_highest_on_any_line(used: list[int], fields: Record) -> None:
    """Tombstones and unknown lines take an id too."""
    state = read(b"".join(encode({"id": id, **fields}) for id in used))

    assert state.last_id == max(used)


def test_problems_name_the_line_and_are_limited() -> None:
    """Twenty are enough to see what is wrong; the line number is that of an editor."""
    data = b'{"meta":{}}\n\n{"id":1,"kind":"wish"}\n' + b'{"id":2,"kind":"wish"}\n' * 50

    problems = read(data).problems

    assert problems[0] == "line 3 has the unknown kind 'wish'"
    assert len(problems) == 20


# The ledger and its snapshot


def now() -> datetime:
    return datetime(2026, 11, 15, 12, tzinfo=UTC)


def filled(path: Path, count: int = 6) -> bytes:
    """Write a small ledger with some of every kind of line."""
    lines: list[Record] = [{"meta": {"format": 1}}]
    for id in range(1, count + 1):
        kind, time = KINDS[id % 3], stamp(now() + timedelta(minutes=id * 7 % 5))
        lines.append({"id": id, "ts": time, "kind": kind, "content": f"thing number {id:05} is blue"})
    lines.append({"id": count + 1, "ts": stamp(now()), "kind": "forget", "target": 2})
    set_key = {"ts": stamp(now()), "kind": "fact", "key": "tea"}
    lines.append({"id": count + 2, **set_key, "content": "tea = green"})
    lines.append({"id": count + 3, **set_key, "content": "tea = black"})
    data = b"".join(encode(line) for line in lines)
    path.write_bytes(data)
    return data


def make_index(path: Path, index: Path, size: int | None = None) -> None:
    """Write a snapshot of the first bytes of the file, with a stamp that marks it as current."""
    state = read(path.read_bytes()[:size])
    LedgerSnapshot.write(index, state.snapshot((0, 0, 0)))
    snapshot, found = LedgerSnapshot.load(index), path.stat()
    assert snapshot
    snapshot.set_stamp((found.st_ino, found.st_size, found.st_mtime_ns))
    snapshot.close()


def answers(ledger: Ledger) -> dict[str, Any]:
    """Return everything that can be asked of a ledger."""
    found: dict[str, Any] = {"items": [item.record for item in ledger.items()]}
    state = ledger.state()
    found["counts"] = (state.lines, state.damaged, state.last_id, state.problems, state.keys, state.purged)
    found["each"] = [(ledger.get(id), state.shows(id)) for id in range(state.last_id + 2)]
    found["known"] = [ledger.known(record["content"]) for record in found["items"]]
    found["unknown"] = ledger.known("thing number 00002 is blue"), ledger.known("tea = green")
    return found


def truth(path: Path) -> dict[str, Any]:
    """Return the answers of a reader without a snapshot."""
    ledger = Ledger(path, now=now)
    found = answers(ledger)
    ledger.close()
    return found


def touch(path: Path) -> None:
    """Change the modification time, however fast the test runs."""
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 2_000_000_000))


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """A ledger and the path of its snapshot."""
    filled(tmp_path / "memory.jsonl")
    return tmp_path / "memory.jsonl", tmp_path / "cache" / "index"


@pytest.mark.proves("M7")
@pytest.mark.parametrize("size", [None, 300, 0], ids=["of all", "of a part", "of nothing"])
def test_a_snapshot_changes_no_answer(place: tuple[Path, Path], size: int | None) -> None:
    """It is derived data, and only a shortcut."""
    path, index = place
    make_index(path, index, size)
    ledger = Ledger(path, index, now=now)

    assert answers(ledger) == truth(path)
    ledger.close()


@pytest.mark.proves("M7")
def test_a_truncated_snapshot_is_ignored(place: tuple[Path, Path]) -> None:
    """It is written without a sync, so a power cut may leave any part of it."""
    path, index = place
    filled(path, 2)
    make_index(path, index)
    whole, right = index.read_bytes(), truth(path)
    for cut in range(len(whole)):
        index.write_bytes(whole[:cut])
        ledger = Ledger(path, index, now=now)
        assert answers(ledger) == right, cut
        ledger.close()


def other_version(index: Path) -> None:
    """Another version with other content in a format that can be parsed."""
    version = (2).to_bytes(8, "little")
    last_id, columns = (700).to_bytes(8, "little"), index.read_bytes()
    index.write_bytes(columns[:8] + version + columns[16:32] + last_id + columns[40:])


def of_another_file(index: Path) -> None:
    other = index.with_name("other.jsonl")
    filled(other, 4)
    make_index(other, index)


def of_another_program(index: Path) -> None:
    index.write_bytes(b"SQLite format 3\0" * 100)


def a_directory(index: Path) -> None:
    index.unlink()
    index.mkdir()


def a_link(index: Path) -> None:
    index.rename(index.with_name("moved"))
    index.symlink_to("moved")


def a_pipe(index: Path) -> None:
    index.unlink()
    os.mkfifo(index)


@pytest.mark.proves("M7")
@pytest.mark.parametrize(
    "spoil", [Path.unlink, other_version, of_another_file, of_another_program, a_directory, a_link, a_pipe]
)
def test_a_snapshot_that_does_not_match_is_ignored(place: tuple[Path, Path], spoil: Callable[[Path], None]) -> None:
    """Caches are deleted, copied, and left behind by other versions."""
    path, index = place
    make_index(path, index)
    spoil(index)
    ledger = Ledger(path, index, now=now)

    assert answers(ledger) == truth(path)
    assert ledger.add("fact", "one more").item.id == 10
    assert answers(ledger) == truth(path)
    ledger.close()


def edit(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Change the file in place."""

    def run(path: Path) -> None:
        data = change(path.read_bytes())
        with path.open("r+b") as file:
            file.write(data)
            file.truncate()

    return run


def by_rename(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Save to a new file and rename it, as editors do."""

    def run(path: Path) -> None:
        other = path.with_name("other")
        other.write_bytes(change(path.read_bytes()))
        other.replace(path)

    return run


def without_line(number: int) -> Callable[[bytes], bytes]:
    def run(data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        return b"".join(lines[:number] + lines[number + 1 :])

    return run


def swap_words(data: bytes) -> bytes:
    """The lines keep their positions and lengths, and lose their checksums."""
    unsealed = [json.dumps(decode(line)).encode() + b"\n" for line in data.splitlines()]
    return b"".join(unsealed).replace(b"00003", b"99999").ljust(len(data))


LINE = b'{"id":40,"kind":"pref","content":"by hand"}'
EDITS: dict[str, Callable[[Path], None]] = {
    "same length, at the front": edit(lambda data: data.replace(b"00001", b"11111")),
    "same length, at the end": edit(lambda data: data.replace(b"black", b"white")),
    "same length, all of it": edit(swap_words),
    "same length, by rename": by_rename(lambda data: data.replace(b"00004", b"44444")),
    "a tombstone has another target": edit(lambda data: data[::-1].replace(b'2:"tegrat"', b'3:"tegrat"', 1)[::-1]),
    "a line was removed": edit(without_line(3)),
    "the first line was removed": edit(without_line(0)),
    "the last line was removed": edit(without_line(9)),
    "a line was inserted": edit(lambda data: data.replace(b"\n", b"\n" + LINE + b"\n", 1)),
    "same length, and a line was added": edit(lambda data: data.replace(b"00001", b"11111") + LINE + b"\n"),
    "longer, and the last line is the same": edit(lambda data: data.replace(b"00001", b"1" * 99)),
    "a line was added": edit(lambda data: data + LINE + b"\n"),
    "a line was added, without its end": edit(lambda data: data + LINE),
    "half a line was added": edit(lambda data: data + LINE[:20]),
    "all lines in another order": edit(lambda data: b"".join(sorted(data.splitlines(keepends=True)))),
    "saved by an editor of Windows": edit(lambda data: BOM + data.replace(b"\n", b"\r\n")),
    "only copied": by_rename(lambda data: data),
    "emptied": edit(lambda data: b""),
    "emptied and refilled": by_rename(lambda data: LINE + b"\n"),
    "half of it is noise": edit(lambda data: data[: len(data) // 2] + bytes(range(256)) * 3),
    "deleted": Path.unlink,
}


@pytest.mark.proves("M21")
@pytest.mark.parametrize("indexed", [None, 0, 330, 10_000], ids=["no index", "empty", "half", "full index"])
@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_changes_by_others_are_noticed(
    place: tuple[Path, Path], change: Callable[[Path], None], indexed: int | None
) -> None:
    """The file is authoritative, also while a ledger is open and whatever was read before."""
    path, index = place
    if indexed is not None:
        make_index(path, index, indexed)
    ledger = Ledger(path, index, now=now)
    before = answers(ledger)
    assert before == truth(path)

    change(path)
    if path.exists():
        touch(path)

    right = truth(path)
    assert answers(ledger) == right
    later = Ledger(path, index, now=now)  # and a new reader
    assert answers(later) == right
    added = ledger.add("fact", "something new").item
    assert added.id == right["counts"][2] + 1
    assert answers(ledger) == answers(later) == truth(path)
    assert ledger.get(added.id) == added
    ledger.close()
    later.close()


@pytest.mark.proves("M21")
@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS.keys())
def test_an_edit_is_noticed_even_if_another_shell_saw_it_first(
    place: tuple[Path, Path], change: Callable[[Path], None]
) -> None:
    """Both use one snapshot. That it covers its part says nothing about what the other one read after it."""
    path, index = place
    make_index(path, index, 330)
    old = Ledger(path, index, now=now)
    assert answers(old) == truth(path)

    change(path)
    if path.exists():
        touch(path)
    new = Ledger(path, index, now=now)

    right = truth(path)
    assert answers(new) == right
    assert answers(old) == right
    new.close()
    old.close()


@pytest.mark.proves("M21")
def test_a_copy_with_the_old_size_and_time_is_noticed(place: tuple[Path, Path]) -> None:
    """Restoring a backup also restores the times."""
    path, index = place
    make_index(path, index)
    ledger = Ledger(path, index, now=now)
    assert answers(ledger) == truth(path)
    before = path.stat()

    by_rename(lambda data: data.replace(b"00004", b"44444"))(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert answers(ledger) == truth(path)
    ledger.close()


def test_an_edit_during_a_listing_shows_no_item_twice_or_with_a_wrong_id(tmp_path: Path) -> None:
    """Changed items are left out; the next listing shows them."""
    path = tmp_path / "memory.jsonl"
    lines = [b'{"id":%d,"kind":"fact","content":"n"}\n' % id for id in range(1, 6)]
    path.write_bytes(b"".join(lines))
    listing = Ledger(path, now=now).items()
    assert next(listing).id == 5

    edit(lambda data: b"".join(reversed(lines)))(path)

    assert [item.id for item in listing] == [3]  # the only one at its old position


def test_a_line_joined_to_an_unfinished_one_makes_both_unreadable(tmp_path: Path) -> None:
    """A shell that had read the first line must not show what nobody else can read."""
    path = tmp_path / "memory.jsonl"
    path.write_bytes(b'{"id":1,"kind":"fact","content":"one"}')
    ledger = Ledger(path, now=now)
    assert [item.id for item in ledger.items()] == [1]

    with path.open("ab") as file:
        file.write(b'{"id":2,"kind":"fact","content":"two"}\n')
    touch(path)

    assert answers(ledger) == truth(path)


def damage_unseen(path: Path, index: Path, offset: int) -> None:
    """Damage a line, and make the snapshot match the damaged file, which happens only in tests."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"#####")
    snapshot, found = LedgerSnapshot.load(index), path.stat()
    assert snapshot
    snapshot.set_stamp((found.st_ino, found.st_size, found.st_ctime_ns))
    snapshot.close()


@pytest.fixture
def long(tmp_path: Path) -> tuple[Path, Path]:
    """A ledger of more than 5,000 lines that was opened once."""
    path, index = tmp_path / "memory.jsonl", tmp_path / "cache" / "index"
    filled(path, 5000)
    ledger = Ledger(path, index, now=now)
    assert len(list(ledger.items())) == 5000
    ledger.close()
    assert index.stat().st_size > 5000 * 8
    return path, index


@pytest.mark.proves("M7")
def test_a_long_ledger_is_not_reread_to_open_query_or_add(long: tuple[Path, Path]) -> None:
    """Its first part is damaged without a trace, and no error appears: so it was not read."""
    path, index = long
    damage_unseen(path, index, path.read_bytes().index(b"00001"))

    ledger = Ledger(path, index, now=now)
    newest = [item.id for item, _ in zip(ledger.items(), range(3), strict=False)]
    added = ledger.add("fact", "one more")
    again = ledger.add("fact", "Thing number 03000 is BLUE.")
    forgotten = ledger.forget([4000, 4000, 2])
    assert ledger.known("thing number 04000 is blue") is None
    assert ledger.state().damaged == 0
    ledger.close()

    assert newest == [4997, 4992, 4987]
    assert (added.item.id, added.new) == (5004, True)
    assert (again.item.id, again.new) == (3000, False)
    assert forgotten == [4000]

    later = Ledger(path, index, now=now)  # added lines do not cause a full read either
    assert later.state().damaged == 0
    assert (later.state().last_id, later.known("one more")) == (5005, added.item)
    later.close()
    touch(path)  # but a changed time does
    last = Ledger(path, index, now=now)
    assert last.state().damaged == 1
    assert last.get(1) is None
    last.close()


@pytest.mark.proves("M7")
def test_lines_appended_by_hand_to_a_long_ledger_are_found(long: tuple[Path, Path]) -> None:
    """The covered part is compared by its checksum, and the rest is read."""
    path, index = long
    with path.open("ab") as file:
        file.write(b'{"id":6000,"kind":"pref","content":"by hand"}\n{"id":6001,"kind":"forget","target":5000}\n')

    ledger = Ledger(path, index, now=now)

    assert (ledger.state().last_id, len(list(ledger.items()))) == (6001, 5000)
    assert ledger.known("BY HAND")
    assert not ledger.state().shows(5000)
    ledger.close()


@pytest.mark.proves("M7")
@pytest.mark.parametrize("spoil", [Path.unlink, of_another_file, a_directory])
def test_a_long_ledger_without_its_snapshot_gives_the_same_answers(
    long: tuple[Path, Path], spoil: Callable[[Path], None]
) -> None:
    """Emptying the cache costs only time."""
    path, index = long
    spoil(index)

    ledger = Ledger(path, index, now=now)

    assert [item.id for item in ledger.items()] == [item.id for item in Ledger(path, now=now).items()]
    assert ledger.add("fact", "one more").item.id == 5004
    ledger.close()


def test_reading_a_long_ledger_reports_progress(tmp_path: Path) -> None:
    """The first read of a hundred megabytes takes a moment; the numbers increase to the total."""
    path = tmp_path / "memory.jsonl"
    line = encode({"id": 1, "kind": "wish", "content": "w" * 500_000})
    path.write_bytes(line * 20 + encode({"id": 2, "ts": "", "kind": "fact", "content": "a"}))
    seen: list[tuple[int, int]] = []

    ledger = Ledger(path, now=now, progress=lambda done, whole: seen.append((done, whole)))

    assert [item.id for item in ledger.items()] == [2]
    assert seen == sorted(seen)
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


@pytest.mark.proves("M14")
@pytest.mark.parametrize("length", [1, (1 << 20) - 70, 1 << 20, 3 << 20])
def test_lines_longer_than_a_block_hide_nothing(tmp_path: Path, length: int) -> None:
    """A line of megabytes is not an item of ours, but somebody may have pasted one."""
    path = tmp_path / "memory.jsonl"
    items = [encode({"id": id, "ts": "", "kind": "fact", "content": f"n {id}"}) for id in (1, 2, 3)]
    long = encode({"id": 9, "ts": "", "kind": "fact", "content": "l" * length})
    path.write_bytes(items[0] + long + items[1] + b"#" * length + b"\n" + items[2] + b"#" * length)

    state = Ledger(path, now=now).state()

    assert [id for id, *_ in state.newest()] == [9, 3, 2, 1]
    assert state.damaged == 1


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_a_ledger_keeps_no_more_files_open_the_longer_it_is_used(long: tuple[Path, Path]) -> None:
    """A shell runs for weeks; refused changes and edited files must not exhaust the descriptors."""
    path, index = long
    before = open_files()
    ledger = Ledger(path, index, now=now)
    for number in range(5):
        with pytest.raises(NotFound):
            ledger.add("fact", "no", instead_of=2)
        ledger.add("fact", f"new {number}")
        touch(path)
        ledger.state()
        data = path.read_bytes()
        path.unlink()
        ledger.state()
        path.write_bytes(data)
        ledger.rewrite(lambda line: line)
        ledger.state()
    ledger.close()

    assert open_files() == before


def tens(path: Path, first: int, count: int) -> Iterator[bytes]:
    with path.open("ab") as file:
        for id in range(first, first + count):
            line = encode({"id": id, "ts": stamp(now()), "kind": "fact", "content": f"word {id}", "key": f"key {id}"})
            file.write(line)
            yield line


def test_a_shell_that_closes_after_a_purge_writes_no_old_snapshot(tmp_path: Path) -> None:
    """It read the text before the purge. Its state is old, and of no use to the next shell."""
    path, index = tmp_path / "memory.jsonl", tmp_path / "index"
    assert len(list(tens(path, 1, 200))) == 200
    other, mine = Ledger(path, index, now=now), Ledger(path, index, now=now)
    assert len(list(other.items())) == 200

    mine.rewrite(lambda line: encode({"id": 77, "kind": "forget", "target": 77}) if b"word 77" in line else line)
    other.close()

    assert not index.exists() or b"key 77" not in index.read_bytes()
    assert len(list(mine.items())) == 199
    mine.close()
