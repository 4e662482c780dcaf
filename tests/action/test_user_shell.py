"""The user's own shell: what lasts from line to line, what keys do, and what startup files or programs cannot break."""

import os
import select
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from shell_person import ENTER, Person, with_rc

from aish.action.shell import UserShell
from aish.values.errors import StoreTrouble
from aish.values.outcomes import Outcome

pytestmark = [pytest.mark.proves("P2"), pytest.mark.usefixtures("in_time")]
CTRL_C, CTRL_D, CTRL_Z = b"\x03", b"\x04", b"\x1a"
WAITS = "bash -c 'echo ready; exec sleep 60'"


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "home")
    yield person
    person.leave()


def ended(pid: int, seconds: float) -> bool:
    """Does this process end within that time?"""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


# State that stays between commands


def test_directory_variables_aliases_and_functions_last_from_line_to_line(person: Person) -> None:
    """It is one long-running shell."""
    (person.home / "below").mkdir()

    outcome = person.run("cd below")
    assert (outcome.status, outcome.moved, outcome.directory) == (0, True, str(person.home / "below"))
    person.run("export OUT=1; mine=2; alias hi='echo hello'; twice() { echo $1 $1; }; shopt -s nullglob")
    assert person.says("pwd; printenv OUT; echo $mine; hi; twice x; echo *.none") == (
        f"{person.home}/below\n1\n2\nhello\nx x"
    )
    assert not person.run("true").moved


def test_the_status_of_a_line_is_told_and_can_be_asked_for(person: Person) -> None:
    """`$?` is the status of the user's line, not of our own requests."""
    assert person.run("(exit 7)").status == 7
    assert person.run("echo $?") == Outcome(0, "7", str(person.home))
    assert person.run("no-such-program-here").status == 127
    assert person.says("echo $?") == "127"


def test_names_that_a_line_defines_are_known_after_it(person: Person) -> None:
    """So that they count as commands; removed names do not."""
    with_rc(person, "alias ll='ls -l'\nmine() { :; }\n").shell.start()
    assert person.shell.names[:2] == (frozenset({"ll"}), frozenset({"mine"}))

    person.run("alias up='cd ..'; yours() { :; }; unset -f mine")

    assert person.shell.names[:2] == (frozenset({"ll", "up"}), frozenset({"yours"}))


def test_programs_have_a_terminal(person: Person) -> None:
    """So colours and full-screen programs work."""
    assert person.says("test -t 0 && test -t 1 && test -t 2 && stty size") == "24 80"
    person.run("printf '\\e[31mred\\e[m\\n'")
    assert person.screen.startswith(b"\x1b[31mred\x1b[m\r\n")


def test_a_full_screen_program_runs_and_leaves_no_output(person: Person) -> None:
    """What was on its screen is not for the model."""
    outcome = person.run(
        "printf '\\e[?1049h~ a file'; read -rsn1 key; printf '\\e[?1049l'; echo got $key", (b"a file", b"q")
    )

    assert outcome.output == "got q"


# Keys


def test_ctrl_c_ends_the_program_and_not_the_shell(person: Person) -> None:
    """Variables set before still exist."""
    person.run("x=1")

    outcome = person.run(WAITS, (b"ready", CTRL_C))

    assert (outcome.status, outcome.died) == (130, False)
    assert person.says("echo $? $x") == "130 1"


def test_ctrl_c_ends_the_whole_line(person: Person) -> None:
    """As at any prompt, the rest of the line does not run."""
    assert "never" not in person.says(f"{WAITS}; echo never", (b"ready", CTRL_C))
    assert "never" not in person.says("echo ready; while :; do :; done; echo never", (b"ready", CTRL_C))
    assert person.says("echo on") == "on"


def test_ctrl_c_again_and_again_does_not_confuse_the_shell(person: Person) -> None:
    """The next line runs once and ends; at most it begins with a late ^C."""
    person.run("echo ready; while :; do :; done", (b"ready", CTRL_C * 3))

    assert person.says("echo on").removeprefix("^C\n") == "on"
    assert person.says("echo on again") == "on again"


