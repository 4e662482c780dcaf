"""What a new child need not read: the beginning of its prompt, from a state that an earlier child has written."""

import asyncio
import hashlib
import json
import os
import signal
import stat
import struct
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from aish.agent.tool import schema
from aish.model import run_form
from aish.model.embedded import Address, EmbeddedModel, LlamaProcess
from aish.model.http import Patience
from aish.model.kept_beginning import KeptBeginning
from aish.model.prompt_states import PromptStates
from aish.model.tokenizer import fetch_json
from aish.model.weights import SMOLLM2, find_here
from aish.places import find_places, model_directories
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, ToolPiece, Usage

pytestmark = [pytest.mark.anyio, pytest.mark.real]

# The real text takes ten seconds to read. This one has the same form.
HOW = (
    f"You are aish. Answer with `run: COMMAND` or in plain words. {'Be short and exact, and say what is. ' * 8}".strip()
)
EXAMPLES = "\nHow long?\nrun: uptime -p\n> up 3 days\nFor 3 days.\n\nWhat is a prime?\nA number.\n"
KNOWN = f"[background]\n{'- the user has a zebra, two quaggas and an old umbrella' * 8}"
RUN = schema("run_command", "Run a shell command.", {"command": {"type": "string"}}, ["command"])
PATIENCE = Patience(connect=10, first=60, silence=60)
SAID = TextPiece | ToolPiece
QUESTION = "Which fjord has the most penguins?"


def weights() -> Path:
    found = find_here(SMOLLM2, model_directories(find_places(os.environ), os.environ))
    assert found, f"run: aish models pull {SMOLLM2.name}"
    return found


@pytest.fixture(autouse=True)
def _short_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_form, "_HOW", HOW)
    monkeypatch.setattr(run_form, "_EXAMPLES", EXAMPLES)
    monkeypatch.setattr(run_form, "FIXED", f"{HOW}\n{EXAMPLES}".strip())


@pytest.fixture
def states(tmp_path: Path) -> PromptStates:
    return PromptStates(tmp_path / "cache" / "prompts")


def asked(question: str = QUESTION, *, known: str = KNOWN, remembers: bool = True) -> ChatRequest:
    system = {"role": "system", "content": f"{run_form.FIXED}\n\n{known}".strip()}
    return ChatRequest((system, {"role": "user", "content": question}), (RUN,), 12, remembers=remembers)


SIDE = ChatRequest(({"role": "user", "content": "Name the flowers of the moor."},), max_tokens=3)


@asynccontextmanager
async def child(states: PromptStates | None, window: int = 2048) -> AsyncIterator[EmbeddedModel]:
    """A model in a new process."""
    log = (states.directory if states else Path("/nonexistent")).parent / "log"
    model = EmbeddedModel(LlamaProcess(weights(), log, window=window, threads=1, states=states), patience=PATIENCE)
    try:
        yield model
    finally:
        await model.close()


async def answer(model: EmbeddedModel, request: ChatRequest) -> tuple[str, Usage]:
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], Finished), events[-1]
    [usage] = [event for event in events if isinstance(event, Usage)]
    return said(events), usage


def said(events: list[ModelEvent]) -> str:
    parts = (one.text if isinstance(one, TextPiece) else one.arguments for one in events if isinstance(one, SAID))
    return "".join(parts)


async def new_child(states: PromptStates | None, request: ChatRequest, window: int = 2048) -> tuple[str, Usage]:
    async with child(states, window) as model:
        return await answer(model, request)


def files(states: PromptStates) -> list[Path]:
    return sorted(states.directory.iterdir()) if states.directory.is_dir() else []


async def tokens_of(model: EmbeddedModel, text: str) -> bytes:
    """Return the tokens of a text as they are in the file of a state."""
    address = await model._process.address()

    async def key() -> str:
        return address.key

    body = json.dumps({"content": text}).encode()
    _, told = await fetch_json("POST", f"{address.url}/tokenize", key, body)
    return struct.pack(f"<{len(told['tokens'])}i", *told["tokens"])


async def test_a_new_process_reads_the_question_only_and_gives_the_same_answer(states: PromptStates) -> None:
    """The beginning was read by an earlier one. The first process says that it has read everything."""
    without, all_read = await new_child(None, asked())
    first, written = await new_child(states, asked())
    second, taken = await new_child(states, asked())

    assert without == first == second
    assert all_read.prompt_tokens == written.prompt_tokens == taken.prompt_tokens
    assert all_read.cached_tokens == 0
    assert written.cached_tokens <= 16
    assert taken.prompt_tokens - taken.cached_tokens < 40
    assert len(files(states)) == 2  # the fixed text, and with what is known


async def test_what_is_known_may_change_and_the_fixed_text_is_still_taken(states: PromptStates) -> None:
    """Each thing that the user tells changes the beginning."""
    await new_child(states, asked())

    other = await new_child(states, asked(known=KNOWN.replace("zebra", "giraffe")))
    short = await new_child(states, asked(known="- the user has a cat"))

    fixed = len(HOW) // 8
    assert other[1].cached_tokens > fixed and other[1].prompt_tokens - other[1].cached_tokens > 100
    assert short[1].cached_tokens > fixed
    assert len(files(states)) == 3  # nothing was written for a beginning with little more


