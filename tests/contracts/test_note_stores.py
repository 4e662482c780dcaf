"""The contract of notes, for every adapter."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from aish.memory.in_memory import InMemoryNotes
from aish.memory.notes.files import LARGEST_READ, NoteFiles, exchange_files
from aish.memory.purge import Eraser
from aish.values.channels import channel_of, is_channel_name
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.stores import Note, NoteName, NoteStore

MEMORY = NoteName("MEMORY.md", "aish-0a1b")


@pytest.fixture(params=["files", "in memory"])
def notes(request: pytest.FixtureRequest, tmp_path: Path) -> NoteStore:
    return NoteFiles(tmp_path / "workspace") if request.param == "files" else InMemoryNotes()


def write(notes: NoteStore, name: NoteName, text: str) -> str:
    revision = notes.replace(name, text, notes.read(name).revision)
    assert isinstance(revision, str)
    return revision


def test_a_note_is_read_with_its_revision(notes: NoteStore) -> None:
    assert notes.read(MEMORY) == Note("", "")
    revision = write(notes, MEMORY, "# Ärger\n\n- one\n")

    assert notes.read(MEMORY) == Note("# Ärger\n\n- one\n", revision)
    assert notes.read(NoteName("MEMORY.md")) == Note("", "")


def test_half_a_character_becomes_a_question_mark(notes: NoteStore) -> None:
    revision = write(notes, MEMORY, "a\ud800b")

    assert notes.read(MEMORY) == Note("a?b", revision)


def test_the_second_of_two_writers_gets_the_text_of_the_first(notes: NoteStore) -> None:
    """A writer never overwrites a text it has not seen."""
    first = write(notes, MEMORY, "one")
    second = write(notes, MEMORY, "two")

    assert notes.replace(MEMORY, "mine", first) == Note("two", second)
    assert notes.replace(MEMORY, "mine", "") == Note("two", second)
    assert notes.replace(NoteName("NEW.md"), "mine", first) == Note("", "")
    assert notes.read(MEMORY).text == "two"
    assert notes.names() == [MEMORY]


def test_the_last_five_texts_are_kept(notes: NoteStore) -> None:
    for number in range(8):
        write(notes, MEMORY, f"text {number}")
    write(notes, MEMORY, "text 7")  # the same text is not a new version

    assert notes.earlier(MEMORY) == [f"text {number}" for number in (6, 5, 4, 3, 2)]
    assert notes.earlier(NoteName("OTHER.md")) == []


def test_an_empty_note_exists(notes: NoteStore) -> None:
    revision = write(notes, MEMORY, "")

    assert revision
    assert notes.names() == [MEMORY]
    assert notes.replace(MEMORY, "more", "") == Note("", revision)


def test_names_are_sorted_and_include_the_channel(notes: NoteStore) -> None:
    names = [NoteName("MEMORY.md"), NoteName("HISTORY.md", "b-1"), NoteName("MEMORY.md", "a-1"), NoteName("AGENTS.md")]
    for name in names:
        write(notes, name, "x")

    assert notes.names() == sorted(names)


def test_erased_text_is_in_no_note_and_no_earlier_text(notes: NoteStore, tmp_path: Path) -> None:
    for text in ("a Wolpertinger", "no animal", "wolpertinger again", "rain"):
        write(notes, MEMORY, text)
    write(notes, NoteName("AGENTS.md"), "feed the wolpertinger")

    assert notes.erase(Eraser(["wolpertinger"], str)) == 3
    assert notes.read(NoteName("AGENTS.md")).text == "feed the [purged]"
    assert notes.earlier(MEMORY) == ["[purged] again", "no animal", "a [purged]"]
    assert not any(b"olpertinger" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert notes.erase(Eraser(["wolpertinger"], str)) == 0


@pytest.mark.parametrize(
    "name",
    [
        *(NoteName(file) for file in ("", "..", "../x.md", "a/b.md", ".md", ".hidden.md", "x\0.md", "x.txt", "x.md\n")),
        NoteName("x" * 200 + ".md"),
        *(NoteName("x.md", channel) for channel in ("..", ".", "a/b", ".hidden", "a\0", "a b", "a\n", "x" * 61, "~")),
    ],
    ids=repr,
)
def test_no_name_leads_out_of_the_workspace(notes: NoteStore, name: NoteName) -> None:
    for use in (notes.read, notes.earlier, lambda name: notes.replace(name, "x", "")):
        with pytest.raises(BadUsage):
            use(name)
    assert notes.names() == []


@pytest.mark.parametrize(
    "directory", ["/home/me/aish", "/", "/tmp/日本語のプロジェクト", "/a/" + "x" * 300, "/a/.hidden", "/a/ß"]
)
def test_every_channel_can_have_notes(notes: NoteStore, directory: str) -> None:
    channel = channel_of(directory)
    assert is_channel_name(channel)
    write(notes, NoteName("MEMORY.md", channel), "x")

    assert notes.names() == [NoteName("MEMORY.md", channel)]


# Files only


def test_files_are_private_and_no_leftover_stays(tmp_path: Path) -> None:
    notes = NoteFiles(tmp_path / "workspace")
    write(notes, MEMORY, "one")
    write(notes, MEMORY, "two")
    directory = tmp_path / "workspace" / "channels" / MEMORY.channel

    assert (directory / "MEMORY.md").read_text(encoding="utf-8") == "two"
    assert sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*")) == [
        ".earlier",
        ".earlier/MEMORY.md.1",
        "MEMORY.md",
    ]
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_a_note_the_user_changed_is_not_overwritten(tmp_path: Path) -> None:
    notes = NoteFiles(tmp_path)
    revision = write(notes, MEMORY, "one")
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    path.write_bytes(b"by hand \xff")
    found = notes.replace(MEMORY, "two", revision)

    assert found == notes.read(MEMORY) and isinstance(found, Note)
    assert found.text == "by hand \ufffd"
    assert isinstance(notes.replace(MEMORY, "two", found.revision), str)
    assert (path.parent / ".earlier" / "MEMORY.md.1").read_bytes() == b"by hand \xff"


@pytest.mark.parametrize(
    "link", ["channels", "channels/aish-0a1b", "channels/aish-0a1b/MEMORY.md", "channels/aish-0a1b/.earlier"]
)
def test_links_are_refused(tmp_path: Path, link: str) -> None:
    """A link could redirect private text elsewhere, or show another file as a note."""
    outside = tmp_path / "outside"
    (outside / "aish-0a1b").mkdir(parents=True)
    (outside / "MEMORY.md").write_text("of somebody else", encoding="utf-8")
    (outside / "aish-0a1b" / "MEMORY.md").write_text("of somebody else", encoding="utf-8")
    (outside / ".MEMORY.md.1-2.tmp").write_text("of somebody else", encoding="utf-8")
    path = tmp_path / "workspace" / link
    path.parent.mkdir(parents=True)
    path.symlink_to(outside / "MEMORY.md" if link.endswith(".md") else outside)
    notes = NoteFiles(tmp_path / "workspace")

    for use in (notes.read, notes.earlier, lambda name: notes.replace(name, "x", "")):
        with pytest.raises(StoreTrouble, match="symbolic link"):
            use(MEMORY)
    assert notes.names() == []
    assert notes.erase(Eraser(["somebody"], str)) == 0
    assert "somebody" in (outside / "MEMORY.md").read_text(encoding="utf-8")
    assert (outside / ".MEMORY.md.1-2.tmp").exists()


def test_earlier_texts_of_a_deleted_note_and_leftovers_are_erased(tmp_path: Path) -> None:
    notes = NoteFiles(tmp_path)
    write(notes, MEMORY, "a wolpertinger")
    write(notes, MEMORY, "rain")
    directory = tmp_path / "channels" / MEMORY.channel
    (directory / "MEMORY.md").unlink()
    (directory / ".MEMORY.md.1-2.tmp").write_text("a wolpertinger", encoding="utf-8")
    (directory / ".earlier" / ".MEMORY.md.1.1-2.tmp").write_text("a wolpertinger", encoding="utf-8")

    assert notes.erase(Eraser(["wolpertinger"], str)) == 1
    assert not any(b"wolpertinger" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize("place", ["disk", "memory"])
def test_an_edit_at_the_last_moment_is_not_overwritten(tmp_path: Path, place: str) -> None:
    """An editor takes no lock, and may save between the comparison and the replacement."""
    with directory_on(place, tmp_path) as directory:
        path = directory / "channels" / MEMORY.channel / MEMORY.file

        def saved_before(first: Path, second: Path) -> None:
            if edits:
                edits.pop(0)()
            exchange_files(first, second)

        notes = NoteFiles(directory, saved_before)
        edits: list[Callable[[], object]] = []
        revision = write(notes, MEMORY, "one")
        edits = [lambda: path.write_bytes(b"by hand")]
        found = notes.replace(MEMORY, "two", revision)

        assert found == notes.read(MEMORY) == Note("by hand", found[1])
        assert notes.earlier(MEMORY) == []
        edits = [lambda: path.write_bytes(b"again"), lambda: path.write_bytes(b"and again")]
        assert notes.replace(MEMORY, "two", found[1]) == notes.read(MEMORY)
        assert notes.read(MEMORY).text == "and again", "saved once more while the first text was put back"
        assert notes.earlier(MEMORY) == ["again"]
        assert list(path.parent.glob(".*.swap")) == []


@pytest.mark.parametrize("kind", ["deleted", "directory", "link"])
def test_a_note_that_vanishes_at_the_last_moment(tmp_path: Path, kind: str) -> None:
    path, outside = tmp_path / "channels" / MEMORY.channel / MEMORY.file, tmp_path / "outside"
    outside.write_bytes(b"of somebody else")

    def vanished(first: Path, second: Path) -> None:
        if not path.is_symlink() and path.is_file() and path.read_bytes() == b"one":
            path.unlink()
            if kind == "directory":
                path.mkdir()
            elif kind == "link":
                path.symlink_to(outside)
        exchange_files(first, second)

    notes = NoteFiles(tmp_path, vanished)
    revision = write(notes, MEMORY, "one")
    if kind == "deleted":
        assert notes.replace(MEMORY, "two", revision) == Note("", "")
    else:
        with pytest.raises(StoreTrouble, match=r"directory|symbolic link"):
            notes.replace(MEMORY, "two", revision)
    assert (path.is_symlink(), path.is_dir()) == (kind == "link", kind == "directory")
    assert outside.read_bytes() == b"of somebody else"
    assert [one.name for one in path.parent.iterdir() if one.name.endswith((".swap", ".tmp"))] == []


def test_a_note_that_appears_at_the_last_moment_is_not_overwritten(tmp_path: Path) -> None:
    notes = NoteFiles(tmp_path)
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    path.parent.mkdir(parents=True)

    class Late(NoteFiles):
        def _swap(self, path: Path, new: bytes, expected: str, *, keep: bool = True) -> bool:
            path.write_bytes(b"by hand")
            return super()._swap(path, new, expected, keep=keep)

    assert Late(tmp_path).replace(MEMORY, "mine", "") == notes.read(MEMORY)
    assert notes.read(MEMORY).text == "by hand"


def test_a_system_that_cannot_exchange_files_compares_before_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    edits: list[Callable[[], object]] = []

    def unable(first: Path, second: Path) -> None:
        if edits:
            edits.pop(0)()
        raise OSError(errno.EINVAL, "not here")

    notes = NoteFiles(tmp_path, unable)
    revision = write(notes, MEMORY, "two" if write(notes, MEMORY, "one") else "")
    edits = [lambda: path.write_bytes(b"by hand")]

    assert notes.replace(MEMORY, "three", revision) == notes.read(MEMORY)
    assert (notes.read(MEMORY).text, notes.earlier(MEMORY)) == ("by hand", ["one"])
    write(notes, MEMORY, "three")
    assert notes.earlier(MEMORY) == ["by hand", "one"]


@pytest.mark.parametrize("moment", range(4))
def test_a_killed_writer_loses_no_edit(tmp_path: Path, moment: int) -> None:
    """It may die while the edit of a person is swapped out; the next writer puts it back."""
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    moments = count()

    def killed(first: Path, second: Path) -> None:
        number = next(moments)
        if number == moment:
            raise Killed
        if number == 0:
            path.write_bytes(b"by hand")
        exchange_files(first, second)
        if number + 2 == moment:
            raise Killed

    notes = NoteFiles(tmp_path, killed)
    revision = write(NoteFiles(tmp_path), MEMORY, "one")
    Unfinished.leave(notes, revision)

    found = NoteFiles(tmp_path).replace(MEMORY, "three", revision)
    after = NoteFiles(tmp_path)
    text = after.read(MEMORY).text
    assert (text, isinstance(found, Note)) == (("three", False) if moment == 0 else ("by hand", True))
    assert list(path.parent.glob(".*.swap")) == []


class Killed(BaseException):
    """The program ends here."""


class Unfinished(NoteFiles):
    """A writer that is killed, and so cannot finish anything."""

    @classmethod
    def leave(cls, notes: NoteFiles, revision: str) -> None:
        notes.__class__ = cls
        with pytest.raises(Killed):
            notes.replace(MEMORY, "two", revision)

    def _finish(self, path: Path) -> None:
        pass


def test_blocks_keep_others_out_and_may_be_nested(notes: NoteStore) -> None:
    with notes.exclusive(), notes.exclusive():
        revision = write(notes, MEMORY, "one")
    assert notes.read(MEMORY) == Note("one", revision)


def test_a_note_that_is_not_text_says_so(tmp_path: Path) -> None:
    notes = NoteFiles(tmp_path)
    revision = write(notes, MEMORY, "a \ufffd that somebody typed")
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    assert notes.read(MEMORY) == Note("a \ufffd that somebody typed", revision)

    path.write_bytes(b"\xff")
    assert notes.read(MEMORY).problem == "it is not valid UTF-8"
    path.write_bytes(b"x" * (LARGEST_READ + 1))
    assert notes.read(MEMORY)[::2] == ("", "it is larger than 5 MB")
    assert isinstance(notes.replace(MEMORY, "mine", revision), Note)


def test_a_purge_does_not_overwrite_an_edit(tmp_path: Path) -> None:
    path = tmp_path / "channels" / MEMORY.channel / MEMORY.file
    edits: list[Callable[[], object]] = [lambda: path.write_bytes(b"a wolpertinger by hand")]

    def saved_before(first: Path, second: Path) -> None:
        if edits:
            edits.pop(0)()
        exchange_files(first, second)

    notes = NoteFiles(tmp_path, saved_before)
    write(NoteFiles(tmp_path), MEMORY, "a wolpertinger")

    assert notes.erase(Eraser(["wolpertinger"], str)) == 1
    assert (notes.read(MEMORY).text, notes.earlier(MEMORY)) == ("a [purged] by hand", [])
    assert not any(b"wolpertinger" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


@contextmanager
def directory_on(place: str, tmp_path: Path) -> Iterator[Path]:
    """Return a directory on a disk, or on a file system in memory if there is one."""
    memory = Path("/dev/shm")
    if place == "disk" or not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as directory:
        yield Path(directory)
