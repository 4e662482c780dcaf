"""The interactive shell asks through the `Person` port what an unclear line is."""

import pytest

from aish.values.person import Nobody
from aish.views.command_lines import ask_kind

pytestmark = pytest.mark.anyio


class OneKey(Nobody):
    """A user who presses one key."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self._key = key
        self.asked: list[tuple[str, str]] = []

    async def key(self, question: str, keys: str) -> str:
        self.asked.append((question, keys))
        return self._key


@pytest.mark.parametrize(("key", "kind"), [("a", "question"), ("r", "command"), ("c", "ask")])
async def test_one_key_says_what_an_unclear_line_is(key: str, kind: str) -> None:
    """The reason comes from the typed line, so it must not control the terminal."""
    person = OneKey(key)

    assert await ask_kind(person, "\x1b[2J is odd") == kind
    assert person.asked == [("␛[2J is odd: [a]sk the model, [r]un it, or [c]ancel ", "arc")]


async def test_without_a_user_an_unclear_line_is_dropped() -> None:
    """Neither a command nor a question is started by a guess."""
    assert await ask_kind(Nobody(), "it is odd") == "ask"
