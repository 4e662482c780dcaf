"""`aish export`: everything comes back, to standard output, a file or a directory, and no file is overwritten."""

import json
from pathlib import Path

import pytest
from world import World

from aish.memory.journal import Journal
from aish.opening import open_library
from aish.values.errors import BadUsage, NotFound, StoreTrouble
from aish.values.turns import Turn
from aish.views.exporting import run
from aish.views.importing import run as run_import

NAMES = ("20260504-120000-aaaaaa", "20260505-120000-bbbbbb")


@pytest.fixture
def desk(tmp_path: Path) -> World:
    """Two conversations: one in the channel birds, and a named one."""
    world = World(tmp_path)
    for day, name in enumerate(NAMES, start=4):
        library = open_library(world.start())
        journal = Journal(world.places.sessions, name, {"channel": "birds-a1"} if day == 4 else {}, library.redaction)
        time = library.moment(f"2026-05-0{day} 12:00")
        journal.extend([(Turn("user", f"asked on day {day}"), time, {}), (Turn("assistant", "So it is."), time, {})])
    open_library(world.start()).conversations.save(NAMES[1], "otters")
    return world


def export(world: World, *arguments: str) -> int:
    return run(open_library(world.start()), arguments)


def asked(text: str) -> list[str]:
    return [record["text"] for record in map(json.loads, text.splitlines()) if record["role"] == "user"]


@pytest.mark.parametrize(
    ("arguments", "days"),
    [
        ((), ["4", "5"]),
        (("otters",), ["5"]),
        ((NAMES[0][:12],), ["4"]),
        (("--channel", "birds"), ["4"]),
        (("--since", "2026-05-05"), ["5"]),
        (("--until", "2026-05-04"), ["4"]),
    ],
)
def test_all_conversations_or_some_go_to_standard_output(
    desk: World, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], days: list[str]
) -> None:
    """Nothing else is there, so that it can be piped."""
    assert export(desk, *arguments) == 0
    assert [text[-1] for text in asked(capsys.readouterr().out)] == days


@pytest.mark.parametrize(("short", "long"), [("md", "markdown"), ("json", "jsonl")])
def test_formats_have_the_names_that_the_command_of_the_shell_takes(
    desk: World, capsys: pytest.CaptureFixture[str], short: str, long: str
) -> None:
    """Who knows `:export md` need not look up another name."""
    written = []
    for name in (short, long):
        assert export(desk, "--format", name) == 0
        written.append(capsys.readouterr().out)
    assert written[0] == written[1]


def test_an_export_moves_everything_to_another_home(desk: World, tmp_path: Path) -> None:
    """The real program, with a pipe: there it says the same, and here it adds nothing."""
    exported = desk.aish("export")
    other = World(tmp_path / "other")
    other.directory.mkdir()
    assert other.aish("import", "--format", "jsonl", "-", given=exported.out).code == 0
    assert other.aish("export").out == exported.out
    file = tmp_path / "all.jsonl"
    file.write_text(exported.out, encoding="utf-8")
    assert run_import(open_library(desk.start()), [str(file)]) == 0
    assert len(desk.journals()) == 2


def test_what_was_unmasked_is_not_imported_again_where_it_came_from(desk: World, tmp_path: Path) -> None:
    """The file has it as it was said, and an import masks it: only the text as given is known here."""
    library = open_library(desk.start())
    journal = Journal(desk.places.sessions, NAMES[0], {}, library.redaction)
    said = "the password: hunter2xyz is a sample"
    masked = library.redaction.mask(said)
    journal.extend([(Turn("user", masked.text), library.moment("2026-05-04 13:00"), {})])
    number = [entry.number for entry in journal.entries()][-1]
    assert "hunter2xyz" not in masked.text and journal.unmask(number, masked.parts[0])

    file = tmp_path / "all.jsonl"
    file.write_text(desk.aish("export").out, encoding="utf-8")
    assert "hunter2xyz" in file.read_text(encoding="utf-8")
    assert "nothing new; 5 turns were already imported" in desk.aish("import", str(file)).out
    assert len(desk.journals()) == 2


def test_a_file_is_private_and_never_overwritten_unless_wanted(desk: World) -> None:
    """Also not one of many in a directory: then nothing is written."""
    target, many = desk.directory / "all.md", desk.directory / "many"
    assert export(desk, "--format", "markdown", "-o", str(target)) == 0
    assert target.stat().st_mode & 0o777 == 0o600
    text = target.read_text(encoding="utf-8")
    assert text.startswith(f"# Conversation {NAMES[0]}\n") and "\n\n# otters\n" in text
    with pytest.raises(BadUsage, match="already exists; choose another name, or use --force"):
        export(desk, "-o", str(target))
    assert target.read_text(encoding="utf-8") == text
    assert export(desk, "--force", "-o", str(target)) == 0
    assert len(asked(target.read_text(encoding="utf-8"))) == 2

    many.mkdir()
    (many / f"{NAMES[1]}.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(BadUsage, match="already exists"):
        export(desk, "-o", f"{many}/")
    assert [file.name for file in many.iterdir()] == [f"{NAMES[1]}.jsonl"]
    assert export(desk, "-o", f"{many}", "--format", "claude-code") == 0
    assert len(list(many.iterdir())) == 3


def test_a_wrong_wish_says_why_and_leaves_nothing(desk: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A directory that cannot be made, a device, a conversation or a time that does not exist."""
    with pytest.raises(StoreTrouble, match="cannot write"):
        export(desk, "-o", f"{desk.directory}/no/such/file")
    with pytest.raises(BadUsage, match="not a regular file"):
        export(desk, "--force", "-o", "/dev/null")
    with pytest.raises(NotFound, match="no conversation 'herons'"):
        export(desk, "herons")
    with pytest.raises(BadUsage, match="is not a time"):
        export(desk, "--since", "blue")
    assert export(desk, "--channel", "herons") == 1
    assert "no turn matches" in capsys.readouterr().err
