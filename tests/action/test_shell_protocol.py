"""The protocol with the user's shell: the requests it reads, and the marks in its output."""

import re
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.shell_protocol import (
    Before,
    Begin,
    End,
    Mark,
    Marks,
    answer,
    edited_in_files,
    leaving,
    line_file,
    may_define,
    quoted,
    run_line,
    say_end,
)
from aish.action.shell_startup import start_file

pytestmark = pytest.mark.proves("P2")
TOKEN = "0123456789abcdef"
NAMES = st.lists(
    st.sampled_from([b"a", b"/", b"\n", b"\r", b"\x07", b"\x1b", b";", b"\xc3\xa9", b"\xff", b"6973"]), max_size=8
)
OUTPUT = st.lists(
    st.sampled_from([b"x", b"\r\n", b"\x1b", b"\x1b]6973;", b"\x1b]6973;0123", b"\x07", b";0;1;/"]), max_size=6
)


def mark(status: int, name: bytes) -> bytes:
    """A mark as a terminal prints it, with two bytes for a newline."""
    text = name.replace(b"\n", b"\r\n")
    return b"\x1b]6973;%s;D;5;%d;%d;;%d;%s\x07" % (TOKEN.encode(), status, status, len(name), text)


def read(data: bytes, size: int = 1 << 16) -> list[bytes | Mark]:
    """Return what is found in the data if it arrives in pieces of this size; output between two marks is joined."""
    marks = Marks(TOKEN)
    found: list[bytes | Mark] = []
    for place in range(0, len(data), size):
        for part in marks.read(data[place : place + size]):
            last = found[-1] if found else None
            if isinstance(part, bytes) and isinstance(last, bytes):
                found[-1] = last + part
            else:
                found.append(part)
    return found


def test_a_mark_says_how_a_command_ended_and_where() -> None:
    """And is not part of the output around it."""
    assert read(b"before" + mark(3, b"/tmp") + b"after") == [b"before", End(5, 3, "/tmp", (3,)), b"after"]
    assert read(mark(0, b"/") + mark(130, b"/a;b c")) == [End(5, 0, "/", (0,)), End(5, 130, "/a;b c", (130,))]


def test_a_mark_says_that_a_command_begins() -> None:
    """With its number, so that marks cannot be confused."""
    assert read(b"a\x1b]6973;%s;C;12\x07b" % TOKEN.encode(), 1) == [b"a", Begin(12), b"b"]


def test_output_is_passed_on_at_once_where_it_cannot_be_a_mark() -> None:
    """A password prompt has no newline at its end, and a colour sequence starts like a mark."""
    marks = Marks(TOKEN)

    assert marks.read(b"password: ") == [b"password: "]
    assert marks.read(b"\x1b[31m") == [b"\x1b[31m"]
    assert marks.read(b"a\x1b") == [b"a"]
    assert marks.read(b"[m") == [b"\x1b[m"]


@pytest.mark.parametrize(
    "forged",
    [
        b"\x1b]6973;;D;5;0;4;/tmp\x07",
        b"\x1b]6973;0000000000000000;D;5;0;4;/tmp\x07",
        b"\x1b]6973;0123456789ABCDEF;D;5;0;4;/tmp\x07",
        b"]6973;0123456789abcdef;D;5;0;4;/tmp\x07",
        b"\x1b]6974;0123456789abcdef;D;5;0;4;/tmp\x07",
    ],
)
def test_a_mark_without_the_token_is_output(forged: bytes) -> None:
    """A program cannot end its command by printing something."""
    assert read(forged + b"after", 3) == [forged + b"after"]


@pytest.mark.parametrize(
    "name", [b"/\xff\xfe", "/größe".encode(), b"/a\nb", b"/a\rb", b"/a\r\nb", b"/\x07\x1b]6973;x", b"/a;1;2"]
)
def test_a_directory_may_have_any_name(name: bytes) -> None:
    """Its length is given, so that nothing in it can end the mark."""
    assert read(mark(0, name) + b"after") == [End(5, 0, name.decode("utf-8", "surrogateescape")), b"after"]


@given(st.lists(st.tuples(OUTPUT, NAMES, st.integers(0, 255)), max_size=3), st.integers(1, 9))
@settings(max_examples=150, deadline=None)
def test_it_does_not_matter_in_which_pieces_marks_come(
    parts: list[tuple[list[bytes], list[bytes], int]], size: int
) -> None:
    """Nor what is in them and around them."""
    data, wanted = b"", list[bytes | Mark]()
    for output, name, status in parts:
        data += b"".join(output) + mark(status, b"".join(name))
        wanted += [b"".join(output)] if output else []
        wanted.append(End(5, status, b"".join(name).decode("utf-8", "surrogateescape"), (status,)))

    assert read(data, size) == wanted


@given(st.text(max_size=40) | st.text("a0' \\\"$`\n\t\x01\x1b\x7f\xe9!&", max_size=20))
@settings(max_examples=25, deadline=None)
def test_a_quoted_text_is_one_printable_word_that_bash_reads_as_that_text(text: str) -> None:
    """Nothing in it can become a command, an option or a key."""
    text = text.encode("utf-8", "replace").decode()
    word = quoted(text)

    assert word.isascii() and word.isprintable()
    told = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, timeout=10, check=True)
    assert told.stdout == text.replace("\0", "").encode()


def test_bytes_that_are_no_text_come_through() -> None:
    """File names can contain any bytes."""
    word = quoted(b"\xff'\x80".decode("utf-8", "surrogateescape"))

    told = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, timeout=10, check=True)
    assert told.stdout == b"\xff'\x80"