def test_a_program_can_be_stopped_and_brought_back(person: Person) -> None:
    """Ctrl-Z, jobs, bg and fg as in any shell."""
    assert person.run(WAITS, (b"ready", CTRL_Z)).status == 148
    assert "Stopped" in person.says("jobs")
    person.run("bg")
    assert "Running" in person.says("jobs")
    person.run("kill %1; wait %1")
    assert person.says("true; jobs") == ""


def test_fg_gives_a_program_the_keys_again(person: Person) -> None:
    """And Ctrl-C ends it there."""
    person.run("bash -c 'echo ready; read x; echo got $x; exec sleep 60'", (b"ready", CTRL_Z))

    outcome = person.run("fg", (b"read x", b"hello" + ENTER), (b"got hello", CTRL_C))

    assert outcome.status == 130
    assert person.says("jobs") == ""


def test_the_end_of_input_can_be_typed(person: Person) -> None:
    """Ctrl-D ends the input of a program, and not the shell."""
    outcome = person.run("echo ready; cat", (b"ready", b"hello" + ENTER + CTRL_D))

    assert (outcome.status, outcome.output) == (0, "ready\nhello\nhello")


def test_a_password_is_neither_shown_nor_kept(person: Person) -> None:
    """If a program turns the echo off, only that program gets the typed text."""
    outcome = person.run("read -rsp 'password: ' secret; echo; echo ${#secret}", (b"password: ", b"hunter2" + ENTER))

    assert outcome == Outcome(0, "password: \n7", str(person.home))
    assert b"hunter2" not in person.screen


def test_what_no_program_read_comes_back_and_is_not_run(person: Person) -> None:
    """It was typed for the next prompt, or by mistake for a program that did not ask."""
    fifo = person.home / "fifo"
    os.mkfifo(fifo)

    outcome = person.run(
        "echo ready; read x <fifo",
        (b"ready", b"touch bad" + ENTER + b"half a l"),
        (b"half a l", lambda: fifo.write_text("go\n", encoding="utf-8")),
    )

    assert outcome.unread == b"touch bad\nhalf a l"
    assert person.run("echo on") == Outcome(0, "on", str(person.home))
    assert not (person.home / "bad").exists()


def test_keys_reach_the_program_as_they_are(person: Person) -> None:
    """Arrows, escape and accented letters."""
    outcome = person.run(
        "stty raw -echo; printf ready; head -c 6 | od -An -tx1; stty sane", (b"ready", b"\x1b[A\x01\xc3\xa9")
    )

    assert outcome.output == "ready 1b 5b 41 01 c3 a9"


# Lines of all kinds


@pytest.mark.parametrize(
    ("line", "printed"),
    [
        ("for i in 1 2\ndo echo $i\ndone", "1\n2"),
        ("cat <<END\na $((1 + 1))\nEND", "a 2"),
        ("cat <<'END'\n$x 'y\nEND", "$x 'y"),
        ("echo a; # b", "a"),
        ("echo 'it'\\''s'", "it's"),
        ("echo \\\nx", "x"),
        ("printf %s $'\\x01\\t\\e' | od -An -tx1", " 01 09 1b".strip()),
        ("printf %s '\x01\t\x1b\x7f' | od -An -tx1", "01 09 1b 7f"),
        ("echo größe ✓", "größe ✓"),
        ("echo a\0b", "ab"),
        ("", ""),
        ("# nothing", ""),
        ("echo __aish_line }; ) `", None),
        ("}", None),
        ("; ls", None),
        ("if true", None),
    ],
)
def test_a_line_runs_as_if_it_had_been_typed(person: Person, line: str, printed: str | None) -> None:
    """Also an invalid one: bash reports the error, and the next line runs."""
    outcome = person.run(line)

    if printed is None:
        assert outcome.status == 2
        assert outcome.output.startswith("bash: ")
    else:
        assert (outcome.status, outcome.output.strip(" ")) == (0, printed)
    assert person.says("echo on") == "on"


