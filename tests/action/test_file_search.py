"""Searching files: it ends in time, and leaves no process behind."""

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

import pytest

from aish.action import file_search
from aish.action.file_search import Walk, name_matches, ripgrep, search
from aish.values.errors import BadUsage, Declined

pytestmark = pytest.mark.anyio


def children() -> list[str]:
    """The searches that this process has started and that still run."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [pid for pid in found if b"line_search" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def lines(root: Path, pattern: str, program: str | None = "") -> list[str]:
    async with aclosing(search(root, root, pattern, "", lambda path: False, program=program)) as found:
        return [line.text async for line in found]


async def test_a_pattern_that_takes_for_ever_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process is ended; a thread could not be."""
    monkeypatch.setattr(file_search, "_SEARCH_SECONDS", 0.5)
    (tmp_path / "a").write_text("a" * 60 + "b\n", encoding="utf-8")

    with pytest.raises(TimeoutError):
        await lines(tmp_path, "^(a+)+$")
    assert children() == []


async def test_a_search_that_is_stopped_early_ends_its_process(tmp_path: Path) -> None:
    """Ctrl-C, or enough matches; the pipe may be full of others."""
    (tmp_path / "a").write_text("needle\n" * 200_000, encoding="utf-8")

    for program in ("", ripgrep(tmp_path)):
        async with (
            asyncio.timeout(20),
            aclosing(search(tmp_path, tmp_path, "needle", "", lambda path: False, program=program)) as found,
        ):
            assert (await anext(found)).number == 1
    assert children() == []


@pytest.mark.parametrize("pattern", ["", "a\nb", "a\0b", "x" * 2000])
async def test_a_pattern_that_cannot_be_one_is_refused(tmp_path: Path, pattern: str) -> None:
    """Before a program is started."""
    with pytest.raises(BadUsage, match="regular expression for one line"):
        await lines(tmp_path, pattern)


async def test_a_search_that_cannot_start_is_refused(tmp_path: Path) -> None:
    """Such as one in a directory that may not be entered."""
    with pytest.raises(Declined, match="cannot start: No such file"):
        await lines(tmp_path, "a", program=str(tmp_path / "rg"))


async def test_options_in_a_pattern_or_glob_are_no_options(tmp_path: Path) -> None:
    """They come from the model."""
    (tmp_path / "a").write_text("--pre=touch\n", encoding="utf-8")

    for program in ("", None):
        assert await lines(tmp_path, "--pre=touch", program) == ["--pre=touch"]
    assert not (tmp_path / "touch").exists()


def test_ripgrep_of_the_project_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project could bring its own, in a directory of PATH."""
    (tmp_path / "rg").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "rg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert ripgrep(tmp_path) == ""
    assert ripgrep(tmp_path / "elsewhere") == str(tmp_path / "rg")


def test_a_walk_through_endless_directories_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a number of entries; links back to the start are not followed."""
    monkeypatch.setattr(file_search, "_MOST_VISITED", 100)
    (tmp_path / "loop").symlink_to(tmp_path)
    for number in range(150):
        (tmp_path / f"{number}").touch()
    walk = Walk(tmp_path, tmp_path, lambda path: False)

    assert len(list(walk)) == 100
    assert not walk.complete


def test_globs_match_names_or_paths() -> None:
    """As in .gitignore: with a slash the whole path counts."""
    names = ["a.py", "src/b.py", "src/x/c.py", "d.txt"]
    found = {
        glob: [name for name in names if name_matches(glob)(name)] for glob in ("*.py", "src/*.py", "**/c.*", "?.txt")
    }

    assert list(found.values()) == [names[:3], ["src/b.py"], ["src/x/c.py"], ["d.txt"]]
    with pytest.raises(BadUsage):
        name_matches("**/" * 9 + "x")
