"""The undo store: what is kept, for how long, and how changes of files are taken back."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action import undo, undo_store
from aish.action.project_files import ProjectFiles, Site
from aish.action.undo import FileHistory
from aish.action.undo_store import MOST_OF_FILE, NOT_KEPT, OLDEST, FileChange, FileState, UndoStore
from aish.values.errors import AishError

CHANGE = FileChange("s1", 3, "/work", "a", FileState("", 0), FileState("b" * 64, 0o644), "write_file", ("x",))


@given(st.lists(st.binary(max_size=100), max_size=5))
def test_contents_come_back_as_they_were(contents: list[bytes]) -> None:
    """Any bytes, also in another process, which reads the same salt."""
    with TemporaryDirectory() as directory:
        names = [UndoStore(Path(directory)).keep(one) for one in contents]
        assert [UndoStore(Path(directory)).content(name) for name in names] == contents


def test_a_content_that_was_changed_is_not_returned(tmp_path: Path) -> None:
    """A purge or a damaged disk changed it."""
    store = UndoStore(tmp_path)
    name = store.keep(b"something")
    (file,) = tmp_path.glob("contents/*/*")
    file.write_bytes(b"[purged]")

    assert store.content(name) is None
    assert store.content("../../../etc/passwd") is None
    assert store.keep(b"something") == name
    assert store.content(name) == b"something"


def test_names_of_contents_tell_nothing_about_them(tmp_path: Path) -> None:
    """Whoever finds a hash after a purge cannot test guesses with it."""
    assert UndoStore(tmp_path / "a").hash(b"x") != UndoStore(tmp_path / "b").hash(b"x")


def test_changes_are_recorded_until_they_are_taken_back(tmp_path: Path) -> None:
    """By appending; a second process sees the same."""
    store, other = UndoStore(tmp_path), CHANGE._replace(step="s2")
    store.add("talk", [CHANGE, other])
    store.add("../talk", [CHANGE])

    assert UndoStore(tmp_path).changes("talk") == [CHANGE, other]
    store.take_back("talk", [CHANGE])
    assert UndoStore(tmp_path).changes("talk") == [other]
    assert store.changes("another") == []
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".jsonl", ".jsonl"]


def test_damaged_and_foreign_records_are_skipped(tmp_path: Path) -> None:
    """One bad line does not take the way back from all others."""
    store = UndoStore(tmp_path)
    store.add("talk", [CHANGE])
    with (tmp_path / "talk.jsonl").open("ab") as file:
        file.write(b'{"step": 1}\n{"before": [1], "after": 2}\nrubbish\n[]\n')
    store.add("talk", [CHANGE._replace(path="b")])

    assert [change.path for change in store.changes("talk")] == ["a", "b"]


def test_large_files_are_not_kept(tmp_path: Path) -> None:
    """They would fill the disk."""
    assert UndoStore(tmp_path).keep(b"x" * (MOST_OF_FILE + 1)) == NOT_KEPT


def test_the_oldest_contents_are_deleted_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By age, and beyond the total size; records go by age only."""
    monkeypatch.setattr(undo_store, "MOST_IN_ALL", 250)
    store = UndoStore(tmp_path)
    names = [store.keep(bytes([number]) * 100) for number in range(4)]
    store.add("old", [CHANGE])
    for age, path in [
        (OLDEST + 1, tmp_path / "contents" / names[0][:2] / names[0]),
        (30, tmp_path / "contents" / names[1][:2] / names[1]),
        (20, tmp_path / "contents" / names[2][:2] / names[2]),
        (10, tmp_path / "contents" / names[3][:2] / names[3]),
        (OLDEST + 1, tmp_path / "old.jsonl"),
    ]:
        os.utime(path, (1e9 - age, 1e9 - age))

    store.tidy(now=1e9)

    assert [store.content(name) is not None for name in names] == [False, False, True, True]
    assert store.changes("old") == []


# Taking back

TEXT = st.text(alphabet="ab\n\r", max_size=8)
DEEDS = st.lists(st.tuples(st.sampled_from(["model", "user", "undo"]), st.sampled_from("ab"), TEXT), max_size=10)


@settings(max_examples=150)
@given(DEEDS)
def test_nothing_that_the_user_wrote_is_ever_lost(deeds: list[tuple[str, str, str]]) -> None:
    """Whatever the model and the user write in turns: a file that the user wrote last stays, and each content that an
    undo writes was there before."""
    with TemporaryDirectory() as directory:
        root = Path(directory, "work")
        root.mkdir()
        store = UndoStore(Path(directory, "undo"))
        files, history = ProjectFiles(store, [], None), FileHistory(store)
        site, had = Site(root, root, "talk"), {(root / name, b"") for name in "ab"}
        for number, (who, name, text) in enumerate(deeds):
            path = root / name
            if who == "user":
                path.write_bytes(b"user" + text.encode())
            elif who == "model":
                if path.exists():
                    files.read(site, name)
                try:
                    change = files.prepare_write(site, name, text)
                    files.apply(site, change, call="c", turn=1, step=str(number), by="write_file")
                except AishError:
                    continue  # it has this content already
            else:
                before = {one: one.read_bytes() if one.exists() else b"" for one in (root / "a", root / "b")}
                for plan in history.restorations(history.last_steps("talk", 1)):
                    history.restore("talk", [plan])
                for one, content in before.items():
                    now = one.read_bytes() if one.exists() else b""
                    assert now == content or not content.startswith(b"user")
                    assert (one, now) in had
            had.add((path, path.read_bytes() if path.exists() else b""))


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_all_steps_taken_back_give_the_first_state(texts: list[str]) -> None:
    """One by one or all at once."""
    with TemporaryDirectory() as directory:
        root = Path(directory, "work")
        root.mkdir()
        store = UndoStore(Path(directory, "undo"))
        files, history = ProjectFiles(store, [], None), FileHistory(store)
        site = Site(root, root, "talk")
        (root / "a").write_bytes(b"first\xff")
        for number, text in enumerate(texts):
            files.read(site, "a")
            try:
                files.apply(site, files.prepare_write(site, "a", text), call="", turn=1, step=str(number), by="w")
            except AishError:
                continue  # it has this content already

        for plan in history.restorations(history.changes("talk")):
            assert history.restore("talk", [plan]) == [""]

        assert (root / "a").read_bytes() == b"first\xff"
        assert history.changes("talk") == []


def test_a_file_that_cannot_be_restored_after_it_went_to_the_trash_says_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the last copy of something, and now it is not where it was."""
    root, store = tmp_path / "work", UndoStore(tmp_path / "undo")
    root.mkdir()
    (root / "a").write_bytes(b"new")
    states = FileState(store.keep(b"old"), 0o644), FileState(store.hash(b"new"), 0o644)
    store.add("talk", [FileChange("s1", 1, str(root), "a", *states, "mv b a", partial=True)])
    history = FileHistory(store)
    (plan,) = history.restorations(history.changes("talk"))

    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(undo, "write_inside", full)

    assert plan.uses_trash
    assert history.restore("talk", [plan]) == [
        "No space left on device; the file is in the trash now (aish trash --restore)"
    ]
    assert (tmp_path / "data/Trash/files/a").read_bytes() == b"new"
    assert history.changes("talk"), "it can be tried again"
