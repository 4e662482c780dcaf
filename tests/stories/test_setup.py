"""`aish setup` finds models on this machine and by keys, and writes a preset without any key."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from fake_server import FakeServer, host, ollama, reply_json
from gguf_files import CHAT, write_gguf
from model_servers import GB, listing_server, ollama_server
from terminal import Terminal
from world import World

from aish.commands.model_setup import MachineRecord, SetupRecord, find_server, new_offers, write_presets
from aish.model.discovery import FoundModel, choose_model, find_keys, find_local
from aish.model.weights import QWEN_LARGE, QWEN_SMALL, PullFailed
from aish.opening import open_settings
from aish.settings.layers import Loaded
from aish.views import setup

pytestmark = pytest.mark.anyio
KEY = "sk-test-Ab3dEf6hIj9lMn2pQr5tUv8x"


def settings(world: World) -> dict[str, Any]:
    return tomllib.loads(world.places.config_file.read_text(encoding="utf-8"))


def test_a_server_on_this_machine_is_set_up_and_answers(world: World) -> None:
    """One command from nothing to an answer; models for embeddings cannot chat and are not chosen."""
    with ollama("nomic-embed-text", "qwen3:8b", "llama3") as server:
        listed = world.aish("setup", "--json", OLLAMA_HOST=host(server))
        done = world.aish("setup", "--yes", OLLAMA_HOST=host(server))
        answer = world.aish("hi there", AISH_SET_TOKENIZE__USE_ENDPOINT="false")
        again = world.aish("setup", "--json", OLLAMA_HOST=host(server))

    (found,) = [one for one in json.loads(listed.out)["found"] if one["name"] == "ollama"]
    assert (found["model"], found["models"]) == ("qwen3:8b", ["qwen3:8b", "llama3"])
    assert json.loads(listed.out)["written"] == []
    assert done.code == 0 and "it answers from now on" in done.out
    assert settings(world)["model"] == "ollama"
    assert settings(world)["models"]["ollama"] == {"endpoint": f"{server.url}/v1", "model": "qwen3:8b"}
    assert answer.out == "Hello from it.\n"
    assert "ollama" not in [one["name"] for one in json.loads(again.out)["found"]]


def test_another_model_of_a_server_that_is_set_up_is_taken(world: World) -> None:
    """The first choice is often wrong, and the server is still there."""
    with ollama("qwen3:8b", "llama3") as server:
        world.aish("setup", "ollama", OLLAMA_HOST=host(server))
        alone = world.aish("setup", "ollama", OLLAMA_HOST=host(server))
        nothing = world.aish("setup", OLLAMA_HOST=host(server))
        other = world.aish("setup", "ollama", "llama3", OLLAMA_HOST=host(server))

    assert alone.code == 2 and "ollama is set up already; add the name of a model" in alone.err
    assert nothing.code == 1 and "set up already: ollama" in nothing.err
    assert other.code == 0
    assert settings(world)["models"]["ollama"] == {"endpoint": f"{server.url}/v1", "model": "llama3"}


def test_a_key_is_used_by_the_name_of_its_variable(world: World) -> None:
    """The key itself is in no file."""
    ran = world.aish("setup", "groq", "some-model", GROQ_API_KEY=KEY)

    assert ran.code == 0
    assert settings(world) == {
        "model": "groq",
        "models": {
            "groq": {
                "endpoint": "https://api.groq.com/openai/v1",
                "model": "some-model",
                "api_key_env": "GROQ_API_KEY",
            }
        },
    }
    files = [path.read_bytes() for path in world.home.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in files) and KEY not in ran.out + ran.err


def test_a_script_gets_codes_and_messages(world: World) -> None:
    """Nothing is written without --yes or a name, and comments of the file stay."""
    world.configure("# mine\n")
    with ollama("m1", "m2") as server:
        here = host(server)
        asked = world.aish("setup", OLLAMA_HOST=here)
        wrong = world.aish("setup", "ollama", "m3", OLLAMA_HOST=here)
        nobody = world.aish("setup", "nobody", OLLAMA_HOST=here)
        both = world.aish("setup", "--yes", "ollama", OLLAMA_HOST=here)
        assert world.places.config_file.read_text(encoding="utf-8") == "# mine\n"
        second = world.aish("setup", "ollama", "m2", OLLAMA_HOST=here)

    assert (asked.code, wrong.code, nobody.code, both.code, second.code) == (1, 1, 1, 2, 0)
    assert "Ollama on this machine: m1 (and 1 more)" in asked.out and "use --yes" in asked.err
    assert "Ollama has no m3; it has: m1, m2" in wrong.err
    assert "nobody was not found; there are: ollama" in nobody.err
    assert settings(world)["models"]["ollama"]["model"] == "m2"
    assert world.places.config_file.read_text(encoding="utf-8").startswith("# mine\n")


def test_a_chosen_model_is_not_replaced_by_a_script(world: World) -> None:
    """`--yes` adds presets, but the user's choice stays."""
    world.script("A1")
    with ollama("m1") as server:
        ran = world.aish("setup", "--yes", "--json", OLLAMA_HOST=host(server))

    assert json.loads(ran.out)["written"] == ["ollama"] and json.loads(ran.out)["model"] == ""
    assert settings(world)["model"] == "script"


