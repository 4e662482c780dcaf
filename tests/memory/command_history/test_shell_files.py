"""Histories of other shells, read in place."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aish.memory.command_history.shell_files import HistoryFile, history_files, read_history
from aish.values.past_command import LONGEST_COMMAND, PastCommand


def texts(kind: str, path: Path, most: int = 1 << 20) -> list[str]:
    return [one.command.text for one in read_history(HistoryFile(kind, path), {}, lambda: None, most)]


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("bash", b"one\ntwo\n", ["two", "one"]),
        ("bash", b"#1700000000\nfor x in 1\ndo ls\ndone\n#1700000100\ntwo\n", ["two", "for x in 1\ndo ls\ndone"]),
        ("zsh", b": 1700000000:0;one\n: 1700000100:5;two \\\nlines\n", ["two \nlines", "one"]),
        ("zsh", b"echo gr\xc3\x83\xbc\x83\xbf\n", ["echo gr\xfc\x9f"[:8]]),
        ("fish", b"- cmd: one\n  when: 1700000000\n- cmd: two\\nlines\n  when: 1700000100\n", ["two\nlines", "one"]),
        ("bash", b"one\n\0\0\0\0\ntw\0o\nhalf a li", ["half a li", "two", "one"]),
        ("bash", b"caf\xe9\n\xef\xbb\xbfx\n", ["\ufeffx", "café"]),
        ("bash", b"\n\n   \n", []),
        ("bash", b"", []),
        ("zsh", b": 99999999999999:0;far\n:;\n", None),
    ],
)
def test_formats_and_damage_are_read(tmp_path: Path, kind: str, data: bytes, expected: list[str] | None) -> None:
    path = tmp_path / "history"
    path.write_bytes(data)

    if expected is None or b"\xc3" in data:
        assert texts(kind, path)
    else:
        assert texts(kind, path) == expected


def test_only_the_end_of_a_long_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"".join(b"command %d\n" % number for number in range(1000)))

    found = texts("bash", path, most=100)
    assert found[0] == "command 999"
    assert len(found) == 8
    assert all(text.startswith("command ") for text in found)


@pytest.mark.parametrize("most", [30, 40, 50])
def test_the_end_of_a_zsh_history_does_not_begin_within_a_command(tmp_path: Path, most: int) -> None:
    """Its rest would look like commands that nobody typed."""
    path = tmp_path / "history"
    path.write_bytes(b": 1700000000:0;cat > x <<END\\\nrm -rf build\\\nmore\\\nEND\n: 1700000100:5;two\n")

    assert texts("zsh", path, most) == ["two"]


def test_a_pasted_megabyte_and_missing_files_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b"x" * (LONGEST_COMMAND + 1) + b"\nshort\n")

    assert texts("bash", path) == ["short"]
    assert texts("bash", tmp_path / "nowhere") == []
    assert texts("bash", tmp_path) == []
    assert texts("atuin", path) == []


def test_lines_without_times_are_placed_by_those_that_were_also_run_here(tmp_path: Path) -> None:
    """aish itself lets bash write its commands into that file, so its date says little."""
    path = tmp_path / "history"
    path.write_bytes(b"old one\nold two\nmake\nls\n")
    changed = path.stat().st_mtime

    found = list(read_history(HistoryFile("bash", path), {"make": 100.0, "ls": 200.0}, lambda: None))
    assert [(one.command.text, one.at) for one in found] == [
        ("ls", 200.0),
        ("make", 100.0),
        ("old two", 100.0),
        ("old one", 100.0),
    ]
    fresh = list(read_history(HistoryFile("bash", path), {}, lambda: None))
    assert {one.at for one in fresh} == {changed}
    assert {one.command.time for one in fresh} == {0.0}, "an invented time would be shown and searched"


def atuin(path: Path, rows: list[tuple[object, ...]]) -> None:
    with sqlite3.connect(path) as base:
        base.execute("pragma journal_mode = wal")
        base.execute(
            "create table history (id text, timestamp integer, duration integer, exit integer, command text,"
            " cwd text, session text, hostname text, deleted_at integer)"
        )
        base.executemany("insert into history values (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    base.close()


def test_the_database_of_atuin_is_read_with_all_it_knows_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    rows: list[tuple[object, ...]] = [
        ("1", 1_700_000_000_000_000_000, 2_500_000_000, 1, "make", "/src", "s", "box:me", None),
        ("2", 1_700_000_100_000_000_000, -1, -1, "vim", "/src", "s", "box:me", None),
        ("3", 1_700_000_200_000_000_000, 1, 0, "secret", "/src", "s", "box:me", 1),
    ]
    atuin(path, rows)
    before = path.read_bytes()

    found = list(read_history(HistoryFile("atuin", path), {}, lambda: None))
    assert [one.command for one in found] == [
        PastCommand("vim", 1_700_000_100.0, "/src", None, None, "box", source="atuin"),
        PastCommand("make", 1_700_000_000.0, "/src", 1, 2.5, "box", source="atuin"),
    ]
    assert path.read_bytes() == before


def test_each_history_is_found_once(tmp_path: Path) -> None:
    for name in (
        ".bash_history",
        ".zsh_history",
        ".local/share/fish/fish_history",
        "own_zsh",
        ".local/share/atuin/history.db",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / ".zhistory").symlink_to(".zsh_history")

    found = history_files({"HISTFILE": str(tmp_path / ".bash_history")}, tmp_path, str(tmp_path / "own_zsh"), "")
    assert sorted((one.kind, one.path.name) for one in found) == [
        ("atuin", "history.db"),
        ("bash", ".bash_history"),
        ("fish", "fish_history"),
        ("zsh", ".zsh_history"),
        ("zsh", "own_zsh"),
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.sampled_from(["bash", "zsh", "fish", "atuin"]))
def test_no_bytes_break_the_reader(tmp_path: Path, data: bytes, kind: str) -> None:
    path = tmp_path / "history"
    path.write_bytes(data)
    found = list(read_history(HistoryFile(kind, path), {}, lambda: None))

    assert all(one.command.text.strip() and "\0" not in one.command.text for one in found)
    assert [one.at for one in found] == sorted((one.at for one in found), reverse=True)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("zsh", b": 999999999999:0;far\n"),
        ("fish", b"- cmd: far\n  when: 99999999999999999999\n"),
    ],
)
def test_a_time_that_makes_no_sense_is_unknown(tmp_path: Path, kind: str, data: bytes) -> None:
    """Otherwise the list and the search would fail when they show it."""
    path = tmp_path / "history"
    path.write_bytes(data)
    assert [one.command.time for one in read_history(HistoryFile(kind, path), {}, lambda: None)] == [0.0]


@pytest.mark.parametrize("most", range(60, 100))
def test_the_end_of_a_fish_history_has_no_parts_of_entries(tmp_path: Path, most: int) -> None:
    path = tmp_path / "fish_history"
    path.write_bytes(b"".join(b"- cmd: echo %d\n  when: 1700000000\n" % number for number in range(50)))

    found = texts("fish", path, most)
    assert found[:2] == ["echo 49", "echo 48"][: len(found)]
    assert all(text.startswith("echo ") for text in found)


@pytest.mark.parametrize("size", [1, 1 << 20, 3 << 20])
def test_the_rest_of_a_long_line_is_no_command(tmp_path: Path, size: int) -> None:
    """It would do something else than the line."""
    path = tmp_path / "history"
    path.write_bytes(b"first\necho " + b"x" * ((1 << 20) - 6 + size) + b"; rm -rf keep\nlast\n")

    assert texts("bash", path, 8 << 20) == ["last", "first"]