@pytest.mark.parametrize("line", ["echo 'open", 'echo "open', "echo `open", "echo ${open", "cat <<'END"])
def test_a_line_that_is_not_whole_says_so_and_nothing_else(person: Person, line: str) -> None:
    """One message, and the status of a syntax error."""
    outcome = person.run(line, seconds=1.5)

    assert outcome.status == 2
    assert outcome.output.count("\n") == 0
    assert outcome.output.startswith("bash: unexpected EOF")
    assert person.says("echo on", seconds=1.5) == "on"


def test_a_backslash_at_the_end_is_a_backslash(person: Person) -> None:
    """There is no next line to join."""
    assert person.run("echo a \\", seconds=1.5) == Outcome(0, "a \\", str(person.home))


def test_a_here_document_may_be_left_open(person: Person) -> None:
    """It ends with the line, as in bash."""
    outcome = person.run("cat <<END\nbody")

    assert outcome.status == 0
    assert outcome.output.endswith("body")
    assert "delimited by end-of-file" in outcome.output


def test_a_line_may_be_very_long(person: Person) -> None:
    """A pasted megabyte."""
    assert person.says(f"x={'y' * 1_000_000}; echo ${{#x}}") == "1000000"


def test_much_output_passes_whole_and_is_kept_in_part(person: Person) -> None:
    """The terminal gets every byte."""
    output = person.says("seq 100000")

    assert person.screen == b"".join(b"%d\r\n" % number for number in range(1, 100_001))
    assert output.startswith("1\n2\n") and output.endswith("\n99999\n100000")
    assert "bytes left out" in output


# The end of a shell


@pytest.mark.parametrize(("line", "status"), [("exit 3", 3), ("exec bash -c 'exit 5'", 5), ("kill -9 $$", 137)])
def test_a_shell_that_ended_is_followed_by_another(person: Person, line: str, status: int) -> None:
    """In the same directory; everything else it knew is lost."""
    (person.home / "below").mkdir()
    person.run("cd below; x=1")

    outcome = person.run(line)

    assert (outcome.status, outcome.died, outcome.directory) == (status, True, str(person.home / "below"))
    assert person.says("pwd; echo [$x]") == f"{person.home}/below\n[]"


def test_a_directory_that_is_gone_does_not_keep_a_shell_from_starting(person: Person) -> None:
    """It starts at the root and reports the new directory."""
    person.run("mkdir gone; cd gone; rmdir ../gone")
    assert person.says("echo still here") == "still here"
    person.run("exit")

    outcome = person.run("pwd")

    assert (outcome.output, outcome.directory, outcome.moved) == ("/", "/", True)


def test_a_program_that_is_no_shell_is_said(tmp_path: Path) -> None:
    """Instead of waiting for it."""
    for program, reason in (("true", "it exits at once"), (str(tmp_path / "none"), "No such file")):
        shell = UserShell(program, env={"PATH": os.environ["PATH"]}, directory=tmp_path)
        with pytest.raises(StoreTrouble, match=reason):
            shell.start()
        shell.close()


def test_closing_ends_what_runs_in_it(person: Person) -> None:
    """When the user leaves, only detached programs keep running."""
    pid = int(person.says("sleep 60 & echo $!").split()[-1])
    shell = person.shell.terminal.process if person.shell.terminal else None

    person.shell.close()

    assert shell and shell.poll() is not None
    assert ended(pid, 2)
    assert not person.shell.started


def test_closing_twice_and_before_the_start_is_nothing(tmp_path: Path) -> None:
    """A view may exit at any time."""
    shell = UserShell("bash", env={}, directory=tmp_path)
    shell.close()
    shell.close()


# Startup files


def test_what_start_up_files_print_is_a_greeting_and_no_output(person: Person) -> None:
    """It is shown once and is not part of the first command; nor is the status of their last command."""
    with_rc(person, "echo welcome; echo dear user >&2; false").shell.start()

    assert person.shell.greeting == "welcome\ndear user"
    assert person.says("echo $?; echo on") == "0\non"


def test_a_start_up_file_with_a_mistake_counts_as_far_as_it_goes(person: Person) -> None:
    """The error is in the greeting."""
    with_rc(person, "x=1\nif true\n").shell.start()

    assert "syntax error" in person.shell.greeting
    assert person.says("echo $x") == "1"