def test_a_preset_of_the_same_name_is_not_overwritten(world: World) -> None:
    mine = {"endpoint": "http://10.0.0.5:11434/v1", "model": "large"}
    world.configure(f"[models.ollama]\nendpoint = '{mine['endpoint']}'\nmodel = '{mine['model']}'\n")
    with ollama("m1") as server:
        ran = world.aish("setup", "ollama-2", OLLAMA_HOST=host(server))

    assert ran.code == 0
    assert settings(world)["models"]["ollama"] == mine
    assert settings(world)["models"]["ollama-2"] == {"endpoint": f"{server.url}/v1", "model": "m1"}


@pytest.mark.parametrize(
    ("env", "names"),
    [
        ({}, []),
        ({"OPENAI_API_KEY": " "}, []),
        ({"OPENAI_API_KEY": KEY}, ["openai"]),
        ({"GOOGLE_API_KEY": KEY}, ["gemini"]),
        ({"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": KEY}, ["gemini"]),
        ({"ANTHROPIC_API_KEY": KEY, "OPENROUTER_API_KEY": KEY}, ["anthropic", "openrouter"]),
        ({"MISTRAL_API_KEY": KEY, "DEEPSEEK_API_KEY": KEY, "GROQ_API_KEY": KEY}, ["mistral", "deepseek", "groq"]),
    ],
)
def test_keys_are_known_by_their_variables(env: dict[str, str], names: list[str]) -> None:
    found = find_keys(env)

    assert [one.name for one in found] == names
    assert all(one.api_key_env in env and one.endpoint.startswith("https://") and one.model for one in found)
    assert KEY not in repr(found)
    assert find_keys(env, {one.api_key_env for one in found}) == []


def test_a_service_with_an_api_of_its_own_is_set_up_with_it(tmp_path: Path) -> None:
    """The preset works as it is written, and a compatible one for the same service counts as set up."""
    found = find_keys({"ANTHROPIC_API_KEY": KEY, "GEMINI_API_KEY": KEY})
    path = tmp_path / "config.toml"
    write_presets(path, found, "anthropic")

    written = tomllib.loads(path.read_text(encoding="utf-8"))["models"]
    assert [(one["kind"], one["api_key_env"]) for one in written.values()] == [
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
    ]
    compatible = {"https://generativelanguage.googleapis.com/v1beta/openai"}
    assert find_keys({"GEMINI_API_KEY": KEY}, compatible) == []


