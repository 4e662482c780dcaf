"""Characters that cannot be seen are named, and those that writing needs stay."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.values.invisible import is_visible, reveal, visible

ODD = [
    0xAD,
    0x34F,
    0x61C,
    0x115F,
    0x180B,
    0x200B,
    0x200C,
    0x200D,
    0x2028,
    0x202E,
    0x2060,
    0x2066,
    0x2800,
    0x3164,
    0xE000,
]
ODD += [
    0xFE00,
    0xFE0F,
    0xFEFF,
    0xFFA0,
    0xFFF9,
    0xE0001,
    0xE0041,
    0xE0100,
    0xF0000,
    0x301,
    0x1F600,
    0x1F3F4,
    0x4E00,
    0x645,
]
TEXTS = st.text(max_size=30) | st.lists(st.sampled_from([*map(chr, ODD), "a", " ", "\n"]), max_size=20).map("".join)


@pytest.mark.proves("N23")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pay\u200bload", "pay⟨U+200B⟩load"),
        ("user\u202etxt.exe", "user⟨U+202E⟩txt.exe"),
        ("\u2067rtl\u2069", "⟨U+2067⟩rtl⟨U+2069⟩"),
        ("so\u00adft", "so⟨U+00AD⟩ft"),
        ("f\u2061x", "f⟨U+2061⟩x"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("a\ufe0f", "a⟨U+FE0F⟩"),
        ("❤\ufe0f\ufe0f", "❤\ufe0f⟨U+FE0F⟩"),
        ("😀\U000e0101", "😀⟨U+E0101⟩"),
        ("ok" + "\U000e0041" * 40, "ok⟨U+E0041 and 39 more⟩"),
        ("\U0001f3f4\U000e0061\U000e007f", "\U0001f3f4⟨U+E0061⟩⟨U+E007F⟩"),
        ("\u3164\uffa0\u115f", "⟨U+3164⟩⟨U+FFA0⟩⟨U+115F⟩"),
        ("\u2800", "⟨U+2800⟩"),
        ("\ue0b0 \U000f0001", "⟨U+E0B0⟩ ⟨U+F0001⟩"),
        ("\ufff9a\ufffa", "⟨U+FFF9⟩a⟨U+FFFA⟩"),
        ("\ufefffirst", "⟨U+FEFF⟩first"),
        ("z" + "\u0335" * 9, "z" + "\u0335" * 4 + "⟨U+0335 and 4 more⟩"),
        ("\x1b[2J\x07", "␛[2J␇"),
        ("\ud800\x9b", "��"),
        ("a\u00a0b\u2003c\u3000d", "a b c d"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    """A person must be able to read all that a model reads."""
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plain words\n\tand lines",
        "naïve café, Việt Nam, Ελλάδα, ไทยน้ำ",
        "مرحبا بالعالم شلום",
        "می\u200cخواهم",
        "क्\u200dष",
        "👨\u200d👩\u200d👧 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3 ❤\ufe0f 👍🏽 🇩🇪",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100飾区",
        "e\u0301\u0323",
        "⟨brackets⟩",
    ],
)
def test_what_writing_needs_stays(text: str) -> None:
    """Persian, Hindi, emoji families, flags and rare kanji are not tricks."""
    assert visible(text) == text
    assert is_visible(text)


@settings(max_examples=400)
@given(TEXTS)
def test_a_shown_text_has_nothing_hidden_and_stays_as_it_is(text: str) -> None:
    """Text passes through this more than once: when it is kept, recalled and shown."""
    shown = reveal(text).text

    assert reveal(shown) == (shown, 0)
    rest = [one for one in shown if unicodedata.category(one) in ("Cf", "Co", "Cs") and one not in "\u200c\u200d"]
    assert not [one for one in rest if not 0x600 <= ord(one) <= 0x8FF and ord(one) < 0x110BD]


@settings(max_examples=200)
@given(TEXTS, st.sampled_from("\u200b\u2060\u202e\u3164\ue000\u00ad"), TEXTS)
def test_one_hidden_character_anywhere_is_found(before: str, hidden: str, after: str) -> None:
    """Its neighbours never make it legitimate."""
    shown = reveal(f"{before}{hidden}{after}")

    assert shown.hidden and hidden not in shown.text and not is_visible(f"{before}{hidden}{after}")


@pytest.mark.parametrize("unit", ["a\u200b", "\U000e0041", "a\u0301", "👩\u200d", "\U0001f3f4", "日本", "a\n"])
def test_the_time_grows_linearly(unit: str) -> None:
    """Imports can have megabytes of anything."""
    short, long = (unit * (size // len(unit)) for size in (10_000, 40_000))

    assert cpu_seconds(lambda: visible(long)) < 9 * cpu_seconds(lambda: visible(short)) + 0.1
