"""The server that was found on this machine answers unless somebody has chosen a model."""

import json
from pathlib import Path

import pytest
from world import World

from aish.opening import open_settings
from aish.settings.layers import FOUND_HERE, Loaded, SettingsLayer, read_machine

RECORD = {
    "name": "ollama",
    "title": "Ollama",
    "endpoint": "http://127.0.0.1:11434/v1",
    "model": "qwen3:8b",
    "kind": "openai",
}


def record(world: World, **changed: object) -> None:
    path = world.places.machine_record
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**RECORD, **changed}), encoding="utf-8")


def opened(world: World, *given: str) -> Loaded:
    return open_settings(world.places, world.directory, given)


def test_the_server_of_this_machine_answers_and_the_embedded_model_steps_in(world: World) -> None:
    record(world)
    loaded = opened(world)

    assert (loaded.settings.model, loaded.settings.fallback) == ("ollama", ["embedded"])
    preset = loaded.settings.presets()["ollama"]
    assert (preset.kind, preset.endpoint, preset.model) == ("openai", RECORD["endpoint"], "qwen3:8b")
    assert loaded.origins["model"] == loaded.origins["models.ollama.endpoint"] == FOUND_HERE
    assert loaded.problems == ()
    shown = world.aish("config").out
    assert [line.split()[0] for line in shown.splitlines() if line.endswith(FOUND_HERE)][:2] == ["model", "fallback"]


@pytest.mark.parametrize(
    ("config", "given"),
    [
        ("model = 'embedded'", ()),
        ("[embedded]\npath = '/m.gguf'", ()),
        ("[models.embedded]\npath = '/m.gguf'", ()),
        ("", ("model=embedded",)),
    ],
)
def test_who_has_chosen_a_model_gets_that_one(config: str, given: tuple[str, ...], world: World) -> None:
    """A file for the embedded model is a choice, too."""
    record(world)
    world.configure(config)
    loaded = opened(world, *given)

    assert loaded.settings.model == "embedded" and "ollama" not in loaded.settings.models
    assert FOUND_HERE not in loaded.origins.values()


def test_a_variable_chooses_a_model(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record(world)
    monkeypatch.setenv("AISH_SET_MODEL", "embedded")

    assert opened(world).settings.model == "embedded"


def test_what_the_user_sets_wins(world: World) -> None:
    """A preset of the same name is not mixed with the one that was found, and nobody chose that it answers."""
    record(world)
    world.configure("fallback = []\n[models.ollama]\nendpoint = 'http://127.0.0.1:9/v1'\nwindow = 99\n")
    loaded = opened(world)

    mine = loaded.settings.models["ollama"]
    assert (mine.endpoint, mine.model, mine.window) == ("http://127.0.0.1:9/v1", "", 99)
    assert (loaded.settings.model, loaded.settings.fallback) == ("embedded", [])


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://10.0.0.5:11434/v1",
        "http://127.0.0.1.example:11434/v1",
        "http://127.0.0.1@example:1/v1",
        "https://127.0.0.1:11434/v1",
        "http://127.0.0.1:11434/v1?x=1",
        "http://127.0.0.1:١/v1",
        "unix:/run/x.sock",
        "",
        5,
    ],
)
def test_only_this_machine_is_believed(endpoint: object, world: World) -> None:
    """Whoever can write this file could otherwise send every question elsewhere."""
    record(world, endpoint=endpoint)

    assert read_machine(world.places.machine_record) is None
    assert opened(world).settings.model == "embedded"


@pytest.mark.parametrize("endpoint", ["http://localhost:1234/v1", "http://[::1]:8080/v1", "http://127.1.2.3:1/a/v1"])
def test_all_addresses_of_this_machine_are(endpoint: str, world: World) -> None:
    record(world, endpoint=endpoint)

    assert isinstance(read_machine(world.places.machine_record), SettingsLayer)


@pytest.mark.parametrize(
    "changed",
    [{"name": "embedded"}, {"name": "a.b"}, {"name": ""}, {"model": "\x1b[31m"}, {"model": ["m"]}, {"kind": "google"}],
)
def test_a_record_that_cannot_be_right_is_ignored(changed: dict[str, object], world: World) -> None:
    record(world, **changed)

    assert read_machine(world.places.machine_record) is None


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"5", b"{}", b"[" * 9000, b'{"name": "a"}'])
def test_a_damaged_record_is_ignored_silently(content: bytes, world: World) -> None:
    path = world.places.machine_record
    path.parent.mkdir(parents=True)
    path.write_bytes(content)

    assert opened(world).problems == ()
    assert read_machine(Path("/dev")) is None


def test_setting_a_key_is_not_hidden_by_what_was_found(world: World) -> None:
    """It is the lowest layer."""
    record(world)
    ran = world.aish("config", "set", "model", "embedded")

    assert ran.code == 0 and FOUND_HERE not in ran.err
    assert opened(world).settings.model == "embedded"
