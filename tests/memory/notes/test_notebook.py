"""The notebook: changes by operations, forgetting, undo, and a person who edits at the same time."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from aish.memory.fingerprint import fingerprint
from aish.memory.in_memory import InMemoryNotes
from aish.memory.notes.document import Entry, parse
from aish.memory.notes.entry import ALPHABET
from aish.memory.notes.files import NoteFiles
from aish.memory.notes.merge import Conflict
from aish.memory.notes.notebook import AGENTS, SHARED, SOUL, Notebook, Saved
from aish.memory.notes.operations import Add, Forget, Invalidate, Operation, Supersede, ToHistory
from aish.memory.purge import Eraser
from aish.memory.redaction import Redaction
from aish.memory.secret_patterns import redact
from aish.storage.in_memory import InMemoryLog
from aish.storage.lines import LineFile
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.values.stores import Note, NoteName

CHANNEL = "garden-12ab"
SOURCE = "20261117-101500-abc/12-18"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PATTERNS = SimpleNamespace(redact=redact, fingerprint=fingerprint)
NAMES = ["MEMORY.md", "HISTORY.md", "SESSION.md"]


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 17, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: int) -> None:
        self.now += timedelta(days=days)


def ids() -> Callable[[], str]:
    """Return ids that count up."""
    numbers = count()

    def new_id() -> str:
        number, letters = next(numbers), ""
        for _ in range(5):
            number, place = divmod(number, len(ALPHABET))
            letters = ALPHABET[place] + letters
        return letters

    return new_id


class Home:
    """A workspace, and what a person does in it with an editor."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.clock = directory, Clock()
        self.meanwhile: list[Callable[[], object]] = []  # what happens just before a note is replaced
        self.book = self.open()

    def open(self, **options: Callable[[str], str]) -> Notebook:
        return Notebook(
            self._Meddled(self),
            CHANNEL,
            LineFile(self.directory / "log.jsonl"),
            Redaction(self.directory / "salt", lambda: PATTERNS),
            self.clock,
            ids(),
            **options,
        )

    class _Meddled(NoteFiles):
        def __init__(self, home: "Home") -> None:
            super().__init__(home.directory / "workspace")
            self._home = home

        def replace(self, name: NoteName, text: str, expected: str) -> str | Note:
            if self._home.meanwhile:
                self._home.meanwhile.pop(0)()
            return super().replace(name, text, expected)

    def path(self, file: str = "MEMORY.md") -> Path:
        return self.directory / "workspace" / "channels" / CHANNEL / file

    def text(self, file: str = "MEMORY.md") -> str:
        return self.path(file).read_bytes().decode()

    def write(self, text: str, file: str = "MEMORY.md") -> None:
        self.path(file).parent.mkdir(parents=True, exist_ok=True)
        self.path(file).write_bytes(text.encode())

    def edit(self, old: str, new: str, file: str = "MEMORY.md") -> None:
        assert old in self.text(file)
        self.write(self.text(file).replace(old, new), file)

    def texts(self, file: str = "MEMORY.md") -> list[str]:
        return [entry.text for entry in parse(self.text(file)).entries]

    def add(self, text: str, source: str = SOURCE, section: str = "Decisions") -> str:
        [result] = self.book.apply([Add(section, text, "model", source)], reason="told")
        return result.id if result.applied else result.reason

    def log(self) -> str:
        return (self.directory / "log.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_notes_are_made_when_they_are_needed_and_private(home: Home) -> None:
    assert home.book.read(home.book.memory) == parse("")
    home.add("Deploys run from main.")
    home.book.apply([Supersede("bbbbb", "Deploys run from release.")], reason="changed")
    home.book.save_session("", "## Goal\n\n- ship\n", reason="work")

    comment = "<!-- bbbbc 2026-11-17 -->"
    assert home.text() == f"# Memory\n\n## Decisions\n\n- Deploys run from release. {comment}\n"
    comment = f"<!-- bbbbb 2026-11-17 by=model from={SOURCE} -->"
    assert home.text("HISTORY.md") == (
        f"# History\n\n## 2026-11-17\n\n- Until 2026-11-17: Deploys run from main. {comment}\n"
    )
    for path in home.path().parent.iterdir():
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


@pytest.mark.proves("S2", "S3")
def test_notes_of_the_workspace_are_only_read(home: Home) -> None:
    home.add("one")
    (home.directory / "workspace" / "SOUL.md").write_text("- kind\n", encoding="utf-8")

    assert [entry.text for entry in home.book.read(SOUL).entries] == ["kind"]
    assert home.book.read(AGENTS) == home.book.read(SHARED) == parse("")
    for name in (SOUL, AGENTS, SHARED):
        with pytest.raises(BadUsage, match="by hand only"):
            home.book._replace(name, "- mean\n", "")
    with pytest.raises(BadUsage, match="channel name"):
        Notebook(InMemoryNotes(), "", InMemoryLog(), Redaction(home.directory / "salt", lambda: PATTERNS), home.clock)


@pytest.mark.proves("S8", "S37")
def test_a_change_of_the_person_made_meanwhile_is_kept(home: Home) -> None:
    """Operations apply to the text that is there when they are written, not to the one that was read."""
    home.add("one")
    home.meanwhile = [lambda: home.edit("one", "one and a half"), lambda: home.edit("# Memory", "# Mine\n\n- bare")]
    home.add("two")

    assert home.texts() == ["bare", "one and a half", "two"]
    assert home.text().startswith("# Mine\n")


@pytest.mark.proves("X3")
def test_an_entry_that_moves_is_in_both_notes_before_it_is_in_one(home: Home) -> None:
    """The program may be killed between the two writes."""
    id = home.add("one")

    def killed() -> None:
        raise KeyboardInterrupt

    home.meanwhile = [lambda: None, killed]
    with pytest.raises(KeyboardInterrupt):
        home.book.apply([Invalidate(id)], reason="old")
    assert (home.texts(), home.texts("HISTORY.md")) == (["one"], ["Until 2026-11-17: one"])
    home.book.apply([Invalidate(id)], reason="old")
    assert (home.texts(), home.texts("HISTORY.md")) == ([], ["Until 2026-11-17: one"])


@pytest.mark.proves("S37")
def test_an_operation_on_an_entry_that_was_removed_meanwhile_is_refused(home: Home) -> None:
    id = home.add("one")
    home.meanwhile = [lambda: home.write("- two\n")]

    [result] = home.book.apply([Invalidate(id)], reason="old")
    assert not result.applied and result.reason == f"there is no entry {id}"
    assert home.texts() == ["two"]


def test_a_note_that_keeps_changing_is_left_alone(home: Home) -> None:
    home.add("one")
    numbers = count()
    home.meanwhile = [lambda: home.write(f"- edit {next(numbers)}\n")] * 100

    with pytest.raises(StoreTrouble, match="keeps changing"):
        home.add("two")
    assert home.text().startswith("- edit ")


@pytest.mark.proves("M62")
def test_secrets_are_masked_in_notes_and_log(home: Home) -> None:
    results = home.book.apply([Add("Decisions", f"the token is {TOKEN}")], reason=f"because of {TOKEN}")
    home.book.save_session("", f"- use {TOKEN}\n", reason="work")
    home.book.apply([Supersede("bbbbb", f"now {TOKEN}"), Supersede("zzzzz", TOKEN)], reason="changed")

    assert results[0].masked == "masked before saving: 1 × GitHub token"
    for path in home.directory.rglob("*"):
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


def test_the_log_says_what_was_done_and_refused_and_why(home: Home) -> None:
    home.add("one")
    home.book.apply([Add("A", "ONE"), Forget("zzzzz"), Add("A", "two")], reason="night", by_user=True)

    newest, oldest = home.book.log()
    assert (newest.reason, newest.by_user, newest.number, newest.time[:10]) == ("night", True, 2, "2026-11-17")
    assert newest.refused == (("add", "already known"), ("forget zzzzz", "there is no entry zzzzz"))
    assert [row.after and row.after.text for row in newest.rows] == ["two"]
    assert oldest.reason == "told" and home.book.log(1) == [newest]


# Forgetting


@pytest.mark.parametrize("by_hand", [False, True])
def test_forgotten_stays_forgotten(home: Home, by_hand: bool) -> None:
    """By a command or by deleting the line: the same turns must not bring it back, also in other words."""
    id = home.add("My birthday is the third of May.")
    home.add("Deploys run from main.")
    if by_hand:
        line = next(line for line in home.text().split("\n") if "birthday" in line)
        home.edit(line + "\n", "")
    else:
        home.book.apply([Forget(id)], reason="asked", by_user=True)
    home.book = home.open()  # also after a restart

    assert home.add("my birthday is the third of may", "") == "was forgotten"
    assert home.add("The user's birthday: May, the third", "20261117-101500-abc/18-30") == "was forgotten"
    assert home.add("Birthday presents are ordered in advance", "20261117-101500-abc/1-11") not in ("was forgotten", "")
    assert home.add("The cat is grey", SOURCE) not in ("was forgotten", "")
    results = home.book.apply([Supersede("bbbbc", "Birthday on third May", "model", SOURCE)], reason="again")
    assert results[0].reason == "was forgotten"
    assert "birthday is the third" not in home.text().casefold()
    fingerprints = [line for line in home.log().split("\n") if '"forgotten"' in line]
    assert fingerprints and not any("birthday" in line.casefold() for line in fingerprints)


def test_other_turns_may_say_something_similar(home: Home) -> None:
    """Otherwise one forgotten entry would keep out everything about its subject."""
    ids = [home.add("My birthday is the third of May."), home.add("The harbour office opens at nine", "other/1-9")]
    home.book.apply([Forget(id) for id in ids], reason="asked", by_user=True)

    assert home.add("The birthday of the third child is in May", "other/3-4") != "was forgotten"
    assert home.add("The office at the harbour: nine", "other/3-4") == "was forgotten"
    assert home.add("The office at the harbour: nine", "another/3-4") != "was forgotten"


def test_the_user_may_say_it_again(home: Home) -> None:
    home.book.apply([Forget(home.add("My birthday is the third of May."))], reason="asked", by_user=True)
    [result] = home.book.apply([Add("Preferences", "My birthday is the third of May.")], reason="told", by_user=True)
    assert result.applied

    [result] = home.book.apply([Supersede(result.id, "The birthday is in May", "model", SOURCE)], reason="later")
    assert result.applied, "it is no longer forgotten"


def test_a_deleted_line_that_the_person_puts_back_is_not_forgotten(home: Home) -> None:
    id = home.add("My birthday is the third of May.")
    before = home.text()
    home.write("# Memory\n")
    assert home.add("one") != ""
    home.write(before)

    [result] = home.book.apply([Supersede(id, "The birthday is the third of June", "model", SOURCE)], reason="later")
    assert result.applied


def test_a_missing_note_is_no_wish_to_forget(home: Home) -> None:
    """It may have been moved away by mistake."""
    home.add("one thing that matters")
    home.path().unlink()

    assert home.add("one thing that matters") not in ("was forgotten", "")


def test_moves_of_the_program_and_of_the_person_are_no_wish_to_forget(home: Home) -> None:
    ids = [home.add(f"thing number {word}") for word in ("one", "two", "three")]
    home.book.apply([ToHistory(ids[0])], reason="old")
    line = next(line for line in home.text().split("\n") if "two" in line)
    home.edit(line + "\n", "")
    home.write(home.text("HISTORY.md") + line + "\n", "HISTORY.md")
    home.edit("- thing number three", "- parent\n  - thing number three")
    home.add("four")

    assert '"forgotten"' not in home.log()


def test_entries_of_an_interrupted_change_are_known_later(home: Home) -> None:
    """The program was killed after the note was written, and before the log was."""
    home.add("one thing that matters")
    (home.directory / "log.jsonl").unlink()
    home.add("two")
    home.write("# Memory\n")

    assert home.add("one thing that matters") == "was forgotten"


def test_without_a_salt_nothing_is_forgotten_halfway(home: Home) -> None:
    id = home.add("one")
    (home.directory / "salt").mkdir()
    with pytest.raises(StoreTrouble, match="salt"):
        home.book.apply([Forget(id)], reason="asked")

    assert home.texts() == ["one"]


# Probation


def test_probation_ends_by_recall_or_by_time(home: Home) -> None:
    operations = [Add("Decisions", f"maybe {word}", "model", SOURCE, "2026-12-17") for word in ("one", "two")]
    one, two, _ = (result.id for result in home.book.apply([*operations, Add("A", "sure")], reason="told"))
    home.clock.pass_days(30)
    assert home.book.expire() == [], "the last day counts"
    assert home.book.promote([one, "zzzzz"]) == [one]
    assert home.book.promote([one]) == []
    home.clock.pass_days(1)
    assert home.book.expire() == [two]

    assert home.texts() == ["maybe one", "sure"]
    assert home.add("maybe two") != "was forgotten", "it may be learned again"
    assert [change.reason for change in home.book.log()][1:3] == ["probation ended", "recalled"]


def test_a_clock_that_jumps_backwards_does_no_harm(home: Home) -> None:
    home.add("one")
    home.clock.pass_days(-400)
    id = home.add("two")
    home.book.apply([Invalidate(id)], reason="old")
    home.clock.pass_days(400)
    home.book.apply([Invalidate("bbbbb")], reason="old")

    assert parse(home.text("HISTORY.md")).sections == ["History", "2025-10-13", "2026-11-17"]
    assert home.book.undo() == "undid: old" and home.texts() == ["one"]


# Undo


def test_undo_takes_back_one_change_after_the_other(home: Home) -> None:
    home.add("one")
    first = home.text()
    home.book.apply([Supersede("bbbbb", "two"), Add("A", "three")], reason="changed")
    home.book.apply([Forget("bbbbc")], reason="gone")

    assert home.book.undo() == "undid: gone"
    assert home.book.undo() == "undid: changed"
    assert parse(home.text()).entries == parse(first).entries
    assert home.texts("HISTORY.md") == []
    assert home.book.undo() == "undid: told"
    with pytest.raises(NotFound, match="there is no change of"):
        home.book.undo()
    assert home.texts() == []
    assert [change.undone for change in home.book.log()] == [False, False, False, True, True, True]


def test_undo_keeps_what_the_person_changed_since_and_says_so(home: Home) -> None:
    home.add("one")
    home.book.apply([Supersede("bbbbb", "two"), Add("A", "three"), Add("A", "four")], reason="changed")
    home.edit("- two", "- two, they said")
    home.edit("# Memory\n", "# Memory\n\nBy hand.\n")

    assert home.book.undo() == "undid: changed; kept 1 entry that you changed since"
    assert sorted(home.texts()) == ["one", "two, they said"]
    assert "By hand." in home.text()
    assert [one.conflict for one in home.book.conflicts()] == [Conflict("bbbbc", "two", "", "two, they said")]


@pytest.mark.parametrize(("take", "texts"), [("mine", ["one"]), ("theirs", ["one", "two, they said"])])
def test_a_conflict_is_resolved_by_the_user(home: Home, take: str, texts: list[str]) -> None:
    home.add("one")
    home.book.apply([Supersede("bbbbb", "two")], reason="changed")
    home.edit("- two", "- two, they said")
    home.book.undo()
    home.book.resolve("bbbbc", take)

    assert sorted(home.texts()) == texts
    assert home.book.conflicts() == []
    with pytest.raises(NotFound, match="no conflict"):
        home.book.resolve("bbbbc", take)
    with pytest.raises(BadUsage):
        home.book.resolve("bbbbc", "both")


def test_what_is_undone_may_be_learned_again(home: Home) -> None:
    home.add("My birthday is the third of May.")
    home.book.undo()

    assert home.add("My birthday is the third of May.") != "was forgotten"


# SESSION.md


def test_working_state_is_merged_with_what_is_on_disk(home: Home) -> None:
    old = "## Goal\n\n- ship 1.0 <!-- bbbbb -->\n\n## Next Steps\n\n- test\n"
    assert home.book.save_session("", old, reason="work").text == old
    home.edit("- test", "- test\n- call Ada", "SESSION.md")
    saved = home.book.save_session(old, old.replace("1.0", "1.1").replace("- test", "- release"), reason="work")

    assert home.texts("SESSION.md") == ["ship 1.1", "call Ada", "release"]
    assert saved == Saved(home.text("SESSION.md"), [])
    home.edit("ship 1.1", "ship 2.0", "SESSION.md")
    again = home.book.save_session(saved.text, saved.text.replace("1.1", "1.2"), reason="work")
    assert again.conflicts == [Conflict("bbbbb", "ship 1.1", "ship 1.2", "ship 2.0")]
    assert "ship 2.0" in home.text("SESSION.md")
    assert [one.note for one in home.book.conflicts()] == ["SESSION.md"]
    home.book.resolve("bbbbb", "theirs")


def test_working_state_that_is_edited_while_it_is_saved_is_merged(home: Home) -> None:
    old = home.book.save_session("", "- one\n", reason="work").text
    home.meanwhile = [lambda: home.write("- one\n- by hand\n", "SESSION.md")]
    home.book.save_session(old, "- one\n- two\n", reason="work")

    assert home.texts("SESSION.md") == ["one", "by hand", "two"]


@pytest.mark.proves("S36")
def test_a_missing_session_is_made_again(home: Home) -> None:
    old = home.book.save_session("", "- one\n", reason="work").text
    home.path("SESSION.md").unlink()
    home.book.save_session(old, "- two\n", reason="work")

    assert home.text("SESSION.md") == "- two\n"


def test_a_session_that_cannot_be_written_is_refused(home: Home) -> None:
    with pytest.raises(Declined, match="NUL"):
        home.book.save_session("", "a\0", reason="work")
    with pytest.raises(Declined, match="purged"):
        home.open(refuse=lambda text: "purged" if "magpie" in text else "").save_session(
            "", "- magpie\n", reason="work"
        )
    assert not home.path("SESSION.md").exists()


# Bad notes


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"- a\n<<<<<<< HEAD\n- b\n", "merge markers"),
        (b"- a \xff\n", "not valid UTF-8"),
        (os.urandom(3000) + b"\xff", "not valid UTF-8"),
        (b"- a\0\n", "NUL"),
        (b"- a %s\n" % (b"b" * 1000) * 1100, "larger than 1 MB"),
        (b"- a\n" * 1_400_000, "larger than 5 MB"),
    ],
    ids=["merge", "latin", "binary", "nul", "1MB", "5MB"],
)
def test_a_note_that_cannot_be_written_is_left_as_it_is(home: Home, data: bytes, problem: str) -> None:
    """The caller is told why, and can go on without it."""
    for file in NAMES:
        home.path(file).parent.mkdir(parents=True, exist_ok=True)
        home.path(file).write_bytes(data)

    [result] = home.book.apply([Add("A", "one")], reason="told")
    assert not result.applied and "MEMORY.md is not changed" in result.reason and problem in result.reason
    with pytest.raises(StoreTrouble, match=r"SESSION\.md is not changed"):
        home.book.save_session("", "- one\n", reason="work")
    assert home.book.expire() == home.book.promote(["bbbbb"]) == []
    assert problem in home.book.read(home.book.memory).problem
    home.book.identify()
    assert not home.book.fold()
    assert all(home.path(file).read_bytes() == data for file in NAMES)


