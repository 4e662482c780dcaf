"""The contract of notes, for every adapter."""

from pathlib import Path

import pytest

from aish.memory.in_memory import InMemoryNotes
from aish.memory.notes import NoteFiles
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
