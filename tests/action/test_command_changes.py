"""What a command in the changing fence changed is kept, and can be taken back."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aish.action import command_changes
from aish.action.command_changes import CommandChanges
from aish.action.command_runner import Captured, run_captured
from aish.action.fence.availability import trouble
from aish.action.fence.bounds import changing
from aish.action.fence.fence import Kind, fenced
from aish.action.undo import FileHistory
from aish.action.undo_store import NOT_KEPT, FileChange, UndoStore
from aish.storage.files import write_all

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(bool(trouble(kind)), reason=trouble(kind) or "there is one"))
    for kind in ("landlock", "bubblewrap")
]
both = pytest.mark.parametrize("kind", KINDS)


class Bench:
    """A project whose commands are kept."""

    def __init__(self, top: Path) -> None:
        self.project, self.state = top / "work", top / "state" / "undo"
        self.project.mkdir()
        self.store = UndoStore(self.state)
        self.history = FileHistory(self.store)
        self.done: Captured | None = None

    def run(self, kind: Kind, command: str) -> list[FileChange]:
        bounds = changing(self.project, [self.state.parent], home=None)
        with fenced(bounds, kind) as fence, CommandChanges(self.store, self.project) as changes:
            fence.before_write = changes.before_write
            env = {"PATH": os.environ["PATH"], "TMPDIR": str(fence.private)}
            self.done = run_captured(command, env=env, directory=str(self.project), fence=fence)
            return changes.record("talk", turn=1, step=command, by=command)

    def tree(self) -> dict[str, tuple[bytes, int]]:
        files = (path for path in self.project.rglob("*") if path.is_file() and not path.is_symlink())
        found = {str(path.relative_to(self.project)): path for path in files}
        return {name: (path.read_bytes(), path.stat().st_mode & 0o777) for name, path in found.items()}

    def undo(self) -> list[str]:
        plans = self.history.restorations(self.history.last_steps("talk", 1))
        problems = self.history.restore("talk", plans)
        return [plan.problem or problem for plan, problem in zip(plans, problems, strict=True)]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    assert not list(bench.state.glob("spool-*")), "the copies are gone"


PYTHON = f"{shlex.quote(sys.executable)} -c "
COMMANDS = {
    "overwrite": "echo new > a.txt",
    "append": "echo more >> a.txt",
    "edit in place": "sed -i s/one/two/ a.txt",
    "delete": "rm a.txt",
    "delete a directory": "rm -r sub",
    "rename": "mv a.txt c.txt",
    "rename over another": "mv a.txt b.sh",
    "rename a directory": "mv sub other",
    "mode": "chmod 600 b.sh",
    "create": "echo x > new.txt",
    "create deep": "mkdir -p x/y && echo x > x/y/z.txt",
    "truncate": "truncate -s 1 a.txt",
    "mapped": PYTHON + "\"import mmap; f = open('a.txt', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0] = 88\"",
    "copy over": "cp b.sh a.txt",
    "several": "echo 1 > a.txt; echo 2 > b.sh; rm sub/c; echo 3 > new",
    "killed in the middle": "echo broken > a.txt; kill -9 $$",
}


@both
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_what_a_command_changed_can_be_taken_back(bench: Bench, kind: Kind, command: str) -> None:
    """Whatever program changes the files, and in whatever way."""
    (bench.project / "a.txt").write_bytes(b"one\r\n\xff")
    (bench.project / "b.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (bench.project / "b.sh").chmod(0o755)
    (bench.project / "sub" / "deep").mkdir(parents=True)
    (bench.project / "sub" / "c").write_text("c", encoding="utf-8")
    (bench.project / "sub" / "deep" / "d").write_text("d", encoding="utf-8")
    before = bench.tree()

    changes = bench.run(kind, command)
    assert bench.tree() != before
    problems = bench.undo()

    assert changes and set(problems) == {""}
    assert bench.tree() == before


@both
def test_a_command_that_changes_nothing_leaves_no_record(bench: Bench, kind: Kind) -> None:
    """A file that is opened for writing, or written with the same content, is as it was."""
    (bench.project / "a.txt").write_text("one\n", encoding="utf-8")

    assert bench.run(kind, "cat a.txt; echo one > a.txt; touch a.txt; : >> a.txt; echo x > $TMPDIR/x") == []
    assert bench.history.changes("talk") == []


@both
def test_ignored_files_and_git_are_not_kept(bench: Bench, kind: Kind) -> None:
    """A build writes thousands of them, and git has its own ways back."""
    (bench.project / ".gitignore").write_text("build/\n*.o\n", encoding="utf-8")
    (bench.project / ".git").mkdir()
    command = "mkdir -p build sub; echo 1 > build/x; echo 1 > sub/a.o; echo 1 > .git/index; echo 1 > b.txt"

    assert [change.path for change in bench.run(kind, command)] == ["b.txt"]


@both
def test_what_a_command_changes_beyond_the_limits_is_recorded_but_not_kept(bench: Bench, kind: Kind) -> None:
    """The command goes on, and undo says what it cannot restore."""
    (bench.project / "big").write_bytes(b"x" * (9 << 20))
    for number in range(250):
        (bench.project / f"f{number:03}").write_text("old", encoding="utf-8")

    changes = bench.run(kind, "echo > big; for f in f*; do echo new > $f; done")
    problems = bench.undo()

    assert bench.done and bench.done.status == 0
    assert len(changes) == 251
    assert (problems.count(""), problems.count("it was too large to keep")) == (200, 51)


@both
def test_a_full_disk_or_a_missing_store_does_not_stop_the_command(bench: Bench, kind: Kind) -> None:
    """It is better to lose a way back than the work."""
    (bench.project / "a").write_text("old", encoding="utf-8")
    bounds = changing(bench.project, [], home=None)
    with fenced(bounds, kind) as fence, CommandChanges(bench.store, bench.project) as changes:
        for path in bench.state.glob("spool-*"):
            shutil.rmtree(path)
        fence.before_write = changes.before_write
        done = run_captured("echo new > a", env={"PATH": os.environ["PATH"]}, directory=str(bench.project), fence=fence)
        kept = changes.record("talk", turn=1, step="s", by="echo")

    assert done.status == 0 and kept == []
    assert (bench.project / "a").read_text(encoding="utf-8") == "new\n"


@both
def test_what_the_user_changed_after_the_command_is_not_overwritten(bench: Bench, kind: Kind) -> None:
    """Also not by the deletion of a file that the command created."""
    (bench.project / "a").write_text("old", encoding="utf-8")
    bench.run(kind, "echo new > a; echo new > b")
    for name in "ab":
        (bench.project / name).write_text("mine", encoding="utf-8")
    mine = bench.tree()

    assert set(bench.undo()) == {"it was changed since, by you or another program"}
    assert bench.tree() == mine


MOVES = {
    "an ignored file": ("mv .env env.txt", 1),
    "an ignored file over another": ("mv .env a.txt", 1),
    "an ignored file by a copy": ("cp .env env.txt && rm .env", 1),
    "an ignored directory": ("mv build out", 1),
    "more files than are kept": ("mv many others", 100),
}


@both
@pytest.mark.parametrize("command", [command for command, _ in MOVES.values()], ids=MOVES.keys())
def test_taking_back_a_move_never_deletes_the_last_copy(
    bench: Bench, kind: Kind, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was not kept cannot be restored, so its new place goes to the trash."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (bench.project / ".gitignore").write_text(".env\n/build/\n", encoding="utf-8")
    (bench.project / ".env").write_text("precious", encoding="utf-8")
    (bench.project / "a.txt").write_text("old", encoding="utf-8")
    for directory, count in (("build", 1), ("many", 300)):
        (bench.project / directory).mkdir()
        for number in range(count):
            (bench.project / directory / f"f{number}").write_text(f"{directory} {number}", encoding="utf-8")
    before = bench.tree()

    bench.run(kind, command)
    bench.undo()

    trash = {path.read_bytes() for path in (tmp_path / "data" / "Trash" / "files").rglob("*") if path.is_file()}
    there = {content for content, _ in bench.tree().values()} | trash
    assert {content for content, _ in before.values()} <= there
    assert (bench.project / "a.txt").read_text(encoding="utf-8") == "old"


FAILURES = {
    "a directory that may not be read": ("scandir", "/closed"),
    "no room for a copy": ("write_all", "precious"),
    "no room for some of the list": ("write_all", "closed"),
}


@pytest.mark.parametrize(("broken", "at"), FAILURES.values(), ids=FAILURES.keys())
def test_what_could_not_be_copied_is_never_deleted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: str, at: str
) -> None:
    """The keeper could not look at a file or write it down: its new place may be all that is left of it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    old, new = bench.project / "old", bench.project / "new"
    for directory in (old / "closed", old / "sub"):
        directory.mkdir(parents=True)
        (directory / "f").write_text("precious", encoding="utf-8")
    scandir = os.scandir

    def scan(path: str) -> Iterator[os.DirEntry[str]]:
        if path.endswith(at):
            raise PermissionError
        return iter(sorted(scandir(path), key=lambda entry: entry.name))

    def write(fd: int, data: bytes) -> None:
        write_all(fd, data[:5])
        if at.encode() in data:
            raise OSError
        write_all(fd, data[5:])

    with CommandChanges(bench.store, bench.project) as changes:
        with monkeypatch.context() as keeper:
            keeper.setattr(*((os, "scandir", scan) if broken == "scandir" else (command_changes, "write_all", write)))
            for path in (old, new):
                changes.before_write(str(path))
        old.rename(new)
        changes.record("talk", turn=1, step="s", by="mv")
    bench.undo()

    there = [path for place in (bench.project, tmp_path / "data") for path in place.rglob("f*") if path.is_file()]
    assert [path.read_text(encoding="utf-8") for path in there].count("precious") >= 2


