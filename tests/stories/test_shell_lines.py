"""The user's own shell behind the prompt, in a real terminal: commands run as usual."""

import os
import signal
from pathlib import Path

import pytest
from tmux import Tmux, need
from world import World

from aish import __version__

PROMPT = "~ aish>"
WAITS = "sh -c 'echo it runs; exec sleep 100'"  # a key pressed before it runs would go to the prompt


@pytest.fixture
def shell(world: World) -> World:
    need()
    world.script("It is a question.")
    return world


@pytest.mark.proves("P2")
def test_directory_environment_aliases_and_functions_stay_from_line_to_line(shell: World) -> None:
    """It is one shell, not a new one for each line."""
    (shell.directory / "sub").mkdir()
    with Tmux(shell) as tmux:
        tmux.enter("cd sub && export COLOUR=green")
        tmux.wait_end("~/sub aish>")
        tmux.enter("alias hello='echo hello from'; where() { pwd; }")
        tmux.enter('hello "$COLOUR"; where')
        tmux.wait_for("hello from green")
        tmux.wait_end(str(shell.directory / "sub"), "~/sub aish>")


@pytest.mark.proves("P2")
def test_aish_itself_is_a_command_at_its_prompt(shell: World) -> None:
    """Also if it was started by its path from a virtual environment, as in a first trial."""
    with Tmux(shell) as tmux:
        tmux.enter("aish --version | tr a-z A-Z")
        tmux.wait_for(f"AISH {__version__.upper()}")
        tmux.enter("aish memory list")
        tmux.wait_for("no items yet")


@pytest.mark.proves("P2")
def test_the_prompt_tells_the_exit_status_and_the_shell_knows_it(shell: World) -> None:
    """A failure is visible, and `$?` is what the user expects."""
    with Tmux(shell) as tmux:
        tmux.enter("sh -c 'exit 7'")
        tmux.wait_for("~ ✗7 aish>")
        tmux.enter("echo status $?")
        tmux.wait_end("status 7", PROMPT)


@pytest.mark.proves("P2")
def test_vim_edits_a_file_and_leaves_the_screen_as_it_was(shell: World) -> None:
    """Full-screen programs get the whole terminal, and give it back."""
    need("vim")
    with Tmux(shell) as tmux:
        tmux.enter("echo before")
        tmux.wait_end("before", PROMPT)
        tmux.enter("vim -u NONE note.txt")
        tmux.wait_for("note.txt")
        tmux.wait_gone("before")
        tmux.type("iwritten in vim")
        tmux.press("Escape")
        tmux.enter(":wq")
        tmux.wait_for("before")
        tmux.enter("cat note.txt")
        tmux.wait_end("~ aish$ cat note.txt", "written in vim", PROMPT)


@pytest.mark.proves("P2")
def test_a_pager_scrolls_and_ends(shell: World) -> None:
    """The keys go to the program and not to the prompt."""
    need("less")
    with Tmux(shell) as tmux:
        tmux.enter("seq 1 500 | less")
        tmux.wait_for("29")
        tmux.type("G")
        tmux.wait_for("500")
        tmux.type("q")
        tmux.wait_end("~ aish$ seq 1 500 | less", PROMPT)


@pytest.mark.proves("P2")
def test_top_draws_itself_until_it_is_told_to_stop(shell: World) -> None:
    """A program that redraws the screen all the time."""
    need("top")
    with Tmux(shell) as tmux:
        tmux.enter("top")
        tmux.wait_for("PID")
        tmux.type("q")
        tmux.wait_for(PROMPT)


