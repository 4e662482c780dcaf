"""Tables are added to and removed from a settings file; everything else in it stays."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.settings.tables import add_table, remove_table
from aish.values.errors import BadUsage

FILE = """\
# my settings
model = "x"  # the small one

[mcp]
schema_tokens = 5

[mcp.servers.one] # first
command = "a"
# about args
args = ["[mcp.servers.two]", "b"]

[mcp.servers.one.env]
A = "1"

# the view
[view]
theme = "light"
"""
VALUES: dict[str, Any] = {"command": "c", "args": ["--x", 'a "b"\n'], "env": {"A B": "é"}, "enabled": False}
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters='"\\'), min_size=1, max_size=12)


def test_a_table_is_added_at_the_end_and_removed_again_without_a_trace() -> None:
    """Comments and order are the user's."""
    added = add_table(FILE, ["mcp", "servers", "new one"], VALUES)

    assert added.startswith(FILE)
    assert tomllib.loads(added)["mcp"]["servers"]["new one"] == VALUES
    assert remove_table(added, ["mcp", "servers", "new one"]) == FILE


def test_a_table_is_removed_with_the_tables_in_it_and_no_others() -> None:
    """The comment in front of the next table stays, and text that looks like a header is no header."""
    removed = remove_table(FILE, ["mcp", "servers", "one"])

    assert removed.endswith('schema_tokens = 5\n\n# the view\n[view]\ntheme = "light"\n')
    assert "command" not in removed and "# my settings" in removed


@pytest.mark.parametrize("text", ["", "\n", "# only a comment"])
def test_a_table_can_be_added_to_a_file_without_settings(text: str) -> None:
    """Most users start with no file at all."""
    added = add_table(text, ["mcp", "servers", "one"], {"command": "a"})

    assert tomllib.loads(added) == {"mcp": {"servers": {"one": {"command": "a"}}}}
    assert tomllib.loads(remove_table(added, ["mcp", "servers", "one"])) == {}


@pytest.mark.parametrize(
    "text",
    [
        "mcp = 5\n",
        "mcp.servers = {one = {command = 'a'}}\n",
        "[mcp]\nservers = {two = {command = 'a'}}\n",
        "[mcp.servers.one]\ncommand = 'a'\n",
        "this is no TOML",
        'text = """\n[mcp.servers.new]\n',
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_not_changed(text: str) -> None:
    """A settings file is never damaged."""
    with pytest.raises(BadUsage):
        add_table(text, ["mcp", "servers", "one"], {"command": "a"})


def test_a_table_inside_a_string_is_not_removed() -> None:
    """The result is checked by parsing it."""
    text = 'about = """\n[mcp.servers.one]\nx\n"""\n[mcp.servers.one]\ncommand = "a"\n'

    with pytest.raises(BadUsage, match="edit it by hand"):
        remove_table(text, ["mcp", "servers", "one"])


@given(NAMES, NAMES, NAMES)
def test_any_name_and_value_survive(name: str, key: str, value: str) -> None:
    """Names of servers come from other tools."""
    values = {"command": value, "env": {key: value}}

    added = add_table(FILE, ["mcp", "servers", f"x{name}"], values)

    assert tomllib.loads(added)["mcp"]["servers"][f"x{name}"] == values


@pytest.mark.parametrize("text", ["mcp = 3\n", "[mcp]\nservers = 3\n", "[[mcp.servers]]\n"])
def test_values_that_are_no_tables_are_left_alone(text: str) -> None:
    """The file has a mistake, which the user must see."""
    with pytest.raises(BadUsage, match="is not a table in the settings file"):
        remove_table(text, ["mcp", "servers", "a"])
