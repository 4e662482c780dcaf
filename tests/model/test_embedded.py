"""The embedded model: a private child process that starts on first use and exits with its parent."""

import asyncio
import os
import re
import select
import signal
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from world import World

from aish.agent.tool import schema
from aish.model.embedded import EmbeddedModel, LlamaProcess, NoModel
from aish.model.http import Patience
from aish.model.run_form import FIXED
from aish.model.tokenizer import fetch_json
from aish.model.weights import QWEN_SMALL, SMOLLM2, find_here
from aish.places import find_places, model_directories
from aish.values.events import ChatRequest, Failed, Finished, TextPiece, ToolPiece, Usage

pytestmark = [pytest.mark.anyio, pytest.mark.real]

ASK = ChatRequest(messages=({"role": "user", "content": "What is the capital of France?"},), max_tokens=16)
PATIENCE = Patience(connect=10, first=60, silence=60)
PROC = Path("/proc")
KEY = b"general.architecture"
HEADER = (  # version 3, no tensors, one key: the architecture is the string "odd"
    b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(KEY)) + KEY + struct.pack("<IQ", 8, 3) + b"odd"
)


def weights() -> Path:
    found = find_here(SMOLLM2, model_directories(find_places(os.environ), os.environ))
    assert found, f"run: aish models pull {SMOLLM2.name}"
    return found


def children(parent: int) -> list[int]:
    """Return the model servers that a process has started."""
    found = []
    for stat in PROC.glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
            words = (stat.parent / "cmdline").read_bytes()
        except OSError:
            continue  # it has exited
        if int(fields[1]) == parent and b"llama_child" in words:
            found.append(int(stat.parent.name))
    return found


def vanishes(pid: int, seconds: float = 10) -> bool:
    """Wait for the end of a process that may not be our child."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([fd], [], [], seconds)[0])
    finally:
        os.close(fd)


async def answer(model: EmbeddedModel) -> str:
    events = [event async for event in model.stream(ASK)]
    assert isinstance(events[-1], Finished), events[-1]
    return "".join(event.text for event in events if isinstance(event, TextPiece))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for all tests here, so that most of them can share a child."""
    return "asyncio"


@pytest.fixture(scope="module")
async def process(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LlamaProcess]:
    running = LlamaProcess(weights(), tmp_path_factory.mktemp("state") / "deep" / "log", window=2048, threads=1)
    await running.address()
    yield running
    await running.close()


async def test_it_answers_and_says_what_it_read_and_wrote(process: LlamaProcess) -> None:
    """Without network, account or any other server."""
    events = [event async for event in EmbeddedModel(process, patience=PATIENCE, temperature=0.0).stream(ASK)]

    assert "".join(event.text for event in events if isinstance(event, TextPiece))
    assert isinstance(events[-1], Finished)
    [usage] = [event for event in events if isinstance(event, Usage)]
    assert usage.prompt_tokens > 10
    assert 0 < usage.completion_tokens <= 16


async def test_its_threads_wait_in_short_loops_only(process: LlamaProcess) -> None:
    """A long one takes the core that another program, or the thread waited for, needs; answers then take minutes."""
    assert process._child

    environment = (PROC / str(process._child.pid) / "environ").read_bytes().split(b"\0")

    assert b"GOMP_SPINCOUNT=200" in environment


async def test_a_grammar_keeps_any_model_to_a_command_or_words(process: LlamaProcess) -> None:
    """Even one that is too small for it; after the output of a command there are only words."""
    run = schema("run_command", "Run a shell command.", {"command": {"type": "string"}}, ["command"])
    question = {"role": "user", "content": "How much space is free on the disks?"}
    asked = ChatRequest(({"role": "system", "content": FIXED}, question), (run,), 40)
    call = {"id": "c", "type": "function", "function": {"name": "run_command", "arguments": '{"command": "df"}'}}
    ran = ({"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c"})
    model = EmbeddedModel(process, patience=PATIENCE)
    first = [event async for event in model.stream(asked)]
    then = [event async for event in model.stream(asked._replace(messages=(*asked.messages, *ran)))]

    assert isinstance(first[-1], Finished) and isinstance(then[-1], Finished)
    assert any(isinstance(event, ToolPiece | TextPiece) for event in first)
    assert not any(isinstance(event, ToolPiece) for event in then)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/chat/completions", b'{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}'),
        ("POST", "/tokenize", b'{"content": "hi"}'),
        ("GET", "/props", b""),
        ("GET", "/slots", b""),
    ],
)
async def test_nobody_else_on_this_machine_can_use_it(
    process: LlamaProcess, method: str, path: str, body: bytes
) -> None:
    """All users and every web page can reach loopback, so every endpoint with content needs the key."""
    address = await process.address()

    async def wrong() -> str:
        return "guessed"

    assert (await fetch_json(method, address.url + path, body=body))[0] == 401
    assert (await fetch_json(method, address.url + path, wrong, body))[0] == 401


