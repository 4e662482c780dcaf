"""MCP servers in the settings of other tools."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aish.mcp.other_tools import FoundServer, read_servers
from aish.values.errors import BadUsage


def read(values: object, file: str = "settings.json") -> list[FoundServer]:
    text = values if isinstance(values, str) else json.dumps(values)
    return read_servers(text, file, lambda text: "sk-live" in text)


PROGRAM: dict[str, Any] = {"command": "npx", "args": ["-y", "@x/files", "/tmp"]}
OURS = {"command": "npx", "args": ["-y", "@x/files", "/tmp"]}
FORMS: dict[str, tuple[object, str]] = {
    "Claude desktop, Claude Code, Cursor, Gemini": ({"mcpServers": {"files": PROGRAM}}, "x.json"),
    "Claude Code, of a project": ({"projects": {"/p": {"mcpServers": {"files": PROGRAM}}}}, "x.json"),
    "VS Code, own file": ({"inputs": [], "servers": {"files": {"type": "stdio", **PROGRAM}}}, "x.json"),
    "VS Code, settings": ({"editor.x": 1, "mcp": {"servers": {"files": PROGRAM}}}, "x.json"),
    "Codex": ('[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "@x/files", "/tmp"]\n', "config.toml"),
    "opencode": ({"mcp": {"files": {"type": "local", "command": ["npx", *PROGRAM["args"]]}}}, "x.json"),
    "with comments": (f'{{// mine\n "mcpServers": {{"files": {json.dumps(PROGRAM)},}}, /* "a": */ }}', "x.jsonc"),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_tool_keeps_its_servers_in_another_place(form: str) -> None:
    """Users have one of these files already."""
    assert read(*FORMS[form]) == [FoundServer("files", OURS)]


def test_secrets_are_not_copied_but_taken_from_the_environment() -> None:
    """The settings of aish may be in a public repository."""
    env = {
        "GITHUB_TOKEN": "abc",
        "HOST": "example.org",
        "DSN": "sk-live-1",
        "OTHER": "${env:MINE}",
        "API_KEY": "$API_KEY",
    }
    args = ["--api-key=hunter2", "--name=x", "https://h/?token=abc", "${input:db-pass}"]
    found = read({"mcpServers": {"git hub": {"command": "gh", "args": args, "env": env}}})[0]

    assert "abc" not in str(found) and "hunter2" not in str(found) and "sk-live" not in str(found)
    assert found.values["env"] == {"HOST": "example.org", "OTHER": "${MINE}"}
    assert found.values["env_from"] == ["GITHUB_TOKEN", "DSN", "API_KEY"]
    assert found.values["args"] == [
        "--api-key=${GIT_HUB_ARGUMENT}",
        "--name=x",
        "${GIT_HUB_ARGUMENT_2}",
        "${DB_PASS}",
    ]
    assert "set GITHUB_TOKEN before you start aish; its value was not copied" in found.notes
    assert not any("API_KEY" in note for note in found.notes)


def test_addresses_and_their_headers_are_read() -> None:
    """Servers over HTTP."""
    web = {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer abc", "X-Team": "a"}}
    codex = '[mcp_servers.c]\nurl = "https://c/mcp"\nbearer_token_env_var = "C_TOKEN"\nenabled = false\n'

    assert read({"servers": {"web": web}})[0].values == {
        "url": "https://h/mcp",
        "headers": {"Authorization": "Bearer ${WEB_AUTHORIZATION}", "X-Team": "a"},
    }
    assert read(codex, "config.toml")[0].values == {
        "url": "https://c/mcp",
        "headers": {"Authorization": "Bearer ${C_TOKEN}"},
        "enabled": False,
    }
    assert "older SSE transport" in read({"mcpServers": {"s": {"type": "sse", "url": "https://s"}}})[0].notes[0]


@pytest.mark.parametrize("text", ["[1]", "{", "[" * 100_000, '"text"'])
def test_a_file_that_cannot_be_read_says_so(text: str) -> None:
    """The file is named."""
    with pytest.raises(BadUsage, match=r"x\.json"):
        read(text, "x.json")


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["mcpServers", "servers", "mcp", "command", "args", "env", "url", "headers", "type", "projects"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["mcpServers", "mcp", "servers", "projects"]), ANY))
@example({"mcpServers": {"x": {"command": [], "url": 5}}})
def test_any_settings_give_servers_or_none(values: dict[str, Any]) -> None:
    """Files of other tools change without notice."""
    for server in read(values):
        assert bool(server.values.get("command")) != bool(server.values.get("url"))


def test_secrets_after_a_flag_and_in_addresses_are_not_copied() -> None:
    """They have no form by which they can be recognised."""
    program = {"command": "npx", "args": ["x", "--api-key", "hunter2", "--port", "8080", "--token"]}
    found = {
        one.name: one for one in read({"mcpServers": {"a": program, "b": {"url": "https://me:hunter2@x.org/mcp"}}})
    }

    assert found["a"].values["args"] == ["x", "--api-key", "${A_API_KEY}", "--port", "8080", "--token"]
    assert found["b"].values == {"url": "${B_URL}"}


def test_the_project_of_another_tool_is_ours() -> None:
    """VS Code and Cursor have names for it that we do not have."""
    program = {"command": "${workspaceFolder}/serve", "args": ["--db=${workspaceFolder}/db", "${userHome}/x"]}
    (found,) = read({"mcpServers": {"a": program}})

    assert found.values == {"command": "./serve", "args": ["--db=./db", "${HOME}/x"], "cwd": "."}


def test_names_that_cannot_be_stored_are_changed_or_left_out() -> None:
    """JSON can hold half of a surrogate pair."""
    found = read('{"mcpServers": {"a\\ud800": {"command": "\\udfff"}, "": {"command": "x"}, " ": {"command": "x"}}}')

    assert [(one.name, one.values) for one in found] == [("a?", {"command": "?"})]