@pytest.mark.parametrize(
    "answer",
    [{"data": []}, {"data": [1, {"id": 3}, {"id": "\x1b[31m"}]}, {"data": {}}, [], "x", {"data": [{"id": "embedder"}]}],
)
async def test_another_server_on_a_usual_port_is_not_offered(answer: object) -> None:
    """Many programs listen at 8080 or 8000, and answer anything."""
    with FakeServer(reply_json(answer)) as server:
        found = await find_local({"OLLAMA_HOST": host(server)})

    assert "ollama" not in [one.name for one in found]


@pytest.mark.parametrize("given", ["http://example.org:1", "[", "0.0.0.0:99999999", "example.org"])
async def test_only_this_machine_is_contacted(given: str) -> None:
    """OLLAMA_HOST may name another machine; that is not asked without the user's word."""
    assert all("//127.0.0.1:" in one.endpoint for one in await find_local({"OLLAMA_HOST": given}))


async def test_the_best_known_model_of_a_provider_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of models age; the provider says which it has."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    listed = {"data": [{"id": "whisper"}, {"id": "gpt-4o-mini"}, {"id": "gpt-4.1-mini"}]}
    with FakeServer(reply_json(listed)) as server:
        found = FoundModel("openai", "OpenAI", server.url, "gpt-5-mini", api_key_env="OPENAI_API_KEY")
        chosen, trouble = await choose_model(found)
        asked = server.asked[0]
    unreachable, told = await choose_model(found)

    assert (chosen.model, trouble) == ("gpt-4.1-mini", "")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert unreachable.model == "gpt-5-mini" and "could not be asked" in told


def test_a_damaged_record_is_empty_and_nothing_fails(world: World) -> None:
    record, found = SetupRecord(world.places.setup_record), FoundModel("a", "A", "http://127.0.0.1:1/v1", "m")
    assert record.is_new(found)
    record.decline([found])
    assert not record.is_new(found)
    for content in (b"", b"\xff", b"[]", b'{"offered": 3}', b'{"declined": [[1]]}'):
        world.places.setup_record.write_bytes(content)
        assert record.is_new(found)


def test_a_person_chooses_by_number_and_a_no_is_remembered(world: World) -> None:
    with ollama("m1") as server:
        with Terminal(world, "setup", OLLAMA_HOST=host(server)) as terminal:
            terminal.wait_for("which one shall answer?")
            terminal.enter("n")
            assert terminal.code() == 1
        assert not world.places.config_file.exists()
        assert f"{server.url}/v1" in world.places.setup_record.read_text(encoding="utf-8")
        with Terminal(world, "setup", OLLAMA_HOST=host(server)) as terminal:
            terminal.wait_for("which one shall answer?")
            terminal.enter("1")
            assert terminal.code() == 0
    assert settings(world)["model"] == "ollama"


def settled(world: World, config: str = "") -> Loaded:
    """The settings of this world, as a start reads them."""
    world.configure(config)
    return open_settings(world.places, world.directory, ())


