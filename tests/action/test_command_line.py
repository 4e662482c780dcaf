"""Parsing a command line: nothing in it is skipped, and unclear parts are not guessed."""

import pytest

from aish.action.command_line import read_line
from aish.action.command_words import UNKNOWN, UnreadableCommand


def commands(text: str) -> list[list[tuple[str, ...]]]:
    return [[word.texts for word in part.words] for part in read_line(text).parts if part.words]


def names(text: str) -> list[str]:
    return [words[0][0] for words in commands(text)]


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a; b && c || d & e", "a b c d e"),
        ("a | b |& c", "a b c"),
        ("(a; { b; })", "a b"),
        ("! a", "a"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for x in 1 2; do a; done", "a"),
        ("for ((i=0; i<3; i++)); do a; done", "a"),
        ("case x in y) a;; *) b;; esac", "a b"),
        ('echo "$(a $(b))"', "b a echo"),
        ("echo `a` <(b) >(c)", "a b c echo"),
        ("x=$(a) b", "a b"),
        ("[[ -n $(a) ]] && [ -f `b` ]", "a b"),
        ("a <<< $(b)", "b a"),
        ("a > $(b)", "b a"),
        ("cat <<E | a\nx\nE\nb", "a cat b"),
        ("a # b", "a"),
        ("a\nb", "a b"),
    ],
)
def test_every_command_of_a_line_is_found(text: str, found: str) -> None:
    """A skipped command could be the harmful one."""
    assert sorted(names(text)) == sorted(found.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l's' \"-\"l a\\ b", [("ls",), ("-l",), ("a b",)]),
        ("\\ls $'a\\tb'", [("ls",), ("a\tb",)]),
        ("ls x{a,b}.c {}", [("ls",), ("xa.c", "xb.c"), ("{}",)]),
        ("ls 2>/dev/null -l", [("ls",), ("-l",)]),
        ("ls <<< x -l", [("ls",), ("-l",)]),
        ('ls $HOME/a "$PWD"', [("ls",), ("~/a",), (".",)]),
        ("ls \\\n -l", [("ls",), ("-l",)]),
    ],
)
def test_a_word_is_what_the_shell_makes_of_it(text: str, words: list[tuple[str, ...]]) -> None:
    """Quotes, escapes and braces hide nothing."""
    assert commands(text) == [words]


def test_a_variable_stands_for_all_that_it_was_given() -> None:
    """Also for values that are set further down, because a loop may reach them."""
    *_, shown = commands("for f in a b; do cat $f; done")
    assert shown[1] == ("a", "b")
    shown, *_ = commands("while :; do cat $f; f=.x; done")[1:]
    assert shown[1] == (".x",)
    shown, *_ = commands("a=.e; b=nv; cat $a$b")
    assert shown[1] == (".env",)


def test_what_only_the_shell_knows_is_marked() -> None:
    """It may be an option, several words, or any file."""
    (part,) = read_line("cat $x").parts
    word = part.words[1]
    assert UNKNOWN in word.texts[0]
    assert word.loose
    assert word.unknown_file
    assert word.plain is None


def test_a_pattern_at_the_start_of_a_word_may_become_an_option() -> None:
    """A file may be called -delete."""
    (part,) = read_line("ls *.c ./*.c a*").parts
    assert [word.loose for word in part.words] == [False, True, False, False]


def test_redirections_are_kept_with_what_they_name() -> None:
    """Wherever they are in the line."""
    parts = read_line("a < in | b 2>> log; { c; } &> out").parts
    found = [(one.operator, one.target.texts[0]) for part in parts for one in part.redirects if one.target]
    assert found == [("<", "in"), (">>", "log"), ("&>", "out")]


def test_a_command_knows_what_feeds_it() -> None:
    """The arguments of xargs depend on it."""
    last = next(part for part in read_line("find . | sort | xargs cat").parts if part.words[0].plain == "xargs")
    assert [part.words[0].plain for part in last.feed] == ["find", "sort"]


@pytest.mark.proves("X5")
@pytest.mark.parametrize(
    "text",
    [
        "ls (", "ls ')", "if a; then", "a |", "f() { a; }", "function f { a; }", "echo ${x@P}", "echo ${!x}",
        "echo ${x:=a}", "echo ${x:-$(a)}", "echo $'\\x41'", 'echo $"a"', "x[1]=2", "echo $((x))", "echo $((a[1]))",
        "[[ $x -eq 1 ]]", "x=a; echo $((x))", "[[ -v 'a[1]' ]]", "cat <<E\n$(a)\nE", "cat <<E\n`a`\nE",
        "cat <<E\n${a}\nE", "echo `a \\`b\\``", "echo @(a|b)", "let x=1; ((y))", "a=1; a=$b; ((a))", ";".join("a" * 21),
        "a 2>&1\\\nb", "a\\\nb", "a \\ #; b", "\\ #; b", "[ a > b ]", "[ a && b ]", "echo ${x:-<(a)}",
        "a \n\\b c", "a <<<$\nb c", "[[$x>a == b ]]", "[[ a == b>c]]", "x=(a)# <(b)", "![[ $# -eq 0> a ]]",
    ],
)  # fmt: skip
def test_what_could_be_read_in_two_ways_is_not_read(text: str) -> None:
    """The parser and the shell must agree; if that is not certain, the user is asked."""
    with pytest.raises(UnreadableCommand):
        read_line(text)


def test_numbers_may_be_computed() -> None:
    """Arithmetic is only dangerous if text is evaluated."""
    assert names("i=1; while [ $i -lt 3 ]; do i=$((i+1)); echo $((i * 2)) $#; done") == ["echo"]
    assert names("for ((i=0; i<3; i++)); do echo $i; done") == ["echo"]


def test_a_quoted_here_document_is_only_text() -> None:
    """Nothing in it is expanded."""
    assert names("cat <<'E'\n$(a) `b`\nE") == ["cat"]
