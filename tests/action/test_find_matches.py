"""What find would delete: counted for its simplest tests, and not guessed for the others."""

import time
from pathlib import Path

import pytest

from aish.action.find_matches import is_search, matches


def found(target: str, directory: Path) -> list[str] | None:
    paths = matches(target, directory, time.monotonic() + 10)
    return None if paths is None else sorted(paths)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("a.o", "b.c", "sub/c.o", "sub/deep/d.O", "sub/.hidden.o"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link.o").symlink_to("sub")
    return tmp_path


@pytest.mark.parametrize(
    ("target", "paths"),
    [
        ("find . -name '*.o'", ["./a.o", "./link.o", "./sub/.hidden.o", "./sub/c.o"]),
        ("find . -type f -iname '*.o' -mindepth 3", ["./sub/deep/d.O"]),
        ("find . -maxdepth 1 -type f", ["./a.o", "./b.c"]),
        ("find sub -path '*/deep/*'", ["sub/deep/d.O"]),
        ("find sub -type d", ["sub", "sub/deep"]),
        ("find . -type l", ["./link.o"]),
        ("find a.o b.c", ["a.o", "b.c"]),
        ("find *.c", ["b.c"]),
        ("find -name a.o", ["./a.o"]),
        ("find . -name nothing", []),
    ],
)
def test_simple_tests_find_what_find_finds(target: str, paths: list[str], tree: Path) -> None:
    """The user sees how much would be deleted."""
    assert found(target, tree) == paths


@pytest.mark.parametrize(
    "target",
    [
        "find . -mtime +3", "find . -name '*.o' -o -name x", "find . ! -name x", "find . -name *.o", "find $x -name a",
        "find . -name", "find . -exec rm {} +", "find . -name 'open", "find . -type f,d", "find . -maxdepth x",
    ],
)  # fmt: skip
def test_other_tests_are_not_guessed(target: str, tree: Path) -> None:
    """A wrong number is worse than none."""
    assert found(target, tree) is None


def test_only_a_command_is_a_search() -> None:
    """A file may be called find."""
    assert is_search("find . -name x")
    assert not is_search("'find it'")
    assert not is_search("find\\ it")
    assert not is_search("findings")


def test_a_search_stops_at_its_deadline(tree: Path) -> None:
    """It runs before every question."""
    paths = matches("find .", tree, time.monotonic() - 1)
    assert paths is not None
    assert list(paths) == []
