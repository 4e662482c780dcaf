"""One key of a settings file is set and unset; everything else in it stays."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.settings.key_lines import set_key, unset_key
from aish.settings.template import template
from aish.values.errors import BadUsage

FILE = """\
# mine
model = "x"  # the small one

[context]
max_turns = 10 # few
# token_budget = 4096

[commands]
allow = [
  "git status",  # reads
  "ls # all",
]

# how it looks
[view]
theme = "light"
prompt = "a # b = c> "   # odd
"""


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        ("model", "y", 'model = "y"  # the small one\n'),
        ("context.max_turns", 5, "max_turns = 5 # few\n"),
        ("context.token_budget", 9, "# token_budget = 4096\ntoken_budget = 9\n"),
        ("commands.allow", ["a"], 'allow = ["a"]\n'),
        ("view.prompt", "> ", 'prompt = "> "   # odd\n'),
        ("view.keys", "vi", '# odd\nkeys = "vi"\n'),
        ("fallback", ["x"], '# the small one\nfallback = ["x"]\n'),
        ("cost.cap_at_dollars", 1.5, "\n[cost]\ncap_at_dollars = 1.5\n"),
        ('models."a b".model', "m", '\n[models."a b"]\nmodel = "m"\n'),
    ],
)
def test_a_key_is_set_where_a_person_would_write_it(path: str, value: Any, line: str) -> None:
    """Comments, also those behind the value, and the order of everything else stay."""
    parts = [part.strip('"') for part in path.split(".")]
    changed = set_key(FILE, parts, value)

    assert line in changed
    kept = [one for one in FILE.splitlines() if one.startswith("#")]
    assert [one for one in changed.splitlines() if one.startswith("#")] == kept
    assert changed.endswith(line) or changed.splitlines()[-1] == FILE.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "path", "changed"),
    [
        ("", ["view", "keys"], '[view]\nkeys = "vi"\n'),
        ("model = 'x'", ["view", "keys"], "model = 'x'\n\n[view]\nkeys = \"vi\"\n"),
        ('view.theme = "light"\n', ["view", "keys"], 'view.theme = "light"\nview.keys = "vi"\n'),
        ('view = {theme = "light"} # dense\n', ["view", "keys"], 'view = {theme = "light", keys = "vi"} # dense\n'),
        ("[view]\r\n# a\r\n", ["view", "keys"], '[view]\nkeys = "vi"\n# a\n'),
        ("# a\n\n# b\n[view]\n", ["model"], '# a\n\nmodel = "vi"\n# b\n[view]\n'),
    ],
)
def test_every_way_to_write_a_table_can_be_changed(text: str, path: list[str], changed: str) -> None:
    """Files of other people are written in their own ways."""
    assert set_key(text, path, "vi").replace("\r\n", "\n") == changed


def test_a_key_is_unset_without_a_trace() -> None:
    """A value of several lines leaves with all of them, a table with its header."""
    assert unset_key(set_key(FILE, ["view", "keys"], "vi"), ["view", "keys"]) == FILE
    assert '"ls # all"' not in unset_key(FILE, ["commands", "allow"])
    assert "[view]" not in unset_key(FILE, ["view"])
    assert unset_key(FILE, ["view", "none"]) == unset_key(FILE, ["model", "none"]) == FILE


def test_a_commented_file_gets_each_value_below_its_default() -> None:
    """`aish config init` writes one; the explanation stays above the value."""
    changed = set_key(set_key(template(), ["view", "keys"], "vi"), ["model"], "m")

    assert '# keys = "emacs"\nkeys = "vi"\n' in changed
    assert '# model = "embedded"\nmodel = "m"\n' in changed


@pytest.mark.parametrize("text", ["a = [", 'model = "x"\nmodel = "y"\n', "[a]\n[a]\n"])
def test_a_file_with_a_mistake_is_not_changed(text: str) -> None:
    with pytest.raises(BadUsage, match="was not changed"):
        set_key(text, ["model"], "m")


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\"'\\"), min_size=1, max_size=8)
VALUES = st.one_of(st.booleans(), st.integers(0, 99), st.text(max_size=12), st.lists(st.text(max_size=6), max_size=3))
PIECES = st.sampled_from([*FILE.split("\n\n"), "[other]\nkeys = 1", "x.y = 2", "[[rules]]\nmatch = 'a'\n", "# c", ""])


@given(st.lists(PIECES, max_size=5), st.lists(NAMES, min_size=1, max_size=3), VALUES)
def test_only_the_wanted_key_changes(pieces: list[str], path: list[str], value: Any) -> None:
    """Whatever the file looks like, either exactly this key is changed, or nothing."""
    text = "\n\n".join(pieces)
    try:
        changed = set_key(text, path, value)
    except BadUsage:
        return
    inner = wanted = tomllib.loads(text)
    for part in path[:-1]:
        inner = inner.setdefault(part, {})
    inner[path[-1]] = value
    assert tomllib.loads(changed) == wanted
    gone: Any = tomllib.loads(unset_key(changed, path))
    for part in path[:-1]:
        gone = gone.get(part, {})
    assert path[-1] not in gone