@pytest.mark.parametrize("text", ["x=1; exit 4", "x=1; exec true", "kill -9 $$"])
def test_a_start_up_file_that_ends_the_shell_is_left_out(person: Person, text: str) -> None:
    """And a message says so."""
    with_rc(person, text).shell.start()

    assert "without your startup files" in person.shell.greeting
    assert person.says("echo [$x]") == "[]"


def test_a_start_up_file_that_never_ends_is_left_out(person: Person) -> None:
    """After a timeout, and a message says so."""
    with_rc(person, "sleep 60")
    shell = UserShell("bash", env=person.env, directory=person.home, patience=0.3)

    shell.start()

    assert "without your startup files" in shell.greeting
    shell.close()


def test_a_start_up_file_has_the_terminal(person: Person) -> None:
    """Many need it, or set it up."""
    with_rc(person, "stty -ixon; test -t 0 && tty").shell.start()

    assert person.shell.greeting.startswith("/dev/")
    assert "-ixon" in person.says("stty -a").split()


@pytest.mark.parametrize(
    "text",
    [
        "PS1='$(echo prompt)> '; PS2='more> '",
        "HISTCONTROL=ignoreboth; HISTSIZE=5; HISTTIMEFORMAT='%s '",
        "IFS=/; LC_ALL=C",
        "set -f; shopt -s extglob nocasematch",
        "set -o posix",
        "bind '\"\\C-p\": previous-history'; complete -F _x x",
        "alias ls='ls --color'; cd() { builtin cd \"$@\"; }",
    ],
)
def test_the_users_own_settings_do_not_get_between(person: Person, text: str) -> None:
    """No prompt and no warning in the output, whatever is set."""
    with_rc(person, text)

    assert person.says("echo one") == "one"
    assert person.shell.greeting == ""
    assert person.run("cd /; false") == Outcome(1, "", "/", moved=True)
    assert person.says("echo $?") == "1"


@pytest.mark.parametrize(
    "text",
    [
        "set -e",
        "set -u",
        "set -eu -o pipefail",
        "readonly PROMPT_COMMAND=''",
        "printf() { :; }; alias history=:",
    ],
)
def test_the_users_strict_settings_do_not_get_between(person: Person, text: str) -> None:
    """Strict shell options must not break our own requests."""
    with_rc(person, text)

    assert person.says("echo one", seconds=1.5) == "one"
    assert person.shell.greeting == ""
    assert person.run("cd /", seconds=1.5).moved
    assert person.says("echo two", seconds=1.5) == "two"


def test_unset_variables_may_be_an_error(person: Person) -> None:
    """The line that uses one fails, and the shell goes on."""
    person.run("set -u", seconds=1.5)

    assert "unbound variable" in person.says("echo $none_such", seconds=1.5)
    assert person.says("echo on", seconds=1.5) == "on"


def test_files_may_be_kept_from_being_overwritten(person: Person) -> None:
    """The shell answers our requests through files of ours."""
    person.run("set -C; one() { :; }")
    person.run("two() { :; }; export NEW=1")
    person.shell.environment()
    person.run("export NEWER=1")

    assert person.shell.names.functions == {"one", "two"}
    assert "NEWER" in person.shell.environment()


def test_a_trace_is_of_the_users_commands(person: Person) -> None:
    """Our requests add at most one line, and turning the trace off works."""
    person.run("set -x")
    output = person.says("echo one")
    assert "+ echo one" in output and "__aish_" not in output

    person.run("set +x")
    assert person.says("echo two") == "two"


@pytest.mark.parametrize("hooks", ["PROMPT_COMMAND='echo $? >>seen'", "PROMPT_COMMAND=('echo $? >>seen')"])
def test_prompt_commands_run_once_after_each_line(person: Person, hooks: str) -> None:
    """With its status, which stays that of the line; also after the line that set them."""
    person.run(hooks)
    person.run("(exit 4)")

    assert person.says("echo $?") == "4"
    assert (person.home / "seen").read_text(encoding="utf-8").split() == ["0", "4", "0"]