async def test_a_state_has_no_token_of_a_question(states: PromptStates) -> None:
    """Neither of the first question, nor of what was asked beside it, nor of output of commands."""
    held = "[exec output]\n$ cat diary\n\nDear diary, the walrus sang."
    async with child(states) as model:
        side = asyncio.create_task(_all(model, SIDE))
        await model.prepare(asked(held))
        await answer(model, asked())
        await side
        private = [
            await tokens_of(model, text) for text in ("fjord has the most penguins", " walrus sang", " the moor")
        ]
        beginning = await tokens_of(model, " a zebra, two quaggas and an old umbrella")
    contents = [path.read_bytes() for path in files(states)]

    assert sum(beginning in content for content in contents) == 1 and len(contents) == 2
    assert not any(one in content for one in private for content in contents)
    assert [stat.S_IMODE(path.stat().st_mode) for path in files(states)] == [0o600, 0o600]


async def _all(model: EmbeddedModel, request: ChatRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def test_of_a_conversation_that_is_not_remembered_only_the_fixed_text_is_written(states: PromptStates) -> None:
    """That is the same for everybody. It still uses what others have written."""
    first = await new_child(states, asked(remembers=False))
    [path] = files(states)
    second = await new_child(states, asked(remembers=False))
    assert files(states) == [path]
    assert first[0] == second[0] and second[1].cached_tokens > len(HOW) // 8

    await new_child(states, asked())
    before = files(states)
    third = await new_child(states, asked(remembers=False))
    assert third[1].prompt_tokens - third[1].cached_tokens < 40
    assert files(states) == before


@pytest.mark.parametrize("harm", ["flipped", "cut", "empty", "pipe"])
async def test_a_damaged_state_is_not_used_and_the_answer_comes(states: PromptStates, harm: str) -> None:
    """It is written again."""
    whole = await new_child(states, asked())
    for path in files(states):
        content = path.read_bytes()
        middle = len(content) // 2
        path.unlink()
        if harm == "pipe":
            os.mkfifo(path)
        else:
            flipped = content[:middle] + bytes([content[middle] ^ 64]) + content[middle + 1 :]
            path.write_bytes({"flipped": flipped, "cut": content[:middle], "empty": b""}[harm])

    again = await new_child(states, asked())
    third = await new_child(states, asked())

    assert whole[0] == again[0] == third[0]
    assert again[1].cached_tokens <= 16 < third[1].cached_tokens
    assert all(path.is_file() for path in files(states))


@pytest.mark.parametrize("kept", [0.0, 0.0001, 0.5], ids=["nonsense", "header", "half"])
async def test_a_state_that_llama_cpp_does_not_take_costs_no_answer(states: PromptStates, kept: float) -> None:
    """For instance of a build with the same version but another format. The child dies of it, and is started again."""
    await new_child(states, asked())
    for path in files(states):
        content = path.read_bytes()
        forged = content[: int(len(content) * kept)] or b"nonsense" * 99
        path.unlink()
        path.with_name(f"{path.name.partition('-')[0]}-{hashlib.sha256(forged).hexdigest()[:40]}.state").write_bytes(
            forged
        )
    async with child(states) as model:
        await answer(model, asked())
    _, usage = await new_child(states, asked())
    assert usage.prompt_tokens - usage.cached_tokens < 40


def killing(monkeypatch: pytest.MonkeyPatch, process: LlamaProcess, action: str) -> list[str]:
    """Let the child be killed just before it restores or saves a state, and return the actions that were asked for."""
    asked_for = list[str]()

    async def fetch(method: str, url: str, *rest: Any) -> tuple[int, Any]:
        asked_for.append(url.rpartition("=")[2])
        if url.endswith(f"action={action}") and asked_for.count(action) == 1:
            assert process._child
            os.kill(process._child.pid, signal.SIGKILL)
        return await fetch_json(method, url, *rest)

    monkeypatch.setattr("aish.model.kept_beginning.fetch_json", fetch)
    return asked_for


@pytest.mark.parametrize("action", ["restore", "save"])
async def test_a_child_that_is_killed_while_it_restores_or_saves_is_started_again(
    states: PromptStates, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """Out of memory, for example. The answer comes a little later, and nothing is left behind."""
    if action == "restore":
        await new_child(states, asked())
    async with child(states) as model:
        asked_for = killing(monkeypatch, model._process, action)
        first, _ = await answer(model, asked())
        assert asked_for.count(action) >= 2
        assert (await answer(model, asked()))[0] == first
    assert (await new_child(states, asked()))[0] == first
    assert all(path.suffix == ".state" for path in files(states))


async def test_a_read_beginning_survives_that_the_user_gives_up(states: PromptStates) -> None:
    """Ctrl-C while the first question is read: the next one goes on from there, and the state is written then."""
    async with child(states) as model:
        address = await model._process.address()
        giving_up = asyncio.create_task(_all(model, asked()))
        while not await _is_busy(address):
            await asyncio.sleep(0)
            assert not giving_up.done()
        giving_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await giving_up
        assert files(states) == []
        await answer(model, asked())
    assert len(files(states)) == 2
    _, usage = await new_child(states, asked())
    assert usage.prompt_tokens - usage.cached_tokens < 40


async def _is_busy(address: Address) -> bool:
    async def key() -> str:
        return address.key

    _, slots = await fetch_json("GET", f"{address.url}/slots", key)
    return bool(slots[0]["is_processing"])


async def test_questions_at_once_are_all_answered_and_the_state_is_of_the_beginning(states: PromptStates) -> None:
    """Sub-agents work side by side, and share the child."""
    async with child(states) as model:
        await asyncio.gather(*(_all(model, one) for one in (asked(), SIDE, asked("Who?"), SIDE)))
        side = await tokens_of(model, "Name the flowers")
    assert len(files(states)) == 2
    assert not any(side in path.read_bytes() for path in files(states))


async def test_two_processes_at_once_write_whole_states(states: PromptStates) -> None:
    """Two terminals ask their first question at the same moment."""
    answers = await asyncio.gather(new_child(states, asked()), new_child(states, asked()))

    assert answers[0][0] == answers[1][0]
    third = await new_child(states, asked())
    assert third[0] == answers[0][0] and third[1].prompt_tokens - third[1].cached_tokens < 40
    assert all(path.suffix == ".state" for path in files(states))


async def test_a_state_of_another_window_is_not_used(states: PromptStates, tmp_path: Path) -> None:
    """The same file under another path is the same model."""
    await new_child(states, asked())
    _, other = await new_child(states, asked(), window=1024)
    linked = tmp_path / weights().name
    linked.symlink_to(weights())
    model = EmbeddedModel(LlamaProcess(linked, tmp_path / "log", window=2048, states=states), patience=PATIENCE)
    try:
        _, same = await answer(model, asked())
    finally:
        await model.close()

    assert other.cached_tokens <= 16
    assert same.prompt_tokens - same.cached_tokens < 40


async def test_a_state_is_of_one_text_one_file_of_weights_one_engine_and_one_window(tmp_path: Path) -> None:
    """Each of them alone makes it another one. A file may be replaced under its name, even by one of its size."""
    path, seen = tmp_path / "my.gguf", list[tuple[str, ...]]()

    def about(engine: str = "1", window: int = 512, text: str = "a") -> None:
        beginning = KeptBeginning(LlamaProcess(path, tmp_path / "log", window=window))
        seen.append(beginning._about(({"role": "system", "content": text},), Address("url", "key", engine)))

    path.write_bytes(b"one")
    about()
    about(engine="2")
    about(window=1024)
    about(text="b")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    about()
    times = path.stat().st_mtime_ns
    path.write_bytes(b"three")
    os.utime(path, ns=(0, times))
    about()
    path.unlink()
    about()

    assert len(set(seen)) == len(seen) == 7
    assert "key" not in str(seen)


@pytest.mark.parametrize("kind", ["a file", "not writable"])
async def test_without_a_directory_for_states_everything_is_read(tmp_path: Path, kind: str) -> None:
    """It is a cache, and nobody is told."""
    place = tmp_path / "prompts"
    place.write_text("mine", encoding="utf-8")
    states = PromptStates(place if kind == "a file" else Path("/proc/none/prompts"))
    for _ in range(2):
        _, usage = await new_child(states, asked())
        assert usage.cached_tokens <= 16
    assert place.read_text(encoding="utf-8") == "mine"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs root, to mount a small disk")
    yield place
    subprocess.run(["umount", str(place)], check=True)


async def test_on_a_full_disk_the_answer_comes_and_no_half_state_is_left(small_disk: Path) -> None:
    """llama.cpp writes some megabytes. The disk is not made fuller than it was."""
    states = PromptStates(small_disk / "prompts")
    for _ in range(2):
        text, _ = await new_child(states, asked())
        assert text
    assert files(states) == []


async def test_a_prompt_that_does_not_fit_fails_with_its_reason(states: PromptStates) -> None:
    """What is known is too long for the window. The fixed text alone is kept."""
    async with child(states, window=256) as model:
        for _ in range(2):
            events = await _all(model, asked())
            assert isinstance(events[-1], Failed) and events[-1].trouble == "refused"
            assert "context" in events[-1].reason
    assert len(files(states)) == 1


async def test_no_question_is_asked_between_reading_and_writing(
    states: PromptStates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text would be in the state. A side question of a job waits, though it has no beginning itself."""
    beside = list[asyncio.Task[list[ModelEvent]]]()
    async with child(states) as model:
        address = await model._process.address()

        async def fetch(method: str, url: str, *rest: Any) -> tuple[int, Any]:
            beside.append(asyncio.create_task(_all(model, SIDE)))
            for _ in range(100):  # time enough to answer it
                await _is_busy(address)
                assert not beside[-1].done()
            return await fetch_json(method, url, *rest)

        monkeypatch.setattr("aish.model.kept_beginning.fetch_json", fetch)
        await answer(model, asked())
        for one in beside:
            assert isinstance((await one)[-1], Finished)
    assert len(beside) == len(files(states)) == 2
