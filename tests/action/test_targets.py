"""What a destructive command would affect: counted as the shell would expand it, and summarised in one line."""

import os
import shlex
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.command_table import load_table
from aish.action.expansion import expand
from aish.action.policy import judge
from aish.action.targets import Survey, settled, survey


def make(root: Path, *names: str, text: str = "12345") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", *who, *words], cwd=root, env=environment, check=True, capture_output=True, timeout=20)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with files that are committed, changed since then, and untracked."""
    git(tmp_path, "init")
    make(tmp_path, "kept", "sub/kept", "sub/deep/kept", "changed", "ümläut name")
    (tmp_path / "link").symlink_to("kept")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    make(tmp_path, "changed", text="54321")
    make(tmp_path, "new", "sub/new")
    return tmp_path


def test_files_directories_and_bytes_are_counted(tmp_path: Path) -> None:
    """Including the named directory itself."""
    make(tmp_path, "tree/a", "tree/b", "tree/sub/c", "other")

    found = survey(["tree"], tmp_path)

    assert (found.files, found.directories, found.bytes) == (3, 2, 15)
    assert found.words() == "3 files in 2 directories, 15 bytes; none of them are in git"
    assert survey(["other"], tmp_path).words() == "1 file, 5 bytes; not in git"


def test_links_are_counted_and_not_followed(tmp_path: Path) -> None:
    """Removing a link leaves its target, unless a trailing slash means the target."""
    make(tmp_path, "far/a", "far/b", "tree/x")
    (tmp_path / "tree/link").symlink_to("../far")
    (tmp_path / "tree/loop").symlink_to(".")

    assert survey(["tree"], tmp_path)[:3] == (1, 2, 1)
    assert survey(["tree/link"], tmp_path).words() == "1 symbolic link; not in git"
    assert survey(["tree/link/"], tmp_path)[:3] == (2, 0, 1)


def test_nothing_is_counted_twice(tmp_path: Path) -> None:
    """Operands may overlap and may be written in many ways."""
    make(tmp_path, "tree/a", "tree/sub/b", "tree-top")

    found = survey(["tree/sub", "tree", "./tree/../tree/a", str(tmp_path / "tree"), "tree-top"], tmp_path)

    assert (found.files, found.directories) == (3, 2)


@pytest.mark.parametrize(
    "word",
    [
        "*",
        "*.txt",
        ".*",
        "?.txt",
        "[ab].txt",
        "[!a].txt",
        "[^a].txt",
        "sub/*",
        "*/*",
        "*/",
        "su*/d*",
        "**/x",
        "{a,b}.txt",
        "{a,{b,sub/d}}*",
        "{a}.txt",
        "sub/{d,e}.txt",
        "'*'",
        '"*".txt',
        "\\*.txt",
        "'a'.txt",
        'a"".txt',
        "a' b'.txt",
        "a\\ b.txt",
        '"a b.txt"',
        "~/a.txt",
        "~",
        "'~'/a.txt",
        "\\~",
        "none*",
        "./*.txt",
        "sub/../a*",
        "wei[rd",
        "-x",
        "ü*",
        '"a\\"b"',
        "'[ab]'.txt",
        "[*].txt",
    ],
)
def test_a_word_is_expanded_as_bash_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    """With other names, the count would be about something else."""
    make(tmp_path, "a.txt", "b.txt", "a b.txt", ".hidden.txt", "sub/d.txt", "sub/x", "*.txt", "-x", "ümlaut", 'a"b')
    script = f"shopt -u globasciiranges; for x in {word}; do printf '%s\\0' \"$x\"; done"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    said = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=10
    )
    names = [os.fsdecode(name) for name in said.stdout.split(b"\0")[:-1]]
    names = [name for name in names if name not in (".", "..")]
    quoted = [shlex.quote(name) for name in names]

    monkeypatch.setenv("HOME", str(tmp_path))
    assert survey([word], tmp_path) == survey(quoted, tmp_path)
    assert survey([word], tmp_path).unknown == ()