@pytest.mark.proves("P2")
def test_a_password_is_neither_shown_nor_kept(shell: World) -> None:
    """A program that turns the echo off gets the keys, and nothing else does."""
    word = "open" + "sesame"
    with Tmux(shell) as tmux:
        tmux.enter("read -rsp 'Password: ' word; echo; echo ${#word} letters")
        tmux.wait_for("Password:", times=2)
        tmux.enter(word)
        tmux.wait_end("10 letters", PROMPT)
        assert not any(word in line for line in tmux.scrollback())
        tmux.enter("what was that?")
        tmux.wait_end("It is a question.", PROMPT)
        for path in shell.home.rglob("*"):  # check now, because a shell that ends deletes its files
            assert not path.is_file() or word.encode() not in path.read_bytes()


@pytest.mark.proves("P2")
def test_ctrl_c_stops_the_program_and_nothing_else(shell: World) -> None:
    """The shell, its variables and the prompt stay."""
    with Tmux(shell) as tmux:
        tmux.enter(f"kept=yes; {WAITS}")
        tmux.wait_for("it runs", times=2)
        tmux.press("C-c")
        tmux.wait_for("~ ✗130 aish>")
        tmux.enter("echo $kept")
        tmux.wait_end("yes", PROMPT)


@pytest.mark.proves("P2")
def test_jobs_are_stopped_listed_and_brought_back(shell: World) -> None:
    """Ctrl-Z, jobs, fg and bg, as in any shell."""
    with Tmux(shell) as tmux:
        tmux.enter(WAITS)
        tmux.wait_for("it runs", times=2)
        tmux.press("C-z")
        tmux.wait_for("Stopped")
        tmux.enter("jobs")
        tmux.wait_for("Stopped", times=2)
        tmux.enter("fg")
        tmux.wait_for("sleep 100", times=4)
        tmux.press("C-c")
        tmux.wait_for("✗130 aish>")
        tmux.enter("jobs; echo none left")
        tmux.wait_end("none left", PROMPT)


@pytest.mark.proves("P2")
def test_a_program_follows_the_size_of_the_window(shell: World) -> None:
    """Also while it runs."""
    with Tmux(shell) as tmux:
        tmux.enter("trap 'stty size' WINCH; stty size; sleep 60 & wait; echo seen")
        tmux.wait_for("30 100")
        tmux.resize(90, 20)
        tmux.wait_for("20 90")
        tmux.wait_for("seen")
        tmux.enter("kill %1; trap - WINCH; stty size")
        tmux.wait_for("20 90", times=2)


@pytest.mark.proves("P2")
def test_ten_thousand_lines_all_arrive(shell: World) -> None:
    """Nothing is lost, duplicated or out of order."""
    with Tmux(shell) as tmux:
        tmux.enter("seq 1 10000")
        tmux.wait_end("10000", PROMPT)
        numbers = [int(line) for line in tmux.scrollback() if line.isdecimal()]
    assert numbers == list(range(numbers[0], 10001))
    assert len(numbers) > 1500  # tmux keeps no more


@pytest.mark.proves("P2")
def test_a_shell_that_dies_is_said_and_started_again(shell: World) -> None:
    """The conversation goes on."""
    with Tmux(shell) as tmux:
        tmux.enter("kill -9 $$")
        tmux.wait_for("your shell has ended")
        tmux.enter("echo there again")
        tmux.wait_for("there again", times=2)


@pytest.mark.proves("P2")
def test_accepted_commands_are_in_the_history_of_the_shell_without_their_secrets(shell: World) -> None:
    """What is typed here is in the bash history tomorrow."""
    secret = "hunter" + "2secretword"
    with Tmux(shell) as tmux:
        tmux.enter("echo remember me")
        tmux.enter(f"true --password={secret}")
        tmux.enter("echo last")
        tmux.wait_for("last", times=2)
    history = (shell.directory / ".bash_history").read_text(encoding="utf-8")
    assert "echo remember me\n" in history
    assert "true --password=" in history
    assert secret not in history


