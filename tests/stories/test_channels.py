"""Channels: which notes belong to a directory, and that the notes of one project never show in another."""

from itertools import pairwise
from pathlib import Path

import pytest
from note_taking import STATE, Desk, files_below
from world import World, script_of

from aish.conversation.channels import project_root
from aish.prompt.recalled_notes import RecalledNotesLayer
from aish.prompt.table import LAYERS
from aish.values.channels import channel_of

pytestmark = pytest.mark.anyio

Q1, Q2 = "please move billing to Envoy in gateway.yaml", "billing is moved; auth remains to be moved"


def project(directory: Path) -> Path:
    """Make a repository, without git."""
    (directory / ".git").mkdir(parents=True)
    (directory / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return directory


def worktree(main: Path, directory: Path, *, back: str = "") -> Path:
    """Make a worktree of a repository. `back` is what the repository says about it."""
    entry = main / ".git" / "worktrees" / directory.name
    entry.mkdir(parents=True)
    directory.mkdir(parents=True)
    (directory / ".git").write_text(f"gitdir: {entry}\n", encoding="utf-8")
    (entry / "gitdir").write_text(f"{back or directory / '.git'}\n", encoding="utf-8")
    (entry / "commondir").write_text("../..\n", encoding="utf-8")
    (entry / "HEAD").write_text("ref: refs/heads/other\n", encoding="utf-8")
    return directory


def write_note(world: World, channel: str, text: str, file: str = "MEMORY.md") -> Path:
    folder = world.places.channel(channel) if channel else world.places.workspace
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    path.write_text(text, encoding="utf-8")
    return path


# Which channel


@pytest.mark.proves("S1")
def test_all_directories_of_a_project_are_one_channel(world: World) -> None:
    """The user works in sub-directories too."""
    main = project(world.directory / "shop")
    (main / "src" / "deep").mkdir(parents=True)
    desk = Desk(world)
    channels = desk.program.channels

    assert channels.at(main) == channels.at(main / "src") == channels.at(main / "src" / "deep")
    assert channels.at(main).startswith("shop-")


def test_a_directory_that_is_no_project_is_a_channel_too(world: World) -> None:
    """Notes about a folder of letters are as good as those about code."""
    letters, photos = world.directory / "letters", world.directory / "photos"
    letters.mkdir()
    photos.mkdir()
    channels = Desk(world).program.channels

    assert channels.at(letters).startswith("letters-")
    assert channels.at(letters) != channels.at(photos)
    assert channels.at(world.directory / "gone") == channel_of(str(world.directory / "gone")), "also a deleted one"


def test_projects_of_the_same_name_have_different_channels(world: World) -> None:
    """Otherwise the notes of two clients would mix."""
    one, two = project(world.directory / "a" / "shop"), project(world.directory / "b" / "shop")
    channels = Desk(world).program.channels

    assert channels.at(one) != channels.at(two)


def test_a_worktree_shares_the_channel_of_the_main_checkout(world: World) -> None:
    """It is the same work on another branch."""
    main = project(world.directory / "shop")
    other = worktree(main, world.directory / "shop-fix")
    (other / "src").mkdir()
    channels = Desk(world).program.channels

    assert channels.at(other) == channels.at(other / "src") == channels.at(main)


@pytest.mark.proves("X4")
def test_a_forged_git_file_does_not_get_the_notes_of_another_project(world: World) -> None:
    """Whoever sends a folder could otherwise read and fill the notes of a project whose path they guess."""
    main = project(world.directory / "shop")
    worktree(main, world.directory / "real")
    forged = world.directory / "forged"
    forged.mkdir()
    (forged / ".git").write_text(f"gitdir: {main / '.git' / 'worktrees' / 'real'}\n", encoding="utf-8")
    moved = worktree(main, world.directory / "moved", back="/somewhere/else/.git")
    plain = world.directory / "plain"
    plain.mkdir()
    (plain / ".git").write_text(f"gitdir: {main / '.git'}\n", encoding="utf-8")
    channels = Desk(world).program.channels

    for directory in (forged, moved, plain):
        assert channels.at(directory) == channel_of(str(directory))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"gitdir: ", b"gitdir: \x00", b"gitdir: " + b"x/" * 5000])
