"""Undo: what the model changed in files is shown and taken back, and the user's own work is never lost."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from desk import Desk, edit, read, write
from workshop import AtGate, Workshop
from world import World

from aish.acting.file_steps import command_step
from aish.action.fence.availability import Wanted, why
from aish.action.fence.availability import kind as find_kind
from aish.values.errors import BadUsage

pytestmark = pytest.mark.anyio
NOTHING = "the model has changed no file in this conversation that could be taken back"
CHANGED = "left as it is: it was changed since, by you or another program"


@pytest.fixture
def desk(world: World, tmp_path: Path) -> Desk:
    return Desk(world, tmp_path)


async def test_the_last_step_is_taken_back_after_its_difference_is_shown(desk: Desk) -> None:
    """And then the one before, until nothing is left."""
    path = desk.write("a.py", "one\ntwo\n")
    await desk.call(read("a.py"), edit("a.py", "one", "1"), edit("a.py", "two", "2"), answers="r r")

    desk.person.shown.clear()
    assert await desk.type(":undo", "u") == "a.py: as it was before"
    assert desk.person.shown == ["--- a.py\n+++ a.py\n@@ -1,2 +1,2 @@\n 1\n-2\n+two"]
    assert desk.person.asked[-1] == "take back the changes to a.py: [u]ndo, or [s]kip (Enter) "
    assert path.read_text(encoding="utf-8") == "1\ntwo\n"
    await desk.type(":undo", "u")
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"
    assert await desk.type(":undo", "u") == NOTHING


async def test_without_a_yes_nothing_is_taken_back(desk: Desk) -> None:
    """The difference can be looked at without risk."""
    path = desk.write("a.py", "one\n")
    await desk.call(read("a.py"), edit("a.py", "one", "1"), answers="r")

    assert await desk.type(":undo", "s") == "nothing was changed"
    assert path.read_text(encoding="utf-8") == "1\n"
    assert await desk.type(":undo", "u") == "a.py: as it was before"


async def test_a_new_file_is_deleted_with_its_new_directories(desk: Desk) -> None:
    """The tree is as it was; a directory with something else in it stays."""
    (desk.project / "old").mkdir()
    await desk.call(write("x/y/z.txt", "1"), write("old/w.txt", "1"), write("p/q.txt", "1"), answers="r r r")
    desk.write("p/mine.txt", "2")

    await desk.type(":undo 3", "u")

    assert sorted(str(path.relative_to(desk.project)) for path in desk.project.rglob("*")) == [
        ".git",
        "old",
        "p",
        "p/mine.txt",
    ]


async def test_a_turn_is_taken_back_as_a_whole(desk: Desk) -> None:
    """All steps since the last question that led to changes, whatever was asked since."""
    one, two = desk.write("a", "1\n"), desk.write("b", "2\n")
    await desk.call(read("a"), edit("a", "1", "first"), answers="r")
    await desk.call(read("b"), edit("a", "first", "second"), edit("b", "2", "second"), answers="r r")
    await desk.call(read("b"))

    await desk.type(":undo turn", "u")

    assert (one.read_text(encoding="utf-8"), two.read_text(encoding="utf-8")) == ("first\n", "2\n")


@pytest.mark.parametrize(("key", "beside"), [("w", {"a.before-1": "one\n"}), ("s", {})])
async def test_a_file_that_the_user_changed_since_is_not_overwritten(
    desk: Desk, key: str, beside: dict[str, str]
) -> None:
    """The old version can be had beside it."""
    path = desk.write("a", "one\n")
    await desk.call(read("a"), edit("a", "one", "two"), answers="r")
    path.write_text("mine\n", encoding="utf-8")

    text = await desk.type(":undo", key)

    assert text.splitlines()[0] == f"a: {CHANGED}"
    assert path.read_text(encoding="utf-8") == "mine\n"
    found = {one.name: one.read_text(encoding="utf-8") for one in desk.project.iterdir() if "before" in one.name}
    assert found == beside


async def test_an_old_version_beside_a_file_is_as_private_as_it_was(desk: Desk) -> None:
    """It may be the file with the passwords."""
    path = desk.write("a", "one\n")
    path.chmod(0o600)
    await desk.call(read("a"), edit("a", "one", "two"), answers="r")
    path.write_text("mine\n", encoding="utf-8")

    await desk.type(":undo", "w")

    assert (desk.project / "a.before-1").stat().st_mode & 0o777 == 0o600


async def test_work_of_the_user_between_two_steps_is_not_taken_back(desk: Desk) -> None:
    """Only the model's last change goes; the one before it would take the user's with it."""
    path = desk.write("a", "one\n")
    await desk.call(read("a"), edit("a", "one", "two"), answers="r")
    path.write_text("two\nmine\n", encoding="utf-8")
    await desk.call(read("a"), edit("a", "two", "three"), answers="r")

    text = await desk.type(":undo 2", "u", "s")

    assert path.read_text(encoding="utf-8") == "two\nmine\n"
    assert f"a: {CHANGED}" in text


async def test_a_file_that_the_user_deleted_or_replaced_stays_so(desk: Desk) -> None:
    """A link or a directory in its place is not followed or replaced."""
    outside = desk.project.parent / "outside"
    outside.write_text("two\n", encoding="utf-8")
    for name in "abc":
        desk.write(name, "one\n")
    await desk.call(*(call for name in "abc" for call in (read(name), edit(name, "one", "two"))), answers="r r r")
    for name in "abc":
        (desk.project / name).unlink()
    (desk.project / "b").symlink_to(outside)
    (desk.project / "c").mkdir()

    text = await desk.type(":undo 3", "s", "s", "s")

    assert text.count("left as it is") == 3
    assert outside.read_text(encoding="utf-8") == "two\n"
    assert sorted(path.name for path in desk.project.iterdir()) == [".git", "b", "c"]


async def test_the_difference_to_the_state_before_is_shown(desk: Desk) -> None:
    """Of the conversation, or of the last question; with the user's own changes since."""
    desk.write("a", "1\n")
    desk.write("b", "2\n")
    await desk.call(read("a"), edit("a", "1", "first"), answers="r")
    await desk.call(read("b"), edit("b", "2", "second"), answers="r")
    desk.write("b", "second\nmine\n")

    assert await desk.type(":diff") == (
        "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+first\n--- b\n+++ b\n@@ -1 +1,2 @@\n-2\n+second\n+mine"
    )
    assert await desk.type(":diff turn") == "--- b\n+++ b\n@@ -1 +1,2 @@\n-2\n+second\n+mine"