@pytest.mark.parametrize(
    "word",
    [
        "$X",
        '"$HOME"/x',
        "${X}",
        "$(ls)",
        "`ls`",
        "a$",
        "<(ls)",
        "@(a|b)",
        "$'x'",
        "{1..9}",
        "~+",
        "~-",
        "[[:alpha:]]*",
        "'x",
        '"x',
    ],
)
def test_what_only_the_shell_can_know_is_said_to_be_unknown(tmp_path: Path, word: str) -> None:
    """A wrong guess would be worse than none."""
    found = survey([word], tmp_path)

    assert found.unknown == (word,)
    assert found.words() == f"only known at run time: {word}"


def test_a_quoted_dollar_is_only_a_character(tmp_path: Path) -> None:
    """In single quotes, or after a backslash."""
    make(tmp_path, "$X", "`b`")

    assert survey(["'$X'", "\\`b\\`"], tmp_path).files == 2
    assert survey(['"\\$X"'], tmp_path).files == 1


def test_operands_that_name_nothing_are_told(tmp_path: Path) -> None:
    """It may be a typing mistake, and the rest would still be deleted."""
    make(tmp_path, "here")

    assert survey(["here", "gone", "no*"], tmp_path).words() == "1 file, 5 bytes; not in git; not found: gone, no*"
    assert survey(["gone"], tmp_path).words() == "not found: gone"
    assert survey([], tmp_path).words() == "nothing"


def test_what_git_could_bring_back_is_told_apart(repository: Path) -> None:
    """Committed, changed since then, and untracked."""
    assert survey(["kept"], repository).words() == "1 file, 5 bytes; in git, unchanged"
    assert survey(["changed"], repository).words() == "1 file, 5 bytes; its changes are not in git"
    assert survey(["sub"], repository).words() == "3 files in 2 directories, 15 bytes; 1 of them is not in git"
    assert survey(["sub/deep", "kept", "link"], repository).words() == (
        "2 files and 1 symbolic link in 1 directory, 10 bytes; all of them are in git, unchanged"
    )
    found = survey(["*"], repository)
    assert (found.files, found.links, found.outside_git, found.changed) == (7, 1, 2, 1)
    assert found.words().endswith("; 2 of them are not in git, 1 has changes that are not in git")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_form_of_the_index_is_read(repository: Path, version: str) -> None:
    """Git writes the configured version; a name may share nothing with the long one before it."""
    make(repository, "x" * 200, "y")
    git(repository, "add", "x" * 200, "y")
    if version == "3":
        git(repository, "add", "--intent-to-add", "new")
        git(repository, "update-index", "--skip-worktree", "sub/deep/kept")
    else:
        git(repository, "update-index", "--index-version", version)
    assert (repository / ".git/index").read_bytes()[7] == int(version)

    found = survey(["*"], repository)

    assert (found.outside_git, found.changed) == (2, 1)


def test_the_longer_hashes_are_known(tmp_path: Path) -> None:
    """A repository can be created with SHA-256."""
    git(tmp_path, "init", "--object-format=sha256")
    make(tmp_path, "a", "b")
    git(tmp_path, "add", ".")
    os.utime(tmp_path / "a", (1, 1))

    assert survey(["a", "b"], tmp_path).words().endswith("all of them are in git, unchanged")


def test_a_file_that_was_only_touched_is_unchanged(repository: Path) -> None:
    """Its time differs, its content does not."""
    os.utime(repository / "kept", (1, 1))

    assert survey(["kept"], repository).changed == 0


def test_a_change_of_the_same_length_and_time_is_seen_while_the_index_is_fresh(repository: Path) -> None:
    """Git itself checks files again that changed at the moment the index was written."""
    noted = (repository / "kept").stat()
    make(repository, "kept", text="54321")
    os.utime(repository / "kept", ns=(noted.st_mtime_ns, noted.st_mtime_ns))
    os.utime(repository / ".git/index", ns=(noted.st_mtime_ns, noted.st_mtime_ns))

    assert survey(["kept"], repository).changed == 1


