"""Whatever the umask is, others can neither read nor write what aish keeps; and the user learns who else could."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from note_taking import STATE, Desk
from terminal import CTRL_D, Terminal
from world import World

from aish.places import exposed_directories, find_places

pytestmark = pytest.mark.anyio


@pytest.fixture
def open_world(world: World) -> Iterator[World]:
    """A world with a scripted model, in which new files are for everybody unless aish says otherwise."""
    before = os.umask(0o077)
    world.script("The otter is a mammal.", "It swims.", "fact: the cat is called Miso")
    os.umask(0)
    yield world
    os.umask(before)


def too_open(directory: Path) -> dict[str, str]:
    """Return everything below a directory that others may use, with its mode."""
    found = {}
    for path in (directory, *directory.rglob("*")):
        mode = path.lstat().st_mode
        if not path.is_symlink() and mode & 0o077:
            found[str(path.relative_to(directory.parent))] = oct(mode & 0o777)
    return found


@pytest.mark.proves("N23")
async def test_every_file_of_a_long_story_is_private(open_world: World) -> None:
    """Libraries make files with the umask, and so does a plain `open`."""
    world = open_world
    given = ":remember the build host is otter\n?what is an otter\n:save otters\n:notes show\n:memory summarize\ny\n"
    assert world.aish("--lines", given=f"{given}:export md told.md\n:export json told.json\n").code == 0
    (world.directory / ".aish.toml").write_text("[context]\ntoken_budget = 9000\n", encoding="utf-8")
    history = world.directory / "history"
    typed = "".join(f"#{1_700_000_000 + 5 * number}\nmake otter-{number} && git status\n" for number in range(3_000))
    history.write_text(typed, encoding="utf-8")  # so many that the search index is written
    for words in (
        ("config", "trust"),
        ("memory", "add", "pref", "short answers"),
        ("memory", "import", "-"),
        ("memory", "export", "items.jsonl"),
        ("memory", "forget", "1"),
        ("search", "otter"),
        ("recent",),
        ("recall", "which host is the build host?"),
        ("import", str(history), "--format", "shell-history"),
        ("search", "otter-2999"),
        ("doctor",),
        ("cost",),
    ):
        world.aish(*words, given=json.dumps({"kind": "fact", "content": "imported"}) + "\n")

    desk = Desk(world, "It swims.", notes=[STATE])
    await desk.ask("what does the otter in the billing code do? please move billing to Envoy")
    await desk.quit()
    fresh = World(world.directory / "fresh")
    fresh.directory.mkdir()
    assert fresh.aish("config", "init").code == 0
    assert too_open(world.home) == too_open(fresh.home) == {}
    kept = {path.name for path in world.home.rglob("*")}
    assert {"config.toml", "memory.jsonl", "trusted.jsonl", "SESSION.md", "words", "catalogue.db"} <= kept
    for name in ("told.md", "told.json", "items.jsonl"):
        assert (world.directory / name).stat().st_mode & 0o777 == 0o600, name


@pytest.mark.proves("N23")
def test_the_files_of_an_interactive_shell_are_private(open_world: World) -> None:
    """Typed lines, and the files through which the user's shell gets its lines."""
    world = open_world
    with Terminal(world) as terminal:
        terminal.wait_ready()
        terminal.enter("echo $((6*7))")
        terminal.wait("42", "aish>")
        assert too_open(world.home) == {}
        terminal.type(CTRL_D)
        assert terminal.code() == 0
    assert too_open(world.home) == {}


@pytest.mark.proves("N23")
def test_doctor_names_a_directory_that_others_can_write(world: World) -> None:
    """Who can rename our directory can put another one in its place."""
    world.script("hello")
    world.aish("memory", "add", "an item")
    assert "can be written by others" not in world.aish("doctor").out
    world.places.config.mkdir(exist_ok=True)
    world.places.config.chmod(0o777)
    world.home.chmod(0o773)

    found = world.aish("doctor")

    assert found.code == 1
    for path in (world.places.config, world.home):
        assert f"{path} can be written by others" in found.out and f"chmod go-w {path}\n" in found.out
    world.places.config.chmod(0o700)
    world.home.chmod(0o700)
    assert "can be written by others" not in world.aish("doctor").out


@pytest.mark.proves("N23")
def test_parents_count_up_to_home_and_sticky_directories_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/tmp is for everybody, but nobody can replace the directories of others there."""
    home = tmp_path / "home"
    (home / ".local/share/aish").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    places = find_places({})
    for path in (home, home / ".local", home / ".local/share", home / ".local/share/aish"):
        path.chmod(0o700)
    assert exposed_directories(places) == []

    (home / ".local").chmod(0o777)
    tmp_path.chmod(0o777)  # above the home directory, so it is not ours to judge
    assert exposed_directories(places) == [home / ".local"]
    (home / ".local").chmod(0o1777)
    assert exposed_directories(places) == []
    tmp_path.chmod(0o700)
