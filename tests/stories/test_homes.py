"""The home of aish: with a home directory, with an unusual one, and without any."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from world import World

UNKNOWN_USER = 54321  # a user that the machine does not know, as in many containers
SCRIPT: dict[str, Any] = {
    "AISH_SET_MODEL": "s",
    "AISH_SET_MODELS__S__KIND": "scripted",
    "AISH_SET_MODELS__S__ANSWERS": '["still here"]',
}  # a model that needs no file


def _is_known(uid: int) -> bool:
    try:
        return bool(pwd.getpwuid(uid))
    except KeyError:
        return False


needs_unknown_user = pytest.mark.skipif(
    os.geteuid() != 0 or _is_known(UNKNOWN_USER), reason="needs root to switch users"
)


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A directory that belongs to the unknown user."""
    path = Path(tempfile.mkdtemp(prefix="aish-test-"))
    os.chown(path, UNKNOWN_USER, UNKNOWN_USER)
    yield path
    shutil.rmtree(path)


def ask_as_unknown_user(cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Ask one question as a user without a name; the first one, as root, only loads the modules."""
    code = (
        "import contextlib, encodings.utf_8_sig, io, os, sys, aish.cli\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    os.environ['AISH_HOME'] = '/proc/nowhere'\n"
        "    assert aish.cli.run(['hello?']) == 0\n"
        "    del os.environ['AISH_HOME']\n"
        f"os.setgroups([]); os.setgid({UNKNOWN_USER}); os.setuid({UNKNOWN_USER})\n"
        "sys.exit(aish.cli.run(['hello?']))"
    )
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG") if name in os.environ}
    return subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**kept, **SCRIPT, **env},
        cwd=cwd,
        timeout=30,
        check=False,
    )


def test_without_aish_home_the_xdg_directories_are_used(world: World) -> None:
    """Relative paths in the environment are ignored, as the standard says."""
    env = {name: value for name, value in world.environment(**SCRIPT).items() if name != "AISH_HOME"}
    home, data = world.directory / "me", world.directory / "my data"
    env |= {"HOME": str(home), "XDG_DATA_HOME": str(data), "XDG_CACHE_HOME": "relative"}

    ran = subprocess.run(
        [sys.executable, "-m", "aish", "q"], stdin=subprocess.DEVNULL, capture_output=True, env=env, cwd=world.directory
    )

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"still here\n", b"")
    assert len(list((data / "aish" / "sessions").glob("*.jsonl"))) == 1
    assert sorted(path.name for path in world.directory.iterdir()) == ["me", "my data"]
    assert [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()] == [
        ".cache/aish/tokens/ratios.json"
    ]


def test_a_home_with_the_tilde_of_an_unknown_user_works(world: World) -> None:
    """`~user` of an unknown user stays a name, as in a shell."""
    ran = world.aish("q", AISH_HOME="~nosuchuser/aish", **SCRIPT)

    assert (ran.code, ran.out, ran.err) == (0, "still here\n", "")


@needs_unknown_user
def test_a_user_without_home_gets_an_answer_and_a_warning_that_nothing_is_kept(theirs: Path) -> None:
    """Files go to the temporary directory, readable for this user only."""
    ran = ask_as_unknown_user(Path("/"), TMPDIR=str(theirs))

    assert (ran.returncode, ran.stdout) == (0, "still here\n")
    assert ran.stderr == "[aish] there is no home directory, so nothing is stored permanently; set HOME or AISH_HOME\n"
    assert [path.stat().st_mode & 0o077 for path in theirs.rglob("*") if path.is_dir()][:1] == [0]


@needs_unknown_user
def test_settings_of_others_in_the_temporary_directory_are_ignored(theirs: Path) -> None:
    """Everybody can create /tmp/aish-UID first, and settings can name a command to run."""
    planted = theirs / f"aish-{UNKNOWN_USER}" / ".config" / "aish" / "config.toml"
    planted.parent.mkdir(parents=True)
    planted.write_text("planted = 1\n", encoding="utf-8")

    ran = ask_as_unknown_user(Path("/"), TMPDIR=str(theirs))

    assert (ran.returncode, ran.stdout) == (0, "still here\n")
    assert "planted" not in ran.stderr


@needs_unknown_user
def test_an_unreadable_directory_is_no_project(theirs: Path, tmp_path: Path) -> None:
    """`sudo -u somebody aish` may start where that user has no rights."""
    tmp_path.chmod(0o700)

    ran = ask_as_unknown_user(tmp_path, HOME=str(theirs))

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "still here\n", "")
