"""Looking up words as the shell does, on a real PATH and in a real directory."""

import os
import threading
import time
from pathlib import Path

import pytest

from aish.action.shell_words import ShellWords


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def put_program(folder: Path, name: str, *, mode: int = 0o755) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / name).chmod(mode)


def touch_folder(folder: Path, seconds: int) -> None:
    """Give the folder a new modification time that any file system can represent."""
    os.utime(folder, (seconds, seconds))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    put_program(tmp_path / "bin", "frobnicate")
    put_program(tmp_path / "bin", "data", mode=0o644)
    (tmp_path / "bin" / "folder").mkdir()
    return tmp_path


@pytest.fixture
def words(place: Path) -> ShellWords:
    path = os.pathsep.join([str(place / "bin"), str(place / "missing"), ""])
    return ShellWords(path, str(place), aliases={"ll", "test"}, functions={"mkcd", "echo"}, clock=Clock())


@pytest.mark.proves("P1")
def test_a_word_is_what_the_shell_would_take_it_for(words: ShellWords, place: Path) -> None:
    """In bash's order: aliases, keywords, functions, builtins, programs."""
    taken = {word: words.kind(word) for word in ("ll", "test", "for", "mkcd", "echo", "cd", "frobnicate", "nothing")}
    assert taken == {
        "ll": "alias",
        "test": "alias",
        "for": "keyword",
        "mkcd": "function",
        "echo": "function",
        "cd": "builtin",
        "frobnicate": "program",
        "nothing": "",
    }
    assert words.kind("bin/frobnicate") == "path"
    assert words.kind(str(place / "bin" / "none")) == ""


def test_what_cannot_be_run_is_no_program(words: ShellWords) -> None:
    assert [words.kind("data"), words.kind("folder")] == ["", ""]


def test_files_are_seen_from_the_directory_of_the_shell(words: ShellWords, place: Path) -> None:
    (place / "deep").mkdir()
    (place / "deep" / "note").touch()
    assert words.exists("deep/note")
    assert not words.exists("note")
    words.directory = str(place / "deep")
    assert words.exists("note")
    assert words.exists(str(place / "bin"))
    assert words.exists("~")
    for odd in ("", "a\0b", "x" * 5000, "\udcff"):
        assert not words.exists(odd)


def test_a_directory_of_the_path_is_read_again_when_it_has_changed(place: Path) -> None:
    clock = Clock()
    words = ShellWords(str(place / "bin"), str(place), clock=clock)
    touch_folder(place / "bin", 1000)
    assert not words.kind("newcomer")
    put_program(place / "bin", "newcomer")
    touch_folder(place / "bin", 2000)
    assert not words.kind("newcomer"), "within a second the disk is not asked again"
    clock.now += 1.5
    assert words.kind("newcomer") == "program"


def test_a_directory_of_the_path_that_has_not_changed_is_not_read_again(place: Path) -> None:
    clock = Clock()
    words = ShellWords(str(place / "bin"), str(place), clock=clock)
    touch_folder(place / "bin", 1000)
    assert words.kind("frobnicate")
    (place / "bin" / "frobnicate").unlink()
    touch_folder(place / "bin", 1000)
    clock.now += 10
    assert words.kind("frobnicate"), "the listing of before is still believed"


def test_another_path_counts_at_once(words: ShellWords, place: Path) -> None:
    """`export PATH=…` in the live shell must take effect at the next key."""
    assert words.kind("frobnicate")
    put_program(place / "other", "elsewhere")
    words.path = str(place / "other")
    assert [words.kind("frobnicate"), words.kind("elsewhere")] == ["", "program"]
    words.aliases = {"frobnicate"}
    assert words.kind("frobnicate") == "alias"


def test_a_path_that_is_learned_while_the_disk_is_asked_counts_too(words: ShellWords, place: Path) -> None:
    """The shell reports its PATH from another thread, while the first line is typed."""
    (place / "more").mkdir()
    put_program(place / "more", "newcomer")

    class Moving(str):
        """A PATH that is replaced while its directories are listed."""

        def split(self, *given: object) -> list[str]:
            words.path = f"{self}{os.pathsep}{place / 'more'}"
            return str(self).split(os.pathsep)

    words.path = Moving(words.path)
    assert words.kind("newcomer") == ""
    assert words.kind("newcomer") == "program"


def test_programs_that_two_threads_list_at_once_are_those_of_each_path(place: Path) -> None:
    """Words are completed in one thread, while another checks each key."""
    put_program(place / "more", "newcomer")
    clock, meanwhile = Clock(), list[str]()

    class Listed(ShellWords):
        """Words that another thread looks up while their directory is read."""

        def _list(self, folder: str, before: tuple[int, frozenset[str]] | None) -> tuple[int, frozenset[str]]:
            if meanwhile:
                self.path = meanwhile.pop()
                assert self.programs() == {"newcomer"}
            return super()._list(folder, before)

    words = Listed(str(place / "bin"), str(place), clock=clock)
    assert words.programs() == {"frobnicate"}
    clock.now += 2
    meanwhile.append(str(place / "more"))
    assert words.programs() == {"frobnicate"}
    words.path = str(place / "bin")
    assert words.programs() == {"frobnicate"}