@pytest.mark.parametrize("line", [":undo all", ":undo 0", ":undo -1", ":undo 99999999999", ":diff x"])
async def test_words_that_mean_nothing_are_refused(desk: Desk, line: str) -> None:
    """Nothing is taken back by a slip."""
    await desk.call(write("a", "1"), answers="r")

    with pytest.raises(BadUsage):
        await desk.type(line, "u")
    assert (desk.project / "a").exists()


async def test_other_conversations_have_their_own_steps(desk: Desk) -> None:
    """And a resumed one still has its own."""
    await desk.call(write("a", "1"), answers="r")
    assert desk.session
    id = desk.session.journal.id

    desk.session.start_new()
    await desk.call(("list_files", {}))
    assert await desk.type(":undo", "u") == NOTHING
    assert await desk.type(":diff") == "no differences"
    desk.session.resume(id)
    assert await desk.type(":undo", "u") == "a: as it was before"


async def test_a_purge_erases_kept_contents_too(desk: Desk) -> None:
    """Undo then says that it cannot restore the file, instead of writing something else."""
    path = desk.write("a", "the word is xylophone\n")
    await desk.call(read("a"), edit("a", "the word is xylophone", "nothing"), answers="r")

    await desk.type(":memory purge --yes xylophone")
    text = await desk.type(":undo", "u")

    assert text == "a: left as it is: its earlier content is no longer kept"
    assert path.read_text(encoding="utf-8") == "nothing\n"
    for found in desk.world.home.rglob("*"):
        assert not found.is_file() or b"xylophone" not in found.read_bytes(), found


async def test_what_is_kept_is_private_and_git_is_not_touched(desk: Desk) -> None:
    """The old content may be a secret, and the history of a repository belongs to the user."""
    for name in ("HEAD", "config", "objects/ab/cd", "index"):
        desk.write(f".git/{name}", "git")
    before = {path: path.stat().st_mtime_ns for path in (desk.project / ".git").rglob("*")}
    desk.write("a", "one\n")

    await desk.call(read("a"), edit("a", "one", "two"), answers="r")
    await desk.type(":undo", "u")

    assert {path: path.stat().st_mtime_ns for path in (desk.project / ".git").rglob("*")} == before
    kept = [path for path in desk.world.places.undo.rglob("*") if path.is_file()]
    assert len(kept) >= 3
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