async def test_it_listens_on_loopback_only_and_keeps_its_key_to_itself(process: LlamaProcess) -> None:
    """The key is not on the network or in the process list, and Ctrl-C does not reach the child."""
    address = await process.address()
    [pid] = children(os.getpid())
    links = [str(link.readlink()) for link in (PROC / str(pid) / "fd").iterdir()]
    mine = {link[8:-1] for link in links if link.startswith("socket:[")}
    listening = []
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in (PROC / "net" / table).read_text(encoding="utf-8").splitlines()[1:]]
        listening += [row[1] for row in rows if row[3] == "0A" and row[9] in mine]

    port = int(address.url.rpartition(":")[2])
    assert listening == [f"0100007F:{port:04X}"]
    for place in ("cmdline", "environ"):
        assert address.key.encode() not in (PROC / str(pid) / place).read_bytes()
    assert len(address.key) >= 32
    assert os.getsid(pid) != os.getsid(0)


async def test_no_child_runs_before_the_first_use_and_its_own_server_counts(world: World) -> None:
    """Commands that need no model must not wait for one. Once it runs, it counts the tokens."""
    before = children(os.getpid())
    program = world.program({"embedded": {"path": str(weights()), "window": 1024, "threads": 1}})
    backend = program.session(model="embedded").backend
    assert backend.tokenizer.ability == "unknown"
    assert children(os.getpid()) == before
    try:
        text = "Antidisestablishmentarianism, naïveté & 日本語!"
        counted = await backend.tokenizer.count(text)
        assert len(children(os.getpid())) == len(before) + 1
        assert backend.server
        server = await backend.server()
        _, told = await fetch_json("POST", f"{server.endpoint}/tokenize", server.key, b'{"content": "Hello world"}')
        assert await backend.tokenizer.count("Hello world") == len(told["tokens"]) == 2
        assert counted != program.estimates.count("embedded", text)
        assert world.places.model_log.stat().st_size > 0
    finally:
        await program.close()
    assert children(os.getpid()) == before


RUN = schema("run_command", "Run a shell command.", {"command": {"type": "string"}}, ["command"])


async def test_a_file_of_the_users_own_runs_commands_if_its_preset_says_so(world: World) -> None:
    """Under any name, in a folder with spaces. Nothing else is offered, and the answer is a command or words."""
    folder = world.directory / "my models"
    folder.mkdir()
    (folder / "mine.gguf").symlink_to(weights())
    preset = {"kind": "embedded", "path": str(folder / "mine.gguf"), "tools": "commands", "window": 2048}
    program = world.program({"models": {"mine": preset}, "embedded": {"threads": 1}})
    session = program.session(model="mine")
    try:
        system = {"role": "system", "content": FIXED}
        asked = ChatRequest((system, {"role": "user", "content": "Which files are here?"}), (RUN,), 40)
        events = [event async for event in session.backend.model.stream(asked)]
    finally:
        await program.close()

    assert {tool.name for tool in session.offered_tools(session.backend)} <= {"run_command"}
    assert session.backend.prompt_form == "run" and session.backend.tools is True
    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("How full is the disk?", r"\bdf\b"),
        ("How many lines has README.md?", r"\bwc\b.*README"),
        ("Wie voll ist die Festplatte?", r"\bdf\b"),
        ("What is a mutex?", ""),
    ],
)
async def test_the_smallest_coder_runs_the_command_that_answers(tmp_path: Path, question: str, command: str) -> None:
    """With its real weights, where they were pulled."""
    found = find_here(QWEN_SMALL, model_directories(find_places(os.environ), os.environ))
    if not found:
        pytest.skip(f"needs: aish models pull {QWEN_SMALL.name}")
    model = EmbeddedModel(LlamaProcess(found, tmp_path / "log", threads=1), patience=PATIENCE)
    request = ChatRequest(({"role": "system", "content": FIXED}, {"role": "user", "content": question}), (RUN,), 80)
    try:
        events = [event async for event in model.stream(request)]
    finally:
        await model.close()
    calls = [event.arguments for event in events if isinstance(event, ToolPiece)]
    assert re.search(command, calls[0]) if command else not calls


