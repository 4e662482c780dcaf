"""The two fences on the real kernel: what they allow and what they stop."""

import os
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pytest

from aish.action.command_runner import Captured, run_captured
from aish.action.fence import availability, seccomp
from aish.action.fence.availability import kind as kind_for
from aish.action.fence.availability import trial, trouble, why
from aish.action.fence.bounds import FenceBounds, changing, looking, protected, trees_without
from aish.action.fence.fence import NOT_FENCED, Fence, Kind, fenced
from aish.action.fence.landlock import Right, powers, version

KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(bool(trouble(kind)), reason=trouble(kind) or "there is one"))
    for kind in ("landlock", "bubblewrap")
]
both = pytest.mark.parametrize("kind", KINDS)
needs_landlock = pytest.mark.skipif(bool(trouble("landlock")), reason=trouble("landlock") or "there is one")


class Ground(NamedTuple):
    """A project, what is hidden, files that belong to neither, and a home above all of them."""

    work: Path
    memory: Path
    other: Path

    @property
    def home(self) -> Path:
        return self.work.parent

    @property
    def looking(self) -> FenceBounds:
        return looking([self.memory], seconds=20)

    @property
    def changing(self) -> FenceBounds:
        return changing(self.work, [self.memory], home=self.home)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path / "work", tmp_path / "memory", tmp_path / "other")
    for directory in made:
        directory.mkdir()
        (directory / "note").write_text("a note\n", encoding="utf-8")
    return made


def run(kind: Kind, bounds: FenceBounds, script: str, directory: Path, *, abi: int | None = None) -> Captured:
    """Run a script inside a fence."""
    with fenced(bounds, kind, abi=abi) as fence:
        env = {"PATH": os.environ["PATH"], "HOME": str(directory.parent), "TMPDIR": str(fence.private)}
        return run_captured(script, env=env, directory=str(directory), fence=fence)


def told(done: Captured) -> list[str]:
    return [want.what for want in done.wants]


@both
def test_a_command_works_in_the_project_as_if_there_were_no_fence(kind: Kind, ground: Ground) -> None:
    """With the changing fence, creating, changing, moving, linking and removing files is normal work."""
    script = """set -e
        mkdir -p a/b && echo one > a/b/x && echo two >> a/b/x && mv a/b/x a/y && mv a c
        ln -s c/y link && ln c/y hard && cp -p hard copy && truncate -s 3 copy && mkfifo pipe && rm -r pipe note
        chmod 700 copy && touch -d 2001-01-01 copy && touch -h link
        tar cf - c | (mkdir -p $TMPDIR/x; tar xpf - -C $TMPDIR/x)
        cat link && cat copy && echo && ls"""

    done = run(kind, ground.changing, script, ground.work)

    assert (done.status, done.stderr) == (0, b"")
    assert done.stdout.split() == [b"one", b"two", b"one", b"c", b"copy", b"hard", b"link"]
    assert (ground.work / "c/y").read_text(encoding="utf-8") == "one\ntwo\n"
    assert (ground.work / "copy").stat().st_mode & 0o777 == 0o700


@both
@pytest.mark.parametrize(
    "script",
    [
        "echo new > ../other/new",
        "echo more >> ../other/note",
        "truncate -s 0 ../other/note",
        "rm ../other/note",
        "mv ../other/note .",
        "mv ../other/note ../other/moved",
        "mkdir ../other/directory",
        "ln note ../other/hard",
        "ln -s ../other/note link && echo x > link",
        "ln -s x ../other/link",
        "rmdir ../empty",
        "chmod 700 ../other/note",
        "touch ../other/note",
        "(cd ../other && echo x > note)",
        "sh -c 'sh -c \"echo x > ../other/note\"'",
        "setsid -w sh -c 'echo x > ../other/note'",
        "exec 3<> ../other/note",
        "touch -h ../other/..",
        "touch -h ..",
        "cd ../other && touch -h .",
    ],
)
def test_nothing_outside_the_project_can_be_changed(kind: Kind, ground: Ground, script: str) -> None:
    """Neither by the command itself, nor by its child processes, nor through a link; and the want is told."""
    (ground.home / "empty").mkdir()
    before = (ground.other / "note").stat()
    times = ground.home.stat().st_mtime_ns, ground.other.stat().st_mtime_ns

    done = run(kind, ground.changing, script, ground.work)

    assert done.status != 0
    assert done.stderr
    assert [path.name for path in ground.other.iterdir()] == ["note"]
    assert (ground.other / "note").stat().st_ctime_ns == before.st_ctime_ns
    assert (ground.home / "empty").is_dir()
    assert (ground.home.stat().st_mtime_ns, ground.other.stat().st_mtime_ns) == times
    assert str(ground.home) in "".join(told(done))


