"""The trash: files are stored as the standard says, and restored unchanged."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from world import World

from aish.action.trash import as_trash, in_trash, move_to_trash, restore
from aish.values.errors import BadUsage, Declined, NotFound, StoreTrouble
from aish.views.trash import run

NOON = datetime(2026, 3, 1, 12, 0, 0)
MEMORY_DISK = Path("/dev/shm")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


def env(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


def test_a_file_goes_to_the_trash_at_home_with_a_note(home: Path, tmp_path: Path) -> None:
    """Any file manager can show and restore it."""
    path = tmp_path / "two words 100%.txt"
    path.write_text("text", encoding="utf-8")

    (trashed,) = move_to_trash([path], env=env(home), now=NOON)

    trash = home / ".local/share/Trash"
    assert not path.exists()
    assert (trash / "files/two words 100%.txt").read_text(encoding="utf-8") == "text"
    note = (trash / "info/two words 100%.txt.trashinfo").read_text(encoding="utf-8")
    told = str(tmp_path).replace("%", "%25") + "/two%20words%20100%25.txt"
    assert note == f"[Trash Info]\nPath={told}\nDeletionDate=2026-03-01T12:00:00\n"
    assert trash.stat().st_mode & 0o777 == 0o700
    assert in_trash(env=env(home)) == [trashed]
    assert restore(trashed) == path
    assert path.read_text(encoding="utf-8") == "text"
    assert not list(trash.rglob("*.trashinfo"))


def test_the_data_directory_of_the_user_is_honoured(home: Path, tmp_path: Path) -> None:
    """The trash is where the desktop looks for it."""
    path = tmp_path / "x"
    path.touch()

    (trashed,) = move_to_trash([path], env={**env(home), "XDG_DATA_HOME": str(tmp_path / "data")})

    assert trashed.kept == tmp_path / "data/Trash/files/x"


def test_names_that_clash_are_kept_apart(home: Path, tmp_path: Path) -> None:
    """Also if a file in the trash has no info file."""
    orphan = home / ".local/share/Trash/files/x.2"
    orphan.parent.mkdir(parents=True)
    orphan.write_text("orphan", encoding="utf-8")
    for text in ("first", "second"):
        (tmp_path / "x").write_text(text, encoding="utf-8")
        move_to_trash([tmp_path / "x"], env=env(home), now=NOON)

    kept = {item.kept.name: item.kept.read_text(encoding="utf-8") for item in in_trash(env=env(home))}
    assert kept == {"x": "first", "x.3": "second"}
    assert orphan.read_text(encoding="utf-8") == "orphan"


def test_a_link_is_moved_and_not_what_it_points_to(home: Path, tmp_path: Path) -> None:
    """As with rm; also a broken link."""
    (tmp_path / "thing").mkdir()
    (tmp_path / "link").symlink_to("thing")
    (tmp_path / "broken").symlink_to("nowhere")

    moved = move_to_trash([tmp_path / "link", tmp_path / "broken"], env=env(home))

    assert (tmp_path / "thing").is_dir()
    assert [str(item.kept.readlink()) for item in moved] == ["thing", "nowhere"]


def test_a_directory_comes_back_with_all_that_was_in_it(home: Path, tmp_path: Path) -> None:
    """Also if its parent directory has been deleted since then."""
    path = tmp_path / "around/tree"
    (path / "sub").mkdir(parents=True)
    (path / "sub/x").write_text("deep", encoding="utf-8")
    (trashed,) = move_to_trash([path], env=env(home))
    path.parent.rmdir()

    restore(trashed)

    assert (path / "sub/x").read_text(encoding="utf-8") == "deep"


def test_nothing_is_put_back_over_something_else(home: Path, tmp_path: Path) -> None:
    """That would be another deletion."""
    (tmp_path / "x").touch()
    (trashed,) = move_to_trash([tmp_path / "x"], env=env(home))
    (tmp_path / "x").write_text("new", encoding="utf-8")

    with pytest.raises(Declined, match=r"x exists again"):
        restore(trashed)
    trashed.kept.unlink()
    with pytest.raises(NotFound, match="no longer in the trash"):
        restore(trashed)

    assert (tmp_path / "x").read_text(encoding="utf-8") == "new"


def test_all_are_moved_or_none(home: Path, tmp_path: Path) -> None:
    """A partial deletion is hard to understand and hard to undo."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").touch()

    with pytest.raises(NotFound, match=r"/gone does not exist"):
        move_to_trash([tmp_path / "a", tmp_path / "gone"], env=env(home))
    with pytest.raises(StoreTrouble, match=r"cannot move .*/a/b to the trash"):
        move_to_trash([tmp_path / "a", tmp_path / "a/b"], env=env(home))

    assert (tmp_path / "a/b").exists()
    assert in_trash(env=env(home)) == []
    assert not list(home.rglob("*.trashinfo"))


