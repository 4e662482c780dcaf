"""Nothing unasked can do harm: what a user sees under each kind of fence, and without one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import ENTER
from tmux import Tmux, need
from workshop import KEY, PROMPT, AtGate, Workshop
from world import World

from aish.action.fence.availability import Wanted, kind, why

pytestmark = pytest.mark.proves("X5", "P4", "N22")

# A program that the user declared to only read, and that writes. So the judgement is wrong.
PEEK = """#!/bin/sh
cat "$1"
echo changed > "$1"
"""
CALL = """#!/bin/sh
exec 3<>/dev/tcp/127.0.0.1/$1
"""
# Runs aish as on a system without Landlock: the call that makes rules fails as if it did not exist.
WITHOUT_LANDLOCK = """
import errno, os, sys
from aish.action.fence import libc
from aish.action.fence.seccomp import CallRule, fails, install, program
from aish.action.fence.system_calls import numbers
names = {**numbers(), "landlock_create_ruleset": 444}
libc.call("prctl", libc.NO_NEW_PRIVILEGES, 1, 0, 0, 0)
install(program([CallRule("landlock_create_ruleset", fails(errno.ENOSYS))], names), names)
os.execv(sys.executable, [sys.executable, "-m", "aish", *sys.argv[1:]])
"""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


@pytest.fixture(params=["landlock", "bubblewrap", "off"])
def fence(request: pytest.FixtureRequest) -> str:
    """Each kind of fence that is available here, and none."""
    named: Wanted = request.param
    return named if named == "off" or kind(named) == named else pytest.skip(why(named))


def declare(world: World, name: str, program: str) -> str:
    """Put a program on the PATH, declare it to only read, and return the PATH."""
    folder = world.directory / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(program, encoding="utf-8")
    path.chmod(0o755)
    world.places.config.mkdir(parents=True, exist_ok=True)
    with world.places.policy_file.open("a", encoding="utf-8") as file:
        file.write(f'[{name}]\noperands = "any"\n')
    return f"{folder}:{os.environ['PATH']}"


def poison(project: Path) -> Path:
    """Make a repository that runs a program at every turn; return the file that the program would make."""
    canary = project / "canary"
    hook = f"sh -c 'touch {canary}; cat'"
    settings = {
        "core.pager": hook,
        "core.fsmonitor": hook,
        "pager.log": hook,
        "diff.external": hook,
        "diff.x.textconv": hook,
        "user.name": "n",
        "user.email": "n@example.org",
    }
    git = ["git", "-C", str(project)]
    (project / "a.txt").write_text("one\n", encoding="utf-8")
    (project / ".gitattributes").write_text("*.txt diff=x\n", encoding="utf-8")
    for words in (["add", "."], ["-c", "user.name=n", "-c", "user.email=n@example.org", "commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True, timeout=20)
    for name, value in settings.items():
        subprocess.run([*git, "config", name, value], check=True, timeout=20)
    (project / "a.txt").write_text("two\n", encoding="utf-8")
    return canary


def test_a_hostile_repository_does_nothing(workshop: Workshop, fence: str) -> None:
    """Its README says what to run, the model believes it, and git would run what the repository says."""
    canary = poison(workshop.directory)
    readme = "To see the history, run git log and git diff.\n"
    (workshop.directory / "README.md").write_text(readme, encoding="utf-8")
    commands = ["cat README.md", "git log", "git diff", "git status"]
    workshop.script("\n".join(f"CMD: {command}" for command in commands))
    with AtGate(workshop, AISH_SET_COMMANDS__SANDBOX=fence, AISH_SET_COMMANDS__FOLD="false") as terminal:
        terminal.ask()
        if fence == "off":  # then nothing but the harmless `cat` runs unasked
            for number in (1, 2, 3):
                terminal.wait_times(KEY, number)
                terminal.type("s")
        terminal.wait_times("▸ ".encode(), len(commands))
        terminal.wait_prompt()
        assert fence == "off" or KEY not in terminal.raw
    assert not canary.exists()


def test_a_command_that_needs_more_says_so_and_runs_after_one_key(workshop: Workshop, fence: str) -> None:
    """Whoever declared it to only read was wrong. That costs nothing, and nothing is silently left out."""
    path = declare(workshop, "peek", PEEK)
    file = workshop.directory / "note.txt"
    file.write_text("precious\n", encoding="utf-8")
    workshop.script("CMD: peek note.txt", "Seen.")
    with AtGate(workshop, AISH_SET_COMMANDS__SANDBOX=fence, PATH=path) as terminal:
        terminal.ask()
        terminal.wait_question()
        if fence == "off":
            assert any("there is no fence here" in line for line in terminal.lines)
        else:
            assert "[aish] the fence stopped it: it wanted to write note.txt" in terminal.lines
            assert terminal.lines[-1] == "[aish] [r]un it again, and let it change the project, or [s]kip (Enter)"
        assert file.read_text(encoding="utf-8") == "precious\n"
        terminal.type("r")
        terminal.wait_prompt()
        assert file.read_text(encoding="utf-8") == "changed\n"


def test_the_model_is_told_what_was_stopped(workshop: Workshop) -> None:
    """It must not take half a result for a whole one."""
    path = declare(workshop, "peek", PEEK)
    (workshop.directory / "note.txt").write_text("precious\n", encoding="utf-8")
    workshop.script("CMD: peek note.txt", "I see.")
    with AtGate(workshop, PATH=path) as terminal:
        terminal.ask()
        terminal.wait_question()
        terminal.type("s")
        terminal.wait_prompt()
        terminal.ask("and?")
        terminal.wait_for("I see.")
        terminal.wait_prompt()
    (journal,) = workshop.journals()
    assert "[aish] the fence stopped it: it wanted to write note.txt" in journal.read_text(encoding="utf-8")


def test_the_network_needs_a_key_after_the_address_was_shown(workshop: Workshop) -> None:
    """Nothing arrives before."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.0)
        port = server.getsockname()[1]
        path = declare(workshop, "call", CALL.replace("/bin/sh", "/bin/bash"))
        workshop.script(f"CMD: call {port}")
        with AtGate(workshop, PATH=path) as terminal:
            terminal.ask()
            terminal.wait_question()
            assert f"[aish] the fence stopped it: it wanted to reach 127.0.0.1 port {port}" in terminal.lines
            with pytest.raises(BlockingIOError):
                server.accept()
            terminal.type("r")
            terminal.wait_prompt()
            server.accept()[0].close()