@pytest.mark.parametrize("kind", ["directory", "link", "deleted", "file"])
@pytest.mark.parametrize("file", ["MEMORY.md", "HISTORY.md"])
def test_a_note_that_is_replaced_during_a_change(home: Home, kind: str, file: str) -> None:
    """By a directory or a link: an error, and nothing is damaged. Deleted or by another file: the change goes on."""
    home.add("one")
    home.book.apply([ToHistory(home.add("two"))], reason="old")
    outside = home.directory / "outside.md"
    outside.write_text("- of somebody else\n", encoding="utf-8")

    def replaced() -> None:
        home.path(file).unlink()
        if kind == "directory":
            home.path(file).mkdir()
        elif kind == "link":
            home.path(file).symlink_to(outside)
        elif kind == "file":
            home.write("- by hand\n", file)

    home.meanwhile = [replaced]
    change: list[Operation] = [Add("A", "three"), ToHistory("bbbbb")]
    if kind in ("directory", "link"):
        with pytest.raises(StoreTrouble, match=r"directory|symbolic link"):
            home.book.apply(change, reason="told")
        assert (home.path(file).is_dir(), home.path(file).is_symlink()) == (kind == "directory", kind == "link")
        home.path(file).rmdir() if kind == "directory" else home.path(file).unlink()
    home.book.apply(change, reason="told")

    assert "three" in home.texts()
    assert outside.read_text(encoding="utf-8") == "- of somebody else\n"