def test_what_holds_the_trash_or_is_a_place_stays(home: Path, tmp_path: Path) -> None:
    """Nobody means the home, the root or the current directory."""
    (tmp_path / "x").touch()
    (trashed,) = move_to_trash([tmp_path / "x"], env=env(home))

    for path, kind, reason in (
        (home, Declined, "contains the trash"),
        (trashed.kept, Declined, "already in the trash"),
        (Path("/"), BadUsage, "name the file or directory itself"),
        (Path(), BadUsage, "name the file or directory itself"),
        (tmp_path / "..", BadUsage, "name the file or directory itself"),
        (Path("/proc"), Declined, "is a mount point"),
    ):
        with pytest.raises(kind, match=reason):
            move_to_trash([path], env=env(home))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A directory on another file system than the home."""
    if not MEMORY_DISK.is_mount() or MEMORY_DISK.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    own = MEMORY_DISK / f".Trash-{os.getuid()}"
    if own.exists():
        pytest.skip("there is a trash on the other file system, which may be somebody's")
    path = Path(mkdtemp(dir=MEMORY_DISK))
    yield path
    shutil.rmtree(path)
    shutil.rmtree(own, ignore_errors=True)


def test_another_file_system_has_a_trash_of_its_own(home: Path, elsewhere: Path) -> None:
    """Nothing is copied; the stored path is relative, so that the disk can be mounted elsewhere."""
    path = elsewhere / "x"
    path.write_text("there", encoding="utf-8")

    (trashed,) = move_to_trash([path], env=env(home))

    assert trashed.kept == MEMORY_DISK / f".Trash-{os.getuid()}/files/x"
    assert f"Path={elsewhere.name}/x\n" in trashed.info.read_text(encoding="utf-8")
    assert [item.path for item in in_trash([elsewhere], env=env(home))] == [path]
    assert in_trash(env=env(home)) == []
    restore(trashed)
    assert path.read_text(encoding="utf-8") == "there"


def test_without_a_trash_on_its_file_system_a_file_stays(home: Path, elsewhere: Path) -> None:
    """A trash that is a link is not used, because somebody else may have created it."""
    path = elsewhere / "x"
    path.touch()
    own = MEMORY_DISK / f".Trash-{os.getuid()}"
    own.symlink_to(home)
    try:
        with pytest.raises(Declined, match="there is no trash on the file system"):
            move_to_trash([path], env=env(home))
    finally:
        own.unlink()

    assert path.exists()


@settings(max_examples=30, deadline=None)
@given(st.binary(min_size=1, max_size=250).filter(lambda name: not set(name) & {0, 0x2F} and name not in (b".", b"..")))
@example(b"x" * 255)
@example("ü".encode() * 127)
def test_any_name_comes_back_as_it_was(name: bytes) -> None:
    """Names are bytes, including newlines, percent signs and invalid characters."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / os.fsdecode(name)
        path.touch()

        move_to_trash([path], env={"HOME": directory})
        (found,) = in_trash(env={"HOME": directory})

        assert found.path == path
        assert restore(found) == path
        assert path.exists()


