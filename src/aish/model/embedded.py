"""The embedded model: llama.cpp in a child process on loopback, used like any other server.

The child exits with this process, even after SIGKILL: it reads a pipe that only this process holds open.
"""

import asyncio
import json
import os
import re
import signal
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import IO

from aish.model.http import HttpTrouble, Patience
from aish.model.kept_beginning import KeptBeginning
from aish.model.openai_chat import OpenAIChat
from aish.model.prompt_states import PromptStates
from aish.model.run_form import (
    PREFIX,
    RUN_TOOL,
    Messages,
    RunReader,
    about_any,
    in_run_form,
    in_words,
    is_in_form,
    known_answer,
    openings,
    question_of,
)
from aish.model.weights import known_weights, missing_weights
from aish.storage.files import make_directory, private_opener
from aish.storage.line_reading import opener_now
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, Usage
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

MODEL_NAME = "embedded"
_START_SECONDS = 60.0
_END_SECONDS = 2.0  # from the end of its output to the end of the child
_RETRY_SECONDS = 300.0  # after a failed start; memory may be free again
_MAX_LOG = 1 << 20
_MAGIC = b"GGUF"  # how such a file begins
# How often a thread of llama.cpp looks whether the others are ready before it sleeps. With 300,000, the default, it
# writes less than a token a second while other programs use all cores. With 200 it is as fast on a quiet machine.
_ENVIRONMENT = {"GOMP_SPINCOUNT": "200"}
_LARGE = 700_000_000  # bytes of weights that are not kept a second time in another order, which takes as much memory
_NO_MEMORY = "not enough memory is free"
_KILLED = "the system stopped it, perhaps because memory ran out"
_REMEDY = "correct or remove the setting embedded.path, or path or model in its preset (aish models lists weights)"


class NoModel(AishError):
    """The embedded model cannot be started; the message says what to do."""


class Address(NamedTuple):
    """The URL of the running child, its API key, and the version of llama.cpp."""

    url: str
    key: str
    engine: str = ""


class _Failure(NamedTuple):
    """A start that failed: when, with which file, and why."""

    when: float
    file: tuple[int, int]
    reason: str