def test_with_the_repository_itself_nothing_comes_back(repository: Path) -> None:
    """The history is deleted with the files."""
    found = survey([str(repository)], repository.parent)

    assert found.repositories == 1
    assert found.outside_git == found.files + found.links
    assert "; 1 git repository with all history" in found.words()
    assert "unchanged" not in found.words()


def test_a_worktree_has_its_index_in_the_repository(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Its `.git` is a file with the path."""
    tree = tmp_path_factory.mktemp("more") / "tree"
    git(repository, "worktree", "add", str(tree))

    assert survey(["kept", "sub"], tree).words().endswith("all of them are in git, unchanged")
    assert survey([str(tree), str(repository)], tree).outside_git > 5


def test_a_broken_index_promises_nothing(repository: Path) -> None:
    """It is better to promise too little than a recovery that fails."""
    index = repository / ".git/index"
    whole = index.read_bytes()
    for broken in (b"", b"DIRC", whole[:40], b"XXXX" + whole[4:], whole[:7] + b"\x09" + whole[8:]):
        index.write_bytes(broken)
        assert survey(["kept"], repository).outside_git == 1


def test_a_broken_checkout_does_not_count_as_part_of_the_one_around_it(repository: Path) -> None:
    """The index of the outer repository may still list its files, but git would not restore them."""
    assert survey(["sub/deep/kept"], repository).outside_git == 0
    (repository / "sub/.git").write_text("nonsense\n", encoding="utf-8")

    assert survey(["sub/deep/kept"], repository).outside_git == 1


def test_no_program_is_started_by_looking(repository: Path) -> None:
    """A repository may name programs for git to run, and it may be from somebody else."""
    trap, proof = repository / ".git/trap", repository / "proof"
    trap.write_text(f"#!/bin/sh\ntouch {shlex.quote(str(proof))}\n", encoding="utf-8")
    trap.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(trap))
    git(repository, "config", "filter.x.clean", str(trap))
    make(repository, ".gitattributes", text="* filter=x\n")

    assert survey(["changed"], repository).changed == 1
    assert not proof.exists()


def test_too_many_files_are_not_counted_to_the_end(tmp_path: Path) -> None:
    """The question should come at once."""
    for number in range(30):
        (tmp_path / f"{number}").touch()

    found = survey(["*"], tmp_path, most=10)

    assert found.cut
    assert found.files == 10
    assert found.words() == "more than 10 files, 0 bytes"


def test_exactly_as_many_as_may_be_are_not_more(tmp_path: Path) -> None:
    """The text says "more than ten" only for more than ten."""
    for number in range(10):
        (tmp_path / f"{number}").touch()

    assert not survey(["*"], tmp_path, most=10).cut


def test_time_is_bounded_even_for_the_whole_machine(tmp_path: Path) -> None:
    """Patterns too: they may match in every directory."""
    started = time.monotonic()
    found = survey(["/*/*/*/*/*/nothing-like-this", "/"], tmp_path, seconds=0.1, most=10**9)

    assert found.cut
    assert time.monotonic() - started < 20  # a full survey takes minutes
    assert survey(["*"], tmp_path, seconds=-1).words().startswith("too much to count")


@pytest.mark.skipif(os.getuid() == 0, reason="root can look into every directory")
def test_directories_that_cannot_be_looked_into_are_told(tmp_path: Path) -> None:
    """Their contents are missing from the count."""
    make(tmp_path, "closed/x")
    (tmp_path / "closed").chmod(0)

    assert "1 directory could not be read" in survey(["closed"], tmp_path).words()
    (tmp_path / "closed").chmod(0o700)


def test_words_are_for_people() -> None:
    """In natural language."""
    assert Survey(files=12, directories=3, bytes=4_100_000, outside_git=2).words() == (
        "12 files in 3 directories, 4.1 MB; 2 of them are not in git"
    )
    assert Survey(directories=1).words() == "1 directory"
    assert Survey(files=10_000, bytes=3_000, cut=True).words() == "more than 10,000 files, 3.0 kB"
    assert Survey(missing=tuple("abcdefg")).words() == "not found: a, b, c, d, e and 2 more"
    assert Survey(files=1, bytes=2 * 10**15, unreadable=2).words() == (
        "1 file, 2000.0 TB; in git, unchanged; 2 directories could not be read"
    )


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab*?[]!^{},'\"\\~./ -\n"), max_size=12))
def test_no_word_is_too_odd(word: str) -> None:
    """Any typed text gets an answer."""
    with TemporaryDirectory() as name:
        make(Path(name), "a", "b", "ab")

        assert survey([word], Path(name), seconds=1, most=50).words()


TABLE = load_table()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("find . -name '*.o' -delete", "2 files, 10 bytes; none of them are in git"),
        ("find sub -delete", "1 file in 1 directory, 5 bytes; not in git"),
        ("find . -mtime +3 -delete", "only known at run time: find . -mtime +3"),
        ("cd sub; find . -name '*.o' -delete", "only known at run time: (find . -name '*.o')"),
        ("find . -name '*.o' -exec rm {} +", "only known at run time: find . -name '*.o' -exec rm {} +"),
        ("sed -i s/a/b/ a.c", "1 file, 5 bytes; not in git"),
        ("rm -r sub", "1 file in 1 directory, 5 bytes; not in git"),
    ],
)
def test_the_files_of_a_command_are_counted_and_no_other_words(command: str, words: str, tmp_path: Path) -> None:
    """A script, a pattern or a test of find is no file."""
    make(tmp_path, "a.o", "a.c", "sub/b.o")

    assert survey(judge(command, TABLE).targets, tmp_path).words() == words


@pytest.mark.parametrize("command", ["kill -9 1", "kill 1", "git branch -D old", "git push -f origin main"])
def test_a_command_without_files_names_none(command: str) -> None:
    """The number of a process is no file."""
    verdict = judge(command, TABLE)
    assert (verdict.effect, verdict.targets) == ("destroy", ())


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("echo x > new", "change"),
        ("echo x > new > 'other new'", "change"),
        ("echo x > old", "destroy"),
        ("echo x > new; echo x > old", "destroy"),
        ("echo x > dangling", "destroy"),
        ("echo x > $name", "destroy"),
        ("cd sub; echo x > new", "destroy"),
        ("echo x > new; rm old", "destroy"),
        ("rsync a b:c > new", "send"),
        ("mkdir a", "change"),
        ("ls", "read"),
    ],
)
def test_a_redirection_that_creates_a_file_destroys_nothing(command: str, effect: str, tmp_path: Path) -> None:
    """One key is enough for it; only what exists can be overwritten."""
    make(tmp_path, "old")
    (tmp_path / "dangling").symlink_to("nowhere")

    assert settled(judge(command, TABLE), tmp_path).effect == effect


def test_a_new_file_is_not_looked_for_where_the_command_does_not_run(tmp_path: Path) -> None:
    """The verdict itself knows nothing about the disk."""
    verdict = judge("echo x > new", TABLE)
    make(tmp_path, "new")

    assert verdict.effect == "destroy"
    assert settled(verdict, tmp_path) == verdict
    assert settled(verdict, tmp_path / "elsewhere").reason == "it creates new"


@pytest.mark.parametrize("word", ["{a,b}" * 100, "{" * 900, "{a," * 300 + "}" * 300, "{" + "." * 990, "*/" * 400])
def test_a_word_made_to_be_slow_is_expanded_in_time(word: str) -> None:
    """It is expanded before every question."""
    started = time.process_time()
    expand(word, Path("/usr"), 100, time.monotonic() + 0.3)
    assert time.process_time() - started < 1