def test_a_git_file_that_makes_no_sense_is_no_trouble(world: World, content: bytes) -> None:
    """It may be of any tool, or cut short."""
    directory = world.directory / "odd"
    directory.mkdir()
    (directory / ".git").write_bytes(content)

    assert project_root(directory) == directory


def test_a_path_that_is_too_long_is_no_trouble(world: World) -> None:
    """The shell goes on."""
    directory = world.directory / ("x" * 300) / ("y" * 300)

    assert Desk(world).program.channels.at(directory)


# By hand


async def test_a_project_can_be_linked_to_the_channel_of_another(world: World) -> None:
    """A second clone of the same repository. The link holds in later runs, until it is removed."""
    main, clone = project(world.directory / "shop"), project(world.directory / "clone")
    write_note(world, Desk(world).program.channels.at(main), "- billing runs on Envoy\n")
    desk = Desk(world, cwd=clone)
    own = desk.session.channel
    told = await desk.type(":channel link shop")
    shared = desk.program.channels.at(main)

    assert told == f"this project is linked to channel {shared}; a new conversation begins"
    assert desk.session.channel == shared
    (clone / "src").mkdir()
    assert Desk(world, cwd=clone / "src").session.channel == shared
    assert await desk.type(":channel unlink") == f"this project has its own channel again: {own}"
    assert Desk(world, cwd=clone).session.channel == own


async def test_a_shell_can_use_another_channel(world: World) -> None:
    """Only this shell, and only until `:channel -`."""
    desk = Desk(world, *"ABC", notes=["goal: keep the garden", "none", "none"])
    home = desk.session.channel
    assert await desk.type(":channel garden") == "now in channel garden; a new conversation begins"
    await desk.work("please keep the garden watered")
    await desk.type(":new")

    assert desk.session.channel == "garden"
    assert "keep the garden" in desk.entries("session")
    assert Desk(world).session.channel == home
    assert await desk.type(":channel -") == f"now in channel {home}; a new conversation begins"
    assert desk.entries("session") == []
    assert (await desk.type(":channel")).splitlines() == ["  garden", f"* {home}"]


async def test_switching_brings_the_notes_of_the_old_channel_up_to_date(world: World) -> None:
    """The conversation ends there."""
    desk = Desk(world, "A1", notes=[STATE, "none"])
    before = desk.folder
    await desk.work(Q1)
    await desk.type(":channel garden")

    assert "move billing to Envoy" in (before / "SESSION.md").read_text(encoding="utf-8")
    assert desk.note() == ""
    assert desk.session.history.turns == ()


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "a b c", "x" * 61, "a\x1b[31m", "link a b", "link ../x"])
async def test_a_bad_name_is_refused(world: World, name: str) -> None:
    """It would be a path. Nothing changes, and the conversation goes on."""
    desk = Desk(world, "A1", "A2", notes=[STATE])
    await desk.work(Q1)
    before, conversation = desk.session.channel, desk.session.journal.id
    told = await desk.type(f":channel {name}")

    assert told.startswith("BadUsage: ")
    assert "\x1b" not in told
    assert (desk.session.channel, desk.session.journal.id) == (before, conversation)


async def test_a_name_that_two_channels_have_is_asked_back(world: World) -> None:
    """Two projects are called shop."""
    one, two = project(world.directory / "a" / "shop"), project(world.directory / "b" / "shop")
    channels = Desk(world).program.channels
    for directory in (one, two):
        write_note(world, channels.at(directory), "- x\n")
    told = await Desk(world).type(":channel shop")

    assert told.startswith("NotFound: 'shop' could be shop-")
    assert channels.at(one) in told
    assert channels.at(two) in told


async def test_links_that_cannot_be_read_do_not_count(world: World) -> None:
    """A person edited the file, or it is damaged."""
    desk = Desk(world)
    own = desk.session.channel
    world.places.channel_links.parent.mkdir(parents=True, exist_ok=True)
    world.places.channel_links.write_text('{"directory": 7}\nnot json\n{"directory": "/", "channel": "../x"}\n')

    assert Desk(world).session.channel == own
    assert Desk(world).program.channels.at(Path("/")) == channel_of("/")


