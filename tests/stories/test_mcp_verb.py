"""`aish mcp`: servers are added, removed, listed and taken over from other tools."""

import json
from pathlib import Path

import pytest
from world import World

HOME_CONFIG = {
    "mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files"], "env": {"FILES_TOKEN": "a1b2c3d4"}},
        "time": {"command": "other"},
    }
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory with settings of another tool."""
    home = tmp_path / "user"
    home.mkdir()
    (home / ".claude.json").write_text(json.dumps(HOME_CONFIG), encoding="utf-8")
    return home


@pytest.mark.proves("P9")
def test_servers_are_added_listed_and_removed_and_comments_stay(world: World) -> None:
    """The file belongs to the user."""
    world.configure('# mine\nmodel = "embedded"\n')

    added = world.aish("mcp", "add", "time", "--env", "TZ=UTC", "--", "uvx", "mcp-server-time", "--local-timezone=UTC")
    again = world.aish("mcp", "add", "time", "--url", "https://example.org")
    web = world.aish(
        "mcp", "add", "web site", "--url", "https://example.org/mcp", "--header", "Authorization=Bearer ${T}"
    )
    listed = world.aish("mcp", "list", "--json")
    removed = world.aish("mcp", "remove", "time")
    missing = world.aish("mcp", "remove", "time")

    assert (added.code, web.code, removed.code) == (0, 0, 0)
    assert again.code == 2 and "there is a mcp.servers.time already" in again.err
    assert json.loads(listed.out) == {
        "time": {"command": "uvx", "args": ["mcp-server-time", "--local-timezone=UTC"], "env": ["TZ"]},
        "web site": {"url": "https://example.org/mcp", "headers": ["Authorization"]},
    }
    assert missing.code != 0 and "no MCP server 'time'" in missing.err
    text = world.places.config_file.read_text(encoding="utf-8")
    assert text.startswith('# mine\nmodel = "embedded"\n') and "uvx" not in text


def test_a_secret_on_the_command_line_is_not_written(world: World) -> None:
    """It would stay in a file that is often shared."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    refused = world.aish("mcp", "add", "git", "--env", f"GITHUB_TOKEN={secret}", "--", "x")

    assert refused.code == 2 and "--env-from GITHUB_TOKEN" in refused.err
    assert not world.places.config_file.exists()


def test_import_shows_what_it_found_and_writes_only_after_a_yes(world: World, home: Path) -> None:
    """Programs that will run are shown before they are trusted."""
    world.configure('[mcp.servers.time]\ncommand = "mine"\n')
    before = world.places.config_file.read_text(encoding="utf-8")

    shown = world.aish("mcp", "import", HOME=str(home))
    assert world.places.config_file.read_text(encoding="utf-8") == before
    written = world.aish("mcp", "import", "--yes", HOME=str(home))
    listed = world.aish("mcp", "list", "--json")

    assert shown.code != 0 and "no user to ask; use --yes" in shown.err
    assert 'command = "npx"' in shown.out and "FILES_TOKEN" in shown.err
    assert "time of" in shown.err and "left out" in shown.err
    assert written.code == 0 and "added 1 server" in written.out
    assert "a1b2c3d4" not in world.places.config_file.read_text(encoding="utf-8")
    assert json.loads(listed.out)["files"]["env_from"] == ["FILES_TOKEN"]
    assert json.loads(listed.out)["time"]["command"] == "mine"


def test_import_reads_a_given_file_and_names_one_that_is_wrong(world: World, tmp_path: Path) -> None:
    """Also a file in an unusual place."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(HOME_CONFIG), encoding="utf-8")
    bad.write_text("{", encoding="utf-8")

    assert "added 2 servers" in world.aish("mcp", "import", str(good), "--yes").out
    assert "bad.json cannot be read" in world.aish("mcp", "import", str(bad), "--yes").err
    assert "there is no file" in world.aish("mcp", "import", str(tmp_path / "none"), "--yes").err


def test_a_project_may_add_servers_only_after_it_is_trusted(world: World) -> None:
    """A cloned repository must not start programs."""
    (world.directory / ".aish.toml").write_text('[mcp.servers.evil]\ncommand = "x"\n', encoding="utf-8")

    before = world.aish("mcp", "list", "--json")
    world.aish("config", "trust")
    after = world.aish("mcp", "list", "--json")

    assert json.loads(before.out) == {}
    assert json.loads(after.out) == {"evil": {"command": "x"}}


def test_mistakes_in_the_settings_are_named_with_file_line_and_key(world: World) -> None:
    """As for all settings."""
    world.configure('[mcp.servers.a]\ncomand = "x"\n[mcp.servers.b]\ncommand = "x"\neffect = {t = "nice"}\n')

    told = json.loads(world.aish("config", "show", "--json").out)["problems"]

    assert any("config.toml:2: mcp.servers.a.comand: unknown key; did you mean command?" in one for one in told)
    assert any("config.toml:5: mcp.servers.b.effect: expected read" in one for one in told)


def test_settings_behind_a_link_are_changed_there(world: World, tmp_path: Path) -> None:
    """Many people keep their settings in a repository of their own."""
    kept = tmp_path / "dotfiles.toml"
    kept.write_text("# mine\n", encoding="utf-8")
    world.places.config_file.parent.mkdir(parents=True, exist_ok=True)
    world.places.config_file.symlink_to(kept)

    assert world.aish("mcp", "add", "time", "--", "uvx", "x").code == 0
    assert world.places.config_file.is_symlink()
    assert kept.read_text(encoding="utf-8").startswith('# mine\n\n[mcp.servers.time]\ncommand = "uvx"')
    assert world.aish("mcp", "remove", "time").code == 0
    assert world.places.config_file.is_symlink() and kept.read_text(encoding="utf-8") == "# mine\n"
