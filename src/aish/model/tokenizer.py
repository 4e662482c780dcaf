"""Count tokens: ask the model's own server if it can count, otherwise estimate."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal
from urllib.parse import urlsplit

from aish.model.addresses import server_root
from aish.model.estimate import Estimates
from aish.model.http import HttpTrouble, Patience, Reach, is_this_machine, send
from aish.model.openai_chat import FindKey, no_key
from aish.values.errors import AishError
from aish.values.named_tuple import NamedTuple

Mode = Literal["auto", "true", "false"]
_FIRST_PAUSE = 30.0
_LONGEST_PAUSE = 600.0


class Ability:
    """Whether an endpoint can count tokens, for all its models."""

    def __init__(self) -> None:
        self.able: bool | None = None
        self.paused_until = 0.0
        self.pause = _FIRST_PAUSE

    def rest(self, now: float) -> None:
        """Pause requests to a busy or unreachable server, longer each time."""
        self.paused_until = now + self.pause
        self.pause = min(self.pause * 2, _LONGEST_PAUSE)

    def answered(self) -> None:
        self.able, self.pause = True, _FIRST_PAUSE


class Server(NamedTuple):
    """The endpoint of a server, its API key, and what else its preset says about it."""

    endpoint: str
    key: FindKey = no_key
    reach: Reach = Reach()


FindServer = Callable[[], Awaitable[Server]]


class Tokenizer:
    """Counts tokens for one model. Never raises; falls back to an estimate."""

    def __init__(
        self,
        *,
        model: str,
        estimates: Estimates,
        server: FindServer | None = None,  # None: always estimate
        mode: Mode = "auto",
        local: bool = False,  # the embedded model, which can always count
        timeout: float = 2.0,
        abilities: dict[str, Ability] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model, self.estimates, self.server = model, estimates, server
        self.mode, self.local, self.timeout, self.clock = mode, local, timeout, clock
        self.abilities = {} if abilities is None else abilities
        self._endpoint = ""

    @property
    def ability(self) -> Literal["yes", "no", "unknown"]:
        known = self.abilities.get(self._endpoint)
        if known is None or known.able is None:
            return "unknown"
        return "yes" if known.able else "no"

    async def count(self, text: str) -> int:
        """Return the number of tokens in `text`: 0 if empty, the server's count if available, else an estimate."""
        if not text:
            return 0
        counted = await self._ask(text)
        return self.estimates.count(self.model, text) if counted is None else counted

    async def _ask(self, text: str) -> int | None:
        if self.server is None or self.mode == "false":
            return None
        try:
            server = await self.server()
        except AishError:
            return None
        self._endpoint = server.endpoint
        if self.mode == "auto" and not self.local and not is_loopback(server.endpoint):
            return None
        ability = self.abilities.setdefault(server.endpoint, Ability())
        if ability.able is False or self.clock() < ability.paused_until:
            return None
        body = json.dumps({"content": text, "model": self.model}).encode()
        try:
            async with asyncio.timeout(self.timeout):
                url = f"{server_root(server.endpoint)}/tokenize"
                status, answer = await fetch_json("POST", url, server.key, body, server.reach)
        except (TimeoutError, HttpTrouble, AishError):
            ability.rest(self.clock())
            return None
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if status == 200 and isinstance(tokens, list) and tokens:  # no text has no tokens
            ability.answered()
            return len(tokens)
        if status in (404, 405, 501) or status == 200:
            ability.able = False
        else:
            ability.rest(self.clock())
        return None


async def fetch_json(
    method: str, url: str, key: FindKey = no_key, body: bytes = b"", reach: Reach | None = None
) -> tuple[int, Any]:
    """Send one small request. Return the status and the parsed body, None if it is not JSON."""
    headers = {"Content-Type": "application/json"}
    secret = await key()
    if secret:
        headers["Authorization"] = f"Bearer {secret}"
    async with await send(method, url, headers, body, Patience(reach=reach or Reach())) as reply:
        content = await reply.whole()
    try:
        return reply.status, json.loads(content)
    except (ValueError, RecursionError):
        return reply.status, None


def is_loopback(endpoint: str) -> bool:
    if endpoint.startswith("unix:"):
        return True
    try:
        return is_this_machine(urlsplit(endpoint).hostname or "")
    except ValueError:
        return False