class LlamaProcess:
    """The child process, started on first use and shared by all callers.

    After a start that failed, it fails with the same reason for some minutes, unless the file of the weights changes:
    loading takes long, and each question would wait for it.
    """

    def __init__(
        self,
        weights: Path,
        log: Path,
        *,
        window: int = 8192,
        threads: int = 0,
        states: PromptStates | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.weights = weights
        self._log = log
        self._clock = clock
        self._failure: _Failure | None = None
        self._window = window
        self._threads = threads
        self.states = states
        self._starting = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._address: Address | None = None
        self.load_seconds = 0.0  # of all starts together

    @property
    def options_key(self) -> str:
        """The options that a state of a prompt depends on."""
        return f"window {self._window}"

    @property
    def runs(self) -> bool:
        return bool(self._address and self._child and self._child.returncode is None)

    async def address(self) -> Address:
        """Start the child if it is not running, and return its address. Raises `NoModel`."""
        async with self._starting:
            if self._address and self.runs:
                return self._address
            if trouble := _trouble(self.weights):
                raise NoModel(trouble)
            began, file = time.monotonic(), self._file()
            known = self._failure
            if known and known.file == file and self._clock() - known.when < _RETRY_SECONDS:
                raise NoModel(known.reason)
            try:
                self._address = await self._start(os.urandom(24).hex())
            except NoModel as error:
                self._failure = _Failure(self._clock(), file, str(error))
                raise
            self.load_seconds += time.monotonic() - began
            return self._address

    def _file(self) -> tuple[int, int]:
        """Return what changes with the file of the weights."""
        found = self.weights.stat()
        return found.st_size, found.st_mtime_ns

    async def _start(self, key: str) -> Address:
        options = {"weights": str(self.weights), "key": key, "window": self._window, "threads": self._threads}
        known = known_weights(self.weights)
        options["rambles"] = bool(known and known.is_toy)
        options |= {"no_repacking": self.weights.stat().st_size > _LARGE, "states": ""}
        if self.states and self.states.is_usable():
            options["states"] = f"{self.states.directory}/"
        with _open_log(self._log) as log:
            before = log.tell()
            self._child = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-P", "-m", "aish.model.llama_child"),  # -P: do not import from the current directory
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=_ENVIRONMENT | os.environ,
                start_new_session=True,  # Ctrl-C in the terminal is for the answer, not for the server
            )
        assert self._child.stdin and self._child.stdout
        self._child.stdin.write(json.dumps(options).encode() + b"\n")
        try:
            async with asyncio.timeout(_START_SECONDS):
                line = await self._child.stdout.readline()
        except TimeoutError:
            await self.close()
            raise NoModel(f"the embedded model did not start within {_START_SECONDS:g} s; see {self._log}") from None
        except asyncio.CancelledError:
            await self.close()
            raise
        try:
            told = json.loads(line)
            return Address(str(told["url"]), key, str(told["engine"]))
        except (ValueError, KeyError):
            await self._wait_for_end()
            killed = self._child.returncode == -signal.SIGKILL
            await self.close()
            why = _KILLED if killed else await asyncio.to_thread(_load_error, self._log, before)
            raise NoModel(f"cannot load {self.weights}{f': {why}' if why else ''}; see {self._log}") from None

    async def has_ended(self) -> bool:
        """Has the child ended? It may be ending right now: its connections break first."""
        if self.runs:
            await self._wait_for_end()
        return not self.runs

    async def _wait_for_end(self) -> None:
        """Give a child that closed its output time to end by itself.

        `kill` asks first whether it has ended, and takes its exit status away from asyncio, which warns on the screen.
        """
        assert self._child
        try:
            async with asyncio.timeout(_END_SECONDS):
                await self._child.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        child, self._child, self._address = self._child, None, None
        if child is None or child.returncode is not None:
            return
        try:
            child.kill()  # it has no state to save
        except ProcessLookupError:
            return
        await child.wait()


def _trouble(weights: Path) -> str:
    """Return what is wrong with the file of the weights, and what to do; empty if it seems to be fine."""
    try:
        with open(weights, "rb", opener=opener_now) as file:
            magic = file.read(4)
    except FileNotFoundError:
        said = missing_weights(weights)
        if said.startswith("not installed"):
            return f"the embedded model is {said}"
        return f"{said}; {_REMEDY}"
    except OSError as error:  # a directory, no permission
        return f"cannot read the model file {weights}: {error.strerror or error}; {_REMEDY}"
    if magic != _MAGIC:
        return f"{weights} is not a GGUF file; get the model in that format, or {_REMEDY}"
    return ""


