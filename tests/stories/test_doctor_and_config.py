"""`aish config` shows the origin of every value; `aish doctor` reports problems and what to do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from fake_server import Asked, FakeServer, Say, reply_json
from terminal import Terminal
from world import Ran, World


def origins(ran: Ran) -> dict[str, tuple[Any, str]]:
    """Return every key with its value and its origin."""
    return {row["key"]: (row["value"], row["from"]) for row in json.loads(ran.out)["settings"]}


def findings(ran: Ran) -> dict[str, list[tuple[str, str]]]:
    """Return state and text of each finding by subject, without servers that happen to run here."""
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(ran.out):
        found.setdefault(finding["what"], []).append((finding["state"], finding["text"]))
    found.pop("server", None)
    return found


def model_server(*models: str) -> FakeServer:
    """A server that lists its models, reports its window and counts characters as tokens."""

    def tokenize(asked: Asked) -> Say:
        return reply_json({"tokens": [0] * len(asked.json["content"])})

    listed = [{"id": model, "max_model_len": 8192} for model in models]
    return FakeServer(paths={"/v1/models": reply_json({"data": listed}), "/tokenize": tokenize})


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("view.keys", ["view.keys"]),
        (
            "agents",
            ["agents.tool", "agents.at_once", "agents.steps", "agents.tokens", "agents.dollars", "agents.minutes"],
        ),
        ("models.s", ["models.s.endpoint", "models.s.model"]),
        ("models.s.ca_file", []),
        ("prices", []),
    ],
)
def test_one_setting_or_a_table_of_them_is_shown(world: World, wanted: str, shown: list[str]) -> None:
    """Not all of them: the word that names one was passed over in silence."""
    world.configure('[models.s]\nendpoint = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    lines = world.aish("config", "show", wanted).out.splitlines()
    records = json.loads(world.aish("config", "show", wanted, "--json").out)["settings"]
    assert [line.split()[0] for line in lines] == [record["key"] for record in records] == shown


def test_a_setting_that_does_not_exist_is_not_shown(world: World) -> None:
    """A mistyped name is told with what was meant, as in `aish config set`."""
    ran = world.aish("config", "show", "view.kyes")
    assert ran == Ran(2, "", "[aish] view.kyes: unknown key; did you mean view.keys?\n")


@pytest.mark.proves("P13")
def test_every_layer_wins_over_the_ones_before_and_is_named_as_the_origin(world: World) -> None:
    """default < user file < trusted project file < environment < command line."""
    project = world.directory / ".aish.toml"
    world.configure("")
    seen = [origins(world.aish("config", "--json"))]
    world.configure('[context]\nmax_turns = 10\ntoken_budget = "auto"\n')
    seen.append(origins(world.aish("config", "--json")))
    project.write_text("[context]\nmax_turns = 20\n", encoding="utf-8")
    assert world.aish("config", "trust").code == 0
    seen.append(origins(world.aish("config", "--json")))
    seen.append(origins(world.aish("config", "--json", AISH_SET_CONTEXT__MAX_TURNS="30")))
    arguments = ("config", "--json", "--set", "context.max_turns=40")
    seen.append(origins(world.aish(*arguments, AISH_SET_CONTEXT__MAX_TURNS="30")))

    user = str(world.places.config_file)
    assert [each["context.max_turns"] for each in seen] == [
        ("auto", "default"),
        (10, user),
        (20, str(project)),
        (30, "environment"),
        (40, "command line"),
    ]
    assert [each["context.token_budget"] for each in seen] == [(4096, "environment")] + [("auto", user)] * 4


@pytest.mark.proves("P13")
def test_config_shows_presets_and_prices_beside_the_keys_that_are_always_there(world: World) -> None:
    """For people, one line each: key, value, origin."""
    world.script("yes", extra='[prices."open/ai"]\ninput = 0.25')

    ran = world.aish("config", "--model", "script")

    rows = {row.split()[0]: row for row in ran.out.splitlines()}
    user = str(world.places.config_file)
    assert ran.code == 0 and ran.err == ""
    assert re.fullmatch(r'model +"script" +command line', rows["model"])
    assert re.fullmatch(r'context\.max_turns +"auto" +default', rows["context.max_turns"])
    assert rows["models.script.answers"].split(maxsplit=1)[1] == f'["yes"]{" " * 18} {user}'
    assert rows['prices."open/ai".input'].split() == ['prices."open/ai".input', "0.25", user]


@pytest.mark.proves("P13")
def test_the_file_that_init_writes_changes_nothing_and_is_never_overwritten(world: World) -> None:
    """It loads without problems as it is, and with every default uncommented."""
    before = origins(world.aish("config", "--json", AISH_SET_CONTEXT__TOKEN_BUDGET="auto"))
    made = world.aish("config", "init")
    file = Path(world.aish("config", "path").out.strip())
    text = file.read_text(encoding="utf-8")
    again = world.aish("config", "init")

    assert made.out == f"written: {file}\n" and file == world.places.config_file
    assert (again.code, again.err) == (2, f"[aish] {file} already exists and was not changed\n")
    assert file.read_text(encoding="utf-8") == text
    assert origins(world.aish("config", "--json", AISH_SET_CONTEXT__TOKEN_BUDGET="auto")) == before

    settings, _, _ = text.partition("# Models are presets")
    world.configure(re.sub(r"^# (\w+ = (?!\(unset\)))", r"\1", settings, flags=re.MULTILINE))
    ran = world.aish("config", "--json")
    assert json.loads(ran.out)["problems"] == []
    after = origins(ran)
    assert {key: value for key, (value, _) in after.items()} == {key: value for key, (value, _) in before.items()}
    assert sum(origin == str(file) for _, origin in after.values()) > 20


@pytest.mark.proves("P13")
def test_trust_shows_every_setting_and_names_the_instructions_that_it_does_not_cover(world: World) -> None:
    """Nobody reads a file before trusting it, so the values are on the screen, secrets masked."""
    world.script("mine")
    secret = "ghp" + "_A1b2C3d4E5f6G7h8" * 2
    text = f'model = "a\u200bb"\nnonsense = 1\n[models.x]\nendpoint = "http://x/?access_token={secret}"\n'
    (world.directory / ".aish.toml").write_text(text, encoding="utf-8")
    (world.directory / "AGENTS.md").write_text("Be bold.\n", encoding="utf-8")

    shown = world.aish("config", "trust").out

    for line in ("  model = ", "nonsense = unknown, ignored", "models.x.endpoint", "AGENTS.md stays untrusted"):
        assert line in shown
    assert "a⟨U+200B⟩b" in shown and secret not in shown and "\u200b" not in shown


@pytest.mark.proves("P13")
def test_at_a_terminal_trust_needs_a_yes(world: World) -> None:
    """As `:project trust` does; a script has decided already."""
    world.script("mine")
    (world.directory / ".aish.toml").write_text('model = "script"\n', encoding="utf-8")
    for answer, end in (("n", "nothing was changed"), ("y", "is trusted with its current content")):
        with Terminal(world, "config", "trust", columns=200) as terminal:
            terminal.wait_for("trust this? [y/N]")
            assert 'model = "script"' in "\n".join(terminal.lines)
            terminal.enter(answer)
            terminal.wait_for(end)
            assert terminal.code() == (answer == "n")
        assert world.places.trusted.exists() == (answer == "y")


@pytest.mark.proves("P13")
def test_a_project_file_counts_only_while_trusted_and_unchanged(world: World) -> None:
    """A file from a repository could run a command; after a change it is untrusted again."""
    world.script("mine", extra='[models.evil]\nkind = "scripted"\nanswers = ["theirs"]')
    project = world.directory / ".aish.toml"
    project.write_text('model = "evil"\n', encoding="utf-8")
    ignored = f"[aish] {project}: is ignored until you trust it: aish config trust {world.directory}\n"

    stranger = world.aish("q")
    trusted = world.aish("config", "trust", str(world.directory))
    friend = world.aish("q")
    project.write_text('model = "evil" \n', encoding="utf-8")
    changed = world.aish("q")
    world.aish("config", "trust")
    friend_again = world.aish("q")
    world.aish("config", "distrust")
    distrusted = world.aish("q")

    shown = f'{project} sets, the next time aish starts there:\n  model = "evil"\n'
    assert trusted.out == f"{shown}{project} is trusted with its current content\n"
    assert [(each.out, each.err) for each in (stranger, friend, changed, friend_again, distrusted)] == [
        ("mine\n", ignored),
        ("theirs\n", ""),
        ("mine\n", ignored),
        ("theirs\n", ""),
        ("mine\n", ignored),
    ]


@pytest.mark.proves("P13")
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("context.max_turns = -1", 'context.max_turns: expected a whole number from 0 up or "auto", got -1'),
        ('context.token_budget = "big"', 'context.token_budget: expected a whole number from 0 up or "auto", got'),
        ("context.token_budget = -1", 'context.token_budget: expected a whole number from 0 up or "auto", got -1'),
        ('view.colour = "auto"', "view.colour: unknown key; did you mean view.color?"),
        ('tokenize.use_endpoint = "no"', 'tokenize.use_endpoint: expected "auto" or "true" or "false", got'),
        ('fallback = "one"', "fallback: expected a list of a string, got 'one'"),
        ('fallback = ["nobody"]', "fallback: there is no model 'nobody'; left out"),
        ('rules = [{match = "(", model = "script"}]', "rules: match is not a regular expression"),
        ('rules = [{match = "x", model = "nobody"}]', "rules: there is no model 'nobody'; the rule is left out"),
        ("what = ", "is not valid TOML, ignored"),
    ],
)
def test_a_mistake_is_located_by_file_line_and_key_and_the_shell_starts(world: World, line: str, problem: str) -> None:
    """One wrong line affects only that line, never the rest of the file or the program."""
    world.configure(
        f'# my settings\n\n{line}\nmodel = "script"\n[models.script]\nkind = "scripted"\nanswers = ["up"]\n'
    )
    known = () if "TOML" in problem else ("--model", "script")
    fresh = ("--set", "models.s.kind=scripted", "--set", 'models.s.answers=["up"]', "--model", "s")

    ran = world.aish(*(known or fresh), "hello?")
    config = world.aish("config")

    place = f"{world.places.config_file}:3: "
    assert (ran.code, ran.out) == (0, "up\n")
    assert ran.err.startswith(f"[aish] {place}{problem}") and ran.err.count("\n") == 1
    assert config.code == 1


@pytest.mark.proves("P13")
def test_an_unknown_model_is_reported_with_its_line_and_the_embedded_one_is_used(world: World) -> None:
    """The shell still starts; on the command line it is a usage error."""
    world.configure('# mine\nmodel = "clever"\n[models.fast]\nkind = "scripted"\n')

    shell, chosen = world.aish("--lines", given=":model\n"), world.aish("--model", "smart", "q")

    file = world.places.config_file
    assert shell.err == f"[aish] {file}:2: model: there is no model 'clever'; embedded answers instead\n"
    assert shell.out.splitlines()[0].startswith("* embedded")
    assert (chosen.code, chosen.out) == (2, "")
    assert "there is no model 'smart'; there are: embedded, fast" in chosen.err


@pytest.mark.proves("P13")
def test_a_healthy_installation_has_no_problems(world: World) -> None:
    """Configuration, model, tokenizer, store, search and permissions, each with its details."""
    with model_server("qwen") as server:
        world.configure(f'model = "local"\n[models.local]\nendpoint = "{server.url}"\nmodel = "qwen"\n')
        ran = world.aish("doctor", "--json")
        plain = world.aish("doctor")

    found = findings(ran)
    assert (ran.code, ran.err) == (0, "")
    assert found.pop("aish")[0][0] == "ok"
    assert found.pop("fence")[0][0] in ("ok", "note")  # not every kernel has one
    assert found == {
        "configuration": [("ok", str(world.places.config_file))],
        "memory": [("ok", f"0 items in {world.places.memory}")],
        "model": [("ok", f"local at {server.url}/v1 answers")],
        "notes": [("ok", f"0 channels in {world.places.workspace}")],
        "tokenizer": [("ok", "local counts itself (24 for a test sentence); its window is 8,192 tokens")],
        "store": [("ok", f"0 conversations in {world.places.data}")],
        "search": [("ok", "by words and meaning (wordllama)")],
        "permissions": [("ok", "only you can read your conversations")],
    }
    assert plain.code == 0
    assert f"ok   model          local at {server.url}/v1 answers" in plain.out.splitlines()


@pytest.mark.proves("P13")
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"endpoint": "http://127.0.0.1:9"},
            "cannot connect to 127.0.0.1:9: Connection refused; is the server running?",
        ),
        ({"model": "big"}, "the server has no 'big'; it has: qwen, phi"),
        ({"api_key_env": "NO_SUCH_KEY"}, "the key is missing: set the environment variable NO_SUCH_KEY"),
        ({"model": "refused"}, "the server rejected the key (401)"),
        ({"endpoint": ""}, "local has no endpoint; set models.local.endpoint"),
        ({"endpoint": "http://127.0.0.1:99999"}, "99999"),
    ],
    ids=["dead endpoint", "missing model", "no key", "bad key", "no endpoint", "no such port"],
)
def test_an_unavailable_model_is_bad_and_says_what_to_do(world: World, changed: dict[str, str], text: str) -> None:
    """The exit code is 1, so that scripts notice it."""
    with model_server("qwen", "phi") as server:
        if changed == {"model": "refused"}:
            server.paths["/v1/models"] = reply_json({"error": "no"}, status=401)
        preset = {"endpoint": server.url, "model": "qwen", **changed}
        lines = [f'{key} = "{value}"' for key, value in preset.items()]
        world.configure("\n".join(['model = "local"', "[models.local]", *lines]))
        ran = world.aish("doctor", "--json")

    assert ran.code == 1
    ((state, said),) = findings(ran)["model"]
    assert state == "bad" and text in said


@pytest.mark.proves("P13")
def test_a_damaged_store_and_bad_settings_are_reported_and_left_unchanged(world: World) -> None:
    """The doctor only looks; it never repairs by deleting."""
    world.script("A1", extra="qqq_zzz = 1")
    world.aish("q1")
    (journal,) = world.journals()
    whole = journal.read_bytes()
    journal.write_bytes(whole.replace(b'"q1"', b'"qX"'))
    world.places.sessions.chmod(0o755)

    ran = world.aish("doctor", "--json")

    found = findings(ran)
    assert ran.code == 1
    assert found["configuration"] == [("bad", f"{world.places.config_file}:2: qqq_zzz: unknown key")]
    assert found["model"] == [("ok", "script is ready")]
    assert found["store"] == [
        ("bad", f"{journal}: 1 damaged line(s) are skipped; the rest is fine, and the file is not changed")
    ]
    advice = f"other users can read your conversations; run: chmod 700 {world.places.sessions}"
    assert found["permissions"] == [("note", advice)]
    assert journal.read_bytes() == whole.replace(b'"q1"', b'"qX"')


@pytest.mark.proves("P13")
def test_a_store_that_cannot_be_written_is_bad(world: World) -> None:
    """A report by the doctor is better than a lost conversation."""
    world.script()
    world.places.data.parent.mkdir(exist_ok=True)
    world.places.data.write_text("in the way", encoding="utf-8")

    ran = world.aish("doctor", "--json")

    ((state, text),) = findings(ran)["store"]
    assert (ran.code, state) == (1, "bad")
    assert "conversations are not saved until this is fixed" in text


@pytest.mark.proves("N23")
def test_model_names_of_a_server_cannot_control_the_terminal(world: World) -> None:
    """The list of models is untrusted text, as answers are."""
    with model_server("\x1b]0;evil\x07\x1b[2Jqwen") as server:
        world.configure(f'model = "local"\n[models.local]\nendpoint = "{server.url}"\nmodel = "other"\n')
        ran = world.aish("doctor")

    assert "qwen" in ran.out
    assert "\x1b" not in ran.out + ran.err and "\x07" not in ran.out