def test_bare_entries_get_ids_on_demand(home: Home) -> None:
    home.write("Mine\n====\n\n* one\n* two <!-- zzzzz -->\n")
    document = home.book.identify()

    assert home.text() == "Mine\n====\n\n* one <!-- bbbbb -->\n* two <!-- zzzzz -->\n"
    assert [entry.id for entry in document.entries] == ["bbbbb", "zzzzz"]
    assert home.book.log() == []


@pytest.mark.proves("R15")
def test_old_history_is_folded_and_archived_once(home: Home) -> None:
    home.write("# History\n\n## 2026-01-02\n\n- Started. <!-- ccccc 2026-01-02 -->\n", "HISTORY.md")
    home.meanwhile = [lambda: None, lambda: home.edit("Started.", "Really started.", "HISTORY.md")]
    home.book.fold()
    assert home.book.fold() and not home.book.fold()

    assert parse(home.text("HISTORY.md")).entries == [Entry("ccccc", "2026-01", "Really started.", "2026-01-02")]
    assert "Really started." in home.text("HISTORY.archive.md")
    assert home.add("one") != "" and '"forgotten"' not in home.log()


def test_an_interrupted_fold_archives_nothing_twice(home: Home) -> None:
    home.write("## 2026-01-02\n\n- Started.\n", "HISTORY.md")

    def killed() -> None:
        raise KeyboardInterrupt

    home.meanwhile = [lambda: None, killed]
    with pytest.raises(KeyboardInterrupt):
        home.book.fold()
    assert "2026-01-02" in home.text("HISTORY.md")
    assert home.book.fold()
    assert home.text("HISTORY.archive.md").count("Started.") == 1