def test_a_prompt_command_that_reads_gets_nothing(person: Person) -> None:
    """In particular, not our requests to the shell."""
    outcome = person.run("PROMPT_COMMAND='read x; y=got:$x'", seconds=1.5)

    assert outcome.status == 0
    assert person.says("echo $y", seconds=1.5) == "got:"


# The history


def test_only_what_may_be_remembered_is_in_the_history(person: Person) -> None:
    """The shell runs the line; its history file gets the text that we pass, or nothing."""
    history = person.home / ".bash_history"
    history.write_text("from before\n", encoding="utf-8")

    person.run("echo secret-1 >/dev/null", remembered="echo ***")
    person.run("echo secret-2 >/dev/null")
    person.run(": $'two\nlines'", remembered=": 'two\nlines'")
    kept = history.read_text(encoding="utf-8")

    assert kept == "from before\necho ***\n: 'two\nlines'\n"
    assert "secret" not in person.says("history")
    assert person.says("history").count("from before") == 1, "bash reads the file by itself"
    person.shell.close()
    assert history.read_text(encoding="utf-8") == kept


def test_what_the_user_keeps_out_of_the_history_stays_out(person: Person) -> None:
    """A leading space, duplicate lines, patterns, or no file at all."""
    with_rc(person, "HISTCONTROL=ignoreboth; HISTIGNORE='skip*'; HISTFILE=~/mine")
    for line in (" echo hidden", "echo a", "echo a", "skip this", "echo b"):
        person.run(f"{line} >/dev/null 2>&1", remembered=line)

    assert (person.home / "mine").read_text(encoding="utf-8") == "echo a\necho b\n"
    person.run("unset HISTFILE")
    assert person.run("echo c", remembered="echo c").output == "c"
    assert (person.home / "mine").read_text(encoding="utf-8") == "echo a\necho b\n"


# Effects of programs on the shell


def test_output_of_the_background_waits_for_the_prompt(person: Person) -> None:
    """It is not part of the command before or after."""
    fifo = person.home / "fifo"
    os.mkfifo(fifo)
    person.run("{ read x <fifo; echo late; } 2>/dev/null &")
    assert person.shell.idle_output() == b""
    fifo.write_text("go\n", encoding="utf-8")

    assert person.shell.terminal
    while not (printed := person.shell.idle_output()):
        assert select.select([person.shell.terminal.master], [], [], 5)[0]
    assert printed.startswith(b"late\r\n")  # bash may tell of the finished job after it
    assert "late" not in person.says("echo on").splitlines()


@pytest.mark.parametrize("name", ["two words", "a\nb", "a\r\nb", "é\x07\x1b]6973;x", "-n", "'\"$(x)`", "\udcff"])
def test_a_directory_may_have_any_name(person: Person, name: str) -> None:
    """It comes back unchanged, and the next line runs there."""
    directory = person.home / name
    directory.mkdir()
    person.run("cd -- */")

    assert person.shell.directory == str(directory)
    assert person.run("touch here").directory == str(directory)
    assert (directory / "here").exists()


def test_a_directory_may_end_in_a_newline(person: Person) -> None:
    """No part of the mark stays on the screen."""
    (person.home / "x\n").mkdir()
    person.run("cd */")

    assert person.shell.directory == str(person.home / "x\n")
    assert person.screen == b""


@pytest.mark.parametrize(
    "forged",
    [
        "printf '\\e]6973;%024d;D;2;0;4;/tmp\\a' 0",
        "printf '\\e]6973;;D;2;0;1;/\\a'",
        "printf '\\e]6973;'",
        "for n in 1 2 3; do printf '\\e]6973;%x;D;%d;0;1;/\\a' $RANDOM $n; done",
    ],
)
def test_a_program_cannot_end_its_command_by_printing(person: Person, forged: str) -> None:
    """The token of the marks cannot be guessed."""
    outcome = person.run(f"{forged}; cd below 2>/dev/null; echo after; (exit 9)")

    assert (outcome.status, outcome.directory) == (9, str(person.home))
    assert b"after\r\n" in person.screen


