"""Regular expressions that must work on every Python from 3.11.0 on."""

import re
from pathlib import Path

import aish
from aish.intake.simple_commands import cut


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 loses the last round of such a repetition (`(?:…)++`); `(?>(?:…)+)` does the same."""
    package = Path(aish.__file__).parent
    found = [
        f"{path.name}:{number}"
        for path in package.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1)
        if re.search(r"\)[*+?]\+", line)
    ]
    assert found == []


def test_a_line_is_cut_into_whole_words() -> None:
    """On such a Python the last letter of each word was missing, and the shell hung at the first key."""
    assert cut("what now? $(a (b (c)) d) 'x y'z").commands == [["what", "now?", "$(a (b (c)) d)", "'x y'z"]]
