"""Count the tokens of each part of a prompt, and cache the counts."""

import json
from collections.abc import Iterable, Sequence
from typing import Protocol

from aish.context.blocks import Block, arrange
from aish.context.eviction import Size
from aish.context.history import History
from aish.values.named_tuple import NamedTuple
from aish.values.turns import Message, Turn

PER_MESSAGE = 5  # role, start and end markers; 3 to 6 tokens in common chat templates


class Counter(Protocol):
    """Counts tokens for one model. Contract: never raises, never negative, empty text is 0."""

    @property
    def model(self) -> str:
        """The model whose tokens are counted; each model has its own counts."""

    async def count(self, text: str) -> int: ...


class TokenCounts:
    """Caches the size of every turn and block, so that each is counted once per model.

    Turns never change, so a turn is counted once; a block is counted again when its text changes.
    Everything that is sent is counted, including tool calls, their arguments and tool schemas.
    """

    def __init__(self) -> None:
        self._sizes: dict[tuple[str, str], int] = {}

    async def turn(self, counter: Counter, turn: Turn) -> int:
        return PER_MESSAGE + sum([await self._size(counter, part) for part in _parts(turn)])

    async def blocks(self, counter: Counter, blocks: Iterable[Block]) -> tuple[Block, ...]:
        """Return the blocks with their tokens filled in."""
        return tuple([block._replace(tokens=await self._size(counter, block.text)) for block in blocks])

    async def tools(self, counter: Counter, tools: Sequence[Message]) -> int:
        return await self._size(counter, json.dumps(tools)) if tools else 0

    async def held(self, counter: Counter, output: str) -> int:
        return await self._size(counter, output)

    def forget(self, gone: Iterable[Turn], left: Iterable[Turn]) -> None:
        """Drop the sizes of evicted turns, except for texts that remaining turns share."""
        texts = {part for turn in gone for part in _parts(turn)} - {part for turn in left for part in _parts(turn)}
        self._sizes = {key: size for key, size in self._sizes.items() if key[1] not in texts}

    async def _size(self, counter: Counter, text: str) -> int:
        if not text:
            return 0
        key = (counter.model, text)
        if key not in self._sizes:
            self._sizes[key] = await counter.count(text)
        return self._sizes[key]


class PromptSize(NamedTuple):
    """The tokens of one prompt, part by part."""

    blocks: tuple[Block, ...]
    exchanges: tuple[Size, ...]
    tools: int = 0
    held: int = 0
    front: tuple[Block, ...] = ()  # in front of the next message

    @property
    def fixed(self) -> int:
        """The tokens that cannot be evicted: system prompt, tool schemas, held output and template markers."""
        system = sum(block.tokens for block in self.blocks) + (PER_MESSAGE if self.blocks else 0)
        front = self.held + sum(block.tokens for block in self.front)
        return system + self.tools + front + PER_MESSAGE  # the last one is the start of the answer

    @property
    def total(self) -> int:
        return self.fixed + sum(size.tokens for size in self.exchanges)


async def measure(
    token_counts: TokenCounts,
    counter: Counter,
    blocks: Iterable[Block],
    history: History,
    tools: Sequence[Message] = (),
    front: Sequence[Block] = (),
) -> PromptSize:
    """Count everything that the next request would send."""
    sizes = []
    for exchange in history.exchanges():
        tokens = sum([await token_counts.turn(counter, turn) for turn in exchange])
        weight = sum(len(part.encode("utf-8", "replace")) for turn in exchange for part in _parts(turn))
        sizes.append(Size(turns=len(exchange), tokens=tokens, bytes=weight))
    return PromptSize(
        blocks=await token_counts.blocks(counter, arrange(blocks)),
        exchanges=tuple(sizes),
        tools=await token_counts.tools(counter, tools),
        held=await token_counts.held(counter, history.held),
        front=await token_counts.blocks(counter, arrange(front)),
    )


def _parts(turn: Turn) -> list[str]:
    """Return the texts of a turn that are sent."""
    return [turn.content, *(part for call in turn.tool_calls for part in (call.name, call.arguments))]
