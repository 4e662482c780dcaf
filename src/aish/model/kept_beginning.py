"""The beginning that all prompts of an embedded model share, kept on disk for the next child process."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from aish.model.http import HttpTrouble
from aish.model.openai_chat import OpenAIChat
from aish.model.run_form import Messages
from aish.model.tokenizer import fetch_json
from aish.values.events import ChatRequest, Failed, Usage

if TYPE_CHECKING:  # the embedded model has a kept beginning
    from aish.model.embedded import Address, LlamaProcess

_STATE_SECONDS = 5.0
_WORTH_KEEPING = 120  # characters that a beginning has more than what the child knows


class KeptBeginning:
    """The beginning of a prompt, which a new child takes from a state on disk instead of reading it.

    1. A state has a beginning and no question: what is missing on disk is read alone, before the first question.
    2. Of a conversation that is not remembered, only the fixed text of `run_form.py` is written.
    3. No other request is sent meanwhile, so that a state has no text of another prompt.
    """

    def __init__(self, process: "LlamaProcess") -> None:
        self._process = process
        self._child = ""  # the newest one that knows the beginning, by its address
        self._lock = asyncio.Lock()

    def begin(self) -> str:
        """Note that a prompt is there, before the child is loaded. `ready` takes the result; a purge makes it void."""
        states = self._process.states
        is_known = self._process.runs and self._child
        return states.begin() if states and not is_known and states.is_usable() else ""

    async def ready(
        self, beginnings: Sequence[Messages], chat: OpenAIChat, address: "Address", begun: str, *, remembers: bool
    ) -> int:
        """Load the longest saved prefix into a new child process, and save what is worth it; the last one is fixed.

        Returns how many tokens were read. Without beginnings, waits until another request has done so. Raises
        `HttpTrouble` if the child does not answer.
        """
        read = 0
        async with self._lock:
            if self._process.states is None or not beginnings or self._child == address.url:
                return 0
            known = await self._restore(beginnings, address)
            kept = [one for one in beginnings if remembers or one is beginnings[-1]]
            for one in reversed(kept if self._process.states.is_usable() else []):
                if _length(one) - known >= _WORTH_KEEPING:
                    read += await self._read_and_keep(one, chat, address, begun)
                    known = _length(one)
            self._child = address.url
        return read

    async def _restore(self, beginnings: Sequence[Messages], address: "Address") -> int:
        """Give the child the longest beginning that is on disk, and return its length. Raises `HttpTrouble`."""
        assert self._process.states
        states = self._process.states
        for one in beginnings:
            if name := await asyncio.to_thread(states.find, *self._about(one, address)):
                try:
                    if await self._ask("restore", name, address):
                        for shorter in beginnings:  # other conversations begin with them, too
                            states.touch(*self._about(shorter, address))
                        return _length(one)
                except HttpTrouble:  # perhaps the child died of it
                    states.drop(name)
                    raise
                states.drop(name)
        return 0

    async def _read_and_keep(self, beginning: Messages, chat: OpenAIChat, address: "Address", begun: str) -> int:
        """Read a beginning without a question, write the state, and return how many tokens were read.

        Raises `HttpTrouble`.
        """
        assert self._process.states
        states, usage, told = self._process.states, Usage(0, 0), dict[str, Any]()
        name = states.begin()
        try:
            request = ChatRequest((*beginning, {"role": "user", "content": "?"}), max_tokens=1)
            async with aclosing(chat.stream(request)) as events:
                async for event in events:
                    if isinstance(event, Failed) and event.trouble in ("unreachable", "broken"):
                        raise HttpTrouble(event.reason)
                    if isinstance(event, Failed):  # it refuses the question too
                        return 0
                    if isinstance(event, Usage):
                        usage = event
            told = await self._ask("save", name, address)
        finally:
            whole = (
                0 < told.get("n_saved", 0) <= usage.prompt_tokens + usage.completion_tokens
            )  # or it is another prompt
            if whole and states.has_begun(begun):
                about = self._about(beginning, address)
                await asyncio.to_thread(states.keep, name, int(told.get("n_written") or 0), *about)
            else:
                states.drop(name)
        return usage.prompt_tokens - usage.cached_tokens

    def _about(self, beginning: Messages, address: "Address") -> tuple[str, ...]:
        """What a state is good for: this text, this file of weights, this engine, this window."""
        text, weights = json.dumps(beginning, ensure_ascii=False), self._process.weights
        try:
            found = weights.stat()
        except OSError:
            return (str(weights), address.engine, text)
        file = (weights.name, str(found.st_size), str(found.st_mtime_ns))
        return (*file, address.engine, self._process.options_key, text)

    async def _ask(self, action: str, file: str, address: "Address") -> dict[str, Any]:
        """Return what the child tells; nothing if it refuses. Raises `HttpTrouble` if it does not answer."""

        async def key() -> str:
            return address.key

        body = json.dumps({"filename": file}).encode()
        try:
            async with asyncio.timeout(_STATE_SECONDS):
                status, told = await fetch_json("POST", f"{address.url}/slots/0?action={action}", key, body)
        except TimeoutError:
            raise HttpTrouble(f"no answer within {_STATE_SECONDS:g} s") from None
        return told if status == 200 and isinstance(told, dict) else {}


def _length(beginning: Messages) -> int:
    return sum(len(str(one["content"])) for one in beginning)
