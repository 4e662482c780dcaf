"""`aish notes VERB`, `:notes` and `:session`: notes for scripts and people, with JSON, exit codes and an editor."""

import json
import sys
from typing import Any

import pytest
from note_taking import STATE, Desk
from world import Ran, World

from aish.cli import run
from aish.memory.notes.operations import Add

ENVOY = "<!-- bcdfg 2026-11-01 by=model from=20261101-101500-abc/3-8 -->"
MEMORY = f"""\
# Memory

## Preferences

- short answers <!-- hjkmn 2026-11-02 -->

## Decisions

- billing runs on Envoy {ENVOY}
- maybe auth too <!-- pqrst 2026-11-10 until=2026-12-10 by=model from=20261110-101500-abc/1-2 -->

Prose of my own.
"""
SESSION = """\
# Session

## Goal

- move auth <!-- vwxzb 2026-11-17 from=20261117-101500-abc/1-4 -->

## Errors and Corrections

- It printed: db7 is down <!-- z2345 2026-11-17 by=tool:exec from=20261117-101500-abc/1-4 -->
"""


class Inside:
    """The command line inside this process: the same code, without the start-up time."""

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.world, self._capsys = world, capsys
        self.monkeypatch = monkeypatch
        for name, value in (("AISH_HOME", str(world.home)), ("TERM", "dumb"), ("NO_COLOR", "1"), ("COLUMNS", "200")):
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(world.directory)
        self.channel = world.program().channels.at(world.directory)
        self.folder = world.places.channel(self.channel)
        self.folder.mkdir(parents=True)
        (self.folder / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
        (self.folder / "SESSION.md").write_text(SESSION, encoding="utf-8")

    def __call__(self, *words: str) -> Ran:
        self._capsys.readouterr()
        code = run(["notes", *words])
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, "--json").out)

    def text(self, file: str = "MEMORY.md") -> str:
        return (self.folder / file).read_text(encoding="utf-8")

    def editor(self, script: str) -> None:
        """Use a Python script as the editor. `text` is what it gets and what it saves."""
        path = self.world.directory / "editor.py"
        before = "import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\ntext = file.read_text()\n"
        path.write_text(f"{before}{script}\nfile.write_text(text)\n", encoding="utf-8")
        self.monkeypatch.setenv("EDITOR", f"{sys.executable} {path}")
        self.monkeypatch.delenv("VISUAL", raising=False)


