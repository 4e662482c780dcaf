"""Decide how many of the oldest exchanges to evict so that the rest fits.

Pure: takes sizes, returns a number.
"""

from collections.abc import Sequence

from aish.context.blocks import Block
from aish.values.named_tuple import NamedTuple


class Size(NamedTuple):
    """The size of one exchange."""

    turns: int
    tokens: int
    bytes: int = 0


class Limits(NamedTuple):
    """The limits of a prompt; `max_bytes` 0 means no limit on bytes.

    `evict_to` is the part of them that is left after an eviction: turns leave rarely and many at once, because the
    server reads again what follows them.
    """

    max_turns: int = 40
    token_budget: int = 4096
    max_bytes: int = 0
    evict_to: float = 1.0


def excess(fixed_tokens: int, exchanges: Sequence[Size], limits: Limits) -> int:
    """Return how many of the oldest exchanges to evict; the newest one, with the current question, always stays."""
    turns = sum(size.turns for size in exchanges)
    tokens = fixed_tokens + sum(size.tokens for size in exchanges)
    weight = sum(size.bytes for size in exchanges)
    share = 1.0
    for gone, oldest in enumerate(exchanges[:-1]):
        fits = turns <= limits.max_turns * share and tokens <= _most_tokens(fixed_tokens, limits.token_budget, share)
        if fits and weight <= (limits.max_bytes * share or weight):
            return gone
        share = limits.evict_to
        turns, tokens, weight = turns - oldest.turns, tokens - oldest.tokens, weight - oldest.bytes
    return max(len(exchanges) - 1, 0)


def _most_tokens(fixed: int, budget: int, share: float) -> float:
    """Return the tokens that a prompt may have: a share of the budget, but at least half of the room for turns."""
    return max(budget * share, fixed + (budget - fixed) * min(share, 0.5))


def over_budget_warning(blocks: Sequence[Block], limits: Limits) -> str:
    """Return a line with the block sizes if the system prompt alone exceeds the budget, else an empty string."""
    total = sum(block.tokens for block in blocks)
    if total <= limits.token_budget:
        return ""
    sizes = ", ".join(f"{block.name} {block.tokens}" for block in blocks)
    return (
        f"the system prompt alone takes {total} tokens, more than token_budget={limits.token_budget} ({sizes}); "
        "raise context.token_budget or shorten a block"
    )