async def test_the_best_server_is_found_for_who_has_chosen_nothing(world: World) -> None:
    """And it is found again when it is in the settings already."""
    models = {"small": {"size": GB // 9}, "vectors": {"size": GB // 2}, "good": {"size": GB // 8}}
    told = {name: {"capabilities": ["completion"]} for name in ("small", "good")}
    server = ollama_server(models, shown={**told, "vectors": {"capabilities": ["embedding"]}})
    with server:
        env = {"OLLAMA_HOST": host(server)}
        nothing = settled(world)
        found = await find_server(nothing.settings, nothing.origins, env)
        assert found and (found.name, found.model, found.caution) == ("ollama", "good", "")

        record = MachineRecord(world.places.machine_record)
        record.write(found)
        again = settled(world)
        assert again.settings.model == "ollama" and again.settings.models["ollama"].model == "good"
        assert await find_server(again.settings, again.origins, env) == found

        for config in ("model = 'embedded'", "embedded.path = '/m.gguf'"):
            asked, chose = len(server.asked), settled(world, config)
            assert await find_server(chose.settings, chose.origins, env) is None
            assert len(server.asked) == asked

        other = settled(world, "[models.ollama]\nendpoint = 'http://10.0.0.5:11434/v1'\n")
        renamed = await find_server(other.settings, other.origins, env)
        assert renamed and renamed.name == "ollama-2"


@pytest.mark.parametrize(
    "server",
    [
        ollama_server({"huge": {"size": 900 * GB}}),
        ollama_server({"cloud": {"size": 9, "remote_host": "https://cloud.example"}}),
        listing_server("openai", {"id": "gpt"}),
        ollama(),
    ],
)
async def test_a_server_that_cannot_be_used_unasked_is_not(server: FakeServer, world: World) -> None:
    """It has no room, or is a way to a service that may cost money."""
    with server:
        nothing = settled(world)
        found = await find_server(nothing.settings, nothing.origins, {"OLLAMA_HOST": host(server)})

    assert found is None or found.endpoint != f"{server.url}/v1"


def test_the_record_of_this_machine_is_written_once_and_forgotten(world: World) -> None:
    path = world.places.machine_record
    record, found = (
        MachineRecord(path),
        FoundModel("ollama", "Ollama", "http://127.0.0.1:1/v1", "m", ("m", "n"), size=5),
    )
    assert record.read() is None
    record.write(found)
    assert record.read() == FoundModel("ollama", "Ollama", "http://127.0.0.1:1/v1", "m")
    before = path.stat().st_ino
    record.write(found._replace(size=6))
    assert path.stat().st_ino == before
    path.write_text(path.read_text(encoding="utf-8").replace("127.0.0.1", "10.0.0.1"), encoding="utf-8")
    assert record.read() is None
    record.write(None)
    record.write(None)
    assert not path.exists()
    path.mkdir()
    record.write(found)
    record.write(None)


async def test_a_server_that_is_used_by_itself_is_no_offer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are none either, then: the server has them. Keys are, because they are of another kind."""
    monkeypatch.setenv("HOME", str(world.directory))
    write_gguf(world.directory / ".lmstudio/models/a/b/Chat.gguf", CHAT)
    write_gguf(world.directory / ".lmstudio/models/a/b/Huge.gguf", CHAT, size=900 * GB)
    record, nothing = SetupRecord(world.places.setup_record), settled(world)
    env = {"GROQ_API_KEY": KEY, "OLLAMA_MODELS": "/none", "LLAMA_CACHE": "/none", "HF_HUB_CACHE": "/none"}

    with ollama_server({"m": {"size": 1000}}) as server:
        served = await new_offers(nothing, {**env, "OLLAMA_HOST": host(server)}, record)
        MachineRecord(world.places.machine_record).write(FoundModel("ollama", "Ollama", f"{server.url}/v1", "m"))
        later = await new_offers(settled(world), {**env, "OLLAMA_HOST": host(server)}, record)
    with ollama("m") as server:
        untold = await new_offers(nothing, {**env, "OLLAMA_HOST": host(server)}, record)

    assert [one.name for one in served] == [one.name for one in later] == ["groq"]
    assert [one.name for one in untold] == ["ollama", "groq", "chat"]
    assert await new_offers(settled(world, "model = 'embedded'"), env, record) == []


def test_a_kept_file_is_set_up_as_an_embedded_model(world: World) -> None:
    """The largest that fits comes first; nothing is copied."""
    home = world.directory
    small = write_gguf(home / ".lmstudio/models/a/b/Small-Q4.gguf", CHAT, size=1_500_000)
    write_gguf(home / ".lmstudio/models/a/b/Huge.gguf", CHAT, size=900 * GB)
    listed = world.aish("setup", HOME=str(home))
    done = world.aish("setup", "small-q4", HOME=str(home))
    again = world.aish("setup", "--json", HOME=str(home))

    lines = [line.split(maxsplit=2) for line in listed.out.splitlines()]
    about = {name: text for _, name, text in lines}
    assert about["small-q4"] == "LM Studio keeps Small-Q4 (2 MB) on this machine"
    assert about["huge"].endswith("Huge (900.0 GB) on this machine; it needs more memory than is free")
    assert list(about).index("small-q4") < list(about).index("huge")
    assert done.code == 0
    assert settings(world) == {
        "model": "small-q4",
        "models": {"small-q4": {"kind": "embedded", "path": str(small)}},
    }
    assert [one["name"] for one in json.loads(again.out)["found"] if one["path"]] == ["huge"]


def test_weights_are_listed_with_their_sizes_and_chosen(world: World) -> None:
    """Those that are installed come first. They answer under the name of the embedded model."""
    world.configure("[models.embedded]\npath = '/mine.gguf'\nwindow = 4096\n")
    weights = world.places.models / QWEN_SMALL.file
    weights.parent.mkdir(parents=True)
    with weights.open("wb") as file:
        file.truncate(QWEN_SMALL.size)
    listed = world.aish("setup")
    wrong = world.aish("setup", QWEN_SMALL.name, "other")
    done = world.aish("setup", QWEN_SMALL.name)

    lines = [" ".join(line.split()[1:]) for line in listed.out.splitlines()]
    mine = next(line for line in lines if line.startswith(QWEN_SMALL.name))
    large = next(line for line in lines if line.startswith(QWEN_LARGE.name))
    assert mine.startswith(f"{QWEN_SMALL.name} installed: {QWEN_SMALL.name} (491 MB)")
    assert large.startswith(f"{QWEN_LARGE.name} can be fetched: {QWEN_LARGE.name} (1.1 GB)")
    assert lines.index(mine) < lines.index(large)
    assert wrong.code == 2 and "is one model; give its name alone" in wrong.err
    assert done.code == 0 and "it answers from now on" in done.out
    assert settings(world) == {
        "model": "embedded",
        "models": {"embedded": {"window": 4096, "model": QWEN_SMALL.name}},
    }


def test_weights_that_are_missing_are_fetched_before_they_are_chosen(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If they cannot be, the settings stay as they are."""

    def fail(*_: object) -> Path:
        raise PullFailed("no network")

    monkeypatch.setattr(setup, "install", fail)
    with pytest.raises(PullFailed):
        setup.run(world.start(), [QWEN_LARGE.name])
    assert not world.places.config_file.exists()

    fetched = list[Path]()
    monkeypatch.setattr(setup, "install", lambda weights, directory, _: fetched.append(directory / weights.file))
    assert setup.run(world.start(), [QWEN_LARGE.name]) == 0
    assert fetched == [world.places.models / QWEN_LARGE.file]
    assert settings(world)["models"] == {"embedded": {"model": QWEN_LARGE.name}}
    assert capsys.readouterr().out.startswith(f"embedded: installed: {QWEN_LARGE.name} (1.1 GB)")


def test_doctor_suggests_what_could_be_used(world: World) -> None:
    """Not what answers already, nor what has no room."""
    for name, size in (("Good", 1000), ("Huge", 900 * GB)):
        write_gguf(world.directory / f".lmstudio/models/a/b/{name}.gguf", CHAT, size=size)
    with ollama_server({"m": {"size": 1000}}, shown={"m": {"capabilities": ["completion"]}}) as server:
        here, home = host(server), str(world.directory)
        before = world.aish("doctor", OLLAMA_HOST=here, HOME=home).out
        MachineRecord(world.places.machine_record).write(FoundModel("ollama", "Ollama", f"{server.url}/v1", "m"))
        after = world.aish("doctor", OLLAMA_HOST=here, HOME=home).out

    assert "to use it: aish setup ollama" in before and "to use it: aish setup good" in before
    assert "aish setup huge" not in before
    assert "ollama at" in after and "to use it: aish setup ollama" not in after


async def test_the_shell_says_how_to_fetch_weights(world: World) -> None:
    program = world.program()
    reply = await world.type(world.shell(program), f":setup {QWEN_LARGE.name}")

    assert f"run: aish models pull {QWEN_LARGE.name}, and then: :setup {QWEN_LARGE.name}" in str(reply)
    assert not world.places.config_file.exists()