@pytest.fixture
def notes(world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Inside:
    return Inside(world, monkeypatch, capsys)


# Showing


def test_notes_for_scripts_with_the_real_program(world: World) -> None:
    """Results on standard output, and exit codes for `if` and `&&`."""
    empty = world.aish("notes", "show")
    channel = world.program().channels.at(world.directory)
    folder = world.places.channel(channel)
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(MEMORY, encoding="utf-8")
    shown = world.aish("notes", "show", "--json")
    wrong = world.aish("notes", "explode")

    assert (empty.code, empty.out.strip()) == (1, "there is no note 'memory' yet")
    assert shown.code == 0
    assert json.loads(shown.out)[0]["text"] == "short answers"
    assert wrong.code == 2
    assert "unknown verb 'explode'; use one of: show, log, undo" in wrong.err
    assert wrong.out == ""


def test_the_overview_lists_every_note(notes: Inside) -> None:
    """With its place, so that it can be opened in an editor."""
    told = notes()
    data = notes.json()

    assert told.code == 0
    assert told.out.splitlines()[0] == f"channel {notes.channel}, in {notes.folder}"
    assert "memory       3 entries  lasting facts" in told.out
    assert "workspace            -  notes for all projects (yours)" in told.out
    assert data["channel"] == notes.channel
    assert {one["name"]: one["entries"] for one in data["notes"] if one["exists"]} == {"session": 2, "memory": 3}


@pytest.mark.proves("X4")
def test_show_marks_probation_and_what_is_unconfirmed(notes: Inside) -> None:
    """Each entry ends with the id that other verbs take; the comment itself is not shown."""
    assert [line for line in notes("show").out.splitlines() if line] == [
        "# Memory",
        "## Preferences",
        "- short answers  [hjkmn]",
        "## Decisions",
        "- billing runs on Envoy  [bcdfg]",
        "- maybe auth too  [pqrst, until 2026-12-10]",
        "Prose of my own.",
    ]
    assert "- It printed: db7 is down  [z2345, unconfirmed]" in notes("show", "session").out
    assert "<!--" not in notes("show").out
    assert notes("show", "MEMORY.md").out == notes("show", "memory").out


@pytest.mark.parametrize("name", ["nothing", "../memory", "MEMORY.md.bak"])
def test_an_unknown_note_is_said(notes: Inside, name: str) -> None:
    """And which ones there are."""
    told = notes("show", name)

    assert told.code == 2
    assert "there are: session, memory, history" in told.err


def test_a_note_of_the_user_is_edited_in_its_own_file(notes: Inside) -> None:
    """aish never writes it, so there is nothing to merge."""
    told = notes("edit", "soul")

    assert told.code == 2
    assert "only session, memory, history can be edited here; open the file of soul itself" in told.err


def test_text_cannot_control_the_terminal(notes: Inside) -> None:
    """An entry may come from anywhere."""
    (notes.folder / "MEMORY.md").write_text("- red \x1b[31m alert \x07\n", encoding="utf-8")

    assert "\x1b" not in notes("show").out
    assert "\x07" not in notes("show").out


def test_another_channel_is_named_with_its_short_or_full_name(notes: Inside) -> None:
    """The digits tell projects of one name apart."""
    folder = notes.world.places.channel("garden-12ab")
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- water the roses\n", encoding="utf-8")

    for name in ("garden", "garden-12ab", "Garden"):
        assert "water the roses" in notes("show", "--channel", name).out
    gone = notes("show", "--channel", "roof")
    assert gone.code != 0
    assert "there is no channel 'roof'" in gone.err
    assert notes("show", "--channel", notes.channel, "session").out.startswith("# Session\n")
    bad = notes("show", "--channel", "../roof")
    assert bad.code == 2
    assert "not a valid channel name" in bad.err
    assert not (notes.world.places.workspace / "channels" / "roof").exists()


# Changing


@pytest.mark.proves("S37")
def test_forget_removes_an_entry_and_undo_brings_it_back(notes: Inside) -> None:
    """Every other byte stays as it was."""
    told = notes("forget", "bcdfg")
    after = notes.text()
    undone = notes("undo")

    assert (told.code, told.out) == (0, "forgotten: billing runs on Envoy\n")
    assert after == MEMORY.replace(f"- billing runs on Envoy {ENVOY}\n", "")
    assert undone.out == "undid: by the user\n  MEMORY.md + billing runs on Envoy\n"
    assert f"- billing runs on Envoy {ENVOY}" in notes.text()
    assert notes("undo").code != 0


@pytest.mark.parametrize("verb", ["forget", "keep", "why"])
@pytest.mark.parametrize("words", [[], ["zzzzz"], ["two", "ids"], [""]])
def test_an_id_is_needed(notes: Inside, verb: str, words: list[str]) -> None:
    """A wrong one changes nothing, and the message says where ids are shown."""
    told = notes(verb, *words)

    assert told.code != 0
    assert "show lists" in told.err
    assert notes.text() == MEMORY


@pytest.mark.parametrize("shown", ["memory:bcdfg", "[bcdfg]", "BCDFG"])
def test_an_id_may_be_given_as_it_is_shown_elsewhere(notes: Inside, shown: str) -> None:
    """`:why` shows the note with it, `:notes show` puts it into brackets."""
    assert notes("why", shown).out.startswith("entry      billing runs on Envoy\n")


@pytest.mark.proves("X4")
def test_keep_confirms_an_entry(notes: Inside) -> None:
    """It loses its probation and its doubt."""
    assert notes("keep", "pqrst").out == "kept: maybe auth too\n"
    assert notes("keep", "z2345").code == 0

    assert "- maybe auth too <!-- pqrst 2026-11-10 from=20261110-101500-abc/1-2 -->" in notes.text()
    assert "db7 is down <!-- z2345 2026-11-17 from=20261117-101500-abc/1-4 -->" in notes.text("SESSION.md")


@pytest.mark.proves("X1")
def test_why_explains_an_entry(notes: Inside) -> None:
    """Who said it and when, in which turns, how often it was recalled, and what became of it."""
    notes("keep", "pqrst")
    told = notes("why", "bcdfg").out
    kept = notes.json("why", "pqrst")

    assert "model" in told
    assert "turns 3-8 of 20261101-101500-abc (:thread 20261101-101500-abc/3)" in told
    assert "made       2026-11-01\n" in told
    assert "never" in told
    assert kept["from"] == "you"
    assert "by the user" in kept["changes"]
    assert kept["note"] == "memory, Decisions"


def test_the_log_tells_what_was_done_and_how_many_rows_can_be_given(notes: Inside) -> None:
    """Newest first."""
    assert notes("log").code == 1
    notes("forget", "bcdfg")
    notes("keep", "pqrst")
    rows = notes.json("log")

    assert "~ maybe auth too" in rows[0]["what"]
    assert "- billing runs on Envoy" in rows[1]["what"]
    assert len(notes.json("log", "1")) == 1
    for wrong in ("0", "-1", "x", "10001", "1.5"):
        assert notes("log", "--", wrong).code == 2


# Editing


@pytest.mark.proves("S8")
def test_edit_saves_what_the_editor_wrote(notes: Inside) -> None:
    """EDITOR is any program that changes the file."""
    notes.editor("text = text.replace('short answers', 'long answers')")
    told = notes("edit")

    assert (told.code, told.out) == (0, "saved MEMORY.md\n")
    assert notes.text() == MEMORY.replace("short answers", "long answers")
    notes.editor("text = text.replace('move auth', 'move billing')")
    assert notes.json("edit", "session") == {"changed": True, "conflicts": 0}
    assert notes.text("SESSION.md") == SESSION.replace("move auth", "move billing")


def test_edit_without_a_change_changes_nothing(notes: Inside) -> None:
    """The exit code says so."""
    notes.editor("pass")
    told = notes("edit", "memory")

    assert (told.code, told.out) == (1, "nothing was changed\n")
    assert notes.text() == MEMORY
    assert not (notes.folder / ".earlier").exists()


@pytest.mark.proves("S8")
def test_what_aish_changes_while_the_editor_is_open_is_merged(notes: Inside) -> None:
    """Both changes are there afterwards."""
    other = notes.folder / "MEMORY.md"
    notes.editor(
        f"other = pathlib.Path({str(other)!r})\n"
        "other.write_text(other.read_text().replace('billing runs on Envoy', 'billing runs on nginx'))\n"
        "text = text.replace('short answers', 'long answers')"
    )
    told = notes("edit")

    assert told.code == 0
    assert "long answers" in notes.text()
    assert "billing runs on nginx" in notes.text()


@pytest.mark.proves("S8")
def test_a_conflict_is_shown_and_the_users_text_is_kept(notes: Inside) -> None:
    """Both changed the same entry. The file has the user's text; nothing is resolved silently."""
    other = notes.folder / "MEMORY.md"
    notes.editor(
        f"other = pathlib.Path({str(other)!r})\n"
        "other.write_text(other.read_text().replace('billing runs on Envoy', 'billing runs on nginx'))\n"
        "text = text.replace('billing runs on Envoy', 'billing runs on Caddy')"
    )
    told = notes("edit")

    assert "1 conflict, your text was kept" in told.out
    assert "billing runs on Caddy" in notes.text()
    assert "nginx" not in notes.text()


def test_an_editor_that_fails_or_is_missing_changes_nothing(notes: Inside) -> None:
    """The message says what happened."""
    notes.editor("sys.exit(3)")
    failed = notes("edit")
    notes.monkeypatch.setenv("EDITOR", "/no/such/editor --wait")
    missing = notes("edit")
    notes.monkeypatch.setenv("EDITOR", "'unbalanced")
    odd = notes("edit")
    notes.monkeypatch.delenv("EDITOR")
    nothing = notes("edit")

    assert (failed.code, missing.code, odd.code, nothing.code) == (2, 2, 2, 2)
    assert "exit status 3; nothing was changed" in failed.err
    assert "cannot start the editor '/no/such/editor --wait'" in missing.err
    assert "cannot start the editor" in odd.err
    assert "set EDITOR" in nothing.err
    assert notes.text() == MEMORY


def test_an_editor_that_deletes_its_file_changes_nothing(notes: Inside) -> None:
    """It is no bug of aish, and no wish to delete the note."""
    notes.editor("file.unlink(); sys.exit()")
    told = notes("edit")

    assert told.code == 2
    assert "the editor left no file" in told.err
    assert notes.text() == MEMORY


@pytest.mark.proves("S13")
@pytest.mark.parametrize("content", [b"- caf\xe9\n", b"x" * (6 << 20)], ids=["not UTF-8", "6 MB"])
def test_a_note_that_cannot_be_read_is_not_edited(notes: Inside, content: bytes) -> None:
    """The editor would show an empty file, and saving it would destroy the note."""
    path = notes.folder / "MEMORY.md"
    path.write_bytes(content)
    notes.editor("text += '- new\\n'")
    told = notes("edit")

    assert told.code != 0
    assert path.read_bytes() == content


@pytest.mark.proves("S8")
def test_merge_markers_can_be_edited_away(notes: Inside) -> None:
    """aish does not touch such a note, but the person may."""
    path = notes.folder / "MEMORY.md"
    path.write_text("<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", encoding="utf-8")
    notes.editor("text = '- a\\n'")

    assert notes("edit").code == 0
    assert path.read_text(encoding="utf-8") == "- a\n"


@pytest.mark.proves("M62")
def test_a_secret_that_is_edited_in_is_masked(notes: Inside) -> None:
    """Notes are read by models."""
    token = "gh" + "p_" + "F4k3q9ZkP2mX7vLr8TnWa1B2c3D4e5F6g7H8"
    notes.editor(f"text += '\\n- the token is {token}\\n'")
    notes("edit")

    assert token not in notes.text()
    assert "the token is" in notes.text()


# Conflicts


def conflict(notes: Inside) -> None:
    """aish and the user change the same entry, by an undo of something that was edited since."""
    book = notes.world.program().notes(notes.channel).notebook
    (result,) = book.apply([Add("Decisions", "use port 9000", source="20261117-101500-abc/1-2")], reason="test")
    path = notes.folder / "MEMORY.md"
    path.write_text(notes.text().replace("use port 9000", "use port 9001"), encoding="utf-8")
    notes("undo")
    assert result.id in notes("merge").out


@pytest.mark.proves("S8")
def test_a_conflict_waits_until_the_user_decides(notes: Inside) -> None:
    """`mine` keeps the user's text, `theirs` takes that of aish."""
    assert notes("merge").code == 1
    conflict(notes)
    (row,) = notes.json("merge")
    assert "1 entry changed by you and by aish: :notes merge" in notes().out
    assert row["mine"] == "use port 9001"
    assert notes("merge", row["id"], "mine").out == f"resolved: {row['id']}\n"

    assert "use port 9001" in notes.text()
    assert notes("merge").out == "no conflicts\n"


@pytest.mark.proves("S8")
def test_the_text_of_aish_can_be_taken(notes: Inside) -> None:
    """Here it is an undo: the entry goes."""
    conflict(notes)
    (row,) = notes.json("merge")
    notes("merge", row["id"], "theirs")

    assert "use port" not in notes.text()


@pytest.mark.parametrize("words", [["zzzzz", "mine"], ["zzzzz"], ["zzzzz", "both"], ["a", "b", "c"]])
def test_a_wrong_decision_is_refused(notes: Inside, words: list[str]) -> None:
    """Nothing is resolved by accident."""
    conflict(notes)

    assert notes("merge", *words).code != 0
    assert len(notes.json("merge")) == 1


# In a conversation


@pytest.mark.anyio
@pytest.mark.proves("S5")
async def test_the_commands_of_a_conversation(world: World) -> None:
    """`:session` shows the working state, `:notes` what there is and what waits."""
    desk = Desk(world, "A1", "A2", notes=[STATE])
    assert await desk.type(":session") == "no working state yet; it is written after some work"
    assert await desk.type(":notes show") == "there is no note 'memory' yet"
    assert await desk.type(":notes log") == "nothing yet"
    await desk.work("please move billing to Envoy", "billing is moved; auth remains to be moved")
    shown = await desk.type(":session")
    assert "## Goal\n\n- move billing to Envoy  [" in shown
    assert "from=" not in shown
    assert (await desk.type(":session 2")).startswith("BadUsage: :session takes no argument")
    await desk.type(":new")

    assert "4 turns wait until a model has looked for lasting facts" in await desk.type(":notes")
    assert "aish notes edit" in await desk.type(":notes edit")
    assert (await desk.type(":notes log 5")).count("SESSION.md") == 1


@pytest.mark.anyio
async def test_notes_commands_say_that_notes_are_off(world: World) -> None:
    """--no-memory."""
    desk = Desk(world, remembers=False)

    for command in (":notes", ":session", ":notes show", ":notes log", ":notes undo", ":notes forget bcdfg"):
        assert await desk.type(command) == "BadUsage: notes are switched off for this run (--no-memory)"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\xff\xfe\x00", "not readable: it is not valid UTF-8"),
        (b"<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> x\n", "not changed by aish: it contains merge markers"),
        (b"x" * (6 << 20), "not readable: it is larger than 5 MB"),
    ],
)
async def test_a_note_that_cannot_be_used_is_named_in_the_overview(world: World, content: bytes, problem: str) -> None:
    """The user learns why nothing is kept there."""
    desk = Desk(world)
    desk.folder.mkdir(parents=True)
    path = desk.folder / "MEMORY.md"
    path.write_bytes(content)

    assert f"lasting facts\n               {problem}" in await desk.type(":notes")
    assert (await desk.type(":notes show")).startswith(problem)
    assert (await desk.type(":notes forget bcdfg")).startswith("NotFound")
    assert path.read_bytes() == content
