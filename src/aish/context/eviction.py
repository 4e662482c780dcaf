"""Which of the oldest exchanges have to go so that the rest fits.

Pure: sizes in, a number out.
"""

from collections.abc import Sequence
from typing import NamedTuple

from aish.context.blocks import Block


class Size(NamedTuple):
    """How big one exchange is."""

    turns: int
    tokens: int
    bytes: int = 0


class Limits(NamedTuple):
    """What a prompt may hold; `max_bytes` 0 means no limit on bytes."""

    max_turns: int = 40
    token_budget: int = 4096
    max_bytes: int = 0


def excess(fixed_tokens: int, exchanges: Sequence[Size], limits: Limits) -> int:
    """How many of the oldest exchanges must go; the newest, which is being asked, always stays."""
    turns = sum(size.turns for size in exchanges)
    tokens = fixed_tokens + sum(size.tokens for size in exchanges)
    weight = sum(size.bytes for size in exchanges)
    for gone, oldest in enumerate(exchanges[:-1]):
        if turns <= limits.max_turns and tokens <= limits.token_budget and weight <= (limits.max_bytes or weight):
            return gone
        turns, tokens, weight = turns - oldest.turns, tokens - oldest.tokens, weight - oldest.bytes
    return max(len(exchanges) - 1, 0)


def over_budget_warning(blocks: Sequence[Block], limits: Limits) -> str:
    """A line that names the sizes of the blocks when the system prompt alone is over the budget, else nothing."""
    total = sum(block.tokens for block in blocks)
    if total <= limits.token_budget:
        return ""
    sizes = ", ".join(f"{block.name} {block.tokens}" for block in blocks)
    return (
        f"the system prompt alone takes {total} tokens, more than token_budget={limits.token_budget} ({sizes}); "
        "raise context.token_budget or shorten a block"
    )