# Notes stay in their channel


@pytest.mark.proves("S1", "S24")
async def test_the_notes_of_one_project_never_show_in_another(world: World) -> None:
    """Two clients, two projects, one shell."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCDEFGH", cwd=one, notes=[STATE, "decision: move billing to Envoy", "none", "none"])
    await desk.work(Q1, Q2)
    await desk.type(":new")
    await desk.rest()
    assert desk.entries() == ["move billing to Envoy"]
    desk.shell.enter(str(two))
    for question in ("where were we?", "what did we decide about billing and Envoy?", "what is next?"):
        await desk.ask(question)
        recalled = desk.session.layer(RecalledNotesLayer).last
        assert recalled is None or not recalled.shown
        assert recalled is None or not recalled.left_out
        assert "[working state]" not in desk.system()
        assert "SESSION.md: goal" not in desk.system()
    desk.shell.enter(str(one))
    await desk.jobs.close()
    await desk.type(":new")
    await desk.ask("what did we decide about billing and Envoy?")
    assert "move billing to Envoy" in desk.message()
    await desk.jobs.close()


@pytest.mark.proves("S1")
async def test_a_conversation_in_two_projects_fills_the_notes_of_both(world: World) -> None:
    """The user changes the directory in the middle. Each turn belongs to the project in which it was asked."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please")
    first = desk.folder
    desk.shell.enter(str(two))
    await desk.say("paint the fence in two.yaml please")
    second = desk.folder
    await desk.type(":new")
    own, other = ((folder / "SESSION.md").read_text(encoding="utf-8") for folder in (first, second))

    assert "one.yaml" in own
    assert "two.yaml" not in own
    assert "two.yaml" in other
    assert "one.yaml" not in other


@pytest.mark.proves("S1", "S41")
async def test_facts_of_a_conversation_in_two_projects_stay_apart(world: World) -> None:
    """Each project learns from its own turns only."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please")
    desk.shell.enter(str(two))
    await desk.say("paint the fence in two.yaml please")
    await desk.type(":new")
    desk.helper._answers[:] = ["none"] * 4
    desk.helper.requests.clear()
    await desk.rest()
    here = "\n".join(desk.asked_helper())
    desk.helper.requests.clear()
    desk.shell.enter(str(one))
    await desk.rest()
    there = "\n".join(desk.asked_helper())

    assert "paint the fence" in here
    assert "move billing" not in here
    assert "move billing" in there
    assert "paint the fence" not in there


@pytest.mark.proves("S1", "S41")
async def test_resuming_a_conversation_of_another_project_brings_none_of_it_here(world: World) -> None:
    """What is said from now on belongs here, what was said before belongs there."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please", "and test billing in one.yaml")
    conversation = desk.session.journal.id
    await desk.quit()

    again = Desk(world, *"ABCD", cwd=two, notes=["!down"] * 8)
    await again.type(f":resume {conversation}")
    await again.type(":new")
    assert files_below(world.places.channel(again.session.channel)) == {}
    await again.type(f":resume {conversation}")
    await again.work("paint the fence in two.yaml please")
    await again.type(":new")
    again.helper._answers[:] = ["none"] * 4
    again.helper.requests.clear()
    await again.rest()

    assert "two.yaml" in again.note()
    assert "one.yaml" not in again.note()
    assert "move billing" not in "\n".join(again.asked_helper())
    assert "paint the fence" in "\n".join(again.asked_helper())