@pytest.mark.proves("P1")
def test_questions_go_to_the_model_and_typos_do_not(shell: World) -> None:
    """A wrong guess sends or runs nothing: a typo fails as in any shell, and one key sends it to the model."""
    with Tmux(shell) as tmux:
        tmux.enter("how do I unpack a tar file?")
        tmux.wait_end("It is a question.", PROMPT)
        tmux.enter("gti status")
        tmux.wait_for("command not found")
        tmux.wait_for("did you mean git?")
        tmux.wait_for("✗127 aish>")


@pytest.mark.proves("P1")
def test_the_sign_in_the_prompt_follows_what_is_typed(shell: World) -> None:
    """The kind of a line is visible before Enter."""
    with Tmux(shell) as tmux:
        tmux.type("ls -l")
        tmux.wait_end("~ aish$ ls -l")
        tmux.press("C-u")
        tmux.type("why is the sky blue")
        tmux.wait_end("~ aish? why is the sky blue")
        tmux.press("C-u")
        tmux.type(":help")
        tmux.wait_end("~ aish: :help")


@pytest.mark.proves("P1")
def test_a_mark_forces_what_a_line_is(shell: World) -> None:
    """`!` runs and `?` asks, whatever it looks like."""
    with Tmux(shell) as tmux:
        tmux.enter("?ls")
        tmux.wait_end("It is a question.", PROMPT)
        tmux.enter("!echo forced")
        tmux.wait_end("forced", PROMPT)


def test_one_key_decides_about_an_unclear_line(shell: World) -> None:
    """Some commands are also English words. What the user decided counts for the same line from then on."""
    with Tmux(shell) as tmux:
        for word, key, end, prompt in (
            ("test", "c", PROMPT, PROMPT),
            ("test", "a", "It is a question.", PROMPT),
            ("kill", "r", "kill: this: arg", PROMPT.replace("aish", "✗1 aish")),
        ):
            unclear = f"{word} is also an English word: [a]sk the model, [r]un it, or [c]ancel"
            tmux.enter(f"{word} this")
            tmux.wait_end(f"[aish] {unclear}")
            tmux.press(key)
            tmux.wait_for(f"{unclear} {key}")
            tmux.wait_for(end)
            tmux.wait_end(prompt)
        tmux.enter(":route why test this")
        tmux.wait_for("the model is asked: you decided so before")
        tmux.enter(":route")
        tmux.wait_for("question  test this")
        tmux.enter(":route forget test this")
        tmux.wait_for("forgotten: test this")
        tmux.enter(":route why test this")
        tmux.wait_for("you are asked: test is also an English word")
        tmux.enter(":route why help")
        tmux.wait_for("aish does it: it is the command :help")


@pytest.mark.proves("P2", "C7", "C8", "C9")
def test_what_a_command_printed_goes_along_with_the_next_question(shell: World) -> None:
    """The user need not paste it."""
    with Tmux(shell) as tmux:
        tmux.enter("printf '\\033[31mred\\033[0m error\\n'")
        tmux.wait_for("red error", times=1)
        tmux.enter("what does that mean?")
        tmux.wait_end("It is a question.", PROMPT)
    (journal,) = shell.journals()
    text = journal.read_text(encoding="utf-8")
    assert "[exec output]" in text and "red error" in text and "31m" not in text.split("red error")[1]


@pytest.mark.proves("P2")
def test_the_terminal_hangs_up_and_nothing_is_left_running(shell: World, tmp_path: Path) -> None:
    """A closed window ends the shell and the program in it."""
    note = tmp_path / "pid"
    with Tmux(shell) as tmux:
        tmux.enter(f"sh -c 'echo $$ > {note}; exec sleep 300'")
        tmux._until(lambda: note.exists() and note.read_text().strip(), "a process number")
        pid = int(note.read_text())
        os.kill(pid, 0)
    ended = Tmux._until  # the window is closed now

    def gone() -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] == "Z"

    try:
        ended(tmux, gone, "the end of the program")
    except AssertionError:
        os.kill(pid, signal.SIGKILL)
        raise