def test_a_program_cannot_read_what_we_say_to_the_shell(person: Person) -> None:
    """Neither as its input nor through an inherited file."""
    assert person.says("readlink /proc/self/fd/0").startswith("/dev/")
    assert "pipe" not in person.says("ls -l /proc/self/fd")
    assert "pipe" not in person.says("exec 5</dev/null; bash -c 'ls -l /proc/self/fd'")
    assert "Stopped" in person.says("cat & wait %1; jobs")
    assert "on" in person.says("kill -9 %1; wait %1; echo on").splitlines()


def test_a_terminal_that_a_program_left_in_disorder_is_mended(person: Person) -> None:
    """The next program finds line mode and echo; harmless changes by the user stay."""
    person.run("stty raw -echo")
    modes = person.says("stty -a").split()
    assert {"echo", "icanon", "isig", "opost", "icrnl"} <= {mode.strip(";") for mode in modes}

    person.run("stty -ixon")
    assert "-ixon" in person.says("stty -a").split()


@pytest.mark.parametrize(
    ("left", "switch"), [("\\e[?1049h", b"\x1b[?1049l"), ("\\e[?25l", b"\x1b[?25h"), ("\\e[?1000h", b"\x1b[?1000l")]
)
def test_what_a_program_left_switched_is_switched_back(person: Person, left: str, switch: bytes) -> None:
    """A killed program cannot do it itself."""
    person.run(f"bash -c \"printf '{left}'; kill -9 \\$\\$\"")

    assert switch in person.screen


def test_an_editor_to_which_ctrl_c_is_a_key_is_left_alone(person: Person) -> None:
    """It ignores the signal because it never gets one."""
    editor = person.home / "editor"
    editor.write_text(
        "trap '' INT; stty -isig -icanon -echo min 1\n"
        "for n in 1 2 3; do echo key $n; dd bs=1 count=1 >/dev/null 2>&1; done\n"
        "stty sane; echo saved\n",
        encoding="utf-8",
    )

    outcome = person.run("bash editor", *[(b"key %d" % n, CTRL_C) for n in (1, 2, 3)], seconds=1.5)

    assert (outcome.status, outcome.output.splitlines()[-1]) == (0, "saved")


# Environment


def test_the_environment_is_what_a_program_would_get(person: Person) -> None:
    """With the variables exported since then, and without functions."""
    person.run("export NEW=$'two\nlines'; inner=1; f() { :; }; export -f f; unset TERM")

    environment = person.shell.environment()

    assert environment["NEW"] == "two\nlines"
    assert environment["HOME"] == str(person.home)
    assert not {"inner", "TERM"} & set(environment)
    assert not [name for name in environment if name.startswith("BASH_FUNC")]


def test_what_a_command_of_the_model_changed_can_be_made_the_users_own(person: Person) -> None:
    """Directory and variables with any content; an invalid name is left out."""
    target = person.home / "it's $HOME\nhere"
    target.mkdir()
    person.run("export OLD=1")

    person.shell.adopt(str(target), {"NEW": "$(touch bad)'\n", "x; touch bad; y": "1"}, ("OLD", "-f; touch bad"))

    assert person.shell.directory == str(target)
    assert person.says('printf \'%s|\' "$NEW" "$OLD"') == "$(touch bad)'\n||"
    assert not list(person.home.rglob("bad"))


# zsh


@pytest.fixture
def zsh(tmp_path: Path) -> Iterator[Person]:
    program = shutil.which("zsh")
    if not program:
        pytest.skip("zsh is not installed")
    person = Person(tmp_path / "home", program)
    yield person
    person.leave()


def test_zsh_is_a_shell_too(zsh: Person) -> None:
    """State, status, Ctrl-C and jobs."""
    zsh.run("cd /; x=1; alias hi='echo hello'; f() { echo f }")
    assert zsh.says("pwd; echo $x; hi; f") == "/\n1\nhello\nf"
    assert {"hi"} <= zsh.shell.names.aliases and {"f"} <= zsh.shell.names.functions
    assert zsh.run("(exit 7)").status == 7
    assert zsh.says("echo $?") == "7"
    assert zsh.run(WAITS, (b"ready", CTRL_C)).status == 130
    assert zsh.run(WAITS, (b"ready", CTRL_Z)).status == 148
    assert "suspended" in zsh.says("jobs")
    zsh.run("kill -9 %1; wait")
    assert zsh.run("echo 'open").status == 1
    assert zsh.says("echo on").splitlines()[-1] == "on"  # zsh may report the killed job at any time
    assert zsh.run("exit 3").died


