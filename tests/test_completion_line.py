"""Parsing a command line while it is typed, and completion of colon commands."""

import os
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from aish.intake.commands import Arguments, Commands
from aish.intake.completion import Source, break_words, matching, quoted, read_command, suggest

COMMANDS: Commands[None] = Commands()
# Python decodes bytes that are not UTF-8 as U+DC80 to U+DCFF; file names have no other surrogates.
FILE_NAMES = st.one_of(
    st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=12),
    st.binary(min_size=1, max_size=12).map(lambda raw: os.fsdecode(raw.translate(None, b"\0/") or b"\xff")),
)
ITEMS = [("7", "prefers metric units"), ("12", "lives in Oslo"), ("71", "has a cat")]


@COMMANDS.add("memory")
async def memory(scope: None, arguments: Arguments) -> str:
    """Remember."""
    return ""


@COMMANDS.add("memory forget", argument="ID")
async def forget(scope: None, arguments: Arguments) -> str:
    """Forget."""
    return ""


@COMMANDS.add("memory list", argument="[KIND]")
async def show(scope: None, arguments: Arguments) -> str:
    """List."""
    return ""


WORDS: dict[str, Source] = {"memory forget": lambda typed: matching(typed, ITEMS), "memory list": ["fact", "pref"]}


@pytest.mark.proves("P12")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (":memory ", [("forget", 0, "Forget."), ("list", 0, "List.")]),
        (":mem fo", [("forget", 2, "Forget.")]),
        (":memory forget 7", [("7", 1, "prefers metric units"), ("71", 1, "has a cat")]),
        (":memory forget os", [("12", 2, "lives in Oslo")]),
        (":mem forget MET", [("7", 3, "prefers metric units")]),
        (":memory list p", [("pref", 1, "")]),
        (":memory fly ", []),
        (":unknown x ", []),
    ],
)
def test_arguments_are_offered_with_what_they_stand_for(text: str, found: list[tuple[str, int, str]]) -> None:
    """Users remember the text of an item, not its id."""
    assert suggest(text, COMMANDS, WORDS) == found


@pytest.mark.parametrize(
    ("text", "word", "first", "arguments"),
    [
        ("", "", True, []),
        ("gi", "gi", True, []),
        ("git ", "", False, ["git", ""]),
        ("git st", "st", False, ["git", "st"]),
        ("ls | so", "so", True, []),
        ("a && b || c; d & e", "e", True, []),
        ("echo $(da", "da", True, []),
        ("echo $(date) mo", "mo", False, ["mo"]),
        ("echo `da", "da", True, []),
        ("diff <(so", "so", True, []),
        ("sudo -u bob ap", "ap", True, []),
        ("sudo apt in", "in", False, ["apt", "in"]),
        ("LANG=C so", "so", True, []),
        ("LANG=C sort -", "-", False, ["sort", "-"]),
        ("if te", "te", True, []),
        ("for f in a; do ec", "ec", True, []),
        ("case x in y) ec", "ec", True, []),
        ("f() { ec", "ec", True, []),
        ("sort < in", "in", False, []),
        ("sort <in -", "-", False, ["sort", "-"]),
        ("cat 'my fi", "my fi", False, ["cat", "my fi"]),
        ('cat "my fi', "my fi", False, ["cat", "my fi"]),
        ("cat my\\ fi", "my fi", False, ["cat", "my fi"]),
        ("first\nsec", "sec", True, []),
        ("cat <<X\ngit st\nX\nls fi", "fi", False, ["ls", "fi"]),
    ],
)
def test_the_word_at_the_cursor_knows_its_place(text: str, word: str, first: bool, arguments: list[str]) -> None:
    """A name after a pipe is a command; the same name after a command is a file."""
    scan = read_command(text)

    assert (scan.words[-1].text, scan.words[-1].first, scan.arguments) == (word, first, arguments)


@pytest.mark.proves("P12")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo 'one", "quote"),
        ('echo "one', "quote"),
        ('echo "one\\"', "quote"),
        ("echo 'one'", ""),
        ('echo "it\'s"', ""),
        ("echo one \\", "backslash"),
        ("echo one \\\\", ""),
        ("cat <<X", "here-document"),
        ("cat <<X\nX y\n", "here-document"),
        ("cat <<-'X'\none\n\tX\n", ""),
        ("cat <<A <<B\nA\n", "here-document"),
        ("cat <<A <<B\nA\nB\n", ""),
        ("cat <<<X", ""),
        ("ls |", "operator"),
        ("make &&", "operator"),
        ("ls &", ""),
        ("for f in *; do", "block"),
        ("for f in *; do echo; done", ""),
        ("while read x; do echo; done <in", ""),
        ("if a; then b; fi", ""),
        ("if a; then b", "block"),
        ("case a in b) c;; esac", ""),
        ("f() { a; }", ""),
        ("f() {", "block"),
        ("echo $(date", "block"),
        ("echo $(date)", ""),
        ("echo done fi }", ""),
        ("a; }; done", ""),
        ("echo for", ""),
        ("# don't", ""),
        ("echo ${x:-it's}", ""),
    ],
)
def test_a_command_that_is_not_whole_says_why(text: str, why: str) -> None:
    """Enter checks this before it runs anything."""
    assert read_command(text).unfinished == why


@given(text=st.text(alphabet="ab '\"\\$`(){}<>|&;#\n=-", max_size=30))
@settings(deadline=None, max_examples=200)
def test_any_line_can_be_read(text: str) -> None:
    """For any input, words are inside the line, in order, and the last one ends it."""
    scan = read_command(text)

    places = [0] + [place for word in scan.words for place in (word.start, word.end)]
    assert places == sorted(places)
    assert scan.words[-1].end == len(text)
    assert all(text[name.start : name.end] for name in scan.names)


@pytest.mark.proves("P12")
@given(
    name=FILE_NAMES.map(lambda name: f"./{name}" if name.startswith("~") else name),  # as the editor does
    quote=st.sampled_from(["", "'", '"']),
)
@example(name='`id` $HOME "\\', quote='"')
@example(name="caf\udce9", quote="")
@example(name="a=~", quote="")
@example(name="a=b:~", quote="")
@settings(deadline=None, max_examples=40)
def test_a_quoted_name_is_the_same_name_for_bash(name: str, quote: str) -> None:
    """Quoting never changes which file is meant."""
    line = f"printf %s {quoted(name, quote)}"

    done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, check=True, timeout=10)
    assert done.stdout == os.fsencode(name)


@given(name=st.text(st.sampled_from("a b'\"\\$`é(){}<>|&;#~!*?[]"), min_size=1), quote=st.sampled_from(["", "'", '"']))
@settings(deadline=None, max_examples=100)
def test_a_name_that_was_completed_can_be_completed_on(name: str, quote: str) -> None:
    """The inserted text is parsed back to the same name."""
    assert read_command(f"cat {quoted(name, quote)}").words[-1].text == name


def test_words_are_broken_where_bash_breaks_them() -> None:
    """Completion functions expect this."""
    assert break_words(["git", "--pretty=on", "a:b", ""]) == ["git", "--pretty", "=", "on", "a", ":", "b", ""]
