"""aish as `$SHELL`: what chsh, ssh, sudo, tmux, git and editors expect of a shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Terminal
from tmux import need
from world import World

from aish.views.as_shell import is_for_shell, is_login, wanted_shell

pytestmark = pytest.mark.proves("P2", "P11")


def aish(world: World, *arguments: str, text: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Run aish as another program would, from its home directory."""
    return subprocess.run(
        [sys.executable, "-m", "aish", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=world.directory,
        env=world.environment(HOME=str(world.directory), SHELL="/usr/bin/aish", **env),
    )


@pytest.mark.parametrize(
    ("arguments", "output", "code"),
    [
        (("-c", "echo $0 $1; exit 3", "name", "one"), "name one\n", 3),
        (("-lc", "shopt -q login_shell && echo login"), "login\n", 0),
        (("-i", "-l", "-c", "case $- in *i*) echo interactive;; esac"), "interactive\n", 0),
        (("-o", "pipefail", "-c", "false | true"), "", 1),
        (("-c", "kill -9 $$"), "", -9),
        (("-s",), "from the input\n", 0),
    ],
)
def test_a_command_runs_in_the_users_own_shell(
    world: World, arguments: tuple[str, ...], output: str, code: int
) -> None:
    """Its output, its status and its arguments are its own, and no model is asked."""
    done = aish(world, *arguments, text="echo from the input\n")

    assert (done.stdout, done.returncode) == (output, code)
    assert "aish" not in done.stderr
    assert not world.journals()


def test_a_command_after_options_of_aish_is_refused(world: World) -> None:
    """It was neither run nor asked about, without a word."""
    done = aish(world, "--set", "commands.shell=bash", "-c", "echo hi")

    assert (done.stdout, done.returncode) == ("", 2)
    assert "-c is for your own shell and comes first" in done.stderr


def test_the_shell_of_the_settings_is_used(world: World) -> None:
    need("zsh")
    world.configure('[view]\nprompt = "x"\n[commands]\n# mine\nshell = "/usr/bin/zsh"\n')
    assert aish(world, "-c", "echo $ZSH_NAME").stdout == "zsh\n"
    assert aish(world, "-c", "echo $BASH_VERSION$ZSH_NAME", AISH_SET_COMMANDS__SHELL="bash").stdout[0] in "56"


def test_a_script_gets_its_arguments(world: World) -> None:
    """By its path, by its name with a suffix, or by its first line."""
    script = 'echo "$1-$2"; exit 4\n'
    (world.directory / "one.sh").write_text(script, encoding="utf-8")
    (world.directory / "two").write_text("#!/usr/bin/env aish\n" + script, encoding="utf-8")

    for name in ("one.sh", "./one.sh", str(world.directory / "two")):
        done = aish(world, name, "a b", "c")
        assert (done.stdout, done.stderr, done.returncode) == ("a b-c\n", "", 4)


def test_a_question_stays_a_question(world: World) -> None:
    """Also one that names a file, or begins with the name of one."""
    world.script("An answer.")
    for name in ("notes.txt", "build", "run.sh"):
        (world.directory / name).write_text("#!/bin/sh\necho it ran\n", encoding="utf-8")
        (world.directory / name).chmod(0o755)

    for words in (["notes.txt"], ["build", "is", "broken"], ["run.sh is slow"], ["./run.sh", "fails,", "why?"]):
        assert aish(world, *words).stdout == "An answer.\n"


@pytest.mark.parametrize(
    ("arguments", "piped", "parent", "wanted"),
    [
        ((), True, "sshd", True),
        ((), True, "bash", False),
        ((), False, "sshd", False),
        (("-p", "-c"), True, "bash", False),
        (("--json", "-c"), True, "bash", False),
        (("what", "-c"), True, "bash", False),
        (("-l",), False, "login", False),
        (("-l",), True, "bash", True),
        (("-i", "--login"), True, "cron", True),
        (("-l", "-p"), True, "bash", False),
        (("-i",), True, "bash", False),
        (("--login", "-c", "x"), False, "bash", True),
        (("--resume", "x"), False, "bash", False),
        (("-",), False, "bash", False),
    ],
)
def test_what_is_for_a_shell(arguments: tuple[str, ...], piped: bool, parent: str, wanted: bool) -> None:
    assert is_for_shell(arguments, piped=piped, parent=parent) is wanted


@pytest.mark.parametrize(
    ("parent", "login"),
    [
        ("sshd", True),
        ("sshd-session", True),
        ("xterm", False),
        ("su - ann", True),
        ("su -l ann -c ls", True),
        ("su ann -c ls", False),
        ("sudo -i", True),
        ("sudo -u ann -i ls", True),
        ("sudo --login -u ann", True),
        ("sudo -nu ann -s", False),
        ("sudo -s grep -i x", False),
        ("", False),
    ],
)
def test_a_login_is_known_by_the_program_that_starts_it(parent: str, login: bool) -> None:
    """A script does not see the `-` before its name."""
    assert is_login({}, parent.split()) is login
    assert parent.startswith("su") or not is_login({"SHLVL": "1"}, parent.split())


def test_a_damaged_or_missing_configuration_does_not_stop_a_command(tmp_path: Path) -> None:
    env = {"AISH_HOME": str(tmp_path)}
    assert wanted_shell(env) == ""
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.toml").write_bytes(b"\xff[commands\nshell = 3\n[commands]\nshell = ['x']\n")
    assert wanted_shell(env) == ""


def test_a_shell_that_cannot_be_started_is_said(world: World) -> None:
    done = aish(world, "-c", "true", AISH_SET_COMMANDS__SHELL="/none/such/bash")
    assert (done.returncode, done.stderr) == (127, "aish: cannot start /none/such/bash: No such file or directory\n")


def test_a_login_shell_reads_the_files_of_a_login(world: World) -> None:
    """`aish -l` at a terminal; without it, the files of every shell."""
    world.script()
    (world.directory / ".bash_profile").write_text("FROM=profile\n", encoding="utf-8")
    (world.directory / ".bashrc").write_text("FROM=bashrc\n", encoding="utf-8")
    for arguments, wanted in ((("-l",), "profile"), (("-i", "--login"), "profile"), ((), "bashrc")):
        with Terminal(world, *arguments) as terminal:
            terminal.wait_ready()
            terminal.enter('echo "from:$FROM"')
            terminal.wait(f"from:{wanted}", "aish>")


def test_tmux_git_and_editors_can_use_it(world: World, tmp_path: Path) -> None:
    """The real programs, with a `$SHELL` that is a file as after `chsh`."""
    need("tmux", "git", "vim")
    world.script()
    shell = tmp_path / "aish"
    shell.write_text(f'#!/bin/sh\nexec {sys.executable} -m aish "$@"\n', encoding="utf-8")
    shell.chmod(0o755)
    env = world.environment(HOME=str(tmp_path), SHELL=str(shell), TERM="xterm-256color")

    def run(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=env, cwd=tmp_path)
        return done.stdout

    socket = f"aish-as-shell-{os.getpid()}"
    try:
        run(
            "tmux",
            "-L",
            socket,
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "echo from tmux >tmux.txt; tmux wait-for -S told",
        )
        run("tmux", "-L", socket, "wait-for", "told")
    finally:
        subprocess.run(["tmux", "-L", socket, "kill-server"], capture_output=True, timeout=60, check=False)
    run("vim", "-es", "-u", "NONE", "-c", "!echo from vim >vim.txt", "-c", "qa!")
    run("git", "-c", "alias.told=!echo from git >git.txt", "told")
    assert [(tmp_path / f"{name}.txt").read_text() for name in ("tmux", "vim", "git")] == [
        "from tmux\n",
        "from vim\n",
        "from git\n",
    ]


def test_a_line_waits_for_the_startup_files_that_may_define_it(world: World) -> None:
    """An alias typed while the shell still starts is no question."""
    os.mkfifo(world.directory / "gate")
    text = "read -r word <gate; alias gst='echo from the alias'\n"
    (world.directory / ".bashrc").write_text(text, encoding="utf-8")
    world.script("A question was asked.")
    with Terminal(world, SHELL="/bin/bash") as terminal:
        terminal.wait_ready()
        terminal.enter("gst")
        terminal.wait_times(b"\x1b[?2004l", 1)  # the editor has the line
        (world.directory / "gate").write_text("go\n", encoding="utf-8")
        terminal.wait_for("from the alias")
    assert not world.journals()


def test_what_startup_files_print_is_above_the_first_prompt(world: World) -> None:
    """As they print it, with the output of the first hooks, and without a word of ours."""
    (world.directory / ".bashrc").write_text("printf 'wel\\033[1mcome'; PROMPT_COMMAND='echo; echo hook'\n", "utf-8")
    world.script()
    with Terminal(world, SHELL="/bin/bash") as terminal:
        terminal.wait("welcome", "hook", "aish>")
        assert b"wel\x1b[1mcome" in terminal.raw