def test_notes_that_make_no_sense_are_passed_over(home: Path, tmp_path: Path) -> None:
    """Other programs write there too."""
    (tmp_path / "good").touch()
    (good,) = move_to_trash([tmp_path / "good"], env=env(home), now=NOON)
    for name, text in (("empty", ""), ("relative", "Path=x\n"), ("lost", "Path=/tmp/lost\n"), ("odd", "Path=/odd\n")):
        good.info.with_name(f"{name}.trashinfo").write_text(text, encoding="utf-8")
        if name != "lost":
            good.kept.with_name(name).touch()

    assert [str(item.path) for item in in_trash(env=env(home))] == [str(tmp_path / "good"), "/odd"]


@pytest.mark.parametrize(
    ("command", "offer"),
    [
        ("rm notes.txt", "aish trash notes.txt"),
        ("rm -rf build dist", "aish trash -rf build dist"),
        ("rm build -Rf", "aish trash -rf build"),
        ("  /bin/rm --recursive 'two words' ", "aish trash -r 'two words'"),
        ('rm -f "it\'s.txt" a\\ b', 'aish trash -f "it\'s.txt" a\\ b'),
        ("rm *.log ~/old", "aish trash -- *.log ~/old"),
        ("rm -- -odd", "aish trash -- -odd"),
        ("rm", None),
        ("rm -rf", None),
        ("rm -i x", None),
        ("rm --no-preserve-root -r /", None),
        ("rm $TARGET", None),
        ('rm "$HOME/x"', None),
        ("rm $(cat list)", None),
        ("rm `cat list`", None),
        ("rm a; ls", None),
        ("rm a && rm b", None),
        ("rm a | cat", None),
        ("rm a > log", None),
        ("rm a &", None),
        ("rm a\nrm b", None),
        ("rm 'a\nb'", None),
        ("rm a # old", None),
        ("rm 'unfinished", None),
        ("rm '-rf' x", None),
        ('rm ""-r x', None),
        ("rm -'r' x", None),
        ("sudo rm x", None),
        ("X=1 rm x", None),
        ("rmdir x", None),
        ("'rm' x", None),
        ("", None),
    ],
)
def test_a_plain_rm_has_an_offer_and_nothing_else_does(command: str, offer: str | None) -> None:
    """The offer must affect the same files and no more; options with another meaning get no offer."""
    assert as_trash(command) == offer


@settings(max_examples=30, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=20))
def test_an_offer_names_the_same_files_to_the_shell(name: str) -> None:
    """The words are kept as typed, so that the shell expands them in the same way."""
    offer = as_trash(f"rm -f {name}")

    if offer:
        ours, theirs = (
            subprocess.run(
                ["bash", "-c", f"shift_to() {{ printf '%s\\0' \"$@\"; }}; shift_to {words}"],
                capture_output=True,
                cwd="/proc/self/fdinfo",
                check=False,
                timeout=10,
            ).stdout
            for words in (offer.removeprefix("aish trash -f ").removeprefix("-- "), name)
        )
        assert ours == theirs


def test_the_verb_moves_lists_and_restores(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the outside, in the current directory."""
    start = world.start()
    (world.directory / "x").write_text("text", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(world.directory / "data"))

    assert run(start, ["--list"]) == 1
    assert run(start, ["x"]) == 0
    assert not (world.directory / "x").exists()
    assert run(start, ["--list", "--json"]) == 0
    assert run(start, ["--restore", "x"]) == 0
    with pytest.raises(NotFound, match="aish trash --list"):
        run(start, ["--restore", "x"])

    assert (world.directory / "x").read_text(encoding="utf-8") == "text"
    assert f'"path": "{world.directory}/x"' in capsys.readouterr().out


def test_the_verb_takes_directories_only_when_told_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It replaces rm, which would refuse them too."""
    monkeypatch.setenv("XDG_DATA_HOME", str(world.directory / "data"))
    start = world.start()
    (world.directory / "tree").mkdir()
    (world.directory / "link").symlink_to("tree")

    with pytest.raises(Declined, match="is a directory; nothing was moved"):
        run(start, ["link", "tree"])
    assert (world.directory / "link").is_symlink()
    with pytest.raises(NotFound):
        run(start, ["-r", "tree", "gone"])
    assert run(start, ["-rf", "--", "tree", "link", "gone"]) == 0
    assert not (world.directory / "tree").exists()
    with pytest.raises(SystemExit):
        run(start, [])