def test_a_directory_of_the_path_may_come_and_go(place: Path) -> None:
    clock = Clock()
    words = ShellWords(str(place / "late"), str(place), clock=clock)
    assert not words.kind("latecomer")
    put_program(place / "late", "latecomer")
    clock.now += 2
    assert words.kind("latecomer")
    (place / "late" / "latecomer").unlink()
    (place / "late").rmdir()
    clock.now += 2
    assert not words.kind("latecomer")


@pytest.mark.proves("P1")
def test_targets_are_read_from_what_is_there(words: ShellWords, place: Path) -> None:
    makefile = ".PHONY: all\nCC := gcc\nX = a:b\nall: one two\n\techo no: target\none two: dep\n%.o: %.c\n"
    (place / "Makefile").write_text(makefile, encoding="utf-8")
    (place / "justfile").write_text("serve port='80': build\n  run\n@quiet:\n  x\nv := 'a'\n", encoding="utf-8")
    (place / "package.json").write_text('{"scripts": {"dev": "vite"}}', encoding="utf-8")
    assert all(words.is_target("make", word) for word in ("all", "one", "two"))
    assert not any(words.is_target("make", word) for word in ("CC", "X", "dep", "echo", "coffee", "no"))
    assert words.is_target("just", "serve")
    assert words.is_target("just", "quiet")
    assert not words.is_target("just", "v")
    assert words.is_target("npm", "dev")
    assert not words.is_target("npm", "vite")
    assert not words.is_target("ls", "all")


def test_targets_follow_the_file(words: ShellWords, place: Path) -> None:
    file = place / "Makefile"
    assert not words.is_target("make", "first")
    file.write_text("first:\n", encoding="utf-8")
    os.utime(file, (1000, 1000))
    assert words.is_target("make", "first")
    file.write_text("second:\n", encoding="utf-8")
    os.utime(file, (2000, 2000))
    assert [words.is_target("make", word) for word in ("first", "second")] == [False, True]


@pytest.mark.parametrize("text", ["", "[1]", '{"scripts": 3}', '{"scripts": null}', "{", "[" * 100_000])
def test_a_broken_package_has_no_targets(words: ShellWords, place: Path, text: str) -> None:
    (place / "package.json").write_text(text, encoding="utf-8")
    assert not words.is_target("npm", "dev")


@pytest.mark.proves("P1")
def test_commands_one_slip_away_are_near(words: ShellWords) -> None:
    for slip in ("frobincate", "frobnicat", "frobnnicate", "frobmicate"):
        assert words.near(slip) == ("frobnicate",), slip
    assert words.near("mkdc") == ("mkcd",)
    assert words.near("pwdd") == ("pwd",)
    assert "cd" in words.near("dc")
    for other in ("frobnicate", "frobinactes", "", "x", "ümläut", "y" * 1000):
        assert words.near(other) == (), other


@pytest.mark.proves("P1")
def test_a_directory_that_does_not_answer_delays_nobody(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead network drive on the PATH. What it has is known when it answers; the others are known at once."""
    put_program(place / "far", "distant")
    for number in range(200):
        put_program(place / f"bin{number}", f"tool{number}")
    path = os.pathsep.join([str(place / "far"), *(str(place / f"bin{number}") for number in range(200))])
    clock, answers = Clock(), threading.Event()
    words = ShellWords(path, str(place), clock=clock)
    listing = ShellWords._list

    def slow(self: ShellWords, folder: str, before: tuple[int, frozenset[str]] | None) -> tuple[int, frozenset[str]]:
        if folder.endswith("far"):
            assert answers.wait(30)
        return listing(self, folder, before)

    monkeypatch.setattr(ShellWords, "_list", slow)
    start = time.monotonic()
    assert words.kind("tool199") == "program" and words.kind("distant") == ""
    assert time.monotonic() - start < 2
    put_program(place / "bin7", "newer")
    touch_folder(place / "bin7", 1_000_000)
    for _ in range(20):  # and it is not waited for again
        clock.now += 2
        assert words.kind("newer") == "program"
    assert time.monotonic() - start < 3
    answers.set()
    deadline = time.monotonic() + 10
    while not words.kind("distant") and time.monotonic() < deadline:
        clock.now += 2
    assert words.kind("distant") == "program"


def test_one_program_is_found_without_listing_directories(words: ShellWords, monkeypatch: pytest.MonkeyPatch) -> None:
    """`aish route` looks up a word or two, and a directory of programs has thousands."""
    listed = []

    def remember(self: ShellWords, folder: str, before: object) -> tuple[int, frozenset[str]]:
        listed.append(folder)
        return 0, frozenset()

    monkeypatch.setattr(ShellWords, "_list", remember)
    few = ShellWords(words.path, words.directory, few=True)

    taken = {word: few.kind(word) for word in ("frobnicate", "nothing", "data", "folder", "a\0b", "x" * 300, "cd")}

    assert taken == dict.fromkeys(taken, "") | {"frobnicate": "program", "cd": "builtin"}
    assert listed == []


def test_a_lookup_that_hangs_does_not_hide_the_other_directories(
    words: ShellWords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the directories are listed, each by itself."""
    answered = threading.Event()
    monkeypatch.setattr(ShellWords, "_find", lambda self, word: answered.wait(10))
    monkeypatch.setattr("aish.action.shell_words._PATIENCE", 0.01)
    few = ShellWords(words.path, words.directory, few=True)
    try:
        deadline = time.monotonic() + 10
        while few.kind("frobnicate") != "program":  # listing may take longer than this patience, too
            assert time.monotonic() < deadline
    finally:
        answered.set()
