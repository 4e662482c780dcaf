"""How a command is shown before it runs: nothing is hidden, and two commands never look the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.values.text import exactly

pytestmark = pytest.mark.proves("X5")

ODD = st.sampled_from("ab -/\\x1u{}\t\n\r\x1b\0é\u0301\u0430\u0440\u200b\u202e\u2066\ufeff\U000e0041\u037e⟨⟩")
ALIKE = st.text(st.sampled_from("a \t\n\u200b\u200c\u0430\u0301é"), max_size=3)
COMMANDS = st.one_of(st.text(max_size=20), st.text(ODD, max_size=12))


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "grep -rn 'two words' src | sort -u > out.txt",
        r"printf '%s\n' \x1b \u{200b} C:\temp",
        "echo one  two",
        "cp résumé.txt naïve.txt",
        "ls Загрузки",
        "cat 文書",
        "echo 🎉",
    ],
)
def test_a_plain_command_is_shown_as_it_is(command: str) -> None:
    """Other languages too: a word in a single alphabet is not misleading."""
    assert exactly(command) == command


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("rm\u200b x", "\u200b"),
        ("echo a\u202eb", "\u202e"),
        ("echo \u2066a\u2069", "\u2066"),
        ("echo a\ufeff", "\ufeff"),
        ("echo a\u00adb", "\u00ad"),
        ("echo \U000e0072\U000e006d", "\U000e0072"),
        ("echo e\u0301", "\u0301"),
        ("echo x\ufe0f", "\ufe0f"),
        ("echo a\u00a0b", "\u00a0"),
        ("echo\u2003a", "\u2003"),
        ("echo a\u2028rm b", "\u2028"),
        ("echo \ue000", "\ue000"),
        ("echo \x1b[2K", "\x1b"),
        ("echo \x9b2K", "\x9b"),
        ("echo a\rls  ", "\r"),
        ("echo a\nrm b", "\n"),
        ("echo\ta", "\t"),
        ("echo a\x7fb\x08", "\x7f"),
        ("echo a\0b", "\0"),
        ("echo \udc80", "\udc80"),
    ],
)
def test_what_cannot_be_seen_is_written_out(command: str, hidden: str) -> None:
    """No character moves the cursor, changes the direction or is invisible."""
    shown = exactly(command)

    assert hidden not in shown
    assert shown.isprintable()
    assert len(shown) > len(command)


@pytest.mark.parametrize(
    ("command", "double"),
    [
        ("\u0440\u043e\u0440 x", "\u0440"),
        ("bash \u0441at.sh", "\u0441"),
        ("ssh ex\u0430mple.org", "\u0430"),
        ("gi\u03c4 push", "\u03c4"),
        ("ｒm x", "ｒ"),
        ("𝐫𝐦 x", "𝐫"),
        ("\u212aill x", "\u212a"),
        ("ls a\u2215b", "\u2215"),
        ("kill \u22129x", "\u2212"),
        ("echo a\u037e", "\u037e"),
    ],
)
def test_what_looks_like_something_else_is_written_out(command: str, double: str) -> None:
    """A letter of another alphabet is named in a program name, or next to Latin letters."""
    assert double not in exactly(command)
    assert exactly(command).isprintable()


@pytest.mark.parametrize(
    ("command", "double"),
    [
        (" \u0440\u043e\u0440 x", "\u0440"),
        ("\u0261it push", "\u0261"),
        ("m\u0131n x", "\u0131"),
        ("rm \u2215", "\u2215"),
        ("kill \u22129", "\u2212"),
        ("rm \u3164", "\u3164"),
        ("rm \u2800", "\u2800"),
        ("echo \uf900", "\uf900"),
    ],
)
def test_no_disguise_is_left(command: str, double: str) -> None:
    """A leading blank makes no difference, and some letters with LATIN in their name are misleading too."""
    assert double not in exactly(command)


@given(COMMANDS)
@settings(max_examples=200, deadline=None)
def test_everything_shown_is_printable(command: str) -> None:
    """Any command is shown on one line."""
    assert exactly(command).isprintable()


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40))
@settings(max_examples=50, deadline=None)
def test_ascii_is_never_touched(command: str) -> None:
    """Normal commands are shown without escapes."""
    assert exactly(command) == command


@given(st.sampled_from(["\x1b", "\n", "\t", "\u200b", "\u0430x", "\0", "a\U000e0041"]) | COMMANDS)
@settings(max_examples=200, deadline=None)
def test_no_command_is_shown_like_another_one(command: str) -> None:
    """The text shown for an odd command could itself be typed as a command, and must look different then."""
    shown = exactly(command)

    if shown != command:
        assert exactly(shown) != shown


@given(ALIKE, ALIKE)
@settings(max_examples=200, deadline=None)
def test_two_commands_are_shown_as_two(one: str, other: str) -> None:
    """Even if they differ only in invisible characters."""
    assert (exactly(one) == exactly(other)) == (one == other)
