"""The automatic token budget: the window of a model, less room for the answer, capped by money.

Pure: takes numbers, returns a number with its reason.
"""

from aish.values.named_tuple import NamedTuple

UNKNOWN_WINDOW = 4096  # tokens of a prompt if nobody tells the window
FEW_TOKENS = 8192  # up to this budget, turns are limited too
FEW_TURNS = 40
ANY_TURNS = 1_000_000  # tokens alone decide
_ANSWER, _LEAST_PROMPT = 16_384, 4096
_ASSUMED_PRICE = 3.0  # dollars for a million tokens of a server whose price is not known


class Budget(NamedTuple):
    """The tokens that a prompt may have, and why."""

    tokens: int
    why: str


class Money(NamedTuple):
    """What limits a prompt: the price of a million tokens (None: not known), and dollars for one prompt."""

    price: float | None
    dollars: float


def auto_budget(window: int, answer: int, money: Money | None) -> Budget:
    """Return the budget for a window; 0 is an unknown one. `answer` is the most that an answer may have, or 0.

    `money` is None for a server whose answers cost nothing.
    """
    if window <= 0:
        return Budget(UNKNOWN_WINDOW, "the window of the model is not known")
    room = max(window // 8, min(window // 4, _ANSWER), min(answer, window // 2))
    tokens, why = window - room, f"the window of {window:,} tokens less room for the answer"
    if money is None:
        return Budget(tokens, why)
    price = _ASSUMED_PRICE if money.price is None else money.price
    if tokens * price <= money.dollars * 1e6 or tokens <= _LEAST_PROMPT:
        return Budget(tokens, why)
    affordable = max(int(money.dollars / price * 1e6), _LEAST_PROMPT)
    known = "" if money.price is not None else f", at an assumed price of ${price:g} for a million tokens"
    return Budget(affordable, f"what ${money.dollars:g} pay for{known}; the window has {window:,} tokens")


def auto_turns(tokens: int) -> int:
    """Return how many turns a prompt may have: few in a small budget, otherwise tokens alone decide."""
    return FEW_TURNS if tokens <= FEW_TOKENS else ANY_TURNS