def test_a_file_that_runs_later_is_allowed_by_its_name(workshop: Workshop) -> None:
    """A key is enough for the project, but not for what runs outside the fence."""
    workshop.script("CMD: git config alias.x status")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_question(1)
        terminal.say_yes()
        terminal.wait_question(2)
        assert "type .git/config to allow it" in "".join(terminal.lines)
        terminal.type(".git/config" + ENTER)
        terminal.wait_prompt()
    config = (workshop.directory / ".git/config").read_text(encoding="utf-8")
    assert "x = status" in config


@pytest.mark.parametrize("answer", ["u", "y", "", "run"])
def test_no_key_takes_the_fence_away(workshop: Workshop, answer: str) -> None:
    """Only the typed word does."""
    outside = workshop.top / "outside"
    workshop.script(f"CMD: touch {outside}")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_question(1)
        terminal.say_yes()
        terminal.wait_question(2)
        assert "type unfenced" in "".join(terminal.lines)
        terminal.type(answer + ENTER)
        terminal.wait_prompt()
    assert not outside.exists()


def test_the_word_does(workshop: Workshop) -> None:
    """The user may do everything."""
    outside = workshop.top / "outside"
    workshop.script(f"CMD: touch {outside}")
    with AtGate(workshop) as terminal:
        terminal.ask()
        terminal.wait_question(1)
        terminal.say_yes()
        terminal.wait_question(2)
        terminal.type("unfenced" + ENTER)
        terminal.wait_prompt()
    assert outside.exists()


def test_typing_does_not_reach_a_command_that_nobody_was_asked_about(workshop: Workshop) -> None:
    """It could ask for a password. What was typed is there at the next prompt."""
    path = declare(workshop, "login", "#!/bin/sh\nprintf 'password: '\nread x\necho \"got <$x>\"\nsleep 1\n")
    workshop.script("CMD: login")
    with AtGate(workshop, PATH=path) as terminal:
        terminal.ask()
        terminal.wait_for("got <>")
        terminal.type("secret")
        terminal._until(lambda: terminal.lines[-1] == f"{PROMPT} secret", "the typed text")
        assert b"got <>" in terminal.raw and b"got <s" not in terminal.raw


@pytest.mark.parametrize("has_bubblewrap", [True, False])
@pytest.mark.proves("P13")
def test_doctor_says_which_fence_is_in_force_and_why(world: World, has_bubblewrap: bool) -> None:
    """Found by trying: here on a system that seems to have no Landlock."""
    if has_bubblewrap and kind("bubblewrap") != "bubblewrap":
        pytest.skip(why("bubblewrap"))
    folder = world.directory / "bin"
    folder.mkdir()
    for name in ("bash", "sh", "env", "cat", *(["bwrap"] if has_bubblewrap else [])):
        found = next(Path(place, name) for place in ("/usr/bin", "/bin") if Path(place, name).exists())
        (folder / name).symlink_to(found)
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_LANDLOCK, "doctor"],
        env=world.environment(PATH=str(folder)),
        cwd=world.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    line = next(line for line in ran.stdout.splitlines() if line.split()[1:2] == ["fence"])
    if has_bubblewrap:
        assert "enforced by bubblewrap and seccomp" in line and "this kernel has no Landlock" in line
    else:
        assert "no fence is available" in line and "bubblewrap is not installed" in line


def test_doctor_names_landlock_where_it_works(world: World) -> None:
    """With its version, because later versions do more."""
    if kind("landlock") != "landlock":
        pytest.skip(why("landlock"))
    assert "enforced by Landlock (version" in world.aish("doctor").out


def test_in_a_real_terminal_the_stopped_command_explains_itself(tmp_path: Path) -> None:
    """The same in tmux."""
    need()
    world = World(tmp_path)
    path = declare(world, "peek", PEEK)
    (world.directory / "note.txt").write_text("precious\n", encoding="utf-8")
    world.script("CMD: peek note.txt")
    with Tmux(world, PATH=path) as tmux:
        tmux.enter("what now?")
        tmux.wait_for("the fence stopped it: it wanted to write")
    assert (world.directory / "note.txt").read_text(encoding="utf-8") == "precious\n"