@both
def test_without_a_trash_the_last_copy_stays(
    bench: Bench, kind: Kind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A file in a wrong place is better than none."""
    (tmp_path / "data").write_text("no directory", encoding="utf-8")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (bench.project / ".gitignore").write_text(".env\n", encoding="utf-8")
    (bench.project / ".env").write_text("precious", encoding="utf-8")

    bench.run(kind, "mv .env env.txt")

    assert bench.undo() != [""]
    assert (bench.project / "env.txt").read_text(encoding="utf-8") == "precious"


@both
@pytest.mark.parametrize("command", ["ln -sf b a", "ln -sf /etc/hosts a", "head -c 9000000 /dev/zero > a"])
@pytest.mark.parametrize("later", [False, True], ids=["as it was left", "gone since"])
def test_a_kept_version_can_be_had_if_the_new_one_is_not_known(
    bench: Bench, kind: Kind, command: str, later: bool
) -> None:
    """A link or a large file stays in its place, and the version before it can be written beside it."""
    (bench.project / "a").write_text("precious", encoding="utf-8")
    (bench.project / "b").write_text("b", encoding="utf-8")
    bench.run(kind, command)
    if later:
        (bench.project / "a").unlink()

    (plan,) = bench.history.restorations(bench.history.last_steps("talk", 1))

    assert plan.problem
    assert not plan.does_something
    assert (bench.project / bench.history.write_beside(plan)).read_text(encoding="utf-8") == "precious"


@both
def test_many_new_files_are_looked_at_within_limits(bench: Bench, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command can create gigabytes; the user does not wait until all of it is read."""
    monkeypatch.setattr("aish.action.command_changes._MOST_READ", 3 << 20)
    changes = bench.run(kind, "mkdir new; for i in 0 1 2 3 4 5 6 7; do head -c 1048576 /dev/zero > new/$i; done")

    assert len([change for change in changes if change.after.hash == NOT_KEPT]) == 4
    assert sorted(bench.undo()) == ["", "", "", "", *["it was too large to keep"] * 4]
    assert len(bench.tree()) == 4
