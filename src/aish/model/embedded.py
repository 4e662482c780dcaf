"""The embedded model: llama.cpp in a child process on loopback, used like any other server.

The child exits with this process, even after SIGKILL: it reads a pipe that only this process holds open.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import IO

from aish.model.http import Patience
from aish.model.openai_chat import OpenAIChat
from aish.model.run_form import RUN_TOOL, RunReader, in_run_form
from aish.model.weights import SMOLLM2, missing_weights
from aish.storage.files import make_directory, private_opener
from aish.storage.line_reading import opener_now
from aish.values.errors import AishError
from aish.values.events import ChatRequest, Failed, ModelEvent
from aish.values.named_tuple import NamedTuple
from aish.values.text import one_line

MODEL_NAME = "embedded"
_START_SECONDS = 60.0
_END_SECONDS = 2.0  # from the end of its output to the end of the child
_MAX_LOG = 1 << 20
_MAGIC = b"GGUF"  # how such a file begins
# How often a thread of llama.cpp looks whether the others are ready before it sleeps. With 300,000, the default, it
# writes less than a token a second while other programs use all cores. With 200 it is as fast on a quiet machine.
_ENVIRONMENT = {"GOMP_SPINCOUNT": "200"}
_REMEDY = "correct or remove the setting embedded.path, or path in its preset"


class NoModel(AishError):
    """The embedded model cannot be started; the message says what to do."""


class Address(NamedTuple):
    """The URL of the running child, and its API key."""

    url: str
    key: str


class LlamaProcess:
    """The child process, started on first use and shared by all callers."""

    def __init__(self, weights: Path, log: Path, *, window: int = 8192, threads: int = 0) -> None:
        self._weights = weights
        self._log = log
        self._window = window
        self._threads = threads
        self._starting = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._address: Address | None = None

    async def address(self) -> Address:
        """Start the child if it is not running, and return its address. Raises `NoModel`."""
        async with self._starting:
            if self._address and self._child and self._child.returncode is None:
                return self._address
            if trouble := _trouble(self._weights):
                raise NoModel(trouble)
            key = os.urandom(24).hex()
            self._address = Address(await self._start(key), key)
            return self._address

    async def _start(self, key: str) -> str:
        options = {"weights": str(self._weights), "key": key, "window": self._window, "threads": self._threads}
        options["rambles"] = self._weights.name == SMOLLM2.file
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
            return str(json.loads(line)["url"])
        except (ValueError, KeyError):
            await self._wait_for_end()
            await self.close()
            why = await asyncio.to_thread(_load_error, self._log, before)
            raise NoModel(f"cannot load {self._weights}{f': {why}' if why else ''}; see {self._log}") from None

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
    found = found or re.search(r"error loading model: (?!llama_model_loader: failed to load)(.+)", written)
    return one_line(found[1], 160) if found else ""


class EmbeddedModel:
    """Answers from the child process. A failed start is a `Failed` event like any other."""

    def __init__(
        self, process: LlamaProcess, *, patience: Patience, temperature: float | None = None, run_form: bool = False
    ) -> None:
        self._process = process
        self._run_form = run_form
        self._patience = patience
        self._temperature = temperature

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ModelEvent]:
        try:
            address = await self._process.address()
        except AishError as error:
            yield Failed(str(error), "missing")
            return

        async def key() -> str:
            return address.key

        chat = OpenAIChat(
            endpoint=address.url,
            model=MODEL_NAME,
            key=key,
            patience=self._patience,
            temperature=self._temperature,
        )
        reader = None
        if self._run_form and any(tool["function"]["name"] == RUN_TOOL for tool in request.tools):
            request, reader = in_run_form(request), RunReader()
            if self._temperature is None:
                chat.temperature = 0.0  # the same question gives the same command
        async with aclosing(chat.stream(request)) as events:
            async for event in events:
                for one in reader.read(event) if reader else [event]:
                    yield one

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
