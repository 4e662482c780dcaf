"""Settings are changed with `:set` and `aish config set`, checked, kept, and used at once where possible."""

import json

import pytest
from fake_server import FakeServer, sse
from terminal import Terminal
from world import World

from aish.commands.settings import complete_setting
from aish.settings.effects import takes_effect
from aish.settings.options import Settings, describe
from aish.values.errors import BadUsage

pytestmark = pytest.mark.anyio


@pytest.mark.proves("P13")
def test_a_setting_is_written_checked_and_removed_by_a_script(world: World) -> None:
    """Comments in the file stay, and a wrong value changes nothing."""
    world.configure('# mine\nmodel = "embedded"  # small\n')

    done = world.aish("config", "set", "view.keys", "vi")
    wrong = world.aish("config", "set", "view.keys", "nano")
    unknown = world.aish("config", "set", "view.kyes", "vi")
    missing = world.aish("config", "set", "model", "nobody")

    assert (done.code, done.out) == (0, f'view.keys = "vi" in {world.places.config_file}\n')
    assert wrong.code == unknown.code == missing.code == 2
    assert 'view.keys: expected "emacs" or "vi", got \'nano\'; nothing was changed' in wrong.err
    assert "unknown key; did you mean view.keys?" in unknown.err
    assert "there is no model 'nobody'" in missing.err
    text = world.places.config_file.read_text(encoding="utf-8")
    assert text == '# mine\nmodel = "embedded"  # small\n\n[view]\nkeys = "vi"\n'
    assert world.aish("config", "get", "view.keys").out == "vi\n"
    assert world.aish("config", "set", "--unset", "view.keys").code == 0
    assert world.aish("config", "get", "view.keys").out == "emacs\n"


def test_a_setting_that_something_else_overrides_says_so(world: World) -> None:
    """Otherwise a change would seem to have no effect."""
    ran = world.aish("config", "set", "view.theme", "light", "--json", AISH_SET_VIEW__THEME="plain")

    assert json.loads(ran.out) == {"key": "view.theme", "value": "light", "overridden_by": "environment"}


def test_a_key_is_never_written_into_the_settings(world: World) -> None:
    """A model with a key is set up with the name of the variable."""
    secret = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8x" * 2
    ran = world.aish("config", "set", "models.cloud.api_key_env", secret)

    assert ran.code == 2
    assert "does not belong into settings" in ran.err and secret not in ran.err
    assert not world.places.config_file.exists()


async def test_a_changed_setting_counts_at_once_or_says_from_when(world: World) -> None:
    program = world.program({"models": {"other": {"kind": "scripted"}}})
    world.configure('[models.other]\nkind = "scripted"\n')
    shell = world.shell(program)

    now = await world.type(shell, ":set context.max_turns 7")
    later = await world.type(shell, ":set memory.exclusive on")
    new = await world.type(shell, ":set project.max_chars 100")
    model = await world.type(shell, ":set model other")

    assert shell.session.settings.context.max_turns == 7
    assert "from now on" in now.text and "from the next start of aish on" in later.text
    assert "from the next conversation on (:new)" in new.text
    assert shell.session.model == "other" and "from now on" in model.text
    assert "context.max_turns = 7" in (await world.type(shell, ":set")).text
    assert "Maximum number of turns" in (await world.type(shell, ":set context.max_turns")).text
    gone = await world.type(shell, ":set --unset context.max_turns")
    options = shell.session.settings.context
    assert "context.max_turns is unset" in gone.text and options.max_turns == "auto"
    assert "context.max_turns" not in (await world.type(shell, ":set")).text


async def test_a_new_preset_answers_the_next_question(world: World) -> None:
    """A preset is made with `:set`, chosen, and changed while the shell runs."""
    with FakeServer(sse("one")) as first, FakeServer(sse("two")) as second:
        program = world.program({"tokenize": {"use_endpoint": "false"}})
        shell = world.shell(program)
        await world.type(shell, f":set models.mine.endpoint {first.url}")
        await world.type(shell, ":set model mine")
        before = await world.ask(shell.session, "a?")
        await world.type(shell, f":set models.mine.endpoint {second.url}")
        after = await world.ask(shell.session, "b?")
        await program.close()

    assert (before.text, after.text) == ("one", "two")


async def test_keys_and_values_are_completed(world: World) -> None:
    program = world.program({"models": {"cloud": {"kind": "scripted"}}})

    def words(typed: str) -> list[str]:
        return [word for word, _, _ in complete_setting(program, typed)]

    assert words("view.k") == ["view.keys"]
    assert words("max_tu") == ["context.max_turns"]  # by a part of its name
    assert words("view.keys ") == ["emacs", "vi"]
    assert words("view.markdown f") == ["false"]
    assert words("model ") == ["embedded", "cloud"]
    assert words("context.max_turns ") == ["auto"]
    assert words("--unset view.k") == ["view.keys"]
    assert "models.cloud.endpoint" in words("models.cloud.")
    assert words("no.such ") == []


async def test_bad_input_is_explained(world: World) -> None:
    shell = world.shell(world.program())
    for line, message in [
        (":set --unset", "expected :set --unset KEY"),
        (":set nothing", "unknown key"),
        (":set view x", "unknown key"),
        (":set models.x 1", "models.x: expected a table"),
        (":set context.max_turns many", "expected a whole number"),
        (":set context.max_turns.x 1", "unknown key"),
        (':set "" 1', "unknown key"),
    ]:
        with pytest.raises(BadUsage, match=message):
            await world.type(shell, line)
    assert not world.places.config_file.exists()


def test_every_key_says_when_it_counts() -> None:
    """Keys that nobody listed count from the next start, which is always true."""
    moments = {key: takes_effect(key) for key, _, _ in describe(Settings)}

    assert moments["view.prompt"] == moments["context.token_budget"] == "now"
    assert moments["commands.shell"] == moments["memory.path"] == moments["mcp.schema_tokens"] == "start"
    assert moments["project.readme"] == "conversation"


def test_the_keys_change_while_the_shell_runs(world: World) -> None:
    """With the keys of vi, Escape and `0` go to its start."""
    world.script()
    with Terminal(world, columns=100) as terminal:
        terminal.wait_ready()
        terminal.enter(":set view.keys vi")
        terminal.wait_for('view.keys = "vi", from now on')
        terminal.enter("cho vi-works\x1b0ie")
        terminal.wait_for("\nvi-works")
