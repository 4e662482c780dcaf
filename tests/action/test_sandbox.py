"""The sandbox for commands of the model, on the real kernel: what it allows and what it blocks."""

import os
import resource
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pytest
from aish.action.landlock import Right, powers, version
from aish.action.sandbox import (
    NOT_SANDBOXED,
    SandboxLimits,
    default_limits,
    enter,
    kind,
    landlock_rules,
    narrowed,
    prepared,
    shortcomings,
    why,
    wrap,
)

needs_landlock = pytest.mark.skipif(not version(), reason=why("landlock") or "there is Landlock")
needs_bubblewrap = pytest.mark.skipif(kind("bubblewrap") == "none", reason=why("bubblewrap") or "there is bubblewrap")
KINDS = [pytest.param("landlock", marks=needs_landlock), pytest.param("bubblewrap", marks=needs_bubblewrap)]
both = pytest.mark.parametrize("how", KINDS)


class Ground(NamedTuple):
    """A workspace, a memory, and files that belong to neither."""

    work: Path
    memory: Path
    other: Path

    @property
    def limits(self) -> SandboxLimits:
        return SandboxLimits((self.work,), (self.memory,))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path / "work", tmp_path / "memory", tmp_path / "other")
    for directory in made:
        directory.mkdir()
        (directory / "note").write_text("a note\n", encoding="utf-8")
    return made


