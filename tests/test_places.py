"""The places of files, with and without a home directory, and the project of a directory."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import aish
from aish.places import Places, find_places, find_project

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch users")
UNKNOWN_USER = 54321  # a user id without an entry in the user database


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that other users can read; those of pytest are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_unknown_user(code: str, directory: Path, **env: str) -> str:
    """Return the output of `code`, run as a user without home and name; modules are loaded before the switch."""
    setup = "import os, pwd; from pathlib import Path; from aish.places import *; os.setgroups([]); "
    setup += f"os.setgid({UNKNOWN_USER}); os.setuid({UNKNOWN_USER}); "
    done = subprocess.run(
        [sys.executable, "-c", setup + code],
        env={"PYTHONPATH": str(Path(aish.__file__).parents[1]), **env},
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_without_variables_the_places_are_the_usual_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users of other programs find everything where they expect it."""
    monkeypatch.setenv("HOME", "/home/ann")
    home = Path("/home/ann")

    places = find_places({"HOME": "/home/ann"})

    assert places == Places(
        config=home / ".config/aish",
        data=home / ".local/share/aish",
        cache=home / ".cache/aish",
        state=home / ".local/state/aish",
    )
    assert places.lasting
    assert places.config_file == home / ".config/aish/config.toml"
    assert places.sessions == home / ".local/share/aish/sessions"


def test_xdg_variables_move_the_places_and_relative_ones_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard says that a relative path in them is invalid."""
    monkeypatch.setenv("HOME", "/home/ann")
    env = {"HOME": "/home/ann", "XDG_DATA_HOME": "/data", "XDG_CACHE_HOME": "cache", "XDG_STATE_HOME": ""}

    places = find_places(env)

    assert places.data == Path("/data/aish")
    assert places.cache == Path("/home/ann/.cache/aish")
    assert places.state == Path("/home/ann/.local/state/aish")


def test_one_variable_puts_everything_under_one_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For a second, separate aish; a relative path is resolved at the start."""
    monkeypatch.chdir(tmp_path)

    places = find_places({"AISH_HOME": "mine", "XDG_DATA_HOME": "/data"})

    assert places == Places(
        config=tmp_path / "mine/config",
        data=tmp_path / "mine/data",
        cache=tmp_path / "mine/cache",
        state=tmp_path / "mine/state",
    )
    assert list(tmp_path.iterdir()) == []


def test_a_tilde_in_the_variable_is_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """For places where no shell expands it, such as service files."""
    monkeypatch.setenv("HOME", "/home/ann")

    assert find_places({"AISH_HOME": "~/x", "HOME": "/home/ann"}).data == Path("/home/ann/x/data")


def test_a_tilde_of_an_unknown_user_is_a_plain_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shell does not change it either; the program must start."""
    monkeypatch.chdir(tmp_path)

    assert find_places({"AISH_HOME": "~no-such-user/x"}).data == tmp_path / "~no-such-user/x/data"


def test_every_file_has_a_place_of_its_own(tmp_path: Path) -> None:
    """Two stores in one file would destroy each other."""
    places = find_places({"AISH_HOME": str(tmp_path)})
    derived = [getattr(places, name) for name, value in vars(Places).items() if isinstance(value, property)]

    assert len(derived) >= 8
    assert len(set(derived)) == len(derived)
    assert all(path.is_relative_to(tmp_path) for path in derived)


@only_root
def test_a_user_without_home_gets_temporary_places(open_directory: Path) -> None:
    """Containers run programs as unknown users; aish works there, and knows that its files are temporary."""
    shown = as_unknown_user(
        "p = find_places(os.environ); print(p.lasting, p.data)", open_directory, TMPDIR="/elsewhere"
    )

    lasting, data = shown.split(" ", 1)
    assert lasting == "False"
    assert Path(data).is_absolute()


@only_root
def test_a_user_without_home_does_not_use_settings_prepared_by_others(open_directory: Path) -> None:
    """Everybody can write to /tmp, and settings can name a command to run."""
    planted = open_directory / f"aish-{UNKNOWN_USER}" / ".config" / "aish" / "config.toml"
    planted.parent.mkdir(parents=True)
    planted.write_text('[models.x]\napi_key_command = "evil"\n', encoding="utf-8")

    code = "print(find_places(os.environ).config_file.exists())"
    assert as_unknown_user(code, open_directory, TMPDIR=str(open_directory)) == "False"


@pytest.mark.parametrize("mark", [".git", ".aish.toml"])
def test_a_project_is_the_nearest_directory_with_a_mark(tmp_path: Path, mark: str) -> None:
    """Settings and facts of a project apply in all its folders."""
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "project" / mark).touch()

    assert find_project(inner) == tmp_path / "project"
    assert find_project(tmp_path / "project") == tmp_path / "project"
    assert find_project(tmp_path) == tmp_path


def test_a_directory_without_marks_is_its_own_project(open_directory: Path) -> None:
    """Also a directory that no longer exists."""
    assert find_project(open_directory) == open_directory
    assert find_project(open_directory / "gone") == open_directory / "gone"


@only_root
def test_an_unreadable_parent_is_not_a_project(open_directory: Path) -> None:
    """`sudo -u nobody aish` may start in a directory of root; it must work."""
    inner = open_directory / "private" / "inner"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o700)

    assert as_unknown_user(f"print(find_project(Path({str(inner)!r})))", open_directory, HOME="/") == str(inner)