async def test_a_step_of_a_command_is_taken_back_too(desk: Desk) -> None:
    """The gate keeps what an allowed command changes, with the number of the question."""
    desk.write("a", "one\n")
    await desk.call(("list_files", {}))
    assert desk.session
    with command_step(desk.session, "make things") as before_write:
        assert before_write
        for name in ("a", "b"):
            before_write(str(desk.project.resolve() / name))  # as the keeper does
        desk.write("a", "two\n")
        desk.write("b", "new\n")

    assert "+two" in await desk.type(":diff turn")
    assert await desk.type(":undo", "u") == "a: as it was before\nb: as it was before"
    assert sorted(path.name for path in desk.project.iterdir()) == [".git", "a"]


async def test_a_command_runs_although_nothing_can_be_kept(desk: Desk) -> None:
    """A full disk or a store that cannot be made is no reason to stop it."""
    await desk.call(("list_files", {}))
    desk.world.places.undo.parent.mkdir(parents=True, exist_ok=True)
    if desk.world.places.undo.exists():
        shutil.rmtree(desk.world.places.undo)
    desk.world.places.undo.write_text("not a directory", encoding="utf-8")
    assert desk.session

    with command_step(desk.session, "make things") as before_write:
        assert before_write is None


def test_the_commands_are_the_same_from_a_pipe(desk: Desk) -> None:
    """Nobody can answer there, so nothing is taken back; the difference is on standard output."""
    world = desk.world
    calls: list[tuple[str, dict[str, Any]]] = [write("a", "1")]
    world.script(*(f"TOOL: {name} {json.dumps(given)}" for name, given in calls), "Done.")

    ran = world.aish("--lines", given="please\n:undo\n:diff\n", AISH_SET_COMMANDS__FILE_TOOLS="true")

    assert NOTHING in ran.out and "no differences" in ran.out
    assert not (desk.project / "a").exists()


def test_at_the_terminal_a_change_is_coloured_asked_for_and_taken_back(tmp_path: Path) -> None:
    """With one key each, and nothing of the file can look like a line of aish."""
    workshop = Workshop(tmp_path)
    path = workshop.directory / "a.py"
    path.write_text("one\ntwo\n", encoding="utf-8")
    calls = [read("a.py"), edit("a.py", "two", "2\n▐[aish] everything is fine \x1b[2J")]
    workshop.script(*(f"TOOL: {name} {json.dumps(given)}" for name, given in calls), "That is done.")

    with AtGate(workshop, AISH_SET_COMMANDS__FILE_TOOLS="true") as terminal:
        terminal.ask()
        terminal.wait_question()
        shown = [
            "--- a.py",
            "+++ a.py",
            "@@ -1,2 +1,3 @@",
            " one",
            "-two",
            "+2",
            "+|[aish] everything is fine ⟨U+001B⟩[2J",
        ]
        assert terminal.lines[-8:-1] == shown
        assert b"\x1b[32m+2\x1b[0m" in terminal.raw and b"\x1b[31m-two\x1b[0m" in terminal.raw
        assert path.read_text(encoding="utf-8") == "one\ntwo\n"
        terminal.type("r")
        terminal.wait_for("That is done.")
        terminal.wait_prompt()
        assert path.read_text(encoding="utf-8").startswith("one\n2\n")

        terminal.enter(":undo")
        terminal.wait_question(2)
        terminal.type("u")
        terminal.wait_for("a.py: as it was before")
    assert path.read_text(encoding="utf-8") == "one\ntwo\n"


@pytest.mark.parametrize("kind", ["landlock", "bubblewrap"])
def test_at_the_terminal_an_allowed_command_is_taken_back(tmp_path: Path, kind: Wanted) -> None:
    """Whatever program it was that changed the files."""
    if find_kind(kind) != kind:
        pytest.skip(why(kind))
    workshop = Workshop(tmp_path)
    path = workshop.directory / "a.txt"
    path.write_text("one\n", encoding="utf-8")
    workshop.script("CMD: sed -i s/one/two/ a.txt && touch new", extra=f'[commands]\nsandbox = "{kind}"')

    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_question()
        terminal.say_yes()
        terminal.wait_prompt()
        assert path.read_text(encoding="utf-8") == "two\n"
        terminal.enter(":undo")
        terminal.wait_question(2)
        terminal.type("u")
        terminal.wait_for("new: as it was before")
        terminal.wait_prompt()
    assert path.read_text(encoding="utf-8") == "one\n"
    assert workshop.files() == {"a.txt"}