def test_a_line_and_what_is_remembered_of_it_come_apart_again() -> None:
    """Whatever they contain; bash cannot hold a NUL byte, so NUL can separate them."""
    remembered, _, line, _, end = line_file("echo 'a\nb' é\0!", "echo\n***").split(b"\0")
    assert (remembered, line, end) == (b"echo\n***", "echo 'a\nb' é!".encode(), b"")
    assert line_file("ls \udcff", "").split(b"\0")[2] == b"ls \xff"


@pytest.mark.parametrize("line", ["cat <<END", "cat <<'E'\nx", "echo a \\", "echo ${open"])
def test_nothing_is_added_to_a_line_that_is_not_whole(line: str) -> None:
    """It would become a part of the line."""
    assert line_file(line, "").split(b"\0")[3] == b""
    assert b"__aish_off" in line_file("cat <<<x", "").split(b"\0")[3]


def test_a_line_begins_with_what_the_last_one_left() -> None:
    """With `set -e`, a failing command would end the shell, so only a failure as such is repeated."""
    first = line_file("ls", "", Before(2, (0, 2), "")).split(b"\0")[1]
    assert b"__aish_on - 2" in first and b"__aish_status 0 | __aish_status 2" in first
    first = line_file("ls", "", Before(2, (0, 2), "e")).split(b"\0")[1]
    assert b"__aish_on - 0" in first and b"! :" in first and b"__aish_status" not in first


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("set -o vi", ". $'/f'/vi"),
        ("cd x && set  -o emacs; ls", "cd x && . $'/f'/emacs; ls"),
        ("set +o vi", ". $'/f'/editing"),
        ("echo 'set -o vi'", "echo 'set -o vi'"),
        ("set -o vigor", "set -o vigor"),
        ("reset -o vi", "reset -o vi"),
    ],
)
def test_the_editing_mode_is_switched_by_files(line: str, sent: str) -> None:
    """bash crashes when `eval` switches it."""
    assert edited_in_files(line, "/f") == sent


@settings(max_examples=50)
@given(st.integers(1, 40))
def test_requests_that_the_shell_repeats_are_not_output(size: int) -> None:
    """`set -v` prints what the shell reads."""
    echo = say_end(3).encode().replace(b"\n", b"\r\n")
    (found,) = read(b"one\r\n" + echo + b"two:" + echo + b"three", size)
    assert isinstance(found, bytes)
    assert found.replace(b" ", b"") == b"one\r\ntwo:three"  # a space may have been shown before the rest arrived


def test_a_question_that_ends_with_a_space_is_shown_at_once() -> None:
    """The program waits for an answer to it."""
    assert read(b"password: ") == [b"password: "]


def test_the_words_that_run_a_line_hold_nothing_of_it() -> None:
    """So the line cannot end the request; its end mark is requested on a separate line."""
    words = run_line(7, tty="/dev/pts/1")

    first, *rest = (line for line in words.splitlines() if line)
    assert "__aish_get 7" in first and "</dev/pts/1" in first
    assert rest and all(line.strip() == say_end(7).strip() for line in rest)


def test_what_is_asked_ends_with_the_mark() -> None:
    """Also if the request only checks that the shell is alive."""
    assert "__aish_end 4" in say_end(4)
    assert answer(4, "alias").index("alias") < answer(4, "alias").index("__aish_mark 4")


@pytest.mark.parametrize("kind", ["bash", "zsh"])
def test_the_start_file_can_do_without_the_users_files(kind: str) -> None:
    """A startup file that ends the shell must not leave the user without one."""
    users = f".{kind}rc"

    whole = start_file(kind, token=TOKEN, tty="/dev/pts/1", files="/run")
    without = start_file(kind, token=TOKEN, tty="/dev/pts/1", files="/run", users_files=False)

    assert users in whole and users not in without
    for text in (whole, without):
        assert TOKEN in text and "/dev/pts/1" in text and "/run/line" in text
        assert not re.search("@[A-Z]+@", text)


def test_the_start_file_is_right_bash_either_way() -> None:
    """Removing the user's files must leave a valid script."""
    for users_files in (True, False):
        text = start_file("bash", token=TOKEN, tty="/dev/null", files="/dev", users_files=users_files)
        subprocess.run(["bash", "-n"], input=text.encode(), timeout=10, check=True)


@pytest.mark.parametrize(
    "line",
    [
        "alias ll='ls -l'",
        "f() { :; }",
        "f () { :; }",
        "function g { :; }",
        ". ./env",
        "source env",
        "cd x; . ./y",
        'eval "$x"',
        "unset -f f",
        "unalias ll",
    ],
)
def test_a_line_that_may_give_the_shell_new_names_is_known(line: str) -> None:
    """After it, the names are read again."""
    assert may_define(line)


@pytest.mark.parametrize("line", ["ls -l", "git status", "cd ..", "./run.sh", "python3 -m pytest", "echo $x"])
def test_a_line_that_does_not_is_not_looked_after(line: str) -> None:
    """Most lines have no extra cost."""
    assert not may_define(line)


def test_a_very_long_line_is_looked_at_in_no_time() -> None:
    """Only its beginning is searched."""
    assert not may_define("x " * 1_000_000)


@pytest.mark.parametrize(
    ("line", "sent"), [("logout", "exit"), (" logout 3", " exit 3"), ("logout now", "logout now"), ("echo logout",) * 2]
)
def test_logout_leaves_a_login_shell(line: str, sent: str) -> None:
    """bash itself refuses it, because it was not started as a login shell."""
    assert leaving(line) == sent