async def test_a_child_that_died_is_started_again_and_the_log_tells_of_both(tmp_path: Path) -> None:
    """If the child runs out of memory, the next question must still work."""
    before = children(os.getpid())
    log = tmp_path / "log"
    log.write_bytes(b"old\n" * (1 << 19))  # too large, so it is truncated
    process = LlamaProcess(weights(), log, window=512, threads=1)
    model = EmbeddedModel(process, patience=PATIENCE)
    try:
        assert await answer(model)
        first = log.read_bytes()
        assert b"old" not in first[:100]
        [pid] = set(children(os.getpid())) - set(before)
        old = await process.address()
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(60):
            while await process.address() == old:  # until the event loop notices the exit
                assert await asyncio.to_thread(vanishes, pid)

        assert await answer(model)
        assert log.read_bytes().startswith(first)
        assert len(log.read_bytes()) > len(first)
    finally:
        await model.close()
        await model.close()
    assert children(os.getpid()) == before


async def test_it_is_its_own_code_that_runs_whatever_lies_in_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current directory may contain a malicious module. Two questions at once start only one child."""
    for name in ("xllamacpp.py", "json.py", "threading.py"):
        (tmp_path / name).write_text("open('ran', 'w').close()\nraise SystemExit\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    before = children(os.getpid())
    process = LlamaProcess(weights(), tmp_path / "log", window=512, threads=1)
    try:
        addresses = await asyncio.gather(process.address(), process.address(), return_exceptions=True)
        assert not (tmp_path / "ran").exists()
        assert addresses[0] == addresses[1]
        assert len(children(os.getpid())) == len(before) + 1
    finally:
        await process.close()


async def test_giving_up_while_it_starts_leaves_no_child(tmp_path: Path) -> None:
    """Ctrl-C also works while the model starts."""
    before = children(os.getpid())
    process = LlamaProcess(weights(), tmp_path / "log", window=512, threads=1)
    task = asyncio.create_task(process.address())
    while children(os.getpid()) == before:
        await asyncio.sleep(0)
        assert not task.done()
    [pid] = set(children(os.getpid())) - set(before)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert await asyncio.to_thread(vanishes, pid)


async def test_weights_that_are_not_there_are_a_failure_that_says_how_to_get_them(tmp_path: Path) -> None:
    """New users may see this message first. No process is started for it."""
    before = children(os.getpid())
    reasons = {
        tmp_path / SMOLLM2.file: "the embedded model is not installed; run: aish models pull smollm2-135m",
        tmp_path / "my.gguf": f"model file not found: {tmp_path}/my.gguf; "
        "correct or remove the setting embedded.path, or path or model in its preset (aish models lists weights)",
    }
    for path, reason in reasons.items():
        model = EmbeddedModel(LlamaProcess(path, tmp_path / "log"), patience=PATIENCE)
        events = [event async for event in model.stream(ASK)]
        assert [repr(event) for event in events] == [repr(Failed(reason, "missing"))]
    assert children(os.getpid()) == before


@pytest.mark.parametrize("kind", ["folder", "page", "empty", "named pipe"])
async def test_a_file_that_is_no_model_is_told_without_starting_anything(tmp_path: Path, kind: str) -> None:
    """One line names the file, what is wrong with it, and the setting."""
    path = tmp_path / "my model.gguf"
    if kind == "folder":
        path.mkdir()
    elif kind == "named pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"<html>moved</html>" if kind == "page" else b"")
    model = EmbeddedModel(LlamaProcess(path, tmp_path / "log"), patience=PATIENCE)
    events = [event async for event in model.stream(ASK)]

    assert len(events) == 1 and isinstance(events[0], Failed) and events[0].trouble == "missing"
    wrong = f"cannot read the model file {path}: Is a directory" if kind == "folder" else f"{path} is not a GGUF file"
    assert events[0].reason.startswith(wrong)
    assert events[0].reason.endswith(
        "correct or remove the setting embedded.path, or path or model in its preset (aish models lists weights)"
    )
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("size", [3_000, 40_000_000], ids=["in its header", "in its data"])
async def test_half_a_download_is_told_as_such(tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture) -> None:
    """The log has the error message of llama.cpp, and what it means is said. Nothing else is: no warning of asyncio."""
    half, log = tmp_path / "half.gguf", tmp_path / "log"
    with weights().open("rb") as whole:
        half.write_bytes(whole.read(size))
    model = EmbeddedModel(LlamaProcess(half, log, window=512, threads=1), patience=PATIENCE)
    try:
        events = [event async for event in model.stream(ASK)]
    finally:
        await model.close()
    reason = f"cannot load {half}: the file is damaged or not whole; get it again; see {log}"
    assert [repr(event) for event in events] == [repr(Failed(reason, "missing"))]
    assert log.stat().st_size > 0
    assert caplog.messages == []


async def test_a_child_that_gave_up_ends_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To kill one that is about to end takes its exit status from asyncio, which then warns on the screen."""
    gives_up = tmp_path / "child"
    gives_up.write_text(f"#!/bin/sh\nexec >&-\nsleep 0.2\ntouch {tmp_path}/ended\n", encoding="utf-8")
    gives_up.chmod(0o700)
    (tmp_path / "odd.gguf").write_bytes(HEADER)
    monkeypatch.setattr(sys, "executable", str(gives_up))

    with pytest.raises(NoModel, match="cannot load"):
        await LlamaProcess(tmp_path / "odd.gguf", tmp_path / "log").address()
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize(
    ("content", "reason"), [(HEADER, "'odd'"), (HEADER[:4] + b"\x63" + HEADER[5:], "is version 99 but")]
)
async def test_a_file_that_llama_cpp_refuses_is_told_with_its_reason(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    """For instance of a kind of model, or of file, that this version does not know."""
    (tmp_path / "bad.gguf").write_bytes(content)
    model = EmbeddedModel(LlamaProcess(tmp_path / "bad.gguf", tmp_path / "log"), patience=PATIENCE)
    try:
        events = [event async for event in model.stream(ASK)]
    finally:
        await model.close()
    failed = events[-1]
    assert isinstance(failed, Failed)
    assert failed.reason.startswith(f"cannot load {tmp_path / 'bad.gguf'}: ") and reason in failed.reason


async def test_weights_that_cannot_be_loaded_are_not_tried_again_at_each_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading may take a minute. After some minutes memory may be free again, and another file is another chance."""
    child, file, now = tmp_path / "child", tmp_path / "odd.gguf", [0.0]
    child.write_text(f"#!/bin/sh\necho x >> {tmp_path}/starts\n", encoding="utf-8")
    child.chmod(0o700)
    file.write_bytes(HEADER)
    monkeypatch.setattr(sys, "executable", str(child))
    process = LlamaProcess(file, tmp_path / "log", clock=lambda: now[0])

    async def starts() -> int:
        with pytest.raises(NoModel, match="cannot load"):
            await process.address()
        return (tmp_path / "starts").read_text(encoding="utf-8").count("x")

    assert [await starts(), await starts()] == [1, 1]
    now[0] = 301.0
    assert [await starts(), await starts()] == [2, 2]
    file.write_bytes(HEADER + b"more")
    assert await starts() == 3


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("echo 'ggml_aligned_malloc: insufficient memory (attempted to allocate 180.00 MB)' >&2", "not enough memory"),
        ("echo 'error loading model: mmap failed: Cannot allocate memory' >&2", "not enough memory is free"),
        ("kill -KILL $$", "the system stopped it, perhaps because memory ran out"),
    ],
)
async def test_a_lack_of_memory_is_told_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, reason: str
) -> None:
    """It is the usual reason why good weights cannot be loaded."""
    (tmp_path / "child").write_text(f"#!/bin/sh\n{ending}\n", encoding="utf-8")
    (tmp_path / "child").chmod(0o700)
    (tmp_path / "odd.gguf").write_bytes(HEADER)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "child"))

    with pytest.raises(NoModel, match=f"cannot load .*odd.gguf: {reason}"):
        await LlamaProcess(tmp_path / "odd.gguf", tmp_path / "log").address()


PARENT = """
import asyncio, sys
from pathlib import Path
from aish.model.embedded import LlamaProcess

async def main():
    await LlamaProcess(Path(sys.argv[1]), Path(sys.argv[2]), window=512, threads=1).address()
    print("ready", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_child_dies_with_its_parent_even_when_that_is_killed(tmp_path: Path) -> None:
    """A crash or `kill -9` must not leave a server running."""
    command = [sys.executable, "-c", PARENT, str(weights()), str(tmp_path / "log")]
    parent = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    try:
        assert parent.stdout
        assert await parent.stdout.readline() == b"ready\n"
        [child] = children(parent.pid)
    finally:
        parent.kill()
        await parent.wait()
    gone = await asyncio.to_thread(vanishes, child)
    if not gone:
        os.kill(child, signal.SIGKILL)
    assert gone