def test_zsh_keeps_only_what_may_be_remembered(zsh: Person) -> None:
    """Neither our requests nor the line as it was typed."""
    (zsh.home / ".zshrc").write_text("HISTFILE=~/kept SAVEHIST=50 HISTSIZE=50\n", encoding="utf-8")
    zsh.run("echo secret >/dev/null", remembered="echo ***")
    zsh.run("true", remembered="true")
    zsh.shell.close()

    assert (zsh.home / "kept").read_text(encoding="utf-8") == "echo ***\ntrue\n"


def test_hooks_of_zsh_run_once_and_see_nothing_of_ours(zsh: Person) -> None:
    """Before each line, with its text, and after each line, with its status."""
    (zsh.home / ".zshrc").write_text('precmd() { echo "after $?" }; preexec() { echo "before $1" }\n', encoding="utf-8")
    zsh.run("true")

    assert zsh.says("(exit 4)") == "before (exit 4)\nafter 4"


def test_zsh_inside_zsh_is_the_users_own(zsh: Person) -> None:
    """Our startup file is for our shell only, and the user's `.zshenv` is read."""
    (zsh.home / ".zshenv").write_text("from_env=1\n", encoding="utf-8")

    assert zsh.says('echo "[$ZDOTDIR]" $from_env') == "[] 1"


@pytest.mark.proves("P1")
def test_where_programs_are_looked_for_is_known(person: Person) -> None:
    """A program from an activated environment is a command from then on."""
    person.run("export PATH=/opt/mine:$PATH")
    assert person.shell.names.path.startswith("/opt/mine:")


@pytest.mark.proves("X5")
def test_what_is_to_be_run_lies_where_nobody_else_can_write(tmp_path: Path) -> None:
    """Whoever could change it could run anything; it may also contain a password."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    shell = UserShell("bash", env=env, directory=tmp_path, private=tmp_path / "private")
    try:
        shell.start()
        seen: list[bytes] = []
        shell.run(f"ls {tmp_path}/private/*/line && stat -c %a {tmp_path}/private", seen.append)
        (files,) = (tmp_path / "private").iterdir()
        assert b"/line\r\n700" in b"".join(seen)
        assert not (files / "line").exists()
    finally:
        shell.close()
    assert list((tmp_path / "private").iterdir()) == []


@pytest.mark.parametrize(
    ("place", "found"), [("private", True), ("my own", True), ("my:own", False), ("file/private", False)]
)
@pytest.mark.proves("X5")
def test_a_program_of_ours_is_found_only_where_nobody_else_can_put_one(tmp_path: Path, place: str, found: bool) -> None:
    """Started programs keep the PATH after aish exits, and others could recreate a directory among temporary files."""
    (tmp_path / "file").touch()
    program = tmp_path / "ours"
    program.write_text("#!/bin/sh\necho it is ours\n", encoding="utf-8")
    program.chmod(0o755)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    shell = UserShell("bash", env=env, directory=tmp_path, private=tmp_path / place, extra=program)
    try:
        outcome = shell.run("ours", lambda data: None)
        assert ("it is ours" in outcome.output) == found
        assert (shell.names.path == env["PATH"]) != found
        assert shell.names.path.startswith(env["PATH"])
    finally:
        shell.close()


@pytest.mark.proves("X5")
def test_where_no_program_is_looked_for_none_is_found_but_ours(tmp_path: Path) -> None:
    """An empty entry on the PATH is the current directory, whoever put programs there."""
    for name in ("ours", "theirs"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho it is {name}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": "", "HOME": str(tmp_path)}
    bash = str(shutil.which("bash"))
    shell = UserShell(bash, env=env, directory=tmp_path, private=tmp_path / "private", extra=tmp_path / "ours")
    try:
        assert shell.run("ours", lambda data: None).output == "it is ours"
        assert "it is theirs" not in shell.run("theirs", lambda data: None).output
    finally:
        shell.close()