def _load_error(log: Path, start: int) -> str:
    """Return why llama.cpp could not load the model, from what it wrote to its log."""
    try:
        with log.open("rb") as file:
            file.seek(start)
            written = file.read(_MAX_LOG).decode("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"gguf_init_\w+: (.*\bGGUF.*)", written)  # its version; after it, "failed to read" is no news
    if not found and ("not within the file bounds" in written or "failed to read" in written):
        return "the file is damaged or not whole; get it again"
    if re.search(r"insufficient memory|Cannot allocate memory|(failed|unable) to allocate", written):
        return _NO_MEMORY
    found = found or re.search(r"error loading model: (?!llama_model_loader: failed to load)(.+)", written)
    return one_line(found[1], 160) if found else ""


class EmbeddedModel:
    """Answers from the child process. A failed start is a `Failed` event like any other.

    A conversation whose prompt begins with the fixed text of `run_form.py` is sent and read in that form.
    """

    def __init__(self, process: LlamaProcess, *, patience: Patience, temperature: float | None = None) -> None:
        self._process = process
        self._patience = patience
        self._temperature = temperature
        self._beginning = KeptBeginning(process)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        in_form = is_in_form(request)
        if in_form and (known := known_answer(request)):
            yield TextPiece(known)
            yield Finished()
            return
        try:
            chat, read = await self._ready(request)
        except AishError as error:
            yield Failed(str(error), "missing")
            return
        reader = None
        if in_form:
            can_run = any(tool["function"]["name"] == RUN_TOOL for tool in request.tools)
            reader = RunReader(can_run=can_run, question=question_of(request))
            request = in_run_form(request)
            if self._temperature is None:
                chat.temperature = 0.0  # the same question gives the same command
        async with aclosing(chat.stream(request)) as events:
            async for event in events:
                if isinstance(event, Usage):
                    event = event._replace(cached_tokens=max(event.cached_tokens - read, 0))
                for one in reader.read(event) if reader else [event]:
                    yield one
        if reader and reader.quoted:
            async for event in self._about_quoted(chat, request, reader):
                yield event

    async def _about_quoted(
        self, chat: OpenAIChat, request: ChatRequest, reader: RunReader
    ) -> AsyncGenerator[ModelEvent]:
        """Answer a question that quotes a command: run it, or say something about it."""
        async with aclosing(chat.stream(about_any(request, reader.quoted))) as events:
            said = "".join([event.text async for event in events if isinstance(event, TextPiece)])
        if said.startswith(PREFIX.strip()):
            for one in (*reader.proposed(reader.quoted), Finished()):
                yield one
            return
        async with aclosing(chat.stream(in_words(request))) as events:
            async for event in events:
                if not isinstance(event, Usage):  # that of the first request counts
                    yield event

    async def prepare(self, request: ChatRequest) -> None:
        """Read a prompt, or take its beginning from the disk, so that only the question is left to read."""
        try:
            chat, _ = await self._ready(request)
        except AishError:  # the question will tell why
            return
        request = in_run_form(request) if is_in_form(request) else request
        async with aclosing(chat.stream(request._replace(max_tokens=1))) as events:
            async for _ in events:
                pass

    async def _ready(self, request: ChatRequest) -> tuple[OpenAIChat, int]:
        """Return a child that knows the beginning of a prompt, and how many tokens it has just read of it.

        If a bad state kills the child, it is started again without that state. Raises `AishError`.
        """
        beginnings = openings(request) if is_in_form(request) else ()
        begun = self._beginning.begin() if beginnings else ""
        try:
            return await self._with_beginning(beginnings, begun, remembers=request.remembers)
        finally:
            if begun and self._process.states:
                self._process.states.drop(begun)

    async def _with_beginning(
        self, beginnings: Sequence[Messages], begun: str, *, remembers: bool
    ) -> tuple[OpenAIChat, int]:
        for _ in range(1 + len(beginnings)):  # each of their states may be bad
            address = await self._process.address()
            chat = self._chat(address)
            try:
                return chat, await self._beginning.ready(beginnings, chat, address, begun, remembers=remembers)
            except HttpTrouble:
                if not await self._process.has_ended():
                    break
        return chat, 0  # the question will tell what the trouble is

    def _chat(self, address: Address) -> OpenAIChat:
        async def key() -> str:
            return address.key

        return OpenAIChat(
            endpoint=address.url,
            model=MODEL_NAME,
            key=key,
            patience=self._patience,
            temperature=self._temperature,
        )

    async def close(self) -> None:
        await self._process.close()


def _open_log(path: Path) -> IO[bytes]:
    """Open the log of the child, truncated when it is too large; /dev/null if it cannot be written."""
    try:
        make_directory(path.parent)
        fresh = not path.exists() or path.stat().st_size > _MAX_LOG
        return open(path, "wb" if fresh else "ab", opener=private_opener)
    except OSError:
        return open(os.devnull, "ab")
