"""Blocks: the parts of a prompt, the order they stand in, and the texts they make.

Pure: text in, text out.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

Stability = Literal["fixed", "conversation", "changing"]
"""How long a block stays the same: for every conversation, within one, or not even that."""

GOAL_BLOCK = "goal"  # while it has a text, blocks that are not for goal mode are left out


class Block(NamedTuple):
    """A named part of the prompt and, once counted, what it costs.

    `limit` is how many characters it may have (0: no limit of its own), and `why` says how it came about.
    """

    name: str
    text: str
    stability: Stability = "fixed"
    tokens: int = 0
    order: int = 0
    in_goal_mode: bool = True
    limit: int = 0
    why: str = ""


def arrange(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """The blocks that have text, in the order of the prompt."""
    present = sorted((block for block in blocks if block.text), key=lambda block: block.order)
    goal = any(block.name == GOAL_BLOCK for block in present)
    return tuple(block for block in present if block.in_goal_mode or not goal)


def compose(blocks: Iterable[Block]) -> str:
    """The system prompt: the arranged blocks with a blank line between them."""
    return "\n\n".join(block.text for block in arrange(blocks))


def compose_message(front: Sequence[str], question: str) -> str:
    """A message of the user: what is put in front of it, then a blank line, then the words."""
    return "\n\n".join([*(text for text in front if text), question])