@pytest.mark.proves("S1", "S41")
async def test_resuming_after_a_question_here_brings_none_of_it_here(world: World) -> None:
    """The question before `:resume` belonged here; the turns of the resumed conversation do not."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please")
    conversation = desk.session.journal.id

    again = Desk(world, *"ABCD", cwd=two, notes=["!down"] * 8)
    await again.say("paint the fence in two.yaml please")
    await again.type(f":resume {conversation}")
    await again.work("paint the door in two.yaml", "and the window in two.yaml")
    await again.type(":new")
    again.helper._answers[:] = ["none"] * 8
    again.helper.requests.clear()
    await again.rest()

    assert "one.yaml" not in again.note()
    assert "move billing" not in "\n".join(again.asked_helper())
    assert "paint the door" in "\n".join(again.asked_helper())


@pytest.mark.proves("S1", "S41")
async def test_a_conversation_that_moved_is_resumed_where_it_was_last(world: World) -> None:
    """It began in one project. What was said in the other one stays there."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please")
    first = desk.folder
    desk.shell.enter(str(two))
    await desk.say("paint the fence in two.yaml please")
    conversation = desk.session.journal.id
    await desk.quit()
    before = files_below(first)

    again = Desk(world, *"ABCD", cwd=two, notes=["!down"] * 8)
    await again.type(f":resume {conversation}")
    await again.work("paint the door in two.yaml", "and the window in two.yaml")
    await again.type(":new")

    assert files_below(first) == before


@pytest.mark.proves("S1", "S41")
async def test_turns_of_a_project_whose_notes_cannot_be_used_do_not_move_to_another(world: World) -> None:
    """They are queued for their own project, and count nowhere else."""
    one, two = project(world.directory / "one"), project(world.directory / "two")
    desk = Desk(world, *"ABCD", cwd=one, notes=["!down"] * 8)
    await desk.say("move billing in one.yaml please")
    write_note(world, desk.session.channel, "<<<<<<< mine\n", "SESSION.md")
    own = desk.session.notes
    desk.shell.enter(str(two))
    await desk.work("paint the fence in two.yaml please", "and the door in two.yaml")

    assert "two.yaml" in desk.note()
    assert "one.yaml" not in desk.note()
    assert [(one.first, one.last) for one in own.queue.waiting()] == [(1, 2)]


@pytest.mark.proves("S3", "S24")
async def test_the_shared_notes_are_offered_everywhere_and_never_written(world: World) -> None:
    """What the user notes for all projects."""
    path = write_note(world, "", "# Mine\n\n- the build host is called otter\n")
    before = path.read_bytes()
    for name in ("one", "two"):
        desk = Desk(world, *"ABCD", cwd=project(world.directory / name), notes=[STATE, "decision: x", "none"])
        await desk.ask("what is the build host called?")
        assert "(note, notes for all projects) the build host is called otter" in desk.message() or (
            "the build host is called otter" in desk.message()
        )
        await desk.jobs.close()
        await desk.work(Q1)
        await desk.type(":new")
        await desk.rest()

    assert path.read_bytes() == before


# Identity and the prompt


@pytest.mark.proves("S1", "S2")
async def test_soul_and_agents_are_in_the_prompt_from_the_next_conversation_on(world: World) -> None:
    """They are read at the start of a conversation, so that its prompt stays the same."""
    desk = Desk(world, *"ABCD", notes=["none"] * 5)
    write_note(world, "", "You are Marvin.\n", "SOUL.md")
    write_note(world, "", "Run the tests first.\n", "AGENTS.md")
    await desk.ask("who are you?")
    assert "[identity] (written by the user)\nYou are Marvin.\n\nRun the tests first." in desk.system()
    write_note(world, "", "You are Eddie.\n", "SOUL.md")
    await desk.ask("and now?")
    assert "You are Marvin." in desk.system()
    await desk.jobs.close()
    await desk.type(":new")
    await desk.ask("and now?")

    assert "You are Eddie." in desk.system()
    assert "Marvin" not in desk.system()
    await desk.jobs.close()


@pytest.mark.proves("S2")
async def test_identity_is_bounded_and_said(world: World) -> None:
    """A book in SOUL.md must not fill the window."""
    write_note(world, "", "You are Marvin. " * 2000, "SOUL.md")
    desk = Desk(world, "A1", notes_settings={"identity_max_chars": 300})
    said = await desk.ask("who are you?")

    block = desk.system().partition("[identity] (written by the user)\n")[2].partition("\n\n[")[0]
    assert len(block) < 360, "and a truncation marker"
    assert any("SOUL.md: 31," in text and "notes.identity_max_chars" in text for text in said.notices)