def run(
    how: str, limits: SandboxLimits, script: str, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script inside the sandbox."""
    place = directory or limits.writable[0]
    if how == "bubblewrap":
        return start(wrap(["bash", "-c", script], limits, directory=place), place)
    with prepared(limits) as step:
        return start(["bash", "-c", script], place, step)


def start(argv: list[str], place: Path, step: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=place,
        preexec_fn=step,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@both
def test_a_command_works_in_the_workspace_as_if_there_were_no_sandbox(how: str, ground: Ground) -> None:
    """Creating, changing, moving, linking and removing files is normal work."""
    script = """set -e
        mkdir -p a/b && echo one > a/b/x && echo two >> a/b/x && mv a/b/x a/y && mv a c
        ln -s c/y link && ln c/y hard && cp hard copy && truncate -s 3 copy && mkfifo pipe && rm -r pipe note
        cat link && cat copy && echo && ls"""

    done = run(how, ground.limits, script)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["one", "two", "one", "c", "copy", "hard", "link"]
    assert (ground.work / "c/y").read_text(encoding="utf-8") == "one\ntwo\n"


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
        "(cd ../other && echo x > note)",
        "sh -c 'sh -c \"echo x > ../other/note\"'",
        "setsid -w sh -c 'echo x > ../other/note'",
        "exec 3<> ../other/note",
    ],
)
def test_nothing_outside_the_workspace_can_be_changed(how: str, ground: Ground, script: str) -> None:
    """Neither by the command itself, nor by its child processes, nor through a link."""
    (ground.work.parent / "empty").mkdir()

    done = run(how, ground.limits, script)

    assert done.returncode != 0
    assert done.stderr
    assert [path.name for path in ground.other.iterdir()] == ["note"]
    assert (ground.other / "note").read_text(encoding="utf-8") == "a note\n"
    assert (ground.work.parent / "empty").is_dir()


@both
def test_everything_else_can_be_read_and_run(how: str, ground: Ground) -> None:
    """A command that could not look around would be of little use."""
    done = run(
        how, ground.limits, "cd ../other && cat note && ls / > /dev/null && wc -c < /etc/passwd > /dev/null && pwd"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"a note\n{ground.other}\n"


@both
def test_what_is_hidden_can_be_neither_read_nor_changed(how: str, ground: Ground) -> None:
    """A malicious command would want to read memory or to add to it."""
    for script in ("cat ../memory/note", "echo x > ../memory/new", "echo x >> ../memory/note", "rm ../memory/note"):
        assert run(how, ground.limits, script).returncode != 0, script

    assert (ground.memory / "note").read_text(encoding="utf-8") == "a note\n"
    assert [path.name for path in ground.memory.iterdir()] == ["note"]


@both
def test_what_is_hidden_stays_hidden_inside_the_workspace_and_behind_links(how: str, ground: Ground) -> None:
    """A user may work in the directory that contains the memory, or link to it from elsewhere."""
    inner = ground.work / "deep" / "memory"
    inner.mkdir(parents=True)
    (inner / "note").write_text("inner\n", encoding="utf-8")
    (ground.work / "way").symlink_to(inner)
    (ground.work / "to").symlink_to(ground.memory)
    limits = SandboxLimits((ground.work, inner), (ground.work / "way", ground.work / "to"))

    for script in (
        "cat deep/memory/note",
        "cat way/note",
        "cat to/note",
        "echo x > way/note",
        "rm deep/memory/note",
    ):
        assert run(how, limits, script).returncode != 0, script

    assert (inner / "note").read_text(encoding="utf-8") == "inner\n"
    assert run(how, limits, "echo still > note && cat note").stdout == "still\n"


@needs_landlock
def test_a_memory_that_does_not_exist_yet_cannot_be_made_by_a_command(ground: Ground) -> None:
    """It would be trusted on the next start."""
    limits = SandboxLimits((ground.work,), (ground.work / "later" / "memory",))

    assert run("landlock", limits, "mkdir -p later/memory").returncode != 0
    assert narrowed(limits) == [ground.work]
    assert narrowed(ground.limits) == []


@both
def test_the_usual_devices_work(how: str, ground: Ground) -> None:
    """Many scripts write to /dev/null."""
    done = run(
        how,
        ground.limits,
        "set -e; echo x > /dev/null; cat < /dev/null; head -c 5 /dev/urandom | wc -c; cat <(echo through); "
        "echo x > /dev/shm/aish-sandbox-test; rm /dev/shm/aish-sandbox-test; head -c 2 /dev/zero | wc -c",
    )

    assert (done.returncode, done.stderr, done.stdout.split()) == (0, "", ["5", "through", "2"])


@both
def test_a_disk_cannot_be_read_around_the_file_system(how: str, ground: Ground) -> None:
    """For root, the device shows everything that the sandbox hides."""
    devices = [path for path in Path("/dev").iterdir() if path.is_block_device()]

    for device in devices[:3]:
        assert run(how, ground.limits, f"head -c 1 {device}").returncode != 0
    assert run(how, ground.limits, "head -c 1 /dev/mem").returncode != 0


@both
def test_there_are_no_new_privileges(how: str, ground: Ground) -> None:
    """A program that becomes root would escape the assumptions of the sandbox."""
    assert "NoNewPrivs:\t1" in run(how, ground.limits, "cat /proc/self/status").stdout


@needs_landlock
@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to make a program that becomes root")
def test_a_program_that_becomes_root_does_not_do_so_in_the_sandbox() -> None:
    """Not even one that works outside the sandbox."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        program = Path(shutil.copy(str(shutil.which("id")), place / "id"))
        program.chmod(0o4755)
        with prepared(SandboxLimits((place,))) as step:

            def as_nobody(sandboxed: bool) -> str:
                def become() -> None:
                    os.setgid(65534)
                    os.setuid(65534)
                    if sandboxed:
                        step()

                return start([str(program), "-u"], place, become).stdout

            if as_nobody(sandboxed=False) != "0\n":
                pytest.skip("this file system does not let programs become root")
            assert as_nobody(sandboxed=True) == "65534\n"


@both
def test_the_network_can_be_taken_away(how: str, ground: Ground) -> None:
    """A goal that runs for an hour needs no network unless the user allowed it."""
    if how == "landlock" and version() < 4:
        pytest.skip("this Landlock does not know the network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"exec 3<> /dev/tcp/127.0.0.1/{server.getsockname()[1]}"

        assert run(how, ground.limits, script).returncode == 0
        assert run(how, ground.limits._replace(network=False), script).returncode != 0


@pytest.mark.skipif(version() < 6, reason="needs Landlock 6")
def test_other_processes_get_no_signals_but_its_own_do(ground: Ground) -> None:
    """A command must not be able to stop the shell that watches it."""
    done = run("landlock", ground.limits, f"kill -0 {os.getpid()} 2>/dev/null && echo reached; kill -0 $$ && echo own")

    assert done.stdout == "own\n"


@pytest.mark.parametrize("known", range(1, max(version(), 1) + 1))
@needs_landlock
def test_every_version_of_landlock_keeps_the_sandbox(ground: Ground, known: int) -> None:
    """Older kernels know fewer rights; all that they know are used."""
    rules = landlock_rules(ground.limits, known)
    try:
        script = "mkdir a && echo x > a/y && mv a/y z && cat z && echo no > ../other/note || cat ../memory/note"
        done = start(["bash", "-c", script], ground.work, rules.restrict)
    finally:
        rules.close()

    assert done.stdout == "x\n"
    assert done.stderr.count("Permission denied") == 2


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


def broken() -> None:
    """No file can be opened any more, so no sandbox can be made."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


@needs_landlock
def test_a_sandbox_that_cannot_be_made_ends_the_command_before_it_begins(ground: Ground) -> None:
    """A partial sandbox is none: the exit status is that of a command that cannot be run, and a line says why."""
    with prepared(ground.limits) as closed:
        pass

    def unmakeable() -> None:
        broken()
        enter(ground.limits)

    for step in (closed, unmakeable):
        done = start(["bash", "-c", "echo ran"], ground.work, step)
        assert (done.returncode, done.stdout) == (NOT_SANDBOXED, "")
        assert done.stderr.startswith("aish: not run, because the sandbox failed: ")


@needs_landlock
def test_a_forked_child_can_sandbox_itself(ground: Ground) -> None:
    """For callers that fork themselves, as a terminal does."""
    done = start(["bash", "-c", "echo x > note && echo y > ../other/note"], ground.work, lambda: enter(ground.limits))

    assert "Permission denied" in done.stderr
    assert (ground.work / "note").read_text(encoding="utf-8") == "x\n"


@pytest.fixture
def shell(ground: Ground) -> Iterator[Any]:
    """A shell at a terminal, inside the sandbox."""
    child: Any = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        env={**os.environ, "PS1": "ready> ", "TERM": "dumb", "HISTFILE": ""},
        cwd=str(ground.work),
        preexec_fn=lambda: enter(ground.limits),
        timeout=10,
        encoding="utf-8",
    )
    child.delaybeforesend = None
    child.ptyproc.delayafterclose = 0
    child.expect_exact("ready> ")
    yield child
    child.close(force=True)


@needs_landlock
def test_a_shell_at_a_terminal_keeps_its_job_control(shell: Any, ground: Ground) -> None:
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
    shell.sendline("script -qc 'echo in another terminal' /dev/null")
    shell.expect_exact("\nin another terminal\r\n")
    shell.expect_exact("ready> ")
    shell.sendline("echo x > ../other/note")
    shell.expect_exact("Permission denied")


@needs_landlock
def test_the_usual_sandbox_hides_keys_but_not_the_home(ground: Ground) -> None:
    """Work needs configuration files; it does not need keys."""
    home = ground.other
    (home / ".ssh").mkdir()
    (home / ".ssh" / "id").write_text("key\n", encoding="utf-8")
    (home / ".config" / "gh").mkdir(parents=True)
    (home / ".config" / "gh" / "hosts.yml").write_text("key\n", encoding="utf-8")
    (home / ".config" / "tool").write_text("fine\n", encoding="utf-8")
    (home / ".netrc").write_text("key\n", encoding="utf-8")
    limits = default_limits(ground.work, [ground.memory], home=home)

    done = run(
        "landlock", limits, f"cd {shlex.quote(str(home))}; cat .ssh/id .config/gh/hosts.yml .netrc note .config/tool"
    )

    assert done.stdout == "a note\nfine\n"
    assert done.stderr.count("Permission denied") == 3
    assert limits.writable == (ground.work, Path(tempfile.gettempdir()))
    assert default_limits(ground.work, [ground.memory]).hidden == (ground.memory,)


def test_what_bubblewrap_hides_is_hidden_last(tmp_path: Path) -> None:
    """A later mount covers an earlier one, so the order matters for safety."""
    memory, key = tmp_path / "memory", tmp_path / "key"
    memory.mkdir()
    key.touch()
    words = wrap(
        ["ls", "-l"], SandboxLimits((tmp_path, tmp_path / "gone"), (memory, key, tmp_path / "none"), network=False)
    )

    top = str(tmp_path)
    assert words[0] == "bwrap"
    assert "--unshare-net" in words
    assert words[words.index("--bind") :] == [
        *("--bind", top, top),
        *("--tmpfs", str(memory), "--remount-ro", str(memory)),
        *("--ro-bind", "/dev/null", str(key)),
        *("--", "ls", "-l"),
    ]


def test_what_was_named_is_never_replaced_by_something_weaker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who chose bubblewrap wants no network and no other processes; Landlock alone does not give that."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kind("bubblewrap") == "none"
    assert why("bubblewrap").startswith("no sandbox is available: bubblewrap is not installed")
    assert kind("off") == "none"
    assert "the sandbox is off" in why("off")
    assert kind("auto") == kind("landlock")


def test_a_bubblewrap_that_does_not_work_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Many systems have it but forbid the namespaces it needs."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho no permission to make namespaces >&2; exit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert kind("bubblewrap") == "none"
    assert why("bubblewrap").endswith("bubblewrap does not work here: no permission to make namespaces")


def test_older_kernels_are_said_to_let_more_through() -> None:
    """The user may then prefer bubblewrap."""
    assert shortcomings(6) == ""
    assert shortcomings(5) == ("Landlock version 5 cannot block signals to other processes")
    assert "truncation" in shortcomings(2)


@needs_landlock
def test_making_a_sandbox_ready_leaves_nothing_open(ground: Ground) -> None:
    """A shell that runs for a week runs many commands."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with prepared(ground.limits):
            pass

    assert len(list(Path("/proc/self/fd").iterdir())) == before
