"""Which lines leave no trace, by the rules of bash and zsh."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.memory.command_history.history_rules import HistoryRules


def test_a_leading_space_hides_a_line_whatever_the_shell_is_told() -> None:
    """Many people know the habit, and few know that bash needs a setting for it."""
    assert HistoryRules().hides(" export TOKEN=1")
    assert not HistoryRules().hides("export TOKEN=1 ")


@pytest.mark.parametrize(
    ("ignore", "line", "hidden"),
    [
        ("ls:cd *", "ls", True),
        ("ls:cd *", "ls -l", False),  # a pattern matches the whole line
        ("ls:cd *", "cd /tmp", True),
        ("?", "x", True),
        ("[bf]g", "fg", True),
        ("[!bf]g", "fg", False),
        (r"a\:b", "a:b", True),
        (r"\*", "*", True),
        (r"\*", "x", False),
        ("@(ls|pwd)", "pwd", True),
        ("&", "&", False),  # the previous line: repetitions are in the list once anyway
        ("", "", False),
        ("[", "[", True),
        ("(", "anything", False),
    ],
)
def test_patterns_of_histignore_match_the_whole_line(ignore: str, line: str, hidden: bool) -> None:
    assert HistoryRules(ignore=ignore).hides(line) is hidden


def test_the_pattern_of_zsh_may_have_alternatives() -> None:
    rules = HistoryRules(zsh_ignore="(ls|pass *)")

    assert rules.hides("pass show github")
    assert not rules.hides("passwd")


def test_a_command_forced_with_an_exclamation_mark_is_matched_without_it() -> None:
    assert HistoryRules(ignore="pass *").hides("!pass show github")


@pytest.mark.parametrize(
    ("ignore", "line", "hidden"),
    [
        ("+(a|+(a|+(aa)))b", "a" * 900, False),
        ("*(*(*(a)))", "a" * 900, True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 900, False),
        ("?(+(x|y)z)end", "xyxyzend", True),
        ("*(ab)", "", True),
        ("+(ab)", "", False),
        ("+(ab)c", "ababc", True),
        ("(" * 2_000 + ")" * 2_000, "a", False),
        ("*(" * 12 + "a" * 400 + "*)" * 12, "a" * 900, True),
    ],
)
def test_groups_inside_groups_are_matched_at_once(ignore: str, line: str, hidden: bool) -> None:
    """As a regular expression, the first of these would not end before the machine does."""
    assert HistoryRules(zsh_ignore=ignore).hides(line) is hidden


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_pattern_breaks_the_shell(ignore: str, line: str) -> None:
    """A wrong pattern hides nothing; it must not end the shell either."""
    assert HistoryRules(ignore=ignore, zsh_ignore=ignore).hides(line) in (True, False)


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@given(st.text("ab*?[]!-\\&", min_size=1, max_size=5), st.text("ab*?-", min_size=1, max_size=4))
def test_a_pattern_hides_what_bash_hides(ignore: str, line: str) -> None:
    """Compared with bash itself, for patterns that are complete. `&` stands for the previous line, here none."""
    if "&" in ignore or ignore.endswith("\\") or ignore.count("[") != ignore.count("]") or "\\" in ignore:
        return
    script = 'shopt -s extglob; HISTFILE=; set -o history; HISTIGNORE=$1; history -c; history -s -- "$2"; history'
    done = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", ignore, line], capture_output=True, text=True, timeout=10, check=True
    )

    assert HistoryRules(ignore=ignore).hides(line) is not bool(done.stdout.strip())
