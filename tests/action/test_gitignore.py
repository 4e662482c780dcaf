"""Which files a project ignores."""

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.gitignore import is_ignored, read_rules

PATTERNS = """
*.log
!keep.log
/top
build/
src/gen
docs/**/out
**/cache
a?c
[xy]z
[!p]q
sp\\ ace
foo*bar*baz
\\#hash
trailing
# a comment
deep/**
"""
PATHS = """
a.log keep.log sub/a.log sub/keep.log top sub/top build/x sub/build/x src/gen sub/src/gen docs/out docs/a/b/out
cache/x sub/cache/x abc ac xz yz zz pq qq fooXbarYbaz foobarbazz #hash trailing sub/trailing deep/a/b .gitignore
""".split()
PATHS.append("sp ace")


def ignored(text: str, path: str) -> bool:
    """Is a path or a directory above it ignored?"""
    rules, parts = read_rules("", text), path.split("/")
    return any(
        is_ignored(rules, "/".join(parts[:depth]), directory=depth < len(parts)) for depth in range(1, len(parts) + 1)
    )


def test_patterns_mean_what_they_mean_to_git(tmp_path: Path) -> None:
    """Git is asked about each path."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, timeout=20)
    (tmp_path / ".gitignore").write_text(PATTERNS, encoding="utf-8")
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    asked = subprocess.run(
        ["git", "-C", str(tmp_path), "check-ignore", "--stdin"],
        input="\n".join(PATHS),
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )

    assert {path for path in PATHS if ignored(PATTERNS, path)} == set(asked.stdout.splitlines())


def test_patterns_of_a_subdirectory_count_there_only() -> None:
    """They are relative to the directory of their file."""
    rules = read_rules("sub/", "/x\n*.o")

    found = [is_ignored(rules, path, directory=False) for path in ("x", "sub/x", "sub/deep/x", "a.o", "sub/deep/a.o")]
    assert found == [False, True, False, False, True]


@settings(max_examples=200)
@given(st.text(alphabet="a*?[]!\\/-^#. \n", max_size=30), st.text(alphabet="a/.b-", min_size=1, max_size=20))
def test_any_text_can_be_patterns(text: str, path: str) -> None:
    """A project can have anything in its files."""
    ignored(text, path)


@pytest.mark.parametrize("pattern", ["*a" * 150 + "b", "**/" * 30 + "b", "a*" * 199, "[a-" * 100])
def test_a_pattern_cannot_take_for_ever(pattern: str) -> None:
    """It may be written to stop the program."""
    started = time.process_time()

    for path in ("a" * 250, "/".join(["a" * 20] * 100)):
        ignored(pattern, path)

    assert time.process_time() - started < 2


def test_git_itself_is_always_left_out() -> None:
    """Whatever the project says."""
    assert is_ignored(read_rules("", "!.git"), "sub/.git", directory=True)