def test_a_full_archive_is_followed_by_another(home: Home) -> None:
    home.write("x" * (1 << 20), "HISTORY.archive.md")
    home.write("## 2026-01-02\n\n- Started.\n", "HISTORY.md")
    assert home.book.fold()

    assert "Started." in home.text("HISTORY.archive.2.md")


# Purging


@pytest.mark.proves("M61")
def test_a_purge_leaves_nothing_in_notes_archive_generations_and_log(home: Home) -> None:
    """A conflict, a forgotten entry and an undone one are in the log, too."""
    ids = [home.add(f"the magpie nest is {word}") for word in ("high", "low", "wide", "far")]
    home.book.apply([Supersede(ids[0], "the magpie nest is gone"), Forget(ids[1])], reason="about the magpie nest")
    home.edit("- the magpie nest is gone", "- the Magpie  Nest is gone away")
    home.book.undo()
    home.book.save_session("", "- look for the magpie nest\n", reason="work")
    home.clock.pass_days(100)
    home.book.apply([ToHistory(ids[2]), Forget(ids[3])], reason="old")
    home.clock.pass_days(100)
    home.book.fold()
    home.edit("- the magpie nest", "- the magpie nest by hand", "HISTORY.md")
    eraser = Eraser(["magpie nest"], str)
    left = home.path(".SESSION.md." + "a" * 32 + "." + "b" * 32 + ".swap")
    left.write_bytes(b"a magpie nest")

    notes = NoteFiles(home.directory / "workspace")
    assert notes.erase(eraser) > 4
    assert LineFile(home.directory / "log.jsonl").erase(eraser) > 4
    for path in home.directory.rglob("*"):
        assert not path.is_file() or b"magpie" not in path.read_bytes().lower(), path
    assert home.book.log() and home.add("one") and home.book.undo()
    assert home.add("the magpie nest is far", "") == "was forgotten"


def test_purged_text_is_refused(home: Home) -> None:
    book = home.open(refuse=lambda text: "was purged" if "magpie" in text else "")
    results = book.apply([Add("A", "a magpie"), Add("A", "a crow")], reason="told", by_user=True)

    assert [result.reason for result in results] == ["was purged", ""]


def test_a_notebook_in_memory_works_the_same(tmp_path: Path) -> None:
    """For runs that store nothing."""
    redaction = Redaction(tmp_path / "salt", lambda: PATTERNS)
    book = Notebook(InMemoryNotes(), CHANNEL, InMemoryLog(), redaction, Clock(), ids())
    book.apply([Add("A", "one"), Add("A", "two")], reason="told")
    book.apply([Invalidate("bbbbb")], reason="old")

    assert [entry.text for entry in book.read(book.history).entries] == ["Until 2026-11-17: one"]
    assert book.undo() == "undid: old"
    assert [entry.text for entry in book.read(book.memory).entries] == ["two", "one"]
