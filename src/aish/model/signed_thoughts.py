"""What a service signed together with a call: it wants it back, unread, with the result of that call.

Some services refuse the result of a call without the signed thinking that led to it. That is kept in memory only, for
the calls of this process, and leaves with them. Thinking itself is never made part of a conversation.
"""

from collections.abc import Sequence
from typing import Any

from aish.values.turns import Message

_MOST = 200  # calls; those of one question are far fewer


class SignedThoughts:
    """What was signed, by the id of the call that followed."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def keep(self, call: str, what: Any) -> None:
        self._kept[call] = what
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def of(self, call: str) -> Any:
        """Return what came with a call; None if nothing did."""
        return self._kept.get(call)


def current_turn(messages: Sequence[Message]) -> int:
    """Return where the work on the newest question begins: after its message."""
    asked = [place for place, message in enumerate(messages) if message["role"] == "user"]
    return asked[-1] + 1 if asked else 0