@pytest.mark.proves("S2", "S14")
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * (6 << 20)], ids=["binary", "6 MB"])
async def test_an_identity_that_cannot_be_read_is_said(world: World, content: bytes) -> None:
    """The other file and the answer are there all the same."""
    write_note(world, "", "Run the tests first.\n", "AGENTS.md")
    (world.places.workspace / "SOUL.md").write_bytes(content)
    desk = Desk(world, "A1")
    said = await desk.ask("who are you?")

    assert said.text == "A1"
    assert "Run the tests first." in desk.system()
    assert [text for text in said.notices if text.startswith("SOUL.md is not in the prompt")]


@pytest.mark.proves("S2", "S3")
async def test_the_files_of_the_user_are_never_written(world: World) -> None:
    """By no job and no command."""
    for file in ("SOUL.md", "AGENTS.md", "MEMORY.md"):
        write_note(world, "", f"- {file} is mine\n", file)
    before = {name: data for name, data in files_below(world.places.workspace).items() if name.endswith(".md")}
    desk = Desk(world, *"ABCDEF", notes=[STATE, "decision: move billing to Envoy", *["none"] * 5])
    await desk.work(Q1, Q2)
    await desk.type(":compact 1")
    await desk.type(":new")
    await desk.rest()
    for command in (":notes undo", ":notes", ":notes show soul", ":notes show workspace", ":notes log"):
        await desk.type(command)
    await desk.quit()
    after = files_below(world.places.workspace)

    assert {name: after[name] for name in before} == before


@pytest.mark.proves("M31")
async def test_without_notes_the_prompt_is_the_same_as_without_the_feature(world: World) -> None:
    """A new user pays nothing for it."""
    desk = Desk(world, "A1")
    bare = Desk(world, "A1")
    names = {"identity", "notes", "working state", "recalled notes"}
    bare.session.layers = [layer for layer in (make() for make in LAYERS) if layer.name not in names]
    assert len(bare.session.layers) == len(LAYERS) - len(names)
    for one in (desk, bare):
        await one.say("what is two plus two?")

    assert script_of(desk.session).requests == script_of(bare.session).requests


@pytest.mark.proves("M32b", "S30", "X8")
async def test_the_prompt_stays_the_same_within_a_conversation(world: World) -> None:
    """Each request begins with the one before it, byte for byte, also when notes change and are recalled."""
    write_note(world, "", "You are Marvin.\n", "SOUL.md")
    desk = Desk(world, *"ABCDEFGH", notes=[STATE, STATE, STATE, "decision: move billing to Envoy"])
    write_note(world, desk.session.channel, "## Decisions\n\n- auth runs on port 9000\n- billing runs on nginx\n")
    await desk.work(Q1, Q2, "which port does auth run on?", "and where does billing run?")
    write_note(world, desk.session.channel, "## Decisions\n\n- auth runs on port 1\n")
    await desk.work("which port does auth use now?", "where were we?")

    requests = [list(request.messages) for request in script_of(desk.session).requests]
    assert any("[recalled" in str(message["content"]) for message in requests[-1])
    for before, after in pairwise(requests):
        assert after[: len(before)] == before


@pytest.mark.proves("R4")
async def test_the_prompt_says_which_notes_there_are(world: World) -> None:
    """Where, what for, that they are not preloaded, and how to read one."""
    desk = Desk(world, "A1")
    write_note(world, desk.session.channel, "- auth runs on port 9000\n")
    await desk.say("hello, who are you?")

    block = desk.system().partition("[notes]")[2]
    assert "MEMORY.md: lasting facts" in block
    assert "SESSION.md: goal" not in block, "only those that exist"
    assert "They are not loaded here" in block
    assert "read_notes" in block
    assert "port 9000" not in desk.system()


async def test_why_says_that_the_conversation_has_the_note_already(world: World) -> None:
    """It fits the question, and is not sent twice."""
    desk = Desk(world, "A1", "A2")
    desk.folder.mkdir(parents=True)
    (desk.folder / "MEMORY.md").write_text("## Decisions\n\n- billing runs on Envoy\n", encoding="utf-8")
    await desk.ask("where does billing run?")
    await desk.ask("and again, where does billing run?")

    told = await desk.type(":why")
    assert "nothing new for the question" in told
    assert " known " in told