@both
def test_looking_changes_nothing_in_the_project_but_has_a_place_of_its_own(kind: Kind, ground: Ground) -> None:
    """Programs need temporary files, and those end with the command."""
    script = "echo x > note; echo x > new; chmod 777 note; echo mine > $TMPDIR/x && cat $TMPDIR/x && echo $TMPDIR"

    done = run(kind, ground.looking, script, ground.work)

    first, private = done.stdout.decode().split()
    assert first == "mine"
    assert not Path(private).exists()
    assert [path.name for path in ground.work.iterdir()] == ["note"]
    assert (ground.work / "note").read_text(encoding="utf-8") == "a note\n"
    assert f"write {ground.work}/note" in told(done)
    assert f"change the mode of {ground.work}/note" in told(done)


@both
def test_everything_else_can_be_read_and_run(kind: Kind, ground: Ground) -> None:
    """A command that could not look around would be of little use."""
    script = "cd ../other && cat note && ls / > /dev/null && wc -c < /etc/passwd > /dev/null && pwd"

    done = run(kind, ground.looking, script, ground.work)

    assert (done.status, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"a note\n{ground.other}\n"
    assert done.wants == ()


@both
@pytest.mark.parametrize("name", ["looking", "changing"])
def test_what_is_hidden_can_be_neither_read_nor_changed(kind: Kind, name: str, ground: Ground) -> None:
    """A malicious command would want to read memory or to add to it."""
    bounds = ground.looking if name == "looking" else ground.changing
    for script in ("cat ../memory/note", "echo x > ../memory/new", "echo x >> ../memory/note", "rm ../memory/note"):
        assert run(kind, bounds, script, ground.work).status != 0, script

    assert (ground.memory / "note").read_text(encoding="utf-8") == "a note\n"
    assert [path.name for path in ground.memory.iterdir()] == ["note"]


@both
def test_what_is_hidden_stays_hidden_inside_the_project_and_behind_links(kind: Kind, ground: Ground) -> None:
    """A user may work in the directory that contains the memory, or link to it from elsewhere."""
    inner = ground.work / "deep" / "memory"
    inner.mkdir(parents=True)
    (inner / "note").write_text("inner\n", encoding="utf-8")
    (ground.work / "key").write_text("inner\n", encoding="utf-8")
    (ground.work / "way").symlink_to(inner)
    (ground.work / "to").symlink_to(ground.memory)
    hidden = [ground.work / "way", ground.work / "to", ground.work / "key", inner / "note"]
    bounds = looking([*hidden, inner], seconds=20)

    for script in ("cat deep/memory/note", "cat way/note", "cat to/note", "cat key | grep ."):
        done = run(kind, bounds, script, ground.work)
        assert done.status != 0, script
        assert b"inner" not in done.stdout
    assert run(kind, bounds, "cat note", ground.work).stdout == b"a note\n"


@both
def test_what_is_hidden_does_not_appear_under_another_name(kind: Kind, ground: Ground) -> None:
    """The keeper opens files for the command, and knows what is hidden by its path."""
    (ground.work / "deep").mkdir()
    (ground.work / "deep/key").write_text("inner\n", encoding="utf-8")
    bounds = changing(ground.work, [ground.work / "deep/key"], home=ground.home)

    done = run(kind, bounds, "mv deep moved; exec 3<> moved/key && cat <&3", ground.work)

    assert b"inner" not in done.stdout
    assert f"rename {ground.work}/deep" in told(done)


@both
@pytest.mark.parametrize(
    "script",
    [
        "echo x >> .git/config",
        "git config core.pager evil",
        "echo x > .git/hooks/pre-commit",
        "mkdir .git/hooks",
        "mv evil .git/hooks",
        "ln -s ../evil .git/hooks",
        "ln .git/config mine && echo x >> mine",
        "mv .git away && echo x >> away/config",
        "rm .git/config",
        "cp evil .envrc",
        "mv evil .envrc",
        "ln -s evil .envrc",
        "mkdir .vscode",
        "mkdir -p .github/workflows && cp evil .github/workflows/a.yml",
        "echo x > .aish.toml",
        "cd .git && echo x >> config",
        "ln -s .git/config soft && echo x >> soft",
        "exec 3< .git && echo x >> /proc/self/fd/3/config",
        "exec 3< .git && echo x >> /dev/fd/3/config",
        "exec 3< .git/config && echo x >> /proc/self/fd/3",
        "cd .git && echo x >> /proc/thread-self/cwd/config",
        "echo x >> /proc/$$/root/$PWD/.git/config",
        "exec 3< .git/config; python3 -c 'import os; os.truncate(\"/proc/self/fd/3\", 0)'",
        "exec 3< .git/config; python3 -c 'import os; os.fchmod(3, 0o777)'",
        "echo ../evil > .git/commondir",
        "mkdir sub && echo 'gitdir: ../evil' > sub/.git",
        "mkdir sub && ln -s ../evil sub/.git",
        "mkdir -p sub/git && mv sub/git sub/.git",
        "mv nested/.git nested/x && echo x >> nested/x/config",
        "mkdir -p $TMPDIR/sub/.git && echo x > $TMPDIR/sub/.git/config && python3 -c "
        '\'import os; os.rename(os.environ["TMPDIR"] + "/sub", "sub")\'',
    ],
)
def test_what_runs_later_stays_as_it_is(kind: Kind, ground: Ground, script: str) -> None:
    """The person would run it outside the fence, without knowing that it changed."""
    (ground.work / ".git").mkdir()
    (ground.work / ".git/config").write_text("[core]\n", encoding="utf-8")
    (ground.work / ".git/HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (ground.work / "evil").write_text("text\n", encoding="utf-8")
    (ground.work / "nested/.git").mkdir(parents=True)
    (ground.work / "nested/.git/config").write_text("[core]\n", encoding="utf-8")

    done = run(kind, ground.changing, script, ground.work)

    assert done.status != 0
    assert [str(path.relative_to(ground.work)) for path in sorted(ground.work.rglob("*.git"))] == [
        ".git",
        "nested/.git",
    ]
    assert (ground.work / "nested/.git/config").read_text(encoding="utf-8") == "[core]\n"
    assert (ground.work / ".git/config").read_text(encoding="utf-8") == "[core]\n"
    assert [path for path in protected(ground.work) if path.exists()] == [ground.work / ".git/config"]


@both
@pytest.mark.parametrize("way", ["file", "link"])
def test_a_repository_is_protected_where_it_really_is(kind: Kind, ground: Ground, way: str) -> None:
    """Worktrees are often kept beside a bare repository, and a repository can be behind a link."""
    (ground.work / "bare").mkdir()
    (ground.work / "bare/config").write_text("[core]\n", encoding="utf-8")
    if way == "file":
        (ground.work / ".git").write_text("gitdir: ./bare\n", encoding="utf-8")
    else:
        (ground.work / ".git").symlink_to("bare")

    done = run(kind, ground.changing, "echo x >> bare/config; mkdir bare/hooks; mv bare away", ground.work)

    assert done.status != 0
    assert (ground.work / "bare/config").read_text(encoding="utf-8") == "[core]\n"
    assert not (ground.work / "bare/hooks").exists()


@both
def test_hooks_and_settings_are_protected_where_the_repository_says(kind: Kind, ground: Ground) -> None:
    """Many projects share them: git runs them although they are ordinary files."""
    (ground.work / ".git").mkdir()
    settings = "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.gitconfig\n"
    (ground.work / ".git/config").write_text(settings, encoding="utf-8")
    script = "mkdir .githooks; echo x > .githooks/pre-commit; echo x > shared.gitconfig; echo x > fine"

    run(kind, ground.changing, script, ground.work)

    assert sorted(path.name for path in ground.work.iterdir()) == [".git", "fine", "note"]


@both
def test_repositories_can_be_made_in_the_private_directory(kind: Kind, ground: Ground) -> None:
    """Package managers clone there, and nothing of it stays; files can be taken out of it one by one."""
    script = "git init -q $TMPDIR/sub && echo x > $TMPDIR/sub/a && mv $TMPDIR/sub/a . && cat a"

    assert run(kind, ground.changing, script, ground.work).stdout == b"x\n"


@both
@pytest.mark.parametrize("known", [1, None])
def test_no_race_reaches_what_runs_later(kind: Kind, ground: Ground, known: int | None) -> None:
    """A path that changes after it was checked, in memory or by a link to the process itself."""
    if kind == "bubblewrap" and known:
        pytest.skip("it has no versions")
    (ground.work / ".git").mkdir()
    config = ground.work / ".git/config"
    config.write_text("[core]\n", encoding="utf-8")
    script = """
import ctypes, os, threading, time
libc, memory = ctypes.CDLL(None), ctypes.create_string_buffer(64)
over = time.monotonic() + 1
def flip():
    while time.monotonic() < over:
        for path in (b"mine".ljust(20, b"\\0"), b".git/config".ljust(20, b"\\0"), b".envrc".ljust(20, b"\\0")):
            ctypes.memmove(memory, path, 20)
thread = threading.Thread(target=flip)
thread.start()
while time.monotonic() < over:
    fd = libc.open(memory, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if fd >= 0:
        os.write(fd, b"x")
        os.close(fd)
    libc.truncate(memory, ctypes.c_long(1))
    libc.unlink(memory)
    libc.symlink(b"mine", memory)
    libc.rename(b"mine", memory)
    libc.chmod(memory, 0o777)
thread.join()
os.symlink("/proc/self/cwd", "way")
os.chdir(".git")
try:
    open("../way/config", "a").write("x")
except OSError:
    pass
"""
    done = run(kind, ground.changing, shlex.join([sys.executable, "-c", script]), ground.work, abi=known)

    assert (done.status, done.stderr) == (0, b"")
    assert config.read_text(encoding="utf-8") == "[core]\n"
    assert config.stat().st_mode & 0o777 != 0o777
    assert not os.path.lexists(ground.work / ".envrc")


@needs_landlock
def test_a_writer_of_a_fifo_waits_for_its_reader(ground: Ground) -> None:
    """Although the keeper opens it, and never waits."""
    script = "mkfifo pipe; echo through > pipe & sleep 0.1; cat pipe; umask 027; : > new; umask 077; mkdir dir"

    assert run("landlock", ground.changing, script, ground.work).stdout == b"through\n"
    assert (ground.work / "new").stat().st_mode & 0o777 == 0o640
    assert (ground.work / "dir").stat().st_mode & 0o777 == 0o700


@both
def test_the_keeper_gives_no_rights_and_survives_strange_numbers(kind: Kind, ground: Ground) -> None:
    """It carries out calls with its own rights, which may be those of root."""
    script = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
assert libc.truncate(b"note", ctypes.c_long(-1)) == -1 and ctypes.get_errno() == errno.EINVAL
for name in ("security.capability", "trusted.x"):
    try:
        os.setxattr("note", name, bytes.fromhex("0100000202" + "00" * 15))
    except OSError as error:
        assert error.errno == errno.EPERM
    else:
        raise AssertionError(name)
"""
    done = run(kind, ground.changing, shlex.join([sys.executable, "-c", script]), ground.work)

    assert (done.status, done.stderr) == (0, b"")


@both
def test_older_kernels_hand_over_files_in_two_steps(
    kind: Kind, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 5.14 a descriptor could not be given and answered with at once."""
    monkeypatch.setattr(seccomp, "_SEND_WITH_FD", 1 << 20)  # a flag that no kernel knows

    done = run(kind, ground.changing, "echo one > a && cat a", ground.work)

    assert (done.status, done.stdout, done.stderr) == (0, b"one\n", b"")


@both
def test_what_the_person_allowed_by_name_can_be_changed(kind: Kind, ground: Ground) -> None:
    """It asks for its own word, and then it works."""
    bounds = changing(ground.work, [], home=ground.home, may_change=[ground.work / ".envrc"])

    done = run(kind, bounds, "echo x > .envrc; echo x > .aish.toml", ground.work)

    assert (ground.work / ".envrc").read_text(encoding="utf-8") == "x\n"
    assert told(done) == [f"write {ground.work}/.aish.toml"]


@pytest.mark.parametrize("place", ["home", "above"])
def test_the_home_is_never_a_project(ground: Ground, place: str) -> None:
    """Everything of the user would be writable, also what runs at the next login."""
    project = ground.home if place == "home" else ground.home.parent

    assert changing(project, [], home=ground.home).writable == ()
    assert changing(Path("/"), [], home=None).writable == ()
    assert changing(ground.work, [], home=ground.home).writable == (ground.work,)


@both
def test_the_usual_devices_work(kind: Kind, ground: Ground) -> None:
    """Many scripts write to /dev/null."""
    script = (
        "set -e; echo x > /dev/null; cat < /dev/null; head -c 5 /dev/urandom | wc -c; cat <(echo through); "
        "head -c 2 /dev/zero | wc -c; echo x > /dev/stdout; echo y > /dev/fd/1; cat <<< here"
    )

    done = run(kind, ground.looking, script, ground.work)

    assert (done.status, done.stderr, done.stdout.split()) == (0, b"", [b"5", b"through", b"2", b"x", b"y", b"here"])


@both
def test_network_is_there_only_when_it_was_allowed(kind: Kind, ground: Ground) -> None:
    """The person saw where the command sends to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"exec 3<> /dev/tcp/127.0.0.1/{port}"

        assert run(kind, ground.changing._replace(network=True), script, ground.work).status == 0
        for bounds in (ground.looking, ground.changing):
            done = run(kind, bounds, script, ground.work)
            assert done.status != 0
            assert told(done) == [f"reach 127.0.0.1 port {port}"]


@both
def test_the_network_does_not_open_sockets_of_this_machine(kind: Kind, ground: Ground) -> None:
    """Programs outside listen on them that run what they are told, such as tmux or Docker."""
    script = """
import socket, sys
def pair(family, kind):
    return socket.socketpair(socket.AF_UNIX, kind)[0]
for make in (socket.socket, pair):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        for send in ("connect", "sendto"):
            try:
                one = make(socket.AF_UNIX, kind)
                one.connect("../socket") if send == "connect" else one.sendto(b"x", "../socket")
            except OSError:
                pass
"""
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as packets:
        for kind_of, name in ((server, "socket"), (packets, "packets")):
            kind_of.bind(str(ground.home / name))
            kind_of.setblocking(False)
        server.listen()
        both_scripts = script + script.replace("../socket", "../packets")
        bounds = ground.changing._replace(network=True)
        done = run(kind, bounds, shlex.join([sys.executable, "-c", both_scripts]), ground.work)

        with pytest.raises(BlockingIOError):
            server.accept()
        with pytest.raises(BlockingIOError):
            packets.recv(10)
    assert done.stderr == b""
    assert "use the socket ../socket" in told(done)


@both
def test_a_socket_that_was_named_is_connected_by_the_keeper(kind: Kind, ground: Ground) -> None:
    """The agent of ssh: it knows the user's keys, and what is sent by ssh needs them."""
    path = ground.home / "agent"
    script = f"""
import socket
with socket.socket(socket.AF_UNIX) as one:
    one.connect({str(path)!r})
    one.sendall(b"sign this")
"""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        server.settimeout(5)
        bounds = ground.changing._replace(network=True, sockets=(path,))
        done = run(kind, bounds, shlex.join([sys.executable, "-c", script]), ground.work)
        with server.accept()[0] as got:
            assert got.recv(100) == b"sign this"

    assert (done.status, done.stderr, done.wants) == (0, b"", ())


@both
def test_there_are_no_new_privileges(kind: Kind, ground: Ground) -> None:
    """A program that becomes root would escape the assumptions of the fence."""
    assert b"NoNewPrivs:\t1" in run(kind, ground.looking, "cat /proc/self/status", ground.work).stdout


@needs_landlock
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to make a program that becomes root")
def test_a_program_that_becomes_root_does_not_do_so_in_the_fence() -> None:
    """Not even one that works outside the fence."""
    with tempfile.TemporaryDirectory() as name, fenced(looking([]), "landlock") as fence:
        place = Path(name)
        place.chmod(0o755)
        program = Path(shutil.copy(str(shutil.which("id")), place / "id"))
        program.chmod(0o4755)

        def as_nobody(*, inside: bool) -> str:
            def become() -> None:
                os.setgid(65534)
                os.setuid(65534)
                if inside:
                    fence.step()

            return start([str(program), "-u"], place, become).stdout

        if as_nobody(inside=False) != "0\n":
            pytest.skip("this file system does not let programs become root")
        assert as_nobody(inside=True) == "65534\n"


def start(argv: list[str], place: Path, step: Callable[[], None]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, cwd=place, preexec_fn=step, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20,
        check=False,
    )  # fmt: skip


@pytest.mark.parametrize("known", range(1, version() + 1))
@needs_landlock
def test_every_version_of_landlock_keeps_the_fence(ground: Ground, known: int) -> None:
    """Older kernels know fewer rights; all that they know are used."""
    script = "mkdir a && echo x > a/y && mv a/y a/z && cat a/z && echo no > ../other/note || cat ../memory/note"
    done = run("landlock", ground.changing, script, ground.work, abi=known)

    assert done.stdout == b"x\n"
    assert done.stderr.count(b"Permission denied") == 2
    assert trial("landlock", known) == ""


def test_each_version_adds_what_it_can_take_away() -> None:
    """As in landlock(7): moving, truncating, the network, devices, then signals and sockets."""
    found = [powers(known, network=False) for known in range(1, 8)]

    assert [Right.REFER in each.files for each in found] == [False] + [True] * 6
    assert [Right.TRUNCATE in each.files for each in found] == [False] * 2 + [True] * 5
    assert [each.network for each in found] == [0] * 3 + [3] * 4
    assert [Right.IOCTL_DEV in each.files for each in found] == [False] * 4 + [True] * 3
    assert [each.scopes for each in found] == [0] * 5 + [3] * 2
    assert powers(7, network=True).network == 0
    assert int(found[0].files) == 0x1FFF
    assert int(found[6].files) == 0xFFFF


@needs_landlock
def test_a_fence_that_cannot_be_made_ends_the_command_before_it_begins(ground: Ground) -> None:
    """A partial fence is none: the exit status is that of a command that cannot be run, and a line says why."""
    with fenced(ground.looking, "landlock") as closed:
        pass

    def unmakeable() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        closed.step()

    for step in (closed.step, unmakeable):
        done = start(["bash", "-c", "echo ran"], ground.work, step)
        assert (done.returncode, done.stdout) == (NOT_FENCED, "")
        assert done.stderr.startswith("aish: not run, because the fence failed: ")


@pytest.fixture
def shell(ground: Ground) -> Iterator[Any]:
    """A shell at a terminal, inside the changing fence."""
    child: Any = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env={**os.environ, "PS1": "ready> ", "TERM": "dumb", "HISTFILE": ""},
        cwd=str(ground.work),
        preexec_fn=lambda: Fence(ground.changing, "landlock", ground.work).step(),  # pexpect closes descriptors before
        timeout=10,
        encoding="utf-8",
    )
    child.delaybeforesend = None
    child.ptyproc.delayafterclose = 0
    child.expect_exact("ready> ")
    yield child
    child.close(force=True)


@needs_landlock
def test_a_shell_at_a_terminal_keeps_its_job_control(shell: Any) -> None:
    """Stopping, continuing, interrupting, and opening the terminal directly."""
    assert "no job control" not in shell.before

    shell.sendline("sh -c 'echo begun; exec cat'")
    shell.expect_exact("\nbegun\r\n")
    shell.send("\x1a")
    shell.expect_exact("Stopped")
    shell.expect_exact("ready> ")
    shell.sendline("fg")
    shell.expect_exact("exec cat'\r\n")
    shell.sendline("line")
    shell.expect_exact("line\r\nline\r\n")
    shell.send("\x03")
    shell.expect_exact("ready> ")
    shell.sendline("echo $?; stty size < /dev/tty; echo seen > /dev/tty")
    shell.expect(r"130\r\n24 80\r\nseen\r\nready> ")
    shell.sendline("echo name > $(tty)")
    shell.expect_exact("\nname\r\n")
    shell.sendline("echo x > ../other/note")
    shell.expect_exact("Permission denied")


@needs_landlock
def test_the_terminal_of_the_person_cannot_be_opened(ground: Ground) -> None:
    """Also not by way of a descriptor that only names it: such a one is always given."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    script = f"""
import os
fd = os.open({name!r}, os.O_PATH)
for path, number in ((f"/proc/self/fd/{{fd}}", 0), ({name!r}, 0), ({name!r}, 1)):
    os.dup2(fd, number)
    try:
        os.write(os.open(path, os.O_RDWR), b"forged")
    except OSError:
        pass
"""
    try:
        done = run("landlock", ground.changing, shlex.join([sys.executable, "-c", script]), ground.work)
        os.set_blocking(master, False)
        with pytest.raises(BlockingIOError):
            os.read(master, 100)
    finally:
        os.close(master)
        os.close(slave)

    assert done.stderr == b""
    assert told(done) == [f"write {name}"]


@needs_landlock
def test_making_a_fence_leaves_nothing_open(ground: Ground) -> None:
    """A shell that runs for a week runs many commands."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run("landlock", ground.looking, "true", ground.work)

    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_bubblewrap_hides_is_hidden_last(ground: Ground) -> None:
    """A later mount covers an earlier one, so the order matters for safety."""
    key = ground.work / "key"
    key.touch()
    bounds = changing(ground.work, [ground.memory, key, ground.work / "none"], home=ground.home)
    with fenced(bounds, "bubblewrap") as fence:
        words = shlex.join(fence.wrap(["ls", "-l"], "/"))

    order = ["--ro-bind / /", f"--bind {ground.work}", f"--bind {fence.private}", f"--tmpfs {ground.memory}"]
    order += [f"--ro-bind /dev/null {key}", "-- ls -l"]
    places = [words.index(part) for part in order]
    assert places == sorted(places)
    assert "none" not in words


def test_landlock_allows_the_largest_trees_without_what_is_hidden(ground: Ground) -> None:
    """It can only allow, never exclude."""
    (ground.work / "deep/key").mkdir(parents=True)
    (ground.work / "deep/fine").mkdir()

    found = set(trees_without(ground.work, frozenset({ground.work / "deep/key"})))

    assert found == {str(ground.work / "note"), str(ground.work / "deep/fine")}
    assert list(trees_without(ground.work, frozenset({ground.home}))) == []


def test_a_fence_that_was_named_is_never_replaced_by_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who chose one has a reason."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kind_for("bubblewrap") is None
    assert why("bubblewrap").startswith("no fence is available: bubblewrap is not installed")
    assert kind_for("off") is None
    assert "the fence is off" in why("off")


def test_with_neither_kind_there_is_no_fence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The message names what is missing of both."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(availability, "absence", lambda: "this kernel has no Landlock")

    assert kind_for("auto") is None
    assert why("auto") == (
        "no fence is available: this kernel has no Landlock; bubblewrap is not installed (the package is usually "
        "called bubblewrap); so almost all commands of the model ask"
    )


@pytest.fixture
def tried_again() -> Iterator[None]:
    """Forget what earlier trials found, and what those of this test found."""
    trial.cache_clear()
    yield
    trial.cache_clear()


@pytest.mark.usefixtures("tried_again")
def test_a_bubblewrap_that_does_not_work_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Many systems have it but forbid the namespaces it needs."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho no permission to make namespaces >&2; exit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("aish.action.fence.fence._bubblewrap", lambda: str(program))

    assert trial("bubblewrap", None) == "Bubblewrap does not work here: no permission to make namespaces"


@pytest.mark.usefixtures("tried_again")
def test_a_fence_that_stops_nothing_is_found_out_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel may say that it knows a right and not enforce it."""
    monkeypatch.setattr(Fence, "step", lambda self: None)

    assert trial("landlock", None) == (
        "Landlock does not stop creating files, writing to files, reading hidden files, changing modes, "
        "network connections, signals to other processes"
    )
