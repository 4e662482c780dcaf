"""Blocks: the parts of a prompt, their order, and the text they form.

Pure: takes text, returns text.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from aish.values.named_tuple import NamedTuple

Stability = Literal["fixed", "conversation", "changing"]
"""How long a block stays the same: always, within one conversation, or not at all."""

GOAL_BLOCK = "goal"  # while it has text, blocks that are not for goal mode are left out


class Block(NamedTuple):
    """A named part of the prompt and, once counted, its tokens.

    `limit` is its maximum number of characters (0: no own limit), and `why` says where it came from.
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
    """Return the blocks that have text, in prompt order."""
    present = sorted((block for block in blocks if block.text), key=lambda block: block.order)
    goal = any(block.name == GOAL_BLOCK for block in present)
    return tuple(block for block in present if block.in_goal_mode or not goal)


def compose(blocks: Iterable[Block]) -> str:
    """Return the system prompt: the arranged blocks, separated by blank lines."""
    return "\n\n".join(block.text for block in arrange(blocks))


def compose_message(front: Sequence[str], question: str) -> str:
    """Return a user message: the texts in front, then the question, separated by blank lines."""
    return "\n\n".join([*(text for text in front if text), question])
